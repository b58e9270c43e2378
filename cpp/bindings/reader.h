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

  template <class T>
  void read(const char* name, T& to) {
    if (const py::object value = take(name)) to = value.cast<T>();
  }
  template <class T>
  void read(const char* name, Column<T>& to) {
    if (const py::object value = take(name)) to = to_vector(value.cast<py::array_t<T>>());
  }
  template <class T>
  void read(const char* name, std::vector<T>& to) {
    if (const py::object value = take(name)) to = to_vector(value.cast<py::array_t<T>>());
  }
  template <class T>
  void read(const char* name, Beside<T>& to) {
    Column<T> cells;
    read(name, cells);
    to = std::move(cells);
  }
  // Lists of lists, of texts.
  template <class T>
  void read_object(const char* name, T& to) {
    if (const py::object value = take(name)) to = value.cast<T>();
  }
  template <class E>
  void read_enum(const char* name, Column<E>& to) {
    Column<std::underlying_type_t<E>> codes;
    read(name, codes);
    for (const auto code : codes) to.push_back(static_cast<E>(code));
  }
  template <class E>
  void read_enum(const char* name, Beside<E>& to) {
    Column<E> cells;
    read_enum(name, cells);
    to = std::move(cells);
  }
  void finish() const {
    for (const auto& item : values_)
      if (!read_.contains(item.first.cast<std::string>()))
        throw py::key_error("no such column or setting: " + item.first.cast<std::string>());
  }

 private:
  py::object take(const char* name) {
    read_[name] = true;
    return values_.contains(name) ? py::object(values_[name]) : py::object();
  }

  py::dict values_;  // a reference would outlive the temporary that some callers read
  std::map<std::string, bool> read_;
};

}  // namespace evenhand::bindings
