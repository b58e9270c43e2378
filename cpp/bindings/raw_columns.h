// Raw columns from Python: dicts of NumPy arrays, lists and Arrow pairs.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "evenhand/model/raw.h"
#include "pybind.h"

namespace evenhand::bindings {

// Seconds (a float) or microseconds (an int).
raw::Instant read_instant(py::handle value, const char* field);

// Borrows the arrays of `head` and `tables` and keeps them alive. What is not of
// the agreed form (a column that does not exist, a wrong dtype or number of
// dimensions) is a TypeError that names table and column; what the values say
// is for build() to judge.
class RawColumns {
 public:
  RawColumns(const py::dict& head, const py::dict& tables, const std::string& rounding);
  RawColumns(const RawColumns&) = delete;
  RawColumns& operator=(const RawColumns&) = delete;

  const raw::Input& input() const noexcept { return input_; }

 private:
  friend class ColumnReader;

  void read_head(const py::dict& head);

  raw::Input input_;
  std::vector<py::object> kept_;
  std::deque<py::buffer_info> buffers_;
  std::deque<std::vector<std::int64_t>> offsets_;
  std::deque<std::vector<std::uint8_t>> flags_;
  std::deque<std::string> texts_;
};

}  // namespace evenhand::bindings
