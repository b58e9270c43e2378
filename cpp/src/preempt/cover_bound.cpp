#include "evenhand/preempt/cover_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace evenhand {
namespace {

using Size = std::size_t;
constexpr double kFeasible = 1e-9;  // of a basic variable
constexpr double kPivot = 1e-9;
// Costs a little below the true ones, no two alike, keep the steps from going in circles;
// what bounds their sum bounds the cost.
constexpr double kSpread = 1e-7;
constexpr double kUlp = std::numeric_limits<double>::epsilon();

}  // namespace

void CoverBound::set(std::span<const Amount> amounts, std::span<const Amount> need,
                     std::span<const double> most, std::span<const Index> cost) {
  rows_ = need.size();
  shapes_ = most.size();
  scale_.resize(rows_);
  a_.resize(rows_ * shapes_);
  total_.assign(rows_, 0);
  count_ = 0;
  for (Size r = 0; r < rows_; ++r) {
    scale_[r] = 1 / static_cast<double>(need[r]);
    for (Size j = 0; j < shapes_; ++j) {
      const double a = static_cast<double>(amounts[j * rows_ + r]) * scale_[r];
      a_[r * shapes_ + j] = a;
      total_[r] += a * most[j];
    }
  }
  for (Size j = 0; j < shapes_; ++j) count_ += most[j] * static_cast<double>(cost[j]);
  y_.assign(rows_, 0);
  rest_.assign(rows_, 0);
  basic_x_.assign(rows_, 0);
  rho_.assign(rows_, 0);
  column_.assign(rows_, 0);
  reduced_.assign(shapes_, 1);
  cost_.resize(shapes_);
  std::uint32_t mixed = 1;
  for (Size j = 0; j < shapes_; ++j) {
    mixed = mixed * 1664525U + 1013904223U;
    cost_[j] = static_cast<double>(cost[j]) - kSpread * (static_cast<double>(mixed >> 8) * 0x1p-24);
  }
  x_.assign(shapes_, 0);
  alpha_.assign(shapes_, 0);
  basic_.assign(shapes_, 0);
  surplus_basis();
}

void CoverBound::surplus_basis() {
  basis_.resize(rows_);
  for (Size r = 0; r < rows_; ++r) basis_[r] = static_cast<Id>(shapes_ + r);
  std::ranges::fill(basic_, 0);
  inverse_.assign(rows_ * rows_, 0);
  for (Size r = 0; r < rows_; ++r) inverse(r)[r] = -1;
}

void CoverBound::restore(std::span<const Id> basis) {
  if (std::ranges::equal(basis, basis_)) return;
  std::ranges::copy(basis, basis_.begin());
  factor();
}

// Gauss and Jordan with the largest pivot of each column.
void CoverBound::factor() {
  const Size n = rows_;
  std::ranges::fill(basic_, 0);
  work_.assign(n * 2 * n, 0);
  const auto at = [&](Size i, Size j) -> double& { return work_[i * 2 * n + j]; };
  for (Size p = 0; p < n; ++p) {
    const auto b = static_cast<Size>(basis_[p]);
    if (b < shapes_) basic_[b] = 1;
    for (Size r = 0; r < n; ++r)
      at(r, p) = b < shapes_ ? a_[r * shapes_ + b] : (b - shapes_ == r ? -1.0 : 0.0);
    at(p, n + p) = 1;
  }
  for (Size p = 0; p < n; ++p) {
    Size best = p;
    for (Size r = p + 1; r < n; ++r)
      if (std::abs(at(r, p)) > std::abs(at(best, p))) best = r;
    if (std::abs(at(best, p)) < 1e-14) return surplus_basis();
    if (best != p)
      for (Size j = 0; j < 2 * n; ++j) std::swap(at(p, j), at(best, j));
    const double inverse_pivot = 1 / at(p, p);
    for (Size j = 0; j < 2 * n; ++j) at(p, j) *= inverse_pivot;
    for (Size r = 0; r < n; ++r) {
      const double factor = r == p ? 0 : at(r, p);
      if (factor == 0) continue;
      for (Size j = 0; j < 2 * n; ++j) at(r, j) -= factor * at(p, j);
    }
  }
  for (Size p = 0; p < n; ++p) std::copy_n(work_.data() + p * 2 * n + n, n, inverse(p));
}

// Multipliers and reduced costs of the basis, the point of the nonbasic variables, and the
// bound that the multipliers give.
void CoverBound::price(std::span<const double> low, std::span<const double> high) {
  std::ranges::fill(y_, 0.0);
  for (Size p = 0; p < rows_; ++p)
    if (static_cast<Size>(basis_[p]) < shapes_)
      for (Size r = 0; r < rows_; ++r) y_[r] += cost_[static_cast<Size>(basis_[p])] * inverse(p)[r];
  std::ranges::copy(cost_, reduced_.begin());
  double size = count_;
  value_ = 0;
  for (Size r = 0; r < rows_; ++r) {
    y_[r] = std::max(y_[r], 0.0);
    value_ += y_[r];
    size += y_[r] * (1 + total_[r]);
    if (y_[r] == 0) continue;
    const double* a = a_.data() + r * shapes_;
    for (Size j = 0; j < shapes_; ++j) reduced_[j] -= y_[r] * a[j];
  }
  double part[4] = {};
  for (Size j = 0; j < shapes_; ++j) {
    x_[j] = reduced_[j] < 0 ? high[j] : low[j];
    part[j % 4] += reduced_[j] * x_[j];
  }
  value_ += part[0] + part[1] + part[2] + part[3];
  margin_ = 2 * kUlp * static_cast<double>(shapes_ + 4 * rows_ + 8) * size;
  for (Size r = 0; r < rows_; ++r) rest_[r] = 1;
  for (Size p = 0; p < rows_; ++p)
    if (static_cast<Size>(basis_[p]) < shapes_) x_[static_cast<Size>(basis_[p])] = 0;
  for (Size r = 0; r < rows_; ++r) {
    const double* a = a_.data() + r * shapes_;
    double sum[4] = {};
    for (Size j = 0; j < shapes_; ++j) sum[j % 4] += a[j] * x_[j];
    rest_[r] -= sum[0] + sum[1] + sum[2] + sum[3];
  }
}

