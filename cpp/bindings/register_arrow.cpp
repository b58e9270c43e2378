// Result tables as an Arrow C stream (Apache Arrow, "The Arrow C data interface" and "The Arrow C
// stream interface"): the structs below are that fixed binary interface, so nothing of Arrow is
// needed to build or to run. One stream holds one record batch.
//
// Buffers are copied once, O(bytes). What the consumer holds is then plain C++ memory that it may
// release from any thread, without the interpreter and after its end.
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pybind.h"
#include "register.h"

namespace evenhand::bindings {
namespace {

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
  int (*get_next)(ArrowArrayStream*, ArrowArray*);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};

constexpr std::int64_t kNullable = 2;  // ARROW_FLAG_NULLABLE

struct Field {
  std::string name;
  std::string format;
  std::int64_t length = 0;
  std::int64_t null_count = 0;
  std::vector<std::optional<std::vector<char>>> buffers;
  std::vector<Field> children;
};
using Data = std::shared_ptr<const Field>;

// A consumer may move a child out of its parent and release the two in any order, so every
// struct shares the ownership of all data.
template <class Struct>
struct Hold {
  Data data;
  std::vector<const void*> buffers;
  std::vector<Struct> children;
  std::vector<Struct*> child_pointers;
};

template <class Struct>
void release(Struct* self) {
  for (std::int64_t i = 0; i < self->n_children; ++i)
    if (self->children[i]->release) self->children[i]->release(self->children[i]);
  delete static_cast<Hold<Struct>*>(self->private_data);
  self->release = nullptr;
}

template <class Struct>
Hold<Struct>* hold_children(const Data& data, const Field& field,
                            void (*fill)(const Data&, const Field&, Struct*)) {
  auto hold = std::make_unique<Hold<Struct>>();
  hold->data = data;
  hold->children.resize(field.children.size());
  for (std::size_t i = 0; i < field.children.size(); ++i) {
    hold->child_pointers.push_back(&hold->children[i]);
    fill(data, field.children[i], &hold->children[i]);
  }
  return hold.release();
}

void fill_schema(const Data& data, const Field& field, ArrowSchema* out) {
  auto* hold = hold_children<ArrowSchema>(data, field, &fill_schema);
  *out = {field.format.c_str(),
          field.name.c_str(),
          nullptr,
          kNullable,
          static_cast<std::int64_t>(field.children.size()),
          hold->child_pointers.data(),
          nullptr,
          &release<ArrowSchema>,
          hold};
}

void fill_array(const Data& data, const Field& field, ArrowArray* out) {
  auto* hold = hold_children<ArrowArray>(data, field, &fill_array);
  for (const auto& buffer : field.buffers)
    hold->buffers.push_back(buffer ? buffer->data() : nullptr);
  *out = {field.length,
          field.null_count,
          0,
          static_cast<std::int64_t>(hold->buffers.size()),
          static_cast<std::int64_t>(field.children.size()),
          hold->buffers.data(),
          hold->child_pointers.data(),
          nullptr,
          &release<ArrowArray>,
          hold};
}

struct Stream {
  Data data;
  bool done = false;
};

// Exceptions must not reach a consumer written in another language.
int get_schema(ArrowArrayStream* self, ArrowSchema* out) noexcept try {
  const Stream& stream = *static_cast<Stream*>(self->private_data);
  fill_schema(stream.data, *stream.data, out);
  return 0;
} catch (const std::bad_alloc&) {
  return ENOMEM;
}

int get_next(ArrowArrayStream* self, ArrowArray* out) noexcept try {
  Stream& stream = *static_cast<Stream*>(self->private_data);
  *out = ArrowArray{};  // no release callback: the end of the stream
  if (!std::exchange(stream.done, true)) fill_array(stream.data, *stream.data, out);
  return 0;
} catch (const std::bad_alloc&) {
  return ENOMEM;
}

void release_stream(ArrowArrayStream* self) {
  delete static_cast<Stream*>(self->private_data);
  self->release = nullptr;
}

Field read_field(const py::handle& column) {
  const auto parts = py::cast<py::tuple>(column);
  Field field{py::cast<std::string>(parts[0]),
              py::cast<std::string>(parts[1]),
              py::cast<std::int64_t>(parts[2]),
              py::cast<std::int64_t>(parts[3]),
              {},
              {}};
  for (const auto& item : py::cast<py::list>(parts[4])) {
    auto& copy = field.buffers.emplace_back();
    if (item.is_none()) continue;
    const auto array = py::array::ensure(item, py::array::c_style);
    if (!array) throw py::type_error("an Arrow buffer must be a contiguous array");
    // Padding keeps the pointer of an empty buffer valid.
    copy.emplace(static_cast<std::size_t>(array.nbytes()) + 8);
    std::memcpy(copy->data(), array.data(), static_cast<std::size_t>(array.nbytes()));
  }
  for (const auto& child : py::cast<py::list>(parts[5]))
    field.children.push_back(read_field(child));
  return field;
}

void destroy_capsule(PyObject* capsule) {
  auto* stream =
      static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule, "arrow_array_stream"));
  if (stream->release) stream->release(stream);
  delete stream;
}

py::capsule arrow_stream(const py::tuple& table) {
  auto data = std::make_shared<const Field>(read_field(table));
  auto stream = std::make_unique<ArrowArrayStream>();
  *stream = {&get_schema, &get_next, [](ArrowArrayStream*) -> const char* { return nullptr; },
             &release_stream, new Stream{std::move(data)}};
  return py::capsule(stream.release(), "arrow_array_stream", &destroy_capsule);
}

}  // namespace

void register_arrow(py::module_& m) {
  m.def("arrow_stream", &arrow_stream, py::arg("table"),
        "Arrow stream capsule of one struct column (name, format, length, null count, buffers, "
        "children).");
}

}  // namespace evenhand::bindings
