#include "event_cells.h"

#include <algorithm>
#include <charconv>

namespace evenhand::bindings {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(EventKind::kNone)> kKindNames = {
    "time",   "start", "end",   "leave", "suspend", "resume", "job",
    "resize", "take",  "count", "node",  "put",     "remove"};

std::string_view utf8(PyObject* text) noexcept {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text, &size);
  if (data == nullptr) {  // half a character
    PyErr_Clear();
    return {};
  }
  return {data, static_cast<std::size_t>(size)};
}

// Cells of a row that is a dict; settings and labels stand apart.
bool load_row(PyObject* row, EventCells& out) {
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t at = 0;
  while (PyDict_Next(row, &at, &key, &value)) {
    if (!PyUnicode_CheckExact(key)) return false;
    const std::string_view field = utf8(key);
    if (field.empty() || field.find('.') != std::string_view::npos) return false;
    if (field == "settings" || field == "labels") {
      if (value != Py_None)
        (field == "labels" ? out.labels : out.settings) = py::reinterpret_borrow<py::object>(value);
      continue;
    }
    out.row.push_back({field, cell_of(value)});
  }
  return true;
}

bool add(EventField field, PyObject* value, EventCells& out) {
  out.present |= bit(field);
  if (field == EventField::kRow) {
    if (!PyDict_CheckExact(value)) return false;
    return load_row(value, out);
  }
  out.cells[static_cast<std::size_t>(field)] = cell_of(value);
  return true;
}

// A copy of a value of plain data; none: there is something else in it.
py::object own_value(PyObject* value) {
  if (value == Py_None || PyUnicode_CheckExact(value) || PyLong_CheckExact(value) ||
      PyFloat_CheckExact(value) || PyBool_Check(value))
    return py::reinterpret_borrow<py::object>(value);
  const auto steal = [](PyObject* made) {
    if (made == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(made);
  };
  if (PyDict_CheckExact(value)) {
    py::object made = steal(PyDict_Copy(value));
    PyObject *key = nullptr, *cell = nullptr;
    Py_ssize_t at = 0;
    while (PyDict_Next(value, &at, &key, &cell)) {
      const py::object copied = own_value(cell);
      if (!copied) return copied;
      if (copied.ptr() != cell && PyDict_SetItem(made.ptr(), key, copied.ptr()) != 0)
        throw py::error_already_set();
    }
    return made;
  }
  if (!PyList_CheckExact(value) && !PyTuple_CheckExact(value)) return {};
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(value);
  py::object made = steal(PyList_New(size));
  for (Py_ssize_t i = 0; i < size; ++i) {
    py::object copied = own_value(PySequence_Fast_GET_ITEM(value, i));
    if (!copied) return copied;
    PyList_SET_ITEM(made.ptr(), i, copied.release().ptr());
  }
  return made;
}

}  // namespace

Cell cell_of(PyObject* object) noexcept {
  Cell cell;
  if (object == Py_None) return cell;
  if (PyFloat_Check(object)) {  // NumPy's too
    cell.kind = Cell::Kind::kReal;
    cell.real = PyFloat_AS_DOUBLE(object);
  } else if (PyUnicode_CheckExact(object)) {
    cell.kind = Cell::Kind::kText;
    cell.text = utf8(object);
    if (cell.text.data() == nullptr) {
      cell.kind = Cell::Kind::kObject;
      cell.object = object;
    }
  } else if (PyBool_Check(object)) {
    cell.kind = Cell::Kind::kFlag;
    cell.flag = object == Py_True;
  } else if (PyLong_CheckExact(object)) {
    int beyond = 0;
    cell.integer = PyLong_AsLongLongAndOverflow(object, &beyond);
    cell.kind = Cell::Kind::kInteger;
    if (beyond != 0) {
      cell.kind = Cell::Kind::kObject;
      cell.object = object;
    }
  } else {
    cell.kind = Cell::Kind::kObject;
    cell.object = object;
  }
  return cell;
}

std::string_view name_of(const Cell& cell, std::string& buffer) {
  if (cell.kind == Cell::Kind::kText) return cell.text;
  if (cell.kind != Cell::Kind::kInteger) return {};
  buffer.resize(24);
  const char* end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), cell.integer).ptr;
  return {buffer.data(), static_cast<std::size_t>(end - buffer.data())};
}

EventKind event_kind(std::string_view word) noexcept {
  const auto* found = std::find(kKindNames.begin(), kKindNames.end(), word);
  return static_cast<EventKind>(found - kKindNames.begin());
}

EventField event_field(std::string_view name) noexcept {
  const auto* found = std::find(kEventFieldNames.begin(), kEventFieldNames.end(), name);
  return static_cast<EventField>(found - kEventFieldNames.begin());
}