// Values of the basic variables; false: one is out of its range, by the most in `row`.
bool CoverBound::settle(std::span<const double> low, std::span<const double> high, Size& row) {
  gap_ = kFeasible;
  bool inside = true;
  for (Size p = 0; p < rows_; ++p) {
    double value = 0;
    for (Size r = 0; r < rows_; ++r) value += inverse(p)[r] * rest_[r];
    basic_x_[p] = value;
    const auto b = static_cast<Size>(basis_[p]);
    const double below = (b < shapes_ ? low[b] : 0) - value;
    const double above = b < shapes_ ? value - high[b] : -1;
    if (std::max(below, above) <= gap_) continue;
    inside = false;
    gap_ = std::max(below, above);
    above_ = above > below;
    row = p;
  }
  for (Size p = 0; p < rows_; ++p)
    if (const auto b = static_cast<Size>(basis_[p]); b < shapes_)
      x_[b] = std::clamp(basic_x_[p], low[b], high[b]);
  return inside;
}

// The variable of a row leaves the basis; false: nothing can take its place.
bool CoverBound::pivot(std::span<const double> low, std::span<const double> high, Size row) {
  std::copy_n(inverse(row), rows_, rho_.begin());
  const double sign = above_ ? -1 : 1;
  std::ranges::fill(alpha_, 0.0);
  for (Size r = 0; r < rows_; ++r) {
    const double weight = sign * rho_[r];
    if (weight == 0) continue;
    const double* a = a_.data() + r * shapes_;
    for (Size j = 0; j < shapes_; ++j) alpha_[j] += weight * a[j];
  }
  able_.clear();
  for (Size j = 0; j < shapes_; ++j)
    if (!basic_[j] && low[j] < high[j] &&
        (reduced_[j] < 0 ? alpha_[j] > kPivot : alpha_[j] < -kPivot))
      able_.push_back(static_cast<Id>(j));
  for (Size r = 0; r < rows_; ++r)  // a surplus has the column -1 and no end
    if (sign * rho_[r] > kPivot &&
        std::ranges::find(basis_, static_cast<Id>(shapes_ + r)) == basis_.end())
      able_.push_back(static_cast<Id>(shapes_ + r));
  const auto slope = [&](Id v) {
    const auto j = static_cast<Size>(v);
    return std::abs(j < shapes_ ? alpha_[j] : rho_[j - shapes_]);
  };
  const auto ratio = [&](Id v) {
    const auto j = static_cast<Size>(v);
    return std::abs(j < shapes_ ? reduced_[j] : y_[j - shapes_]) / slope(v);
  };
  // Those with the smallest ratio change ends, until the next one has to stop the step.
  double left = gap_;
  while (!able_.empty()) {
    Size best = 0;
    double least = ratio(able_[0]), steep = slope(able_[0]);
    for (Size i = 1; i < able_.size(); ++i) {
      const double here = ratio(able_[i]), as = slope(able_[i]);
      if (here < least || (here == least && as > steep)) {
        best = i;
        least = here;
        steep = as;
      }
    }
    const auto q = static_cast<Size>(able_[best]);
    if (q < shapes_) left -= steep * (high[q] - low[q]);
    if (q >= shapes_ || left <= kFeasible) {
      for (Size p = 0; p < rows_; ++p) {
        double value = 0;
        if (q < shapes_)
          for (Size r = 0; r < rows_; ++r) value += inverse(p)[r] * a_[r * shapes_ + q];
        else
          value = -inverse(p)[q - shapes_];
        column_[p] = value;
      }
      if (std::abs(column_[row]) < kPivot) return false;
      const double by = 1 / column_[row];
      for (Size r = 0; r < rows_; ++r) inverse(row)[r] *= by;
      for (Size p = 0; p < rows_; ++p)
        if (p != row)
          for (Size r = 0; r < rows_; ++r) inverse(p)[r] -= column_[p] * inverse(row)[r];
      if (const auto b = static_cast<Size>(basis_[row]); b < shapes_) basic_[b] = 0;
      if (q < shapes_) basic_[q] = 1;
      basis_[row] = static_cast<Id>(q);
      return true;
    }
    able_[best] = able_.back();
    able_.pop_back();
  }
  return false;
}

bool CoverBound::within(std::span<const double> low, std::span<const double> high, double target) {
  const Size patience = 50 + 10 * rows_ + shapes_;
  Size row = 0;
  for (Size step = 0;; ++step) {
    if (step % 32 == 31) factor();
    price(low, high);
    if (value_ - margin_ > target) return false;
    if (settle(low, high, row)) return true;
    // Where rounding leaves no way on, the bound so far is valid and x a guess.
    if (step >= patience || !pivot(low, high, row)) return true;
  }
}

}  // namespace evenhand
