// Fixed-width rows of doubles and their sums as pairs of doubles.
//
// A DoubleRow is an unevaluated sum hi + lo per lane: hi is the plain running sum,
// lo collects the rounding errors of every step (Neumaier, ZAMM 54, 1974), so that
// value() is the exact sum but for one rounding and errors of errors. Sums of share
// functions need it: slopes reach 5e15 over widths of 1e-26, and whether a value
// sits exactly on a limit decides who gets what. The error-free transformations
// are Knuth's two-sum and Dekker's product (Numer. Math. 18, 1971); they hold
// without fused multiply-add, so every compiler and machine computes the same bits.
#pragma once

#include <array>

namespace evenhand {

template <int R>
struct Row {
  std::array<double, R> v;

  double& operator[](int r) noexcept { return v[static_cast<unsigned>(r)]; }
  double operator[](int r) const noexcept { return v[static_cast<unsigned>(r)]; }
  friend bool operator==(const Row&, const Row&) = default;

  static constexpr Row filled(double x) noexcept {
    Row row{};
    for (double& y : row.v) y = x;
    return row;
  }
};

template <int R>
struct DoubleRow {
  Row<R> hi{};
  Row<R> lo{};

  double value(int r) const noexcept { return hi[r] + lo[r]; }

  void add(const Row<R>& x) noexcept {
    for (int r = 0; r < R; ++r) {
      const double s = hi[r] + x[r];
      const double b = s - hi[r];
      lo[r] += (hi[r] - (s - b)) + (x[r] - b);
      hi[r] = s;
    }
  }

  void subtract(const Row<R>& x) noexcept {
    for (int r = 0; r < R; ++r) {
      const double s = hi[r] - x[r];
      const double b = s - hi[r];
      lo[r] += (hi[r] - (s - b)) - (x[r] + b);
      hi[r] = s;
    }
  }

  // this += slope * width, the rounding error of the product included.
  void add_product(const DoubleRow& slope, double width) noexcept {
    constexpr double kSplit = 134217729.0;  // 2^27 + 1
    const double wc = kSplit * width;
    const double wh = wc - (wc - width);
    const double wl = width - wh;
    for (int r = 0; r < R; ++r) {
      const double k = slope.hi[r];
      const double p = k * width;
      const double kc = kSplit * k;
      const double kh = kc - (kc - k);
      const double kl = k - kh;
      const double product_error = ((kh * wh - p) + kh * wl + kl * wh) + kl * wl;
      const double s = hi[r] + p;
      const double b = s - hi[r];
      lo[r] += ((hi[r] - (s - b)) + (p - b)) + (product_error + slope.lo[r] * width);
      hi[r] = s;
    }
  }
};

}  // namespace evenhand
