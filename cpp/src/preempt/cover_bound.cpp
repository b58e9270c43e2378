#include "evenhand/preempt/cover_bound.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace evenhand {
namespace {

constexpr double kFeasible = 1e-9;  // of a basic variable
constexpr double kPivot = 1e-9;
// Costs a little below the true ones, no two alike, keep the steps from going in circles;
// what bounds their sum bounds the cost.
constexpr double kSpread = 1e-7;
constexpr double kUlp = std::numeric_limits<double>::epsilon();

// Sums in an order of their own: what they decide does not depend on the compiler.
template <std::size_t Parts, class A, class B>
double product(const A& a, const B& b) noexcept {
  std::array<double, Parts> part{};
  for (Index j = 0; j < a.size(); ++j) part[static_cast<std::size_t>(j) % Parts] += a[j] * b[j];
  return std::accumulate(part.begin() + 1, part.end(), part[0]);
}

}  // namespace

void CoverBound::set(std::span<const Amount> amounts, std::span<const Amount> need,
                     std::span<const double> most, std::span<const Index> cost) {
  rows_ = std::ssize(need);
  shapes_ = std::ssize(most);
  const Given there(most.data(), shapes_);
  const Eigen::Map<const Shapes<Index>> price(cost.data(), shapes_);
  scale_ = 1 / Eigen::Map<const Rows<Amount>>(need.data(), rows_).cast<double>();
  using Matrix = Eigen::Array<Amount, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  a_ = Eigen::Map<const Matrix>(amounts.data(), shapes_, rows_).transpose().cast<double>();
  a_.colwise() *= scale_.transpose();
  total_.setZero(rows_);
  count_ = 0;
  for (Index j = 0; j < shapes_; ++j) {
    total_ += a_.col(j).transpose() * there[j];
    count_ += there[j] * static_cast<double>(price[j]);
  }
  for (Rows<double>* each : {&y_, &rest_, &basic_x_, &rho_, &column_}) each->setZero(rows_);
  reduced_.setOnes(shapes_);
  cost_.resize(shapes_);
  std::uint32_t mixed = 1;
  for (Index j = 0; j < shapes_; ++j) {
    mixed = mixed * 1664525U + 1013904223U;
    cost_[j] =
        static_cast<double>(price[j]) - kSpread * (static_cast<double>(mixed >> 8) * 0x1p-24);
  }
  x_.setZero(shapes_);
  alpha_.setZero(shapes_);
  basic_.setZero(shapes_);
  surplus_basis();
}

void CoverBound::surplus_basis() {
  basis_.resize(rows_);
  for (Index r = 0; r < rows_; ++r) basis_[r] = static_cast<Id>(shapes_ + r);
  basic_.setZero();
  inverse_.setZero(rows_, rows_);
  inverse_.matrix().diagonal().setConstant(-1);
}

void CoverBound::restore(std::span<const Id> basis) {
  if (std::ranges::equal(basis, basis_)) return;
  std::ranges::copy(basis, basis_.begin());
  factor();
}

// Gauss and Jordan with the largest pivot of each column.
void CoverBound::factor() {
  const Index n = rows_;
  basic_.setZero();
  Eigen::Array<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor, kMaxResources,
               2 * kMaxResources>
      work;
  work.setZero(n, 2 * n);
  for (Index p = 0; p < n; ++p) {
    work(p, n + p) = 1;
    if (const Id b = basis_[p]; b < shapes_) {
      basic_[b] = true;
      work.col(p) = a_.col(b);
    } else {
      work(b - shapes_, p) = -1;
    }
  }
  for (Index p = 0; p < n; ++p) {
    Index best = p;
    for (Index r = p + 1; r < n; ++r)
      if (std::abs(work(r, p)) > std::abs(work(best, p))) best = r;
    if (std::abs(work(best, p)) < 1e-14) return surplus_basis();
    if (best != p) work.row(p).swap(work.row(best));
    work.row(p) *= 1 / work(p, p);
    for (Index r = 0; r < n; ++r)
      if (const double factor = r == p ? 0 : work(r, p); factor != 0)
        work.row(r) -= factor * work.row(p);
  }
  inverse_ = work.rightCols(n);
}

