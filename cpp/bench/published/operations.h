// What the published method does with its functions.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "piecewise.h"

namespace yardstick {

using Curve = Function<Vector>;
using Scalar = Function<double>;

// Largest double in [lo, hi] for which the predicate holds; it must hold at lo.
template <class Predicate>
double largest_where(double lo, double hi, Predicate holds) {
  if (holds(hi)) return hi;
  const auto rank = [](double x) {
    const auto bits = std::bit_cast<std::int64_t>(x);
    return bits < 0 ? std::int64_t{-0x7fffffffffffffff - 1} - bits : bits;
  };
  const auto number = [](std::int64_t n) {
    return std::bit_cast<double>(n < 0 ? std::int64_t{-0x7fffffffffffffff - 1} - n : n);
  };
  std::int64_t good = rank(lo);
  std::int64_t bad = rank(hi);
  while (bad - good > 1) {
    const std::int64_t middle = good + (bad - good) / 2;
    (holds(number(middle)) ? good : bad) = middle;
  }
  return number(good);
}

Curve sum(const std::vector<Curve>& functions);
Scalar component(const Curve& f, std::size_t resource);
Scalar transpose(const Scalar& f);
Scalar minimum(const Scalar& f, const Scalar& g);
Curve compose(const Curve& f, const Scalar& g);
Curve compress(const Curve& f, double epsilon);

}  // namespace yardstick
