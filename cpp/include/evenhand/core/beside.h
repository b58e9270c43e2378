// Cells beside the rows of a table that come and go: what rows set, and what policies remember
// of them.
//
// The default stands with the column, once. A column is only as long as it must be: a row that it
// does not reach has the default, so that a row that comes needs no cell, and one that is put
// again without a value is as one that came.
#pragma once

#include <algorithm>
#include <span>
#include <utility>

#include "evenhand/core/column.h"

namespace evenhand {

// What a row has of which nothing was said.
template <class T>
struct Absent {
  T value;
};
template <class T>
Absent(T) -> Absent<T>;

template <class T>
class Beside {
 public:
  Beside(Absent<T> absent) : absent_(std::move(absent.value)) {}
  Beside& operator=(Column<T> cells) {
    cells_ = std::move(cells);
    return *this;
  }

  bool empty() const noexcept { return cells_.empty(); }  // every row has the default
  std::size_t size() const noexcept { return cells_.size(); }
  const T& operator[](Countable auto row) const noexcept {
    return at(row) < cells_.size() ? cells_[row] : absent_;
  }
  // The cells of a row where each has so many; nullptr: they are absent.
  const T* row(Countable auto row, std::size_t width) const noexcept {
    return (at(row) + 1) * width <= cells_.size() ? cells_.row(row, width) : nullptr;
  }
  // Of so many rows.
  Column<T> column(std::size_t rows) const {
    Column<T> out = cells_;
    out.resize(rows, absent_);
    return out;
  }

  void set(Id row, const T& value) { put(row, &value, 1); }
  // Gives rows the cells of `from`, which has those of each in this order, or none: the default.
  // `before`: rows of this column that stand before those of the table.
  void put(std::span<const Id> rows, const Beside& from, Index before = 0, std::size_t width = 1) {
    for (std::size_t i = 0; i < rows.size(); ++i) put(before + rows[i], from.row(i, width), width);
  }
  // A row takes the place of another one, whose cell it gets; kNoId: of none.
  void come(Id row, Id instead_of) {
    const T value = instead_of == kNoId ? absent_ : (*this)[instead_of];
    set(row, value);
  }
  void push_back(const T& value) { cells_.push_back(value); }
  void clear() noexcept { cells_.clear(); }
  friend bool operator==(const Beside&, const Beside&) = default;

 private:
  void put(Index row, const T* cells, std::size_t width) {
    const std::size_t end = (at(row) + 1) * width;
    if (end > cells_.size()) {
      const auto absent = [&](const T& cell) { return same(cell, absent_); };
      if (cells == nullptr || std::all_of(cells, cells + width, absent)) return;
      cells_.resize(end, absent_);
    }
    T* to = cells_.row(row, width);
    if (cells == nullptr)
      std::fill_n(to, width, absent_);
    else
      std::copy_n(cells, width, to);
  }
  static bool same(const T& a, const T& b) noexcept {
    return a == b || (a != a && b != b);  // no number is no number
  }

  Column<T> cells_;
  T absent_;
};

}  // namespace evenhand
