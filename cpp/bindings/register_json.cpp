// Reads what JSON's parser takes and makes, whole texts and whole columns at a call.
#include <cmath>

#include "arrays.h"
#include "evenhand/core/json_scan.h"
#include "evenhand/core/json_table.h"
#include "pybind.h"
#include "register.h"

namespace evenhand::bindings {
namespace {

py::str text_of(std::string_view utf8) {
  PyObject* text = PyUnicode_DecodeUTF8(utf8.data(), std::ssize(utf8), "surrogatepass");
  if (text == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(text);
}

// The bytes of UTF-8, or those of a str that has ASCII only: it stands in memory as UTF-8 does.
std::string_view encoded_text(const py::object& given) {
  if (PyBytes_Check(given.ptr()))
    return {PyBytes_AS_STRING(given.ptr()),
            static_cast<std::size_t>(PyBytes_GET_SIZE(given.ptr()))};
  if (!PyUnicode_Check(given.ptr()) || !PyUnicode_IS_ASCII(given.ptr()))
    throw py::type_error("text: bytes are expected, or a str of ASCII");
  return {reinterpret_cast<const char*>(PyUnicode_1BYTE_DATA(given.ptr())),
          static_cast<std::size_t>(PyUnicode_GET_LENGTH(given.ptr()))};
}

py::tuple scan(const py::object& encoded, std::size_t longest_integer, std::size_t most,
               const std::vector<std::string>& known) {
  const std::string_view text = encoded_text(encoded);
  JsonScan scanned;
  {
    py::gil_scoped_release release;
    scanned = scan_json(text, longest_integer, most, known);
  }
  py::list found, parts, too_large;
  for (const JsonFinding& finding : scanned.found) {
    py::list path;
    for (const auto& step : finding.path)
      if (const auto* key = std::get_if<std::string>(&step))
        path.append(text_of(*key));
      else
        path.append(std::get<std::int64_t>(step));
    const bool twice = finding.kind == JsonFinding::Kind::kTwice;
    const bool constant = finding.kind == JsonFinding::Kind::kConstant;
    found.append(py::make_tuple(path,
                                twice      ? "duplicate_key"
                                : constant ? "finite"
                                           : "overflow",
                                finding.at, finding.size));
  }
  for (const JsonPart& part : scanned.parts)
    parts.append(py::make_tuple(text_of(part.key), part.at, part.size));
  for (const JsonNumber& number : scanned.too_large)
    too_large.append(py::make_tuple(number.at, number.size));
  return py::make_tuple(found, parts, scanned.depth, too_large);
}

std::vector<JsonField> fields_of(const py::list& given) {
  std::vector<JsonField> fields;
  for (const py::handle item : given) {
    const auto [key, texts, numbers, inner] =
        py::cast<std::tuple<std::string, std::string, bool, py::list>>(item);
    fields.push_back({key,
                      texts == "words"     ? JsonField::Texts::kWords
                      : texts == "written" ? JsonField::Texts::kWritten
                      : texts == "objects" ? JsonField::Texts::kObjects
                                           : JsonField::Texts::kPlain,
                      numbers, fields_of(inner)});
  }
  return fields;
}

py::array bytes_array(std::string bytes) {
  auto* owned = new std::string(std::move(bytes));
  const py::capsule owner(owned, [](void* p) { delete static_cast<std::string*>(p); });
  return py::array_t<std::uint8_t>(std::ssize(*owned),
                                   reinterpret_cast<const std::uint8_t*>(owned->data()), owner);
}

py::object column_of(JsonColumn column) {
  using Form = JsonColumn::Form;
  const auto given = [&]() -> py::object {
    if (column.given.empty()) return py::none();
    return to_array(std::move(column.given)).attr("view")("bool");
  };
  switch (column.form) {
    case Form::kNulls:
      return py::make_tuple("nulls");
    case Form::kIntegers:
      return py::make_tuple("numbers", to_array(std::move(column.integers)), given());
    case Form::kReals:
      return py::make_tuple("numbers", to_array(std::move(column.reals)), given());
    case Form::kFlags:
      return py::make_tuple("numbers", to_array(std::move(column.flags)).attr("view")("bool"),
                            given());
    case Form::kTexts:
      return py::make_tuple("texts", bytes_array(std::move(column.bytes)),
                            to_array(std::move(column.offsets)), given());
    case Form::kWords:
      return py::make_tuple("words", bytes_array(std::move(column.bytes)),
                            to_array(std::move(column.offsets)), to_array(std::move(column.codes)));
    case Form::kLists:
      return py::make_tuple("lists", bytes_array(std::move(column.bytes)),
                            to_array(std::move(column.offsets)), to_array(std::move(column.ends)),
                            to_array(std::move(column.codes)), given());
    case Form::kWritten: {
      const py::str text = text_of(std::string_view(column.bytes));
      return py::make_tuple("written", text);
    }
    case Form::kObjects:
      break;
  }
  py::dict columns, unknown;
  for (std::size_t i = 0; i < column.keys.size(); ++i)
    columns[text_of(std::string_view(column.keys[i]))] = column_of(std::move(column.columns[i]));
  for (const JsonUnknown& key : column.unknown)
    unknown[text_of(std::string_view(key.key))] = py::make_tuple(key.first, key.rows);
  return py::make_tuple("objects", columns, unknown);
}

py::tuple json_table(const py::object& encoded, std::size_t at, std::size_t size,
                     const py::list& fields, std::size_t most, std::size_t counted) {
  const std::string_view text = encoded_text(encoded);
  const std::vector<JsonField> wanted = fields_of(fields);
  JsonTable table;
  {
    py::gil_scoped_release release;
    table = read_json_table(text.substr(at, size), wanted, most, counted);
  }
  py::list strange;
  for (const JsonStrange& row : table.strange)
    strange.append(
        py::make_tuple(row.row, text_of(text.substr(at, size).substr(row.at, row.size))));
  return py::make_tuple(table.rows, column_of(std::move(table.row)), strange);
}

// Looks at settings and labels that JSON's parser made and no other code holds.
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

  // Texts and numbers; those that are null are taken out.
  bool labels(PyObject* value) const {
    std::vector<py::object> absent;
    PyObject *key = nullptr, *item = nullptr;
    for (Py_ssize_t place = 0; PyDict_Next(value, &place, &key, &item) != 0;) {
      if (PyBool_Check(item) || PyDict_Check(item) || PyList_Check(item) || !text(key))
        return false;
      PyObject* whole = nullptr;
      if (!any(item, 0, whole)) return false;
      if (item == Py_None) absent.push_back(py::reinterpret_borrow<py::object>(key));
      if (whole != nullptr) {
        const py::object owned = py::reinterpret_steal<py::object>(whole);
        if (PyDict_SetItem(value, key, whole) != 0) throw py::error_already_set();
      }
    }
    for (const py::object& name : absent)
      if (PyDict_DelItem(value, name.ptr()) != 0) throw py::error_already_set();
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

// One dict a row, without the cells that are None.
py::list dicts_of(const py::list& names, const py::list& columns) {
  const py::ssize_t rows = columns.empty() ? 0 : PyList_GET_SIZE(columns[0].ptr());
  for (const py::handle column : columns)
    if (!PyList_Check(column.ptr()) || PyList_GET_SIZE(column.ptr()) != rows)
      throw py::type_error("columns: lists of one length are expected");
  py::list result(rows);
  for (py::ssize_t row = 0; row < rows; ++row) {
    PyObject* const dict = PyDict_New();
    if (dict == nullptr) throw py::error_already_set();
    PyList_SET_ITEM(result.ptr(), row, dict);
    for (py::ssize_t i = 0; i < std::ssize(columns); ++i) {
      PyObject* const cell = PyList_GET_ITEM(PyList_GET_ITEM(columns.ptr(), i), row);
      if (cell != Py_None && PyDict_SetItem(dict, PyList_GET_ITEM(names.ptr(), i), cell) != 0)
        throw py::error_already_set();
    }
  }
  return result;
}

template <class Check>
py::ssize_t check_objects(const py::list& cells, py::ssize_t first, Check&& check) {
  for (; first < std::ssize(cells); ++first) {
    PyObject* const cell = PyList_GET_ITEM(cells.ptr(), first);
    if (cell != Py_None && !(PyDict_CheckExact(cell) && check(cell))) break;
  }
  return first;
}

py::ssize_t check_settings(const py::list& cells, py::ssize_t first, int depth) {
  const SettingsCheck check(depth);
  return check_objects(cells, first, [&](PyObject* cell) { return check.object(cell, 0); });
}

py::ssize_t check_labels(const py::list& cells, py::ssize_t first) {
  const SettingsCheck check(0);
  return check_objects(cells, first, [&](PyObject* cell) { return check.labels(cell); });
}

}  // namespace

void register_json(py::module_& m) {
  m.def("scan_json", &scan, py::arg("text"), py::arg("longest_integer"), py::arg("most"),
        py::arg("known"),
        "(path, rule, first byte, bytes) of keys that stand twice, of NaN and the infinities, and "
        "of integers with more digits, in the order of the text; (key, first byte, bytes) of the "
        "outermost object's values (of known keys, and the first of others) if the text is JSON "
        "without these; the depth; (first byte, bytes) of numbers that are no integers and too "
        "large for doubles.");
  m.def("read_json_table", &json_table, py::arg("text"), py::arg("at"), py::arg("size"),
        py::arg("fields"), py::arg("most"), py::arg("counted"),
        "Rows, columns and (row, text) of rows that are no objects, of a list in valid JSON.");
  m.def("dicts_of", &dicts_of, py::arg("names"), py::arg("columns"),
        "One dict a row of lists of cells, without those that are None.");
  m.def("check_settings", &check_settings, py::arg("cells"), py::arg("first"), py::arg("depth"),
        "The first cell from there on that is neither None nor an object of plain data, or the "
        "number of cells; whole floats become integers in place.");
  m.def("check_labels", &check_labels, py::arg("cells"), py::arg("first"),
        "As check_settings, of objects of texts and numbers; nulls in them are taken out.");
}

}  // namespace evenhand::bindings
