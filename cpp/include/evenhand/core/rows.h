// Fixed-width rows of doubles and their sums as pairs of doubles.
//
// A Row holds R lanes two by two, as the vectors that every 64-bit processor has;
// an odd R leaves one lane of padding, which stays 0. Lane-wise operations are
// those of IEEE 754, so every compiler and machine computes the same bits.
//
// A DoubleRow is an unevaluated sum hi + lo per lane: hi is the plain running sum,
// lo collects the rounding errors of every step (Neumaier, ZAMM 54, 1974), so that
// value() is the exact sum but for one rounding and errors of errors. Sums of share
// functions need it: slopes reach 5e15 over widths of 1e-26, and whether a value
// sits exactly on a limit decides who gets what. The error-free transformations
// are Knuth's two-sum and Dekker's product (Numer. Math. 18, 1971), which hold
// without fused multiply-add.
#pragma once

namespace evenhand {

using Pair = double __attribute__((vector_size(16)));

inline Pair pair_of(double x) noexcept { return Pair{x, x}; }
inline Pair larger(Pair a, Pair b) noexcept { return a < b ? b : a; }
inline Pair smaller(Pair a, Pair b) noexcept { return b < a ? b : a; }

template <int R>
struct Row {
  static constexpr int kPairs = (R + 1) / 2;

  Pair pairs[static_cast<unsigned>(kPairs)];

  double operator[](int r) const noexcept { return pairs[r / 2][r % 2]; }
  void set(int r, double x) noexcept { pairs[r / 2][r % 2] = x; }

  friend bool operator==(const Row& a, const Row& b) noexcept {
    auto same = a.pairs[0] == b.pairs[0];
    for (int i = 1; i < kPairs; ++i) same &= a.pairs[i] == b.pairs[i];
    return (same[0] & same[1]) != 0;
  }

  // Whether some lane of a is above that of b.
  friend bool any_above(const Row& a, const Row& b) noexcept {
    auto above = a.pairs[0] > b.pairs[0];
    for (int i = 1; i < kPairs; ++i) above |= a.pairs[i] > b.pairs[i];
    return (above[0] | above[1]) != 0;
  }

  template <class F>
  static Row each(F&& of) noexcept {
    Row out;
    for (int i = 0; i < kPairs; ++i) out.pairs[i] = of(i);
    return out;
  }
  friend Row operator+(const Row& a, const Row& b) noexcept {
    return each([&](int i) { return a.pairs[i] + b.pairs[i]; });
  }
  friend Row operator-(const Row& a, const Row& b) noexcept {
    return each([&](int i) { return a.pairs[i] - b.pairs[i]; });
  }
  friend Row operator*(const Row& a, double x) noexcept {
    return each([&](int i) { return a.pairs[i] * pair_of(x); });
  }
  friend Row operator/(const Row& a, double x) noexcept {
    return each([&](int i) { return a.pairs[i] / pair_of(x); });
  }
  friend Row larger(const Row& a, const Row& b) noexcept {
    return each([&](int i) { return larger(a.pairs[i], b.pairs[i]); });
  }
  friend Row smaller(const Row& a, const Row& b) noexcept {
    return each([&](int i) { return smaller(a.pairs[i], b.pairs[i]); });
  }

  static Row filled(double x) noexcept {
    Row out{};
    for (int r = 0; r < R; ++r) out.set(r, x);
    return out;
  }
  // The largest lane, at least 0.
  double largest() const noexcept {
    Pair most = larger(pairs[0], Pair{});
    for (int i = 1; i < kPairs; ++i) most = larger(most, pairs[i]);
    return most[0] < most[1] ? most[1] : most[0];
  }
};

// from + (to - from) t, exact at both ends.
template <int R>
Row<R> between(const Row<R>& from, const Row<R>& to, double t) noexcept {
  return t < 0.5 ? from + (to - from) * t : to - (to - from) * (1 - t);
}

template <int R>
struct DoubleRow {
  Row<R> hi{};
  Row<R> lo{};

  Row<R> value() const noexcept { return hi + lo; }

  void add(const Row<R>& x) noexcept {
    for (int i = 0; i < Row<R>::kPairs; ++i) {
      const Pair s = hi.pairs[i] + x.pairs[i];
      const Pair b = s - hi.pairs[i];
      lo.pairs[i] += (hi.pairs[i] - (s - b)) + (x.pairs[i] - b);
      hi.pairs[i] = s;
    }
  }

  void subtract(const Row<R>& x) noexcept {
    for (int i = 0; i < Row<R>::kPairs; ++i) {
      const Pair s = hi.pairs[i] - x.pairs[i];
      const Pair b = s - hi.pairs[i];
      lo.pairs[i] += (hi.pairs[i] - (s - b)) - (x.pairs[i] + b);
      hi.pairs[i] = s;
    }
  }

  // this += slope * width, the rounding error of the product included.
  void add_product(const DoubleRow& slope, double width) noexcept {
    constexpr double kSplit = 134217729.0;  // 2^27 + 1
    const double wc = kSplit * width;
    const double high = wc - (wc - width);
    const Pair w = pair_of(width), wh = pair_of(high), wl = pair_of(width - high);
    for (int i = 0; i < Row<R>::kPairs; ++i) {
      const Pair k = slope.hi.pairs[i];
      const Pair p = k * w;
      const Pair kc = pair_of(kSplit) * k;
      const Pair kh = kc - (kc - k);
      const Pair kl = k - kh;
      const Pair product_error = ((kh * wh - p) + kh * wl + kl * wh) + kl * wl;
      const Pair s = hi.pairs[i] + p;
      const Pair b = s - hi.pairs[i];
      lo.pairs[i] += ((hi.pairs[i] - (s - b)) + (p - b)) + (product_error + slope.lo.pairs[i] * w);
      hi.pairs[i] = s;
    }
  }
};

}  // namespace evenhand
