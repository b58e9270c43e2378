// The largest double in [lo, hi] for which a monotone predicate holds.
//
// Bisection over the order-preserving integer image of the doubles: at most 65
// calls of the predicate, and the answer is exact: the next double fails. A sum
// scaled by such a factor is feasible in floating point, not only in theory.
// If the predicate fails at lo as well, lo is the answer: callers sum rounded
// numbers and may be one unit in the last place over. Source: YTsaurus fair
// share, "exact search".
#pragma once

#include <bit>
#include <cstdint>

#include "evenhand/core/poll.h"

namespace evenhand {

template <class Predicate>
double largest_satisfying(double lo, double hi, Predicate&& holds) {
  if (holds(hi)) return hi;
  // Both ends are non-negative here, where the bit patterns are in order.
  auto good = std::bit_cast<std::uint64_t>(lo);
  auto bad = std::bit_cast<std::uint64_t>(hi);
  while (bad - good > 1) {
    poll();
    const std::uint64_t middle = good + (bad - good) / 2;
    (holds(std::bit_cast<double>(middle)) ? good : bad) = middle;
  }
  return std::bit_cast<double>(good);
}

}  // namespace evenhand
