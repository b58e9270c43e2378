// The bound of a split of the costs: covers of the sites, and the cheapest choice of them.
#include <algorithm>
#include <numeric>

#include "evenhand/core/poll.h"
#include "evenhand/preempt/spread_cover.h"

namespace evenhand {
namespace {

constexpr Index kScale = 10'000;             // parts of a job's cost, if jobs have several sites
constexpr Index kWork = 65'536;              // sums compared that are as much as a bound
constexpr std::size_t kMostKept = 1U << 23;  // sums kept at once
constexpr std::size_t kMostListed = 2'000, kMostTried = 40'000;  // covers of a level, trials

}  // namespace

void SpreadCover::begin(const SpreadNeed& need, View<const Index> costs) {
  need_ = &need;
  costs_ = costs;
  const Size n = costs.size(), pieces = need.job.size(), sites = need.sites.size();
  first_piece_.assign(n + 1, 0);
  for (const Id j : need.job) ++first_piece_[j + 1];
  std::partial_sum(first_piece_.begin(), first_piece_.end(), first_piece_.begin());
  piece_.resize(pieces);
  Column<Size> next(first_piece_.begin(), first_piece_.end() - 1);
  for (Size p = 0; p < pieces; ++p) piece_[next[need.job[p]]++] = static_cast<Id>(p);
  site_.resize(pieces);
  one_level_ = true;
  for (Size s = 0; s < sites; ++s) {
    const SpreadNeed::Site& site = need.sites[s];
    one_level_ &= site.levels <= 1;
    std::fill_n(site_.begin() + static_cast<std::ptrdiff_t>(site.first), site.pieces,
                static_cast<Id>(s));
  }
  Size most = 1;
  for (Size j = 0; j < n; ++j) most = std::max(most, pieces_of(j).size());
  part_.resize(pieces);
  together_ = static_cast<Size>(std::max<Index>(need.copies, 0));
  for (const SpreadNeed::Site& site : need.sites) together_ += site.must;
  // No part less than 1, no sum of parts so great that it is taken for never.
  Index total = 1, finest = 1;
  for (Size j = 0; j < n; ++j) {
    total = costs[j] < kNever - total ? total + costs[j] : kNever;
    const auto count = static_cast<Index>(std::min(pieces_of(j).size(), together_));
    finest = std::max(finest, (count + costs[j] - 1) / costs[j]);
  }
  const Index coarsest = (kNever - 1) / total;
  exact_ = finest <= coarsest;
  one_site_ = most == 1;
  const Index wanted = one_site_ ? 1 : std::max(kScale, static_cast<Index>(most));
  scale_ = std::max(finest, std::min(wanted, coarsest));
  for (Size j = 0; j < n; ++j) {
    const auto count = std::min(pieces_of(j).size(), together_);
    for (const Id p : pieces_of(j))
      part_[p] = scale_ * costs[j] / static_cast<Index>(std::max<Size>(count, 1));
  }
  best_part_ = price_ = part_;
  fixed_.assign(n, Fixed::kOpen);
  fixed_cost_ = 0;
  levels_.resize(sites);
  for (Size s = 0; s < sites; ++s) levels_[s].resize(static_cast<Size>(need.sites[s].levels));
  stale_.assign(sites, 1);
  chosen_.assign(sites, 0);
  gone_.assign(sites * need.width, 0);
  own_.assign(sites, 0);
  others_.clear();
  work_ = 0;
  got_.resize(sites * need.width);
  used_.assign(pieces, 0);
  lack_.resize(need.width);
  selector_ = VictimSelector(need.width);
  selector_.break_ties(false);
  for (Size s = 0; !one_site_ && s < sites; ++s)
    for (Size l = 0; l < levels_[s].size(); ++l) list_covers(s, l);
}

// All covers of a level none of whose jobs can be spared, if they are few.
void SpreadCover::list_covers(Size s, Size l) {
  poll();
  const SpreadNeed::Site& site = need_->sites[s];
  const Size width = need_->width;
  Level& level = levels_[s][l];
  level.listed = false;
  level.cover.clear();
  level.ends.clear();
  const Amount* lack = need_->lack.data() + site.first_lack + l * width;
  Column<Amount> rest(lack, lack + width), after((site.pieces + 1) * width, 0);
  const auto amount = [&](Size k) { return need_->amount.data() + (site.first + k) * width; };
  for (Size k = site.pieces; k-- > 0;)  // what those from k on can give
    for (Size r = 0; r < width; ++r)
      after[k * width + r] = after[(k + 1) * width + r] + amount(k)[r];
  Column<Size> taken;
  Size tried = 0;
  const auto covered = [&] { return std::ranges::all_of(rest, [](Amount a) { return a <= 0; }); };
  const auto spare = [&](Size k) {
    for (Size r = 0; r < width; ++r)
      if (rest[r] + amount(k)[r] > 0 && lack[r] > 0) return false;
    return true;
  };
  const auto extend = [&](auto& self, Size from) -> bool {
    if (covered()) {
      if (std::ranges::any_of(taken, spare)) return true;
      for (const Size k : taken) level.cover.push_back(static_cast<Id>(site.first + k));
      level.ends.push_back(level.cover.size());
      return level.ends.size() <= kMostListed;
    }
    for (Size k = from; k < site.pieces; ++k) {
      if (++tried > kMostTried) return false;
      for (Size r = 0; r < width; ++r)
        if (rest[r] > after[k * width + r]) return true;  // nor can any later one
      for (Size r = 0; r < width; ++r) rest[r] -= amount(k)[r];
      taken.push_back(k);
      const bool few = self(self, k + 1);
      taken.pop_back();
      for (Size r = 0; r < width; ++r) rest[r] += amount(k)[r];
      if (!few) return false;
    }
    return true;
  };
  level.listed = extend(extend, 0);
}

// The cheapest of the listed covers.
void SpreadCover::solve_listed(Level& level) const {
  level.bound = kNever;
  Size begin = 0, best = 0, best_end = 0;
  for (const Size end : level.ends) {
    Index sum = 0;  // what stays is never part of a cheaper one
    for (Size k = begin; k < end && sum < level.bound; ++k) sum += price_[level.cover[k]];
    if (sum < level.bound) {
      level.bound = sum;
      best = begin;
      best_end = end;
    }
    begin = end;
  }
  level.used.clear();
  for (Size k = best; k < best_end; ++k)
    if (fixed_[need_->job[level.cover[k]]] == Fixed::kOpen) level.used.push_back(level.cover[k]);
}

void SpreadCover::set_prices(Size job) {
  for (const Id p : pieces_of(job))
    price_[p] = fixed_[job] == Fixed::kOpen ? part_[p] : fixed_[job] == Fixed::kGoes ? 0 : kNever;
}

void SpreadCover::fix(Size job, Fixed to) {
  const Index before = fixed_[job] == Fixed::kGoes, after = to == Fixed::kGoes;
  fixed_[job] = to;
  set_prices(job);
  fixed_cost_ += (after - before) * costs_[job];
  for (const Id p : pieces_of(job)) {
    const Size s = at(site_[p]);
    stale_[s] = 1;
    own_[s] += (after - before) * costs_[job];
    for (Size r = 0; r < need_->width; ++r)
      gone_[s * need_->width + r] += (after - before) * need_->amount[at(p) * need_->width + r];
  }
}

// What selector_ finds for a level; false: it cannot be had.
bool SpreadCover::solve_level(const SpreadNeed::Site& site, Size level) {
  const Size width = need_->width, s = static_cast<Size>(&site - need_->sites.data());
  for (Size r = 0; r < width; ++r)
    lack_[r] = need_->lack[site.first_lack + level * width + r] - gone_[s * width + r];
  return selector_.select(VictimSelection::kMinimum, lack_,
                          std::max<Index>(budget_ - branches_, 0));
}

void SpreadCover::solve_site(Size s) {
  poll();
  const SpreadNeed::Site& site = need_->sites[s];
  bool able = true, listed = true;
  for (Level& level : levels_[s]) {
    listed = listed && level.listed;
    if (level.listed) solve_listed(level);
  }
  stale_[s] = 0;
  if (listed) return;
  selector_.clear();
  for (Size p = site.first; p < site.first + site.pieces; ++p)
    if (fixed_[need_->job[p]] == Fixed::kOpen)
      selector_.add(static_cast<Id>(p), need_->amount.data() + p * need_->width, part_[p]);
  for (Size l = 0; l < levels_[s].size(); ++l) {
    Level& level = levels_[s][l];
    if (level.listed) continue;
    level.used.clear();
    able = able && solve_level(site, l);
    level.bound = able ? selector_.proof().lower_bound : kNever;
    if (!able) continue;
    branches_ += selector_.proof().branches;
    for (const Id k : selector_.taken()) level.used.push_back(selector_.candidate(k));
  }
}

// The cheapest so many sites of one level.
void SpreadCover::pick_sites() {
  order_.clear();
  for (Size s = 0; s < levels_.size(); ++s)
    if (!need_->sites[s].must && !levels_[s].empty()) order_.push_back(static_cast<Id>(s));
  const auto bound = [&](Id s) { return levels_[s][0].bound; };
  const auto count = std::min(order_.size(), static_cast<Size>(std::max<Index>(need_->copies, 0)));
  const auto middle = order_.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(order_.begin(), middle, order_.end(),
                    [&](Id a, Id b) { return bound(a) != bound(b) ? bound(a) < bound(b) : a < b; });
  if (static_cast<Index>(count) < need_->copies) parts_ = kNever;
  for (auto s = order_.begin(); s != middle; ++s) {
    chosen_[*s] = 1;
    parts_ = std::min(kNever, parts_ + bound(*s));
  }
}

// Work besides that of bounds, in bounds.
void SpreadCover::charge(Size work) {
  work_ += static_cast<Index>(work);
  branches_ += work_ / kWork;
  work_ %= kWork;
}

// The cheapest choice of levels, site after site.
void SpreadCover::pick_levels() {
  const auto copies = static_cast<Size>(std::max<Index>(need_->copies, 0));
  Size rest = 0;  // what the sites behind can add
  for (Size s = 0; s < levels_.size(); ++s) rest += able(s);
  if (rest < copies) {
    parts_ = kNever;
    return;
  }
  sum_.assign(copies + 1, kNever);
  sum_[0] = 0;
  from_.resize(levels_.size() * (copies + 1));
  last_.assign(levels_.size(), 0);
  Size most = 0, work = 0;  // what can be had so far
  for (Size s = 0; s < levels_.size(); ++s) {
    const Size levels = able(s);
    if (levels == 0) continue;
    rest -= levels;
    const auto from = from_.begin() + static_cast<std::ptrdiff_t>(s * (copies + 1));
    std::fill_n(from, copies + 1, 0);
    next_ = sum_;
    last_[s] = copies;
    for (Size l = 1; l <= levels; ++l) {
      const Index bound = levels_[s][l - 1].bound;
      const Size first = copies > rest + l ? copies - rest - l : 0,
                 end = std::min(most + 1, copies);
      for (Size k = first; k < end; ++k) {
        const Size to = std::min(copies, k + l);
        const Index cost = sum_[k] + bound;
        if (sum_[k] >= kNever || cost >= next_[to]) continue;
        next_[to] = cost;
        from[static_cast<std::ptrdiff_t>(to)] = static_cast<std::int32_t>(l);
        if (to == copies) last_[s] = k;
      }
      work += end > first ? end - first : 0;
    }
    work += copies;
    most = std::min(copies, most + levels);
    sum_.swap(next_);
  }
  charge(work);
  parts_ = std::min(kNever, parts_ + sum_[copies]);
  if (parts_ >= kNever) return;
  Size k = copies;
  for (Size s = levels_.size(); s-- > 0;) {
    if (able(s) == 0) continue;
    const std::int32_t from = from_[s * (copies + 1) + k];
    chosen_[s] = from;
    k = k == copies ? last_[s] : k - static_cast<Size>(from);
  }
}

// What all other sites cost at least, by the levels that a site has itself; where that is
// little to keep, and saves more than it takes.
void SpreadCover::bound_others() {
  const auto copies = static_cast<Size>(std::max<Index>(need_->copies, 0));
  const Size sites = levels_.size(), width = copies + 1;
  others_.clear();
  if (one_level_ || !one_site_ || sites * width > kMostKept || !evaluate()) return;
  Index must = fixed_cost_;
  for (Size s = 0; s < sites; ++s)
    if (need_->sites[s].must) must += levels_[s][0].bound;
  rows_.assign(sites * width, kNever);
  next_.assign(width, kNever);
  next_[0] = 0;
  Size work = 0;
  for (Size s = 0; s < sites; ++s) {
    const auto row = rows_.row(s, width);
    std::ranges::copy(next_, row);
    for (Size l = 1; l <= able(s); ++l)
      for (Size k = 0; k < copies; ++k) {
        const Size to = std::min(copies, k + l);
        const Index before = row[static_cast<std::ptrdiff_t>(k)];
        if (before < kNever) next_[to] = std::min(next_[to], before + levels_[s][l - 1].bound);
      }
    work += (able(s) + 1) * width;
  }
  rest_.assign(width, kNever);  // by what is still wanted
  rest_[0] = 0;
  others_.resize(sites);
  for (Size s = sites; s-- > 0;) {
    const Index* row = rows_.data() + s * width;
    const Size levels = able(s);
    others_[s].assign(levels + 1, kNever);
    for (Size l = 0; l <= levels; ++l)
      for (Size k = 0; k <= copies; ++k) {
        const Index behind = rest_[k + l < copies ? copies - k - l : 0];
        others_[s][l] = std::min(others_[s][l], std::min(kNever, row[k] + behind));
      }
    for (Index& sum : others_[s]) sum = std::min(kNever, sum + must - own_[s]);
    for (Size m = copies; m > 0; --m)
      for (Size l = 1; l <= levels; ++l)
        rest_[m] = std::min(rest_[m],
                            std::min(kNever, rest_[m > l ? m - l : 0] + levels_[s][l - 1].bound));
    work += 2 * (levels + 1) * width;
  }
  charge(work);
}

// Do the bounds of the other sites, though of fewer jobs decided, show that no set of at most
// this cost goes through all that go? The job is the one decided last.
bool SpreadCover::refuted(Size job, Index cost) {
  const Size s = at(site_[pieces_of(job).front()]);
  if (others_.empty() || need_->sites[s].must) return false;
  if (stale_[s]) solve_site(s);
  for (Size l = 0; l < others_[s].size() && l <= able(s); ++l) {
    const Index bound = l == 0 ? 0 : levels_[s][l - 1].bound;
    if (others_[s][l] < kNever && own_[s] + bound + others_[s][l] <= cost) return false;
  }
  return true;
}

bool SpreadCover::evaluate() {
  for (Size s = 0; s < levels_.size(); ++s)
    if (stale_[s]) solve_site(s);
  std::ranges::fill(chosen_, 0);
  parts_ = fixed_cost_ * scale_;
  for (Size s = 0; s < levels_.size(); ++s)
    if (need_->sites[s].must) {
      chosen_[s] = 1;
      parts_ = std::min(kNever, parts_ + levels_[s][0].bound);
    }
  one_level_ ? pick_sites() : pick_levels();
  if (parts_ >= kNever) return false;
  std::ranges::fill(used_, 0);
  for (Size s = 0; s < levels_.size(); ++s)
    if (chosen_[s] > 0)
      for (const Id p : levels_[s][at(chosen_[s] - 1)].used) used_[p] = 1;
  return true;
}

}  // namespace evenhand
