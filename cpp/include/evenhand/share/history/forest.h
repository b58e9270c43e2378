// Rows that name their parent: the shape that associations, share trees and
// tenants have in common.
//
// Complexity: O(n) to build, O(n) to roll up. Sums run over children in row
// order, so a result depends on the rows alone.
#pragma once

#include <span>
#include <vector>

#include "evenhand/core/types.h"

namespace evenhand::history {

struct Forest {
  std::vector<Id> parent;    // kNoId: a child of the implicit root
  std::vector<Id> order;     // parents before children; rows in cycles are missing
  std::vector<Index> first;  // children of row v: child[first[v] .. first[v + 1])
  std::vector<Id> child;     // row n stands for the implicit root

  // Parents must be kNoId or a row; a cycle shows as order.size() < parent.size().
  explicit Forest(std::span<const Id> parents);

  Index size() const noexcept { return static_cast<Index>(parent.size()); }
  // Children of a row, or of the implicit root for kNoId.
  std::span<const Id> children(Id row) const noexcept {
    const auto v = row == kNoId ? parent.size() : static_cast<std::size_t>(row);
    return std::span(child).subspan(static_cast<std::size_t>(first[v]),
                                    static_cast<std::size_t>(first[v + 1] - first[v]));
  }
  // Own value + that of all descendants; a row with `total[row]` set already
  // holds its total and takes nothing from below (empty: no such row).
  std::vector<double> roll_up(std::span<const double> own,
                              std::span<const std::uint8_t> total = {}) const;
};

}  // namespace evenhand::history
