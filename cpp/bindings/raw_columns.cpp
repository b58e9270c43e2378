#include "raw_columns.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace evenhand::bindings {
namespace {

template <class T>
std::span<const T> span_of(const py::array& a) {
  return {static_cast<const T*>(a.data()), static_cast<std::size_t>(a.size())};
}

bool is_bool(py::handle h) { return PyBool_Check(h.ptr()) != 0; }

// Integers of any kind but bool: int, NumPy's.
bool is_integer(py::handle h) { return PyIndex_Check(h.ptr()) != 0 && !is_bool(h); }

}  // namespace

// Reads the columns of one table.
class ColumnReader {
 public:
  ColumnReader(RawColumns& out, std::string table, const py::dict& columns)
      : out_(out), table_(std::move(table)), columns_(columns) {}

  void operator()(std::string_view field, raw::Optional<raw::Names>& column) {
    if (const py::object value = take(field)) column = names(field, value);
  }
  void operator()(std::string_view field, raw::Optional<raw::Reference>& column) {
    const py::object named = take(field);
    const py::object index = take(std::string(field) + "_index");
    if (!named && !index) return;
    column.emplace();
    if (named) column->names = names(field, named);
    if (index) column->index = span_of<std::int64_t>(array(field, index, "int64", 1));
  }
  void operator()(std::string_view field, raw::Optional<raw::Numbers>& column) {
    if (const py::object value = take(field)) column = numbers(field, value, 1);
  }
  void operator()(std::string_view field, raw::Optional<raw::Amounts>& column) {
    if (const py::object value = take(field)) column = amounts(field, value, 2);
  }
  void operator()(std::string_view field, raw::Optional<raw::Codes>& column) {
    const py::object value = take(field);
    if (!value) return;
    const auto [values, given] = parts(field, value);
    column =
        raw::Codes{span_of<std::uint8_t>(array(field, values, "uint8", 1)), mask(field, given, 1)};
  }
  void operator()(std::string_view field, raw::Optional<raw::Text>& column) {
    const py::object value = take(field);
    if (!value) return;
    const py::tuple pair = tuple(field, value, 2, 2);
    column =
        raw::Text{texts(field, pair[0]), span_of<std::int32_t>(array(field, pair[1], "int32", 1))};
  }
  void operator()(std::string_view field, raw::Optional<raw::TextList>& column) {
    const py::object value = take(field);
    if (!value) return;
    const py::tuple triple = tuple(field, value, 3, 3);
    column = raw::TextList{texts(field, triple[0]),
                           span_of<std::int64_t>(array(field, triple[1], "int64", 1)),
                           span_of<std::int32_t>(array(field, triple[2], "int32", 1))};
  }

  raw::Amounts amounts(std::string_view field, const py::object& value, int dimensions) {
    return {numbers(field, value, dimensions)};
  }

  template <class T>
  std::span<const T> values(std::string_view field, const char* dtype) {
    const py::object value = take(field);
    if (!value) wrong(field, "is missing");
    return span_of<T>(array(field, value, dtype, 1));
  }

  std::vector<std::string_view> texts(std::string_view field, const py::object& value) {
    std::vector<std::string_view> result;
    if (py::isinstance<py::tuple>(value)) {
      const raw::Strings strings = arrow_names(field, value).strings;
      check_strings(field, strings);
      result.reserve(strings.size());
      for (std::size_t i = 0; i < strings.size(); ++i) result.push_back(strings[i]);
      return result;
    }
    const py::list list(value);
    out_.kept_.push_back(list);
    for (const py::handle item : list) result.push_back(text(field, item));
    return result;
  }

  // The value of a key, if there is one that is not None; the key counts as known.
  py::object take(std::string_view field) {
    const py::str key{std::string(field)};
    known_.insert(std::string(field));
    if (!columns_.contains(key)) return {};
    const py::object value = columns_[key];
    return value.is_none() ? py::object() : value;
  }

  void refuse_unknown() const {
    for (const auto& [key, value] : columns_) {
      const auto name = py::cast<std::string>(py::str(key));
      if (!known_.contains(name)) wrong(name, "is not a column of this table");
    }
  }

 private:
  [[noreturn]] void wrong(std::string_view field, const std::string& what) const {
    throw py::type_error("table " + table_ + ", column " + std::string(field) + ": " + what);
  }

  py::tuple tuple(std::string_view field, const py::object& value, std::size_t least,
                  std::size_t most) const {
    if (!py::isinstance<py::tuple>(value)) wrong(field, "a tuple is expected");
    auto result = py::reinterpret_borrow<py::tuple>(value);
    if (result.size() < least || result.size() > most)
      wrong(field, "a tuple of " + std::to_string(least) + " to " + std::to_string(most) +
                       " parts is expected");
    return result;
  }

