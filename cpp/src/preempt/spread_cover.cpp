#include "evenhand/preempt/spread_cover.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace evenhand {
namespace {

constexpr int kRootSteps = 200, kInnerSteps = 4;

}  // namespace

// Levels of a site that got_ is enough for.
Index SpreadCover::reach(Size s) const {
  const SpreadNeed::Site& site = need_->sites[s];
  const Size width = need_->width;
  Index levels = 0;
  for (; levels < site.levels; ++levels)
    for (Size r = 0; r < width; ++r)
      if (got_[s * width + r] <
          need_->lack[site.first_lack + static_cast<Size>(levels) * width + r])
        return levels;
  return levels;
}

// Drops what is not needed, the dearest first; false: they do not suffice.
bool SpreadCover::shrink(Column<Id>& jobs) {
  const Size width = need_->width;
  std::ranges::fill(got_, 0);
  const auto move = [&](Id job, Amount sign) {
    for (const Id p : pieces_of(at(job)))
      for (Size r = 0; r < width; ++r)
        got_[at(site_[p]) * width + r] += sign * need_->amount[at(p) * width + r];
  };
  for (const Id j : jobs) move(j, 1);
  next_.assign(levels_.size(), 0);
  Index levels = 0;
  for (Size s = 0; s < levels_.size(); ++s) {
    next_[s] = reach(s);
    if (!need_->sites[s].must)
      levels += next_[s];
    else if (next_[s] == 0)
      return false;
  }
  if (levels < need_->copies) return false;
  order_ = jobs;
  std::ranges::stable_sort(
      order_, [&](Id a, Id b) { return costs_[a] != costs_[b] ? costs_[a] > costs_[b] : a > b; });
  for (const Id j : order_) {
    if (asking_ && fixed_[j] == Fixed::kGoes) continue;
    move(j, -1);
    Index left = levels;
    bool able = true;
    for (const Id p : pieces_of(at(j))) {
      const Size s = at(site_[p]);
      const Index now = reach(s);
      if (need_->sites[s].must)
        able &= now > 0;
      else
        left -= next_[s] - now;
    }
    if (!able || left < need_->copies) {
      move(j, 1);
      continue;
    }
    for (const Id p : pieces_of(at(j))) next_[site_[p]] = reach(at(site_[p]));
    levels = left;
    std::erase(jobs, j);
  }
  return true;
}

// All that the chosen levels use; true: that is enough to stop.
bool SpreadCover::try_union() {
  Column<Id> jobs;
  for (Size j = 0; j < fixed_.size(); ++j)
    if (fixed_[j] == Fixed::kGoes ||
        std::ranges::any_of(pieces_of(j), [&](Id p) { return used_[p] != 0; }))
      jobs.push_back(static_cast<Id>(j));
  if (!shrink(jobs)) return false;
  Index cost = 0;
  for (const Id j : jobs) cost += costs_[j];
  if (cost < best_cost_) {
    best_cost_ = cost;
    best_ = std::move(jobs);
  }
  return best_cost_ <= enough_;
}

// The job that pays least for what it is used for; none: the choice is a set.
SpreadCover::Size SpreadCover::disputed() const {
  Size worst = fixed_.size();
  Index most = scale_ / 100;  // rounding of the parts
  for (Size j = 0; j < fixed_.size(); ++j) {
    const auto of = pieces_of(j);
    if (of.size() < 2 || fixed_[j] != Fixed::kOpen) continue;
    Index unpaid = scale_ * costs_[j];
    Size uses = 0;
    for (const Id p : of)
      if (used_[p]) {
        ++uses;
        unpaid -= part_[p];
      }
    if (uses == 0 || uses == of.size() || unpaid <= most) continue;
    most = unpaid;
    worst = j;
  }
  return worst;
}

