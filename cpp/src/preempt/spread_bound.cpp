// The bound of a split of the costs: covers of the sites, and the cheapest choice of them.
#include <algorithm>
#include <numeric>

#include "evenhand/preempt/spread_cover.h"

namespace evenhand {
namespace {

constexpr Index kScale = 10'000;  // parts of a job's cost, if jobs have several sites
constexpr std::size_t kMostListed = 2'000, kMostTried = 40'000;  // covers of a level, trials

}  // namespace

void SpreadCover::begin(const SpreadNeed& need, std::span<const Index> costs) {
  need_ = &need;
  costs_ = costs;
  const Size n = costs.size(), pieces = need.job.size(), sites = need.sites.size();
  first_piece_.assign(n + 1, 0);
  for (const Id j : need.job) ++first_piece_[at(j) + 1];
  std::partial_sum(first_piece_.begin(), first_piece_.end(), first_piece_.begin());
  piece_.resize(pieces);
  std::vector<Size> next(first_piece_.begin(), first_piece_.end() - 1);
  for (Size p = 0; p < pieces; ++p) piece_[next[at(need.job[p])]++] = static_cast<Id>(p);
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
  scale_ = most == 1 ? 1 : std::max(kScale, static_cast<Index>(most));
  part_.resize(pieces);
  together_ = static_cast<Size>(std::max<Index>(need.copies, 0));
  for (const SpreadNeed::Site& site : need.sites) together_ += site.must;
  for (Size j = 0; j < n; ++j) {
    const auto count = std::min(pieces_of(j).size(), together_);
    for (const Id p : pieces_of(j))
      part_[at(p)] = scale_ * costs[j] / static_cast<Index>(std::max<Size>(count, 1));
  }
  best_part_ = price_ = part_;
  fixed_.assign(n, Fixed::kOpen);
  fixed_cost_ = 0;
  levels_.resize(sites);
  for (Size s = 0; s < sites; ++s) levels_[s].resize(static_cast<Size>(need.sites[s].levels));
  stale_.assign(sites, 1);
  chosen_.assign(sites, 0);
  gone_.assign(sites * need.width, 0);
  got_.resize(sites * need.width);
  used_.assign(pieces, 0);
  lack_.resize(need.width);
  selector_ = VictimSelector(need.width);
  selector_.break_ties(false);
  for (Size s = 0; scale_ > 1 && s < sites; ++s)
    for (Size l = 0; l < levels_[s].size(); ++l) list_covers(s, l);
}

// All covers of a level none of whose jobs can be spared, if they are few.
void SpreadCover::list_covers(Size s, Size l) {
  const SpreadNeed::Site& site = need_->sites[s];
  const Size width = need_->width;
  Level& level = levels_[s][l];
  level.listed = false;
  level.cover.clear();
  level.ends.clear();
  const Amount* lack = need_->lack.data() + site.first_lack + l * width;
  std::vector<Amount> rest(lack, lack + width), after((site.pieces + 1) * width, 0);
  const auto amount = [&](Size k) { return need_->amount.data() + (site.first + k) * width; };
  for (Size k = site.pieces; k-- > 0;)  // what those from k on can give
    for (Size r = 0; r < width; ++r)
      after[k * width + r] = after[(k + 1) * width + r] + amount(k)[r];
  std::vector<Size> taken;
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
    Index sum = 0;
    for (Size k = begin; k < end; ++k) sum += price_[at(level.cover[k])];
    if (sum < level.bound && sum < kBarred) {
      level.bound = sum;
      best = begin;
      best_end = end;
    }
    begin = end;
  }
  level.used.clear();
  for (Size k = best; k < best_end; ++k)
    if (fixed_[at(need_->job[at(level.cover[k])])] == Fixed::kOpen)
      level.used.push_back(level.cover[k]);
}

void SpreadCover::set_prices(Size job) {
  for (const Id p : pieces_of(job))
    price_[at(p)] = fixed_[job] == Fixed::kOpen   ? part_[at(p)]
                    : fixed_[job] == Fixed::kGoes ? 0
                                                  : kBarred;
}

void SpreadCover::fix(Size job, Fixed to) {
  const Index before = fixed_[job] == Fixed::kGoes, after = to == Fixed::kGoes;
  fixed_[job] = to;
  set_prices(job);
  fixed_cost_ += (after - before) * costs_[job];
  for (const Id p : pieces_of(job)) {
    const Size s = at(site_[at(p)]);
    stale_[s] = 1;
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
    if (fixed_[at(need_->job[p])] == Fixed::kOpen)
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
  const auto bound = [&](Id s) { return levels_[at(s)][0].bound; };
  const auto count = std::min(order_.size(), static_cast<Size>(std::max<Index>(need_->copies, 0)));
  const auto middle = order_.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(order_.begin(), middle, order_.end(),
                    [&](Id a, Id b) { return bound(a) != bound(b) ? bound(a) < bound(b) : a < b; });
  if (static_cast<Index>(count) < need_->copies) parts_ = kNever;
  for (auto s = order_.begin(); s != middle; ++s) {
    chosen_[at(*s)] = 1;
    parts_ = std::min(kNever, parts_ + bound(*s));
  }
}

// The cheapest choice of levels, site after site.
void SpreadCover::pick_levels() {
  const auto copies = static_cast<Size>(std::max<Index>(need_->copies, 0));
  sum_.assign(copies + 1, kNever);
  sum_[0] = 0;
  from_.assign(levels_.size() * (copies + 1), 0);
  for (Size s = 0; s < levels_.size(); ++s) {
    if (need_->sites[s].must) continue;
    next_ = sum_;
    for (Size l = 1; l <= levels_[s].size() && levels_[s][l - 1].bound < kNever; ++l)
      for (Size k = 0; k < copies; ++k) {
        const Size to = std::min(copies, k + l);
        const Index cost = sum_[k] + levels_[s][l - 1].bound;
        if (sum_[k] >= kNever || cost >= next_[to]) continue;
        next_[to] = cost;
        from_[s * (copies + 1) + to] = static_cast<std::int32_t>(l * (copies + 1) + k);
      }
    sum_.swap(next_);
  }
  parts_ = std::min(kNever, parts_ + sum_[copies]);
  if (parts_ >= kNever) return;
  Size k = copies;
  for (Size s = levels_.size(); s-- > 0;) {
    const auto from = static_cast<Size>(from_[s * (copies + 1) + k]);
    if (need_->sites[s].must || from == 0) continue;
    chosen_[s] = static_cast<Index>(from / (copies + 1));
    k = from % (copies + 1);
  }
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
      for (const Id p : levels_[s][static_cast<Size>(chosen_[s]) - 1].used) used_[at(p)] = 1;
  return true;
}

}  // namespace evenhand