  // The array in C order with exactly this dtype; safe casts are made.
  py::array array(std::string_view field, const py::object& value, const char* dtype,
                  int dimensions) {
    py::array a = py::array::ensure(value);
    if (!a) {
      PyErr_Clear();
      wrong(field, "an array is expected");
    }
    if (a.ndim() != dimensions)
      wrong(field, std::to_string(dimensions) + " dimensions are expected, not " +
                       std::to_string(a.ndim()));
    const py::module_ numpy = py::module_::import("numpy");
    const bool empty = a.size() == 0;  // an empty list has no dtype of its own
    if (!empty && !py::cast<bool>(numpy.attr("can_cast")(a.dtype(), dtype, "safe")))
      wrong(field, "dtype " + std::string(dtype) + " is expected, not " +
                       py::cast<std::string>(py::str(a.dtype())));
    a = numpy.attr("ascontiguousarray")(a, dtype);
    out_.kept_.push_back(a);
    return a;
  }

  std::pair<py::object, py::object> parts(std::string_view field, const py::object& value) const {
    if (!py::isinstance<py::tuple>(value)) return {value, py::none()};
    const py::tuple pair = tuple(field, value, 2, 2);
    return {pair[0], pair[1]};
  }

  raw::Mask mask(std::string_view field, const py::object& given, int dimensions) {
    if (given.is_none()) return {};
    const py::array a = array(field, given, "uint8", dimensions);
    // An empty mask means that every cell is given: tell it from a mask of no cells.
    return span_of<std::uint8_t>(a);
  }

  raw::Numbers numbers(std::string_view field, const py::object& value, int dimensions) {
    const auto [values, given] = parts(field, value);
    py::array a = py::array::ensure(values);
    if (!a) {
      PyErr_Clear();
      wrong(field, "an array of numbers is expected");
    }
    if (dimensions == 2 && a.ndim() == 2 &&
        a.shape(1) != static_cast<py::ssize_t>(out_.input_.resources.names.size()))
      wrong(field, "one column a resource is expected, that is " +
                       std::to_string(out_.input_.resources.names.size()) + ", not " +
                       std::to_string(a.shape(1)));
    raw::Numbers result;
    const char kind = a.dtype().kind();
    if (kind == 'i' || kind == 'u' || kind == 'b')
      result.integers = span_of<std::int64_t>(array(field, a, "int64", dimensions));
    else
      result.reals = span_of<double>(array(field, a, "float64", dimensions));
    result.given = mask(field, given, dimensions);
    return result;
  }

  // UTF-8 of a str; a lone surrogate comes through as bytes that are not valid
  // UTF-8, so that build() can say in which row it stands.
  std::string_view text(std::string_view field, py::handle item) {
    if (!PyUnicode_Check(item.ptr()))
      wrong(field, "a string is expected, not " +
                       py::cast<std::string>(py::str(py::type::handle_of(item).attr("__name__"))));
    Py_ssize_t size = 0;
    if (const char* data = PyUnicode_AsUTF8AndSize(item.ptr(), &size))
      return {data, static_cast<std::size_t>(size)};
    PyErr_Clear();
    const py::bytes encoded = item.attr("encode")("utf-8", "surrogatepass");
    out_.kept_.push_back(encoded);
    return static_cast<std::string_view>(encoded);
  }

  raw::Names names(std::string_view field, const py::object& value) {
    if (py::isinstance<py::tuple>(value)) return arrow_names(field, value);
    if (py::isinstance<py::array>(value)) {
      const auto a = py::reinterpret_borrow<py::array>(value);
      const char kind = a.dtype().kind();
      if (kind == 'i' || kind == 'u') {
        raw::Names result;
        result.integers = span_of<std::int64_t>(array(field, a, "int64", 1));
        return result;
      }
    }
    return listed_names(field, py::list(value));
  }

  // Texts are indexed at once, names only behind build()'s own look at their offsets.
  void check_strings(std::string_view field, const raw::Strings& strings) const {
    if (strings.offsets.front() < 0 ||
        !std::is_sorted(strings.offsets.begin(), strings.offsets.end()) ||
        strings.offsets.back() > std::ssize(strings.bytes))
      wrong(field, "offsets are expected to ascend and to end with the bytes");
  }

