// Columns and settings out of a dict.
#pragma once

#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "arrays.h"
#include "evenhand/core/beside.h"
#include "pybind.h"

namespace evenhand::bindings {

// Reads the entries of a dict one by one; a name that is not read is an error.
class Reader {
 public:
  explicit Reader(const py::dict& values) : values_(values) {}

  // Of an enumeration the code.
  template <class T>
  void read(const char* name, T& to) {
    const py::object value = take(name);
    if (!value) return;
    if constexpr (std::is_enum_v<T>)
      to = static_cast<T>(value.cast<std::underlying_type_t<T>>());
    else
      to = value.cast<T>();
  }
  template <class T>
  void read(const char* name, Column<T>& to) {
    if (const py::object value = take(name)) to = cells<T>(value);
  }
  template <class T>
  void read(const char* name, std::vector<T>& to) {
    if (const py::object value = take(name)) to = cells<T>(value);
  }
  template <class T>
  void read(const char* name, Beside<T>& to) {
    Column<T> cells;
    read(name, cells);
    to = std::move(cells);
  }
  // Columns of rows that name them; but for those that were read before.
  template <class Rows>
  void read_each(Rows& rows) {
    Rows::each(
        [&](const char* name, auto& to) {
          if (!read_.contains(name)) read(name, to);
        },
        rows);
  }
  // What stands under a name; nothing if there is no such name.
  py::dict part(const char* name) {
    const py::object value = take(name);
    return value ? value.cast<py::dict>() : py::dict();
  }
  void finish() const {
    for (const auto& item : values_)
      if (!read_.contains(item.first.cast<std::string>()))
        throw py::key_error("no such column or setting: " + item.first.cast<std::string>());
  }

 private:
  template <class T>
  static Column<T> cells(const py::object& value) {
    if constexpr (std::is_enum_v<T>) {
      Column<T> out;
      for (const auto code : to_vector(value.cast<py::array_t<std::underlying_type_t<T>>>()))
        out.push_back(static_cast<T>(code));
      return out;
    } else if constexpr (std::is_arithmetic_v<T>) {
      return to_vector(value.cast<py::array_t<T>>());
    } else {
      return value.cast<Column<T>>();
    }
  }
  py::object take(const char* name) {
    read_[name] = true;
    return values_.contains(name) ? py::object(values_[name]) : py::object();
  }

  py::dict values_;  // a reference would outlive the temporary that some callers read
  std::map<std::string, bool> read_;
};

}  // namespace evenhand::bindings
