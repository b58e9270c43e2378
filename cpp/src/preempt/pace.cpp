#include "evenhand/preempt/pace.h"

#include <algorithm>
#include <numeric>

#include "evenhand/core/times.h"

namespace evenhand {
namespace {

using Size = std::size_t;

Time within_day(Time instant) noexcept { return instant - floor_to(instant, kDay); }

// From a time of the day to the next that is another one.
Time to_next(Time now, Time then) noexcept {
  const Time wait = within_day(then - now);
  return wait == 0 ? kDay : wait;
}

}  // namespace

Pace::Pace(PaceSettings settings, const ClusterState& state, const VictimTimes& before)
    : set_(std::move(settings)) {
  const PoolColumns& pools = state.pools();
  if (std::ranges::any_of(set_.most_victims, [](Index most) { return most >= 0; })) {
    window_of_.assign(at(pools.size()), kNoId);
    for (const Id p : pools.top_down) {
      const Id above = pools.parent[p] == kNoId ? kNoId : window_of_[pools.parent[p]];
      window_of_[p] = above;
      if (set_.most_victims[p] < 0) continue;
      window_of_[p] = static_cast<Id>(windows_.size());
      windows_.push_back({p, set_.most_victims[p], above});
    }
  }
  on_ = set_.victim_cooldown > 0 || set_.spare_if_ran_less_than > 0 ||
        set_.spare_if_ends_within > 0 || !windows_.empty() || !set_.immune_hours.empty();
  for (Size i = 0; on_ && i < before.element.size(); ++i) {
    const Id e = before.element[i];
    if (e >= static_cast<Id>(pools.size())) {
      const Id o = e - static_cast<Id>(pools.size());
      last_.set(o, std::max(last_[o], before.time[i]));
    } else if (!windows_.empty() && window_of_[e] != kNoId &&
               windows_[at(window_of_[e])].pool == e) {
      windows_[at(window_of_[e])].times.push_back(before.time[i]);
    }
  }
  for (Window& window : windows_) std::ranges::sort(window.times);
}

void Pace::begin(const ClusterState& state) {
  if (!on_) return;
  now_ = state.now();
  due_ = kNoTime;
  for (Window& w : windows_) {
    while (w.first < w.times.size() && w.times[w.first] + kHour <= now_) ++w.first;
    if (w.first * 2 > w.times.size()) {
      w.times.erase(w.times.begin(), w.times.begin() + static_cast<std::ptrdiff_t>(w.first));
      w.first = 0;
    }
  }
  if (!set_.immune_hours.empty() &&
      (immune_from_ == kNoTime || now_ < immune_from_ || now_ >= changes_))
    find_immune(state);
}

// How far the zone's clocks are ahead now, and until when.
Time Pace::ahead(const PaceSettings::Zone& zone, Time& until) const noexcept {
  const auto next = std::ranges::upper_bound(zone.since, now_);
  const auto place = std::max<std::ptrdiff_t>(next - zone.since.begin() - 1, 0);
  if (next != zone.since.end() && next != zone.since.begin()) until = std::min(until, *next);
  return zone.ahead[place];
}

// Is it these hours now? `until`: no later than when that may change.
bool Pace::inside(const PaceSettings::Hours& hours, Time& until) const noexcept {
  const Time of_day = within_day(now_ + ahead(set_.zones[at(hours.zone)], until));
  until = std::min({until, now_ + to_next(of_day, hours.from), now_ + to_next(of_day, hours.to)});
  return hours.from < hours.to ? hours.from <= of_day && of_day < hours.to
                               : hours.from <= of_day || of_day < hours.to;
}

void Pace::find_immune(const ClusterState& state) {
  const PoolColumns& pools = state.pools();
  immune_.assign(at(pools.size()), kNoId);
  immune_until_.assign(at(pools.size()), kNoTime);
  immune_from_ = now_;
  changes_ = now_ + kDay;
  for (const PaceSettings::Hours& hours : set_.immune_hours) {
    Time until = now_ + kDay;
    if (inside(hours, until)) {
      immune_[hours.pool] = hours.pool;
      immune_until_[hours.pool] = std::max(immune_until_[hours.pool], until);
    }
    changes_ = std::min(changes_, until);
  }
  for (const Id p : pools.top_down)
    if (immune_[p] == kNoId && pools.parent[p] != kNoId) immune_[p] = immune_[pools.parent[p]];
}

Spared Pace::of_window(const Window& w) const noexcept {
  const Time at = w.count() > 0 ? w.times[w.first] + kHour : kNoTime;
  return {Outcome::kPoolVictimsPerHour, w.pool, at, w.count(), w.most};
}

Spared Pace::spared(const ClusterState& state, Id operation, Time began, Time end) {
  if (set_.victim_cooldown > 0)
    if (const Time before = last_[operation];
        before != kNoTime && now_ < before + set_.victim_cooldown) {
      watch(before + set_.victim_cooldown);
      return {Outcome::kVictimCooldown, kNoId, before};
    }
  if (set_.spare_if_ran_less_than > 0 && now_ < began + set_.spare_if_ran_less_than) {
    watch(began + set_.spare_if_ran_less_than);
    return {Outcome::kSparedRunTime, kNoId, began};
  }
  if (set_.spare_if_ends_within > 0 && end != kNoTime && now_ <= end) {
    if (end <= now_ + set_.spare_if_ends_within) {
      watch(end + 1);
      return {Outcome::kSparedEndsSoon, kNoId, end};
    }
    watch(end - set_.spare_if_ends_within);
  }
  const Id pool = state.pool_of(operation);
  if (!immune_.empty()) {
    watch(changes_);
    if (const Id by = immune_[pool]; by != kNoId)
      return {Outcome::kPoolImmune, by, immune_until_[by]};
  }
  if (windows_.empty()) return {};
  Spared none;
  for (Id w = window_of_[pool]; w != kNoId; w = windows_[at(w)].above) {
    const Window& window = windows_[at(w)];
    if (window.count() > 0) watch(window.times[window.first] + kHour);
    if (none.why == Outcome::kTaken && window.count() >= window.most) none = of_window(window);
  }
  return none;
}

Spared Pace::spared(const ClusterState& state, Id slot) {
  const LiveTable<AllocationColumns>& rows = state.allocations();
  return spared(state, state.operation_of(slot),
                rows.get(&AllocationColumns::start_time, slot, state.last_start(slot)),
                rows.get(&AllocationColumns::planned_end, slot, kNoTime));
}

void Pace::took(const ClusterState& state, Id operation) {
  if (!on_) return;
  if (set_.victim_cooldown > 0) {
    last_.set(operation, now_);
  }
  if (windows_.empty()) return;
  for (Id w = window_of_[state.pool_of(operation)]; w != kNoId; w = windows_[at(w)].above)
    windows_[at(w)].times.push_back(now_);
}

void Pace::beyond_caps(const ClusterState& state, std::span<const Id> operations,
                       std::vector<std::pair<Id, Spared>>& places) const {
  Column<Index> more(windows_.size(), 0);
  for (Size i = 0; i < operations.size(); ++i) {
    const Id from = window_of_[state.pool_of(operations[i])];
    const Window* full = nullptr;
    for (Id w = from; w != kNoId && full == nullptr; w = windows_[at(w)].above)
      if (windows_[at(w)].count() + more[w] >= windows_[at(w)].most) full = &windows_[at(w)];
    if (full != nullptr) {
      places.emplace_back(static_cast<Id>(i), of_window(*full));
      continue;
    }
    for (Id w = from; w != kNoId; w = windows_[at(w)].above) ++more[w];
  }
}

VictimTimes Pace::memory(const ClusterState& state) const {
  VictimTimes out;
  const Time now = now_ == kNoTime ? state.now() : now_;
  Column<Id> order(windows_.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](Id w) { return windows_[at(w)].pool; });
  for (const Id w : order)
    for (const Time time : windows_[at(w)].times)
      if (now < time + kHour) {
        out.element.push_back(windows_[at(w)].pool);
        out.time.push_back(time);
      }
  for (Size o = 0; o < last_.size(); ++o)
    if (last_[o] != kNoTime && now < last_[o] + set_.victim_cooldown) {
      out.element.push_back(static_cast<Id>(at(state.pools().size()) + o));
      out.time.push_back(last_[o]);
    }
  return out;
}

bool WithinCaps::again(const ClusterState& state, std::span<const Id> victims,
                       std::span<const Id> operations, const SelectionProof& proof) {
  if (first_) {
    proof_ = proof;
  } else {
    proof_.cost = proof.cost;
    proof_.proved = proof_.lower_bound == proof.cost;
    proof_.first = false;
    proof_.spent |= proof.spent;
    proof_.branches += proof.branches;
  }
  first_ = false;
  if (!pace_->has_caps()) return false;
  beyond_.clear();
  pace_->beyond_caps(state, operations, beyond_);
  for (const auto& [place, why] : beyond_) left_out_.emplace_back(victims[at(place)], why);
  return !beyond_.empty();
}

const Spared* WithinCaps::left_out(Id victim) const noexcept {
  const auto found = std::ranges::find(left_out_, victim, &std::pair<Id, Spared>::first);
  return found == left_out_.end() ? nullptr : &found->second;
}

Index WithinCaps::left(Index budget) const noexcept {
  return std::max<Index>(budget - proof_.branches, 1);
}

}  // namespace evenhand