  raw::Names arrow_names(std::string_view field, const py::object& value) {
    const py::tuple arrow = tuple(field, value, 2, 3);
    raw::Names result;
    if (arrow[0].is_none()) {  // integers
      result.integers = span_of<std::int64_t>(array(field, arrow[1], "int64", 1));
      if (arrow.size() == 3) result.given = mask(field, arrow[2], 1);
      return result;
    }
    if (!PyObject_CheckBuffer(arrow[0].ptr())) wrong(field, "bytes are expected");
    const py::buffer_info& bytes =
        out_.buffers_.emplace_back(py::reinterpret_borrow<py::buffer>(arrow[0]).request());
    if (bytes.itemsize != 1 || bytes.ndim != 1 || bytes.strides[0] != 1)
      wrong(field, "a flat buffer of bytes is expected");
    result.strings.bytes = {static_cast<const char*>(bytes.ptr),
                            static_cast<std::size_t>(bytes.size)};
    result.strings.offsets = span_of<std::int64_t>(array(field, arrow[1], "int64", 1));
    if (result.strings.offsets.empty()) wrong(field, "offsets need one more entry than rows");
    if (arrow.size() == 3) result.given = mask(field, arrow[2], 1);
    return result;
  }

  raw::Names listed_names(std::string_view field, const py::list& list) {
    std::string& bytes = out_.texts_.emplace_back();
    std::vector<std::int64_t>& offsets = out_.offsets_.emplace_back(1, 0);
    std::vector<std::uint8_t>& integer = out_.flags_.emplace_back(list.size(), 0);
    std::vector<std::uint8_t>& given = out_.flags_.emplace_back(list.size(), 1);
    bool any_integer = false, any_none = false;
    std::size_t row = 0;
    for (const py::handle item : list) {
      if (PyUnicode_Check(item.ptr())) {
        bytes += text(field, item);
      } else if (item.is_none()) {
        given[row] = 0;
        any_none = true;
      } else if (is_integer(item)) {
        const auto number = py::reinterpret_steal<py::object>(PyNumber_Index(item.ptr()));
        bytes += py::cast<std::string>(py::str(number));
        integer[row] = 1;
        any_integer = true;
      } else {
        wrong(field, "row " + std::to_string(row) + " is of type " +
                         py::cast<std::string>(py::type::handle_of(item).attr("__name__")) +
                         "; a name is a string or an integer");
      }
      offsets.push_back(static_cast<std::int64_t>(bytes.size()));
      ++row;
    }
    raw::Names result;
    result.strings = {bytes, offsets};
    if (any_integer) result.is_integer = integer;
    if (any_none) result.given = given;
    return result;
  }

  RawColumns& out_;
  std::string table_;
  const py::dict& columns_;
  std::set<std::string> known_;
};

raw::Instant read_instant(py::handle value, const char* field) {
  raw::Instant result;
  if (is_integer(value))
    result.microseconds = py::cast<std::int64_t>(value);
  else if (PyFloat_Check(value.ptr()))
    result.seconds = py::cast<double>(value);
  else
    throw py::type_error(std::string(field) +
                         ": a float of seconds or an int of microseconds is expected");
  return result;
}

RawColumns::RawColumns(const py::dict& head, const py::dict& tables, const std::string& rounding) {
  if (rounding != "exact" && rounding != "nearest")
    throw py::type_error("rounding: \"exact\" or \"nearest\" is expected, not \"" + rounding + '"');
  input_.rounding = rounding == "nearest" ? raw::Rounding::kNearest : raw::Rounding::kExact;
  read_head(head);
  std::set<std::string> known;
  const auto table = [&](const char* name, auto& columns) {
    known.insert(name);
    if (!tables.contains(name) || tables[name].is_none()) return;
    const py::dict dict(tables[name]);
    ColumnReader reader(*this, name, dict);
    raw::for_each_field(columns, reader);
    reader.refuse_unknown();
  };
  table("root", input_.root);
  table("pools", input_.pools);
  table("operations", input_.operations);
  table("nodes", input_.nodes);
  table("allocations", input_.allocations);
  table("requests", input_.requests);
  table("reservations", input_.reservations);
  for (const auto& [key, value] : tables)
    if (const auto name = py::cast<std::string>(py::str(key)); !known.contains(name))
      throw py::type_error("there is no table " + name);
}

void RawColumns::read_head(const py::dict& head) {
  ColumnReader reader(*this, "head", head);
  raw::Resources& resources = input_.resources;
  const py::object names = reader.take("resources");
  if (!names) throw py::type_error("head: resources are missing");
  resources.names = reader.texts("resources", names);
  resources.quantum = reader.values<double>("quantum", "float64");
  resources.kind = reader.values<std::uint8_t>("kind", "uint8");
  resources.scope = reader.values<std::uint8_t>("scope", "uint8");
  resources.available_after_preemption =
      reader.values<std::uint8_t>("available_after_preemption", "uint8");
  if (const py::object value = reader.take("capacity"))
    resources.capacity = reader.amounts("capacity", value, 1);
  if (const py::object value = reader.take("total"))
    input_.total = reader.amounts("total", value, 1);
  if (const py::object value = reader.take("now")) input_.now = read_instant(value, "now");
  if (const py::object value = reader.take("previous_update"))
    input_.previous_update = read_instant(value, "previous_update");
  reader.refuse_unknown();
}

}  // namespace evenhand::bindings