// As many parts as sites can be chosen are together what the job costs, but for rounding.
void SpreadCover::normalise(Size job) {
  const auto of = pieces_of(job);
  const Size count = std::min(of.size(), together_);
  largest_.clear();
  for (const Id p : of) largest_.push_back(part_[p]);
  std::ranges::partial_sort(largest_, largest_.begin() + static_cast<std::ptrdiff_t>(count),
                            std::greater<>());
  double sum = 0;
  for (Size k = 0; k < count; ++k) sum += static_cast<double>(largest_[k]);
  const double rounding =
      static_cast<double>(count + 8) * std::numeric_limits<double>::epsilon();  // at most
  const double room =
      static_cast<double>(scale_ * costs_[job] - static_cast<Index>(count)) * (1 - rounding);
  for (const Id p : of)
    part_[p] = std::max<Index>(1, static_cast<Index>(static_cast<double>(part_[p]) / sum * room));
}

// Parts move to where their jobs are used; false: there is nothing to move.
bool SpreadCover::step(double by) {
  double norm = 0;
  moving_.clear();
  for (Size j = 0; j < fixed_.size(); ++j) {
    const auto of = pieces_of(j);
    if (of.size() < 2 || fixed_[j] != Fixed::kOpen) continue;
    Index sum = 0;
    for (const Id p : of) sum += used_[p];
    if (sum == 0 || sum == static_cast<Index>(of.size())) continue;
    const double m = static_cast<double>(sum) / static_cast<double>(of.size());
    norm += static_cast<double>(of.size()) * m * (1 - m);
    moving_.push_back({j, m});
  }
  if (moving_.empty()) return false;
  const double length = by * static_cast<double>(best_cost_ * scale_ - parts_) / norm;
  for (const auto& [j, m] : moving_) {
    const auto of = pieces_of(j);
    for (const Id p : of) {
      const auto moved = std::llround(length * (used_[p] - m));
      part_[p] = std::clamp<Index>(part_[p] + moved, 1, scale_ * costs_[j]);
      stale_[site_[p]] = 1;
    }
    normalise(j);
    set_prices(j);
  }
  return true;
}

void SpreadCover::search(Index known, bool root) {
  if (branches_ >= budget_) {
    spent_ = true;
    floor_ = std::min(floor_, known);
    return;
  }
  ++branches_;
  double by = 1;
  int patience = 0;
  const int steps = root ? kRootSteps : kInnerSteps;
  Size branch;  // the loop ends behind its assignment
  for (int k = 0;; ++k) {
    if (!evaluate()) return;
    const Index bound = scaled(parts_);
    if (bound > known) {
      known = bound;
      patience = 0;
      if (root) best_part_ = part_;
    } else if (++patience == 4) {
      by /= 2;
      patience = 0;
    }
    if (root) root_ = known;
    if (known >= least_refused()) return;
    branch = disputed();
    if ((root || k == 0 || branch == fixed_.size()) && (try_union() || known >= least_refused()))
      return;
    if (branch == fixed_.size() || k == steps || branches_ >= budget_ || !step(by)) break;
  }
  if (root && deepen_) return;
  if (branch == fixed_.size()) {  // only covers that were not proved stand between
    floor_ = std::min(floor_, known);
    spent_ |= branches_ >= budget_;
    return;
  }
  Index used = 0;
  const auto of = pieces_of(branch);
  for (const Id p : of) used += used_[p];
  const bool goes = 2 * used >= static_cast<Index>(of.size());
  for (const Fixed side :
       {goes ? Fixed::kGoes : Fixed::kStays, goes ? Fixed::kStays : Fixed::kGoes}) {
    if (known >= least_refused() || best_cost_ <= enough_) break;
    fix(branch, side);
    search(known, false);
    fix(branch, Fixed::kOpen);
  }
}

