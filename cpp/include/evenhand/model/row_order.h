// The canonical order of a table's rows: by (order, name as UTF-8 bytes).
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "evenhand/core/column.h"
#include "evenhand/model/raw.h"

namespace evenhand {

// Which row of the input a canonical row comes from. The identity, the common
// case of a table that is already sorted, stores nothing.
class RowOrder {
 public:
  RowOrder() = default;
  explicit RowOrder(std::size_t size) : size_(size) {}
  explicit RowOrder(Column<Id> source) : size_(source.size()), source_(std::move(source)) {}

  std::size_t size() const noexcept { return size_; }
  bool is_identity() const noexcept { return source_.empty(); }
  std::size_t input(std::size_t row) const noexcept {
    return source_.empty() ? row : at(source_[row]);
  }
  // Input row -> canonical row; empty for the identity.
  Column<Id> canonical() const;
  const Column<Id>& source() const noexcept { return source_; }

 private:
  std::size_t size_ = 0;
  Column<Id> source_;
};

struct Duplicate {
  Id row, first;  // input rows with the same name; first is the smaller one
};

// Sorts names by their bytes. O(n) for sorted names; else one radix sort over
// the eight bytes after the common prefix, and comparisons only inside runs
// that agree in these. Equal names stay in input order and are reported.
RowOrder sorted_by_name(const raw::Strings& names, std::vector<Duplicate>& duplicates);

// Sorts rows further by `keys` (one an input row, NaN last), equal keys
// staying as they are. O(n), about eight passes where the keys are unsorted.
RowOrder sorted_by_key(RowOrder rows, std::span<const double> keys);

// Strict weak order of `order` values: NaN (none given) after every number.
inline bool order_less(double a, double b) noexcept { return a < b || (a == a && b != b); }

}  // namespace evenhand
