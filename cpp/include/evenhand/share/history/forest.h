// Rows that name their parent: the shape that associations, share trees and
// tenants have in common.
//
// Complexity: O(n) to build, O(n) to roll up. Sums run over children in row
// order, so a result depends on the rows alone.
#pragma once

#include <span>
#include <vector>

#include "evenhand/core/column.h"

namespace evenhand::history {

struct Forest {
  Column<Id> parent;    // kNoId: a child of the implicit root
  Column<Id> order;     // parents before children; rows in cycles are missing
  Column<Index> first;  // children of row v: child[first[v] .. first[v + 1])
  Column<Id> child;     // row n stands for the implicit root

  // Parents must be kNoId or a row; a cycle shows as order.size() < parent.size().
  explicit Forest(std::span<const Id> parents);

  Index size() const noexcept { return parent.rows(); }
  // Children of a row, or of the implicit root for kNoId.
  std::span<const Id> children(Id row) const noexcept {
    const Id v = row == kNoId ? parent.rows() : row;
    return slice(child, first[v], first[v + 1]);
  }
  // Own value + that of all descendants; a row with `total[row]` set already
  // holds its total and takes nothing from below (empty: no such row).
  Column<double> roll_up(std::span<const double> own,
                         std::span<const std::uint8_t> total = {}) const;
};

}  // namespace evenhand::history