// Each job that some cheapest set goes through, given those before, goes.
void SpreadCover::first_in_order(Column<Id>& taken, bool& first) {
  const Index cost = best_cost_;
  Column<Id> witness = best_;
  asking_ = true;
  bound_others();
  Index sum = 0;
  first = true;
  taken.clear();
  for (Size j = 0; j < fixed_.size() && sum < cost; ++j) {
    if (pieces_of(j).empty()) continue;
    const bool known = std::ranges::binary_search(witness, static_cast<Id>(j));
    if (!known && (spent_ || sum + costs_[j] > cost)) continue;
    fix(j, Fixed::kGoes);
    if (!known && refuted(j, cost)) {
      fix(j, Fixed::kStays);
      continue;
    }
    if (!known) {
      best_cost_ = cost + 1;
      enough_ = cost;
      floor_ = kNever;
      search(0, false);
      if (best_cost_ > cost) {
        first &= floor_ == kNever && !spent_;
        fix(j, Fixed::kStays);
        bound_others();
        continue;
      }
      witness = best_;
    }
    taken.push_back(static_cast<Id>(j));
    sum += costs_[j];
  }
  first &= !spent_;
  best_ = witness;
  best_cost_ = cost;
}

bool SpreadCover::solve(const SpreadNeed& need, View<const Index> costs, Index budget,
                        Column<Id>& taken, SelectionProof& proof, bool ties) {
  begin(need, costs);
  proof = {};
  budget_ = budget;
  branches_ = root_ = 0;
  enough_ = -1;
  asking_ = false;
  floor_ = kNever;
  spent_ = false;
  best_ = taken;
  if (taken.empty()) {
    best_.resize(costs.size());
    std::iota(best_.begin(), best_.end(), 0);
    if (!shrink(best_)) return false;
  }
  best_cost_ = 0;
  for (const Id j : best_) best_cost_ += costs[j];
  taken = best_;
  proof.cost = best_cost_;
  if (!exact_) return true;
  refuse_ = kNever;
  deepen_ = std::ranges::all_of(costs, [](Index cost) { return cost == 1; });
  search(0, true);
  proof.root_bound = std::min(root_, best_cost_);
  // Where all cost the same, one size after the other: each that is refuted raises the bound.
  for (Index size = root_; deepen_ && size < best_cost_; size = root_) {
    part_ = best_part_;
    for (Size j = 0; j < fixed_.size(); ++j) set_prices(j);
    std::ranges::fill(stale_, 1);
    refuse_ = size + 1;
    search(size, false);
    if (floor_ <= size) break;
    root_ = std::min(best_cost_, size + 1);
  }
  refuse_ = kNever;
  proof.lower_bound = std::min(best_cost_, std::max(root_, floor_ == kNever ? best_cost_ : floor_));
  proof.proved = proof.lower_bound == best_cost_;
  taken = best_;
  if (proof.proved && ties) first_in_order(taken, proof.first);
  proof.cost = best_cost_;
  proof.spent = spent_;
  proof.branches = std::min(branches_, budget);
  return true;
}

SpreadProof SpreadCover::prove(Index budget) {
  std::ranges::fill(fixed_, Fixed::kOpen);
  std::ranges::fill(gone_, 0);
  fixed_cost_ = 0;
  part_ = price_ = best_part_;
  budget_ = branches_ = 0;
  SpreadProof out;
  out.scale = scale_;
  if (!exact_) {
    out.part.assign(part_.size(), 0);
    out.bound.assign(need_->lack.size() / need_->width, 0);
    out.multiplier.assign(need_->lack.size(), 0);
    return out;
  }
  out.part = part_;
  for (Size s = 0; s < levels_.size(); ++s) {
    budget_ = branches_ + budget;
    solve_site(s);
    for (Size l = 0; l < levels_[s].size(); ++l) {
      const bool able = levels_[s][l].bound < kNever;
      out.bound.push_back(able ? levels_[s][l].bound : -1);
      if (able) solve_level(need_->sites[s], l);
      const auto y = selector_.multipliers();
      if (able && y.size() == need_->width)
        out.multiplier.insert(out.multiplier.end(), y.begin(), y.end());
      else
        out.multiplier.insert(out.multiplier.end(), need_->width, 0);
    }
  }
  return out;
}

}  // namespace evenhand
