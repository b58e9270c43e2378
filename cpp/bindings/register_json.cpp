// Reads what JSON's parser takes and makes, whole texts and whole columns at a call.
#include <cmath>

#include "evenhand/core/json_scan.h"
#include "pybind.h"
#include "register.h"

namespace evenhand::bindings {
namespace {

py::str text_of(const std::string& utf8) {
  PyObject* text = PyUnicode_DecodeUTF8(utf8.data(), std::ssize(utf8), "surrogatepass");
  if (text == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(text);
}

py::list findings(const py::bytes& encoded, std::size_t longest_integer, std::size_t most) {
  const std::string_view text = encoded;
  std::vector<JsonFinding> found;
  {
    py::gil_scoped_release release;
    found = scan_json(text, longest_integer, most);
  }
  py::list result;
  for (const JsonFinding& finding : found) {
    py::list path;
    for (const auto& step : finding.path)
      if (const auto* key = std::get_if<std::string>(&step))
        path.append(text_of(*key));
      else
        path.append(std::get<std::int64_t>(step));
    const bool twice = finding.kind == JsonFinding::Kind::kTwice;
    const bool constant = finding.kind == JsonFinding::Kind::kConstant;
    result.append(py::make_tuple(path,
                                 twice      ? "duplicate_key"
                                 : constant ? "finite"
                                            : "overflow",
                                 finding.at, finding.size));
  }
  return result;
}

// Looks at settings that JSON's parser made and no other code holds.
class SettingsCheck {
 public:
  explicit SettingsCheck(int depth) : depth_(depth) {}

  bool object(PyObject* value, int depth) const {
    if (depth >= depth_) return false;
    PyObject *key = nullptr, *item = nullptr;
    for (Py_ssize_t place = 0; PyDict_Next(value, &place, &key, &item) != 0;) {
      if (!text(key)) return false;
      PyObject* whole = nullptr;
      if (!any(item, depth, whole)) return false;
      // A value in the place of another is all that may change while keys are walked over.
      if (whole != nullptr) {
        const py::object owned = py::reinterpret_steal<py::object>(whole);
        if (PyDict_SetItem(value, key, whole) != 0) throw py::error_already_set();
      }
    }
    return true;
  }

 private:
  bool list(PyObject* value, int depth) const {
    if (depth >= depth_) return false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); ++i) {
      PyObject* whole = nullptr;
      if (!any(PyList_GET_ITEM(value, i), depth, whole)) return false;
      if (whole != nullptr) PyList_SetItem(value, i, whole);
    }
    return true;
  }

  // `whole`: the integer that a number such as 7.0 is to become.
  bool any(PyObject* value, int depth, PyObject*& whole) const {
    if (PyUnicode_CheckExact(value)) return text(value);
    if (PyFloat_CheckExact(value)) return number(PyFloat_AS_DOUBLE(value), whole);
    if (PyLong_CheckExact(value)) {
      int overflow = 0;
      PyLong_AsLongLongAndOverflow(value, &overflow);
      return overflow == 0;
    }
    if (value == Py_None || PyBool_Check(value)) return true;
    if (PyDict_CheckExact(value)) return object(value, depth + 1);
    return PyList_CheckExact(value) && list(value, depth + 1);
  }

  static bool number(double value, PyObject*& whole) {
    constexpr double kExact = 9007199254740992.0;  // 2^53
    if (!std::isfinite(value)) return false;
    if (value == std::floor(value) && std::abs(value) < kExact) {
      whole = PyLong_FromDouble(value);
      if (whole == nullptr) throw py::error_already_set();
    }
    return true;
  }

  // Whether it can be written as UTF-8: no half of a surrogate pair.
  static bool text(PyObject* value) {
    if (PyUnicode_IS_ASCII(value)) return true;
    const int kind = static_cast<int>(PyUnicode_KIND(value));
    const void* const data = PyUnicode_DATA(value);
    for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(value); ++i)
      if (const Py_UCS4 c = PyUnicode_READ(kind, data, i); c >= 0xD800 && c < 0xE000) return false;
    return true;
  }

  int depth_;
};

py::ssize_t check_settings(const py::list& cells, py::ssize_t first, int depth) {
  const SettingsCheck check(depth);
  for (; first < std::ssize(cells); ++first) {
    PyObject* const cell = PyList_GET_ITEM(cells.ptr(), first);
    if (cell != Py_None && !(PyDict_CheckExact(cell) && check.object(cell, 0))) break;
  }
  return first;
}

}  // namespace

void register_json(py::module_& m) {
  m.def("scan_json", &findings, py::arg("text"), py::arg("longest_integer"), py::arg("most"),
        "(path, rule, first byte, bytes) of keys that stand twice, of NaN and the infinities, and "
        "of integers with more digits, in the order of the text.");
  m.def("check_settings", &check_settings, py::arg("cells"), py::arg("first"), py::arg("depth"),
        "The first cell from there on that is neither None nor an object of plain data, or the "
        "number of cells; whole floats become integers in place.");
}

}  // namespace evenhand::bindings