std::uint32_t fields_of(EventKind kind) noexcept {
  using F = EventField;
  switch (kind) {
    case EventKind::kTime:
      return bit(F::kNow);
    case EventKind::kStart:
      return bit(F::kRow) | bit(F::kRequest);
    case EventKind::kEnd:
      return bit(F::kAllocation);
    case EventKind::kLeave:
      return bit(F::kAllocation) | bit(F::kDeadline) | bit(F::kBeneficiary) |
             bit(F::kBeneficiaryOperation) | bit(F::kBeneficiaryRequest) | bit(F::kHeld);
    case EventKind::kSuspend:
      return bit(F::kAllocation) | bit(F::kHeld);
    case EventKind::kResume:
      return bit(F::kAllocation) | bit(F::kNode) | bit(F::kStartTime);
    case EventKind::kJob:
      return bit(F::kAllocation) | bit(F::kLastJobStartTime) | bit(F::kLastProgressTime);
    case EventKind::kResize:
    case EventKind::kTake:
      return bit(F::kAllocation) | bit(F::kResources);
    case EventKind::kCount:
      return bit(F::kRequest) | bit(F::kCount);
    case EventKind::kNode:
      return bit(F::kNode) | bit(F::kCapacity) | bit(F::kSchedulable);
    case EventKind::kPut:
      return bit(F::kTable) | bit(F::kRow);
    case EventKind::kRemove:
      return bit(F::kTable) | bit(F::kName);
    case EventKind::kNone:
      break;
  }
  return 0;
}

bool load_event(py::handle given, const py::tuple& classes, EventCells& out) {
  if (PyDict_CheckExact(given.ptr())) {
    PyObject *key = nullptr, *value = nullptr;
    Py_ssize_t at = 0;
    while (PyDict_Next(given.ptr(), &at, &key, &value)) {
      if (!PyUnicode_CheckExact(key)) return false;
      const std::string_view name = utf8(key);
      if (name == "event") {
        if (!PyUnicode_CheckExact(value)) return false;
        out.kind = event_kind(utf8(value));
        continue;
      }
      const EventField field = event_field(name);
      if (field == EventField::kCount_ || name.find('.') != std::string_view::npos) return false;
      if (!add(field, value, out)) return false;
    }
    return out.kind != EventKind::kNone && (out.present & ~fields_of(out.kind)) == 0;
  }
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(given.ptr()));
  std::size_t kind = 0;
  while (kind < classes.size() &&
         PyTuple_GET_ITEM(classes.ptr(), static_cast<Py_ssize_t>(kind)) != type)
    ++kind;
  if (kind >= classes.size()) return false;
  out.kind = static_cast<EventKind>(kind);
  const std::uint32_t fields = fields_of(out.kind);
  for (std::size_t f = 0; f < kEventFields; ++f) {
    const auto field = static_cast<EventField>(f);
    if ((fields & bit(field)) == 0 || field == EventField::kBeneficiaryOperation ||
        field == EventField::kBeneficiaryRequest)
      continue;
    // The object is frozen and holds what it returns.
    const auto value = py::reinterpret_steal<py::object>(
        PyObject_GetAttrString(given.ptr(), kEventFieldNames[f].data()));
    if (!value) throw py::error_already_set();
    if (!add(field, value.ptr(), out)) return false;
  }
  return true;
}

bool removes_nodes(const py::list& events, const py::tuple& classes) {
  static constexpr auto kRemove = static_cast<std::size_t>(EventKind::kRemove);
  const auto is = [](PyObject* text, const char* word) {
    return text != nullptr && PyUnicode_Check(text) &&
           PyUnicode_CompareWithASCIIString(text, word) == 0;
  };
  for (const py::handle event : events) {
    if (PyDict_CheckExact(event.ptr())) {
      if (is(PyDict_GetItemString(event.ptr(), "event"), "remove") &&
          is(PyDict_GetItemString(event.ptr(), "table"), "nodes"))
        return true;
    } else if (py::type::handle_of(event).is(classes[kRemove])) {
      const py::object table = event.attr("table");
      if (is(table.ptr(), "nodes")) return true;
    }
  }
  return false;
}

py::list own_events(const py::list& events, const py::object& own) {
  py::list out(events.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    py::object copied =
        PyDict_CheckExact(events[i].ptr()) ? own_value(events[i].ptr()) : py::object();
    if (!copied) copied = own(events[i]);
    PyList_SET_ITEM(out.ptr(), static_cast<Py_ssize_t>(i), copied.release().ptr());
  }
  return out;
}

}  // namespace evenhand::bindings
