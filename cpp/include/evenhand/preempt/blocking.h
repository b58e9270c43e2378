// Conditional preemption, a rule of older revisions: an element that starves or is
// badly served shields what runs in it, but for candidates inside it if it is a pool.
// Source: YTsaurus before 25.4, blocking ancestors of preemptible allocations.
#pragma once

#include <span>

#include "evenhand/core/types.h"

namespace evenhand {

// Slack of the comparison of a satisfaction with a threshold.
inline constexpr double kServed = 1e-4;

// The first element from this one upwards that starves, or whose own satisfaction is
// below the threshold; kNoId: none. The root shields nothing. starving and
// satisfaction are asked for elements, parent gives kNoId for the root.
template <class Parent, class Starving, class Satisfaction>
Id blocking_element(Id element, Parent&& parent, Starving&& starving, Satisfaction&& satisfaction,
                    double threshold) {
  for (Id e = element; parent(e) != kNoId; e = parent(e))
    if (starving(e) || satisfaction(e) < threshold + kServed) return e;
  return kNoId;
}

// Whether an element stands in a pool.
template <class Parent>
bool stands_in(Id element, Id pool, Parent&& parent) {
  for (Id e = parent(element); e != kNoId; e = parent(e))
    if (e == pool) return true;
  return false;
}

}  // namespace evenhand