// Multipliers and reduced costs of the basis, the point of the nonbasic variables, and the
// bound that the multipliers give.
void CoverBound::price(const Given& low, const Given& high) {
  y_.setZero();
  for (Index p = 0; p < rows_; ++p)
    if (const Id b = basis_[p]; b < shapes_) y_ += cost_[b] * inverse_.row(p);
  y_ = y_.max(0.0);
  reduced_ = cost_;
  double size = count_;
  value_ = 0;
  for (Index r = 0; r < rows_; ++r) {
    value_ += y_[r];
    size += y_[r] * (1 + total_[r]);
    if (y_[r] != 0) reduced_ -= y_[r] * a_.row(r);
  }
  x_ = (reduced_ < 0).select(high, low);
  value_ += product<4>(reduced_, x_);
  margin_ = 2 * kUlp * static_cast<double>(shapes_ + 4 * rows_ + 8) * size;
  for (const Id b : basis_)
    if (b < shapes_) x_[b] = 0;
  for (Index r = 0; r < rows_; ++r) rest_[r] = 1 - product<4>(a_.row(r), x_);
}

// Values of the basic variables; false: one is out of its range, by the most in `row`.
bool CoverBound::settle(const Given& low, const Given& high, Index& row) {
  gap_ = kFeasible;
  bool inside = true;
  for (Index p = 0; p < rows_; ++p) {
    const double value = product<1>(inverse_.row(p), rest_);
    basic_x_[p] = value;
    const Id b = basis_[p];
    const double below = (b < shapes_ ? low[b] : 0) - value;
    const double above = b < shapes_ ? value - high[b] : -1;
    if (std::max(below, above) <= gap_) continue;
    inside = false;
    gap_ = std::max(below, above);
    above_ = above > below;
    row = p;
  }
  for (Index p = 0; p < rows_; ++p)
    if (const Id b = basis_[p]; b < shapes_) x_[b] = std::clamp(basic_x_[p], low[b], high[b]);
  return inside;
}

// The variable of a row leaves the basis; false: nothing can take its place.
bool CoverBound::pivot(const Given& low, const Given& high, Index row) {
  rho_ = inverse_.row(row);
  const double sign = above_ ? -1 : 1;
  alpha_.setZero();
  for (Index r = 0; r < rows_; ++r)
    if (const double weight = sign * rho_[r]; weight != 0) alpha_ += weight * a_.row(r);
  able_.clear();
  for (Index j = 0; j < shapes_; ++j)
    if (!basic_[j] && low[j] < high[j] &&
        (reduced_[j] < 0 ? alpha_[j] > kPivot : alpha_[j] < -kPivot))
      able_.push_back(static_cast<Id>(j));
  for (Index r = 0; r < rows_; ++r)  // a surplus has the column -1 and no end
    if (sign * rho_[r] > kPivot && !(basis_ == static_cast<Id>(shapes_ + r)).any())
      able_.push_back(static_cast<Id>(shapes_ + r));
  const auto slope = [&](Id v) { return std::abs(v < shapes_ ? alpha_[v] : rho_[v - shapes_]); };
  const auto ratio = [&](Id v) {
    return std::abs(v < shapes_ ? reduced_[v] : y_[v - shapes_]) / slope(v);
  };
  // Those with the smallest ratio change ends, until the next one has to stop the step.
  double left = gap_;
  while (!able_.empty()) {
    auto best = able_.begin();
    double least = ratio(*best), steep = slope(*best);
    for (auto it = best + 1; it != able_.end(); ++it) {
      const double here = ratio(*it), as = slope(*it);
      if (here < least || (here == least && as > steep)) {
        best = it;
        least = here;
        steep = as;
      }
    }
    const Id q = *best;
    if (q < shapes_) left -= steep * (high[q] - low[q]);
    if (q >= shapes_ || left <= kFeasible) {
      for (Index p = 0; p < rows_; ++p)
        column_[p] =
            q < shapes_ ? product<1>(inverse_.row(p), a_.col(q)) : -inverse_(p, q - shapes_);
      if (std::abs(column_[row]) < kPivot) return false;
      inverse_.row(row) *= 1 / column_[row];
      for (Index p = 0; p < rows_; ++p)
        if (p != row) inverse_.row(p) -= column_[p] * inverse_.row(row);
      if (const Id b = basis_[row]; b < shapes_) basic_[b] = false;
      if (q < shapes_) basic_[q] = true;
      basis_[row] = q;
      return true;
    }
    *best = able_.back();
    able_.pop_back();
  }
  return false;
}

bool CoverBound::within(std::span<const double> lowest, std::span<const double> highest,
                        double target) {
  const Given low(lowest.data(), shapes_), high(highest.data(), shapes_);
  const Index patience = 50 + 10 * rows_ + shapes_;
  Index row = 0;
  for (Index step = 0;; ++step) {
    if (step % 32 == 31) factor();
    price(low, high);
    if (value_ - margin_ > target) return false;
    if (settle(low, high, row)) return true;
    // Where rounding leaves no way on, the bound so far is valid and x a guess.
    if (step >= patience || !pivot(low, high, row)) return true;
  }
}

}  // namespace evenhand
