// Places on the curves of pools, as the walk down finds them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "evenhand/core/column.h"
#include "evenhand/share/curve_builder.h"

namespace evenhand {

// A point of a curve: vertex k, or the part t of the way from k to k + 1.
struct CurvePoint {
  std::size_t k;
  double t;
};

// The place at fit factor `at` of a curve with vertices at `f`; on a vertical its
// first point, or its last one if the element has jumped. O(log n).
[[gnu::always_inline]] inline CurvePoint locate(std::span<const double> f, double at, bool jumped) {
  constexpr std::size_t kFew = 16;
  const std::size_t n = f.size();
  std::size_t next = 0;  // first vertex beyond
  if (n <= kFew)
    while (next < n && f[next] <= at) ++next;
  else
    next = static_cast<std::size_t>(std::ranges::upper_bound(f, at) - f.begin());
  if (next == 0) return {0, 0};
  std::size_t k = next - 1;
  if (f[k] == at) {
    if (!jumped)
      while (k > 0 && f[k - 1] == at) --k;
    return {k, 0};
  }
  if (next == n) return {k, 0};
  return {k, (at - f[k]) / (f[next] - f[k])};
}

// Positions at the vertices of a curve; most curves have no jumps to tell apart.
class Positions {
 public:
  template <int R>
  void assign(std::span<const Vertex<R>> curve) {
    const std::size_t n = curve.size();
    f_.resize(n);
    bool jumps = false;
    for (std::size_t k = 0; k < n; ++k) {
      f_[k] = curve[k].at.f;
      jumps |= curve[k].at.jumped != 0;
    }
    jumped_.clear();
    if (!jumps) return;
    jumped_.resize(n);
    for (std::size_t k = 0; k < n; ++k) jumped_[k] = curve[k].at.jumped;
  }

  Position first() const noexcept { return vertex(0); }
  Position last() const noexcept { return vertex(f_.size() - 1); }
  Position at(CurvePoint place) const noexcept {
    const Position from = vertex(place.k);
    if (place.t == 0) return from;
    const Position to = vertex(place.k + 1);
    const double f = from.f + (to.f - from.f) * place.t;
    return {f, f == from.f ? from.jumped : to.jumped};
  }

 private:
  Position vertex(std::size_t k) const noexcept {
    return {f_[k], jumped_.empty() ? 0 : jumped_[k]};
  }

  Column<double> f_;
  Column<std::int32_t> jumped_;
};

}  // namespace evenhand
