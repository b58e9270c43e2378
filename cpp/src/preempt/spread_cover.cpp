#include "evenhand/preempt/spread_cover.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace evenhand {
namespace {

constexpr Index kNever = std::numeric_limits<Index>::max() / 4;
constexpr Index kScale = 10'000;  // parts of a job's cost, if jobs have several sites
constexpr Index kBarred = kNever / 1'000;
constexpr std::size_t kMostListed = 2'000, kMostTried = 40'000;  // covers of a level, trials
constexpr int kRootSteps = 200, kInnerSteps = 4;

constexpr std::size_t at(Id id) noexcept { return static_cast<std::size_t>(id); }

}  // namespace

Amount* FreedByNode::add(Id job, Id node) {
  std::vector<Id>& jobs = jobs_[at(node)];
  std::vector<Amount>& amounts = amounts_[at(node)];
  if (jobs.empty() || jobs.back() != job) {
    jobs.push_back(job);
    amounts.resize(amounts.size() + width_, 0);
  }
  return amounts.data() + amounts.size() - width_;
}

bool FreedByNode::covers(Id node, std::span<const Amount> lacks) const {
  const std::vector<Amount>& amounts = amounts_[at(node)];
  for (std::size_t r = 0; r < width_; ++r) {
    Amount left = lacks[r];
    for (std::size_t i = r; left > 0 && i < amounts.size(); i += width_) left -= amounts[i];
    if (left > 0) return false;
  }
  return true;
}

void SpreadNeed::add(std::span<const Id> jobs, std::span<const Amount> amounts,
                     std::span<const Amount> lacks, bool must) {
  const auto levels = static_cast<Index>(lacks.size() / width);
  sites.push_back({job.size(), jobs.size(), lack.size(), levels, must});
  job.insert(job.end(), jobs.begin(), jobs.end());
  amount.insert(amount.end(), amounts.begin(), amounts.end());
  lack.insert(lack.end(), lacks.begin(), lacks.end());
}

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

// Drops whoever is not needed, the dearest first; false: they do not suffice.
bool SpreadCover::shrink(std::vector<Id>& jobs) {
  const Size width = need_->width;
  std::ranges::fill(got_, 0);
  const auto move = [&](Id job, Amount sign) {
    for (const Id p : pieces_of(at(job)))
      for (Size r = 0; r < width; ++r)
        got_[at(site_[at(p)]) * width + r] += sign * need_->amount[at(p) * width + r];
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
  std::ranges::stable_sort(order_, [&](Id a, Id b) {
    return costs_[at(a)] != costs_[at(b)] ? costs_[at(a)] > costs_[at(b)] : a > b;
  });
  for (const Id j : order_) {
    if (asking_ && fixed_[at(j)] == Fixed::kGoes) continue;
    move(j, -1);
    Index left = levels;
    bool able = true;
    for (const Id p : pieces_of(at(j))) {
      const Size s = at(site_[at(p)]);
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
    for (const Id p : pieces_of(at(j))) next_[at(site_[at(p)])] = reach(at(site_[at(p)]));
    levels = left;
    std::erase(jobs, j);
  }
  return true;
}

// All that the chosen levels use; true: that is enough to stop.
bool SpreadCover::try_union() {
  std::vector<Id> jobs;
  for (Size j = 0; j < fixed_.size(); ++j)
    if (fixed_[j] == Fixed::kGoes ||
        std::ranges::any_of(pieces_of(j), [&](Id p) { return used_[at(p)] != 0; }))
      jobs.push_back(static_cast<Id>(j));
  if (!shrink(jobs)) return false;
  Index cost = 0;
  for (const Id j : jobs) cost += costs_[at(j)];
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
      if (used_[at(p)]) {
        ++uses;
        unpaid -= part_[at(p)];
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
  for (const Id p : of) largest_.push_back(part_[at(p)]);
  std::ranges::partial_sort(largest_, largest_.begin() + static_cast<std::ptrdiff_t>(count),
                            std::greater<>());
  const auto sum = static_cast<double>(std::accumulate(
      largest_.begin(), largest_.begin() + static_cast<std::ptrdiff_t>(count), Index{0}));
  const auto room = static_cast<double>(scale_ * costs_[job] - static_cast<Index>(count));
  for (const Id p : of)
    part_[at(p)] =
        std::max<Index>(1, static_cast<Index>(static_cast<double>(part_[at(p)]) / sum * room));
}

// Parts move to where their jobs are used; false: there is nothing to move.
bool SpreadCover::step(double by) {
  double norm = 0;
  moving_.clear();
  for (Size j = 0; j < fixed_.size(); ++j) {
    const auto of = pieces_of(j);
    if (of.size() < 2 || fixed_[j] != Fixed::kOpen) continue;
    Index sum = 0;
    for (const Id p : of) sum += used_[at(p)];
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
      const auto moved = std::llround(length * (used_[at(p)] - m));
      part_[at(p)] = std::clamp<Index>(part_[at(p)] + moved, 1, scale_ * costs_[j]);
      stale_[at(site_[at(p)])] = 1;
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
  Size branch = fixed_.size();
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
    if (known >= best_cost_) return;
    branch = disputed();
    if ((root || k == 0 || branch == fixed_.size()) && (try_union() || known >= best_cost_)) return;
    if (branch == fixed_.size() || k == steps || branches_ >= budget_ || !step(by)) break;
  }
  if (branch == fixed_.size()) {  // only covers that were not proved stand between
    floor_ = std::min(floor_, known);
    spent_ |= branches_ >= budget_;
    return;
  }
  Index used = 0;
  const auto of = pieces_of(branch);
  for (const Id p : of) used += used_[at(p)];
  const bool goes = 2 * used >= static_cast<Index>(of.size());
  for (const Fixed side :
       {goes ? Fixed::kGoes : Fixed::kStays, goes ? Fixed::kStays : Fixed::kGoes}) {
    if (known >= best_cost_ || best_cost_ <= enough_) break;
    fix(branch, side);
    search(known, false);
    fix(branch, Fixed::kOpen);
  }
}

// Each job that some cheapest set goes through, given those before, goes.
void SpreadCover::first_in_order(std::vector<Id>& taken, bool& first) {
  const Index cost = best_cost_;
  std::vector<Id> witness = best_;
  asking_ = true;
  Index sum = 0;
  first = true;
  taken.clear();
  for (Size j = 0; j < fixed_.size() && sum < cost; ++j) {
    if (pieces_of(j).empty()) continue;
    const bool known = std::ranges::binary_search(witness, static_cast<Id>(j));
    if (!known && (spent_ || sum + costs_[j] > cost)) continue;
    fix(j, Fixed::kGoes);
    if (!known) {
      best_cost_ = cost + 1;
      enough_ = cost;
      floor_ = kNever;
      search(0, false);
      if (best_cost_ > cost) {
        first &= floor_ == kNever && !spent_;
        fix(j, Fixed::kStays);
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

bool SpreadCover::solve(const SpreadNeed& need, std::span<const Index> costs, Index budget,
                        std::vector<Id>& taken, SelectionProof& proof) {
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
  for (const Id j : best_) best_cost_ += costs[at(j)];
  search(0, true);
  proof.root_bound = std::min(root_, best_cost_);
  proof.lower_bound = std::min(best_cost_, std::max(root_, floor_ == kNever ? best_cost_ : floor_));
  proof.proved = proof.lower_bound == best_cost_;
  taken = best_;
  if (proof.proved) first_in_order(taken, proof.first);
  proof.cost = best_cost_;
  proof.branches = branches_;
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
