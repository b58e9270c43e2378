#include "evenhand/preempt/cover.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "evenhand/core/poll.h"
#include "evenhand/preempt/cover_bound.h"

namespace evenhand {
namespace {

constexpr double kWhole = 1e-6;  // nearer than that to a whole number is one

}  // namespace

FewestCover::FewestCover() : bound_(std::make_unique<CoverBound>()) {}
FewestCover::~FewestCover() = default;
FewestCover::FewestCover(FewestCover&&) noexcept = default;
FewestCover& FewestCover::operator=(FewestCover&&) noexcept = default;

// Shapes in the order of their first candidates; what frees nothing that is short has none.
void FewestCover::group(std::span<const Amount> amounts, View<const Index> costs,
                        std::span<const Amount> shortage) {
  const Size width = shortage.size(), n = amounts.size() / width;
  need_.clear();
  for (const Amount s : shortage)
    if (s > 0) need_.push_back(s);
  rows_ = need_.size();
  row_.resize(n * rows_);
  for (Size i = 0; i < n; ++i)
    for (Size r = 0, k = 0; r < width; ++r)
      if (shortage[r] > 0) row_[i * rows_ + k++] = std::min(amounts[i * width + r], shortage[r]);
  order_.resize(n);
  std::iota(order_.begin(), order_.end(), 0);
  const auto of = [&](Id i) {
    return std::span(row_.data() + static_cast<Size>(i) * rows_, rows_);
  };
  const auto cost = [&](Id i) { return costs.empty() ? 1 : costs[i]; };
  std::ranges::sort(order_, [&](Id a, Id b) {
    const auto x = of(a), y = of(b);
    if (cost(a) != cost(b)) return cost(a) < cost(b);
    const auto c = std::lexicographical_compare_three_way(x.begin(), x.end(), y.begin(), y.end());
    return c != 0 ? c < 0 : a < b;
  });
  shape_of_.assign(n, kNoId);
  for (Size i = 0; i < n; ++i) {  // the first candidate of each run stands for it
    const bool same = i > 0 && cost(order_[i]) == cost(order_[i - 1]) &&
                      std::ranges::equal(of(order_[i]), of(order_[i - 1]));
    const auto here = static_cast<Size>(order_[i]);
    shape_of_[here] = same ? shape_of_[order_[i - 1]] : order_[i];
  }
  shapes_.clear();
  most_.clear();
  price_.clear();
  for (Size i = 0; i < n; ++i) {
    const auto first = static_cast<Size>(shape_of_[i]);
    const auto row = of(static_cast<Id>(i));
    if (first != i) {
      shape_of_[i] = shape_of_[first];
    } else if (std::ranges::all_of(row, [](Amount a) { return a == 0; })) {
      shape_of_[i] = kNoId;
    } else {
      shape_of_[i] = static_cast<Id>(most_.size());
      shapes_.insert(shapes_.end(), row.begin(), row.end());
      most_.push_back(0);
      price_.push_back(cost(static_cast<Id>(i)));
    }
    if (shape_of_[i] != kNoId) ++most_[shape_of_[i]];
  }
  count_ = most_.size();
  unit_ = 0;
  for (const Index one : price_) unit_ = std::gcd(unit_, one);
  for (Index& one : price_) one /= unit_;
}

void FewestCover::solve(std::span<const Amount> amounts, View<const Index> costs,
                        std::span<const Amount> shortage, Index budget, bool ties,
                        Column<Id>& taken, SelectionProof& proof) {
  proof = {};
  multipliers_.assign(shortage.size(), 0);
  proof.proved = proof.first = taken.empty();
  if (taken.empty()) return;
  group(amounts, costs, shortage);
  budget_ = budget;
  branches_ = 0;
  spent_ = false;
  low_.assign(count_, 0);
  high_ = most_;
  reach_.assign(rows_, 0);
  for (Size r = 0; r < rows_; ++r) {
    reach_[r] = -need_[r];
    for (Size j = 0; j < count_; ++j) reach_[r] += shape(j)[r] * static_cast<Amount>(most_[j]);
  }
  best_.assign(count_, 0);
  best_cost_ = 0;
  for (const Id i : taken) {
    const Id j = shape_of_[i];
    if (j == kNoId) continue;  // of no use
    ++best_[j];
    best_cost_ += price_[j];
  }
  const Index known = best_cost_;

  bound_->set(shapes_, need_, most_, price_);
  bound_->within(low_, high_, std::numeric_limits<double>::infinity());
  for (Size r = 0, k = 0; r < shortage.size(); ++r)
    if (shortage[r] > 0) multipliers_[r] = bound_->multiplier(k++) * static_cast<double>(unit_);
  proof.root_bound =
      std::max<Index>(1, static_cast<Index>(std::ceil(bound_->value() - bound_->margin())));
  proof.lower_bound = proof.root_bound;
  look_for_less(proof);
  proof.proved = best_cost_ <= proof.lower_bound;
  if (proof.proved) proof.lower_bound = best_cost_;
  if (proof.proved && ties)
    first_in_order(taken);
  else if (best_cost_ < known) {
    taken.clear();
    for (Size i = 0; i < shape_of_.size(); ++i)
      if (const Id j = shape_of_[i]; j != kNoId && best_[j]-- > 0)
        taken.push_back(static_cast<Id>(i));
  }
  proof.first = proof.proved && ties && !spent_;
  proof.spent = spent_;
  proof.branches = branches_;
  proof.lower_bound *= unit_;
  proof.root_bound *= unit_;
}

// Where all cost the same, growing sizes; else always less than the best.
void FewestCover::look_for_less(SelectionProof& proof) {
  const bool same = std::ranges::all_of(price_, [](Index cost) { return cost == 1; });
  while (proof.lower_bound < best_cost_ && !spent_) {
    const Index target = same ? proof.lower_bound : best_cost_ - 1;
    if (!ask(static_cast<double>(target)) && !spent_) proof.lower_bound = target + 1;
  }
}

// Is there a set of at most so much within the ranges? Then witness_ is one.
bool FewestCover::ask(double target) {
  if (std::ranges::any_of(reach_, [](Amount a) { return a < 0; })) return false;
  fixed_ = low_;
  return search(0, target);
}

bool FewestCover::limit(Size j, double low, double high) {
  if (low > high) return false;
  trail_.push_back({j, low_[j], high_[j]});
  bool able = true;
  if (high < high_[j])
    for (Size r = 0; r < rows_; ++r) {
      reach_[r] -= shape(j)[r] * static_cast<Amount>(high_[j] - high);
      able &= reach_[r] >= 0;
    }
  low_[j] = low;
  high_[j] = high;
  return able;
}

void FewestCover::undo(Size mark) {
  for (; trail_.size() > mark; trail_.pop_back()) {
    const auto [j, low, high] = trail_.back();
    if (high > high_[j])
      for (Size r = 0; r < rows_; ++r)
        reach_[r] += shape(j)[r] * static_cast<Amount>(high - high_[j]);
    low_[j] = low;
    high_[j] = high;
  }
}

// How far each shape can leave its end of the range before the bound passes the target.
bool FewestCover::tighten(double target) {
  const double room = target - bound_->value() + 2 * bound_->margin();
  for (Size j = 0; j < count_; ++j) {
    const double by = bound_->reduced()[j], range = high_[j] - low_[j];
    if (range == 0 || std::abs(by) * range <= room) continue;
    const double steps = std::floor(room / std::abs(by));
    if (by > 0 ? !limit(j, low_[j], low_[j] + steps) : !limit(j, high_[j] - steps, high_[j]))
      return false;
  }
  return true;
}

bool FewestCover::search(Size depth, double target) {
  if (branches_ >= budget_) {
    spent_ = true;
    return false;
  }
  ++branches_;
  poll();
  if (!bound_->within(low_, high_, target)) return false;
  if (round(target)) return true;
  const Size mark = trail_.size();
  if (!tighten(target)) {
    undo(mark);
    return false;
  }
  // The fraction nearest to a half; where there is none, rounding hid what is missing.
  Size branch = count_;
  double floor = 0, best = kWhole;
  for (const Id v : bound_->basis()) {
    const auto j = static_cast<Size>(v);
    if (j >= count_) continue;
    const double part = bound_->x()[j] - std::floor(bound_->x()[j]);
    if (const double far = std::min(part, 1 - part); far > best) {
      best = far;
      branch = j;
      floor = std::floor(bound_->x()[j]);
    }
  }
  for (Size j = 0; branch == count_ && j < count_; ++j)
    if (low_[j] < high_[j]) {
      branch = j;
      floor = std::clamp(std::round(bound_->x()[j]), low_[j], high_[j] - 1);
    }
  bool found = false;
  if (branch < count_) {
    saved_.resize(std::max(saved_.size(), (depth + 1) * rows_));
    std::ranges::copy(bound_->basis(), saved_.row(depth, rows_));
    const double low = low_[branch], high = high_[branch];
    const Size inner = trail_.size();
    const bool up = bound_->x()[branch] - floor > 0.5;
    for (int side = 0; side < 2 && !found && !spent_; ++side) {
      const bool more = (side == 0) == up;
      if (side == 1) {
        undo(inner);
        bound_->restore({saved_.data() + depth * rows_, rows_});
      }
      if (more ? limit(branch, std::max(low, floor + 1), high)
               : limit(branch, low, std::min(high, floor)))
        found = search(depth + 1, target);
    }
  }
  undo(mark);
  return found;
}

// The point of the bound with some of its fractions rounded up, as cheap as covers.
bool FewestCover::round(double target) {
  counts_.resize(count_);
  parts_.clear();
  Index cost = 0;
  rest_ = need_;
  for (Size j = 0; j < count_; ++j) {
    const double x = bound_->x()[j];
    if (x == 0) {
      counts_[j] = 0;
      continue;
    }
    const double whole = std::clamp(std::floor(x + kWhole), low_[j], high_[j]);
    counts_[j] = static_cast<Index>(whole);
    if (x - whole > kWhole && whole < high_[j]) parts_.push_back(static_cast<Id>(j));
    cost += counts_[j] * price_[j];
    for (Size r = 0; r < rows_; ++r) rest_[r] -= shape(j)[r] * counts_[j];
  }
  const Index room = best_cost_ - 1 - cost;
  if (room < 0) return false;
  unsigned chosen = 0;
  Index least = room + 1;
  left_.resize(rows_);
  for (unsigned mask = 0; mask < 1u << std::min<Size>(parts_.size(), 6); ++mask) {
    Index here = 0;
    for (unsigned left = mask; left != 0; left &= left - 1)
      here += price_[parts_[std::countr_zero(left)]];
    if (here >= least) continue;
    left_ = rest_;
    for (Size k = 0; k < parts_.size(); ++k)
      if ((mask >> k & 1) != 0)
        for (Size r = 0; r < rows_; ++r) left_[r] -= shape(static_cast<Size>(parts_[k]))[r];
    if (std::ranges::any_of(left_, [](Amount a) { return a > 0; })) continue;
    chosen = mask;
    least = here;
  }
  if (least > room) return false;
  for (Size k = 0; k < parts_.size(); ++k)
    if ((chosen >> k & 1) != 0) ++counts_[parts_[k]];
  keep();
  return static_cast<double>(best_cost_) <= target;
}

// A better set, without those of it that are not needed.
void FewestCover::keep() {
  for (Size r = 0; r < rows_; ++r) {
    left_[r] = -need_[r];
    for (Size j = 0; j < count_; ++j) left_[r] += shape(j)[r] * counts_[j];
  }
  best_cost_ = 0;
  for (Size j = count_; j-- > 0;) {
    while (counts_[j] > static_cast<Index>(fixed_[j]) &&
           std::ranges::equal(std::span(shape(j), rows_), left_, std::less_equal<>())) {
      --counts_[j];
      for (Size r = 0; r < rows_; ++r) left_[r] -= shape(j)[r];
    }
    best_cost_ += counts_[j] * price_[j];
  }
  best_ = counts_;
}

// Each candidate that some cheapest set goes through, given those before, is taken; one
// look at a shape that fails is one for all of it.
void FewestCover::first_in_order(Column<Id>& taken) {
  const Index cost = best_cost_;
  Index sum = 0;
  witness_ = best_;
  taken.clear();
  for (Size i = 0; sum < cost; ++i) {
    if (shape_of_[i] == kNoId) continue;
    const auto j = static_cast<Size>(shape_of_[i]);
    const bool known = static_cast<double>(witness_[j]) > low_[j];
    if (!known && (spent_ || low_[j] == high_[j])) continue;
    ++low_[j];
    if (!known) {
      best_cost_ = cost + 1;
      if (ask(static_cast<double>(cost))) {
        witness_ = best_;
      } else {
        --low_[j];
        if (!spent_) limit(j, low_[j], low_[j]);
        continue;
      }
    }
    taken.push_back(static_cast<Id>(i));
    sum += price_[j];
  }
  best_cost_ = cost;
  trail_.clear();
}

}  // namespace evenhand
