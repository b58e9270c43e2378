// The relation by which fair share and usage are compared everywhere.
// Source: YTsaurus, "strictly dominates in non-blocked resources".
#pragma once

#include <cstddef>

namespace evenhand {

// Shares that differ by no more are equal.
inline constexpr double kShareTolerance = 1e-9;

// Resources whose fair share is below the demand are open, the others blocked.
// x is clearly above y if it is above in every open resource, or, with none open,
// in some resource. All comparisons are strict, beyond the tolerance. It is no order: never sort by
// it.
template <class X, class Y>
bool clearly_above(const double* fair, const double* demand, std::size_t width, X&& x, Y&& y) {
  bool any_open = false, some_above = false;
  for (std::size_t r = 0; r < width; ++r) {
    const bool above = x(r) > y(r) + kShareTolerance;
    some_above |= above;
    if (fair[r] < demand[r] - kShareTolerance) {
      any_open = true;
      if (!above) return false;
    }
  }
  return any_open || some_above;
}

}  // namespace evenhand
