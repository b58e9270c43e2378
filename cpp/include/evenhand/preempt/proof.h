// How far a chosen set of victims is proved to cost least.
#pragma once

#include <algorithm>

#include "evenhand/core/column.h"

namespace evenhand {

// The highest cost of one candidate, so that sums of hundreds of thousands are exact. It may
// stand for more: with one that costs as much, nothing is proved of a set.
inline constexpr Index kMostCost = 10'000'000'000'000;

// How far a chosen set was proved to be the cheapest. Costs are numbers of victims unless
// victims have costs of their own.
struct SelectionProof {
  Index cost = 0;         // of the victims taken
  Index lower_bound = 0;  // no set that costs less covers the shortage
  Index root_bound = 0;   // the part of it that the multipliers alone prove
  bool proved = false;    // cost is the least
  bool first = false;     // and no set of that cost is before it in the order
  bool spent = false;     // the search ran out of its budget
  Index branches = 0;     // branch nodes looked at

  void doubt() noexcept {
    proved = first = false;
    lower_bound = std::min(lower_bound, cost - 1);
    root_bound = std::min(root_bound, lower_bound);
  }
};

}  // namespace evenhand
