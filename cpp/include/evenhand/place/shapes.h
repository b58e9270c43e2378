// Requests of equal amounts fit alike: they are compared once, not once each.
//
// Source: YTsaurus compares whole vectors: a request fits only if there is room in every
// resource, also in those that it does not take, so nothing starts where more is used than
// there is. What is counted for the whole cluster is no part of a node: it matters to those
// requests only that take it.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "evenhand/model/tables.h"

namespace evenhand {

// Below every room; what is missing to it is never positive.
inline constexpr Amount kAnyRoom = -4 * kMaxAmount;

class Shapes {
 public:
  Shapes() = default;
  // scope: of each resource, R.
  Shapes(const RequestColumns& requests, std::span<const ResourceScope> scope);  // O(n log n)

  // A request that came later, or has other amounts now (R). Shapes that no request has any
  // more stay. O(log n), but for the first one.
  void set(Id request, const Amount* amounts, std::span<const ResourceScope> scope);

  std::size_t size() const noexcept { return width_ == 0 ? 0 : amounts_.size() / width_; }
  Id of(Id request) const noexcept { return of_[request]; }
  const Amount* amounts(Id shape) const noexcept { return amounts_.row(shape, width_); }
  // The least room that such a request fits into, R: its amounts, and kAnyRoom where even
  // a negative one does.
  const Amount* least_room(Id shape) const noexcept { return least_room_.row(shape, width_); }
  bool fits(Id shape, const Amount* room) const noexcept {
    const Amount* least = least_room(shape);
    for (std::size_t r = 0; r < width_; ++r)
      if (least[r] > room[r]) return false;
    return true;
  }

 private:
  std::size_t width_ = 0;
  Column<Id> of_;
  Column<Amount> amounts_, least_room_;
  std::map<Column<Amount>, Id> known_;  // once a request came later
};

}  // namespace evenhand
