// Fixed-width rows of doubles and their sums as pairs of doubles.
//
// A Row holds R lanes in an Eigen array of even length, the width of the vectors that every
// 64-bit processor has; an odd R beyond 1 leaves one lane of padding, which stays 0. Lane-wise
// operations are those of IEEE 754, so every compiler and machine computes the same bits. The
// only reductions are the largest lane and "any", which have no order.
//
// A DoubleRow is an unevaluated sum hi + lo per lane: hi is the plain running sum,
// lo collects the rounding errors of every step (Neumaier, ZAMM 54, 1974), so that
// value() is the exact sum but for one rounding and errors of errors. Sums of share
// functions need it: slopes reach 5e15 over widths of 1e-26, and whether a value
// sits exactly on a limit decides what each gets. The error-free transformations
// are Knuth's two-sum and Dekker's product (Numer. Math. 18, 1971), which hold
// without fused multiply-add.
#pragma once

#include <Eigen/Core>

namespace evenhand {

template <int R>
using Row = Eigen::Array<double, R == 1 ? 1 : R + R % 2, 1>;

template <int R>
Row<R> filled_row(double x) noexcept {
  Row<R> out = Row<R>::Zero();
  out.template head<R>().setConstant(x);
  return out;
}

// The largest lane, at least 0.
template <class Lanes>
[[gnu::always_inline]] inline double largest(const Eigen::ArrayBase<Lanes>& row) noexcept {
  return row.max(0.0).maxCoeff();
}

// Whether some lane of a is above that of b, which is not infinite where a is. The sign of a
// difference is exact.
template <class Lanes>
[[gnu::always_inline]] inline bool any_above(const Lanes& a, const Lanes& b) noexcept {
  return largest(a - b) > 0;
}

// from + (to - from) t, exact at both ends.
template <class Lanes>
Lanes between(const Lanes& from, const Lanes& to, double t) noexcept {
  if (t < 0.5) return from + (to - from) * t;
  return to - (to - from) * (1 - t);
}

// Two lanes by two, so that all that a step needs stays in registers whatever R is.
template <int R>
class DoubleRow {
 public:
  Row<R> value() const noexcept { return hi_ + lo_; }
  // Raises each lane of a row to the value.
  void raise(Row<R>& row) const noexcept {
    for (int r = 0; r < R; r += kLanes) {
      auto lanes = row.template segment<kLanes>(r);
      lanes = lanes.max(two(hi_, r) + two(lo_, r));
    }
  }

  void add(const Row<R>& x) noexcept {
    each([&](auto&& hi, auto&& lo, int r) { add(hi, lo, two(x, r), Two::Zero()); });
  }
  void subtract(const Row<R>& x) noexcept {
    each([&](auto&& hi, auto&& lo, int r) { add(hi, lo, -two(x, r), Two::Zero()); });
  }

  // this += slope * width, the rounding error of the product included.
  void add_product(const DoubleRow& slope, double width) noexcept {
    constexpr double kSplit = 134217729.0;  // 2^27 + 1
    const double wc = kSplit * width;
    const double wh = wc - (wc - width), wl = width - wh;
    each([&](auto&& hi, auto&& lo, int r) {
      const Two k = two(slope.hi_, r), p = k * width, kc = kSplit * k;
      const Two kh = kc - (kc - k), kl = k - kh;
      const Two error = ((kh * wh - p) + kh * wl + kl * wh) + kl * wl;
      add(hi, lo, p, error + two(slope.lo_, r) * width);
    });
  }

 private:
  static constexpr int kLanes = R == 1 ? 1 : 2;
  using Two = Eigen::Array<double, kLanes, 1>;

  static Two two(const Row<R>& row, int r) noexcept { return row.template segment<kLanes>(r); }
  template <class F>
  [[gnu::always_inline]] void each(F&& act) noexcept {
    for (int r = 0; r < R; r += kLanes)
      act(hi_.template segment<kLanes>(r), lo_.template segment<kLanes>(r), r);
  }
  template <class Part>
  [[gnu::always_inline]] static void add(Part& hi, Part& lo, const Two& x,
                                         const Two& beside) noexcept {
    const Two s = hi + x, b = s - hi;
    lo += ((hi - (s - b)) + (x - b)) + beside;
    hi = s;
  }

  Row<R> hi_ = Row<R>::Zero(), lo_ = Row<R>::Zero();
};

}  // namespace evenhand
