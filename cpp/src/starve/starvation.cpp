#include "evenhand/starve/starvation.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "evenhand/starve/relation.h"

namespace evenhand {
namespace {

using Size = std::size_t;

// A gap that is smaller than the smallest allocation is no deficit, if so switched.
bool gap_holds_an_allocation(const Tables& t, const FairShareResult& s, const PendingWork& work,
                             Size o, Size e) {
  const auto width = t.total.size();
  const double* fair = s.total.row(e, width);
  const double* used = s.usage_share.row(e, width);
  const Amount* smallest = work.smallest.row(o, width);
  return clearly_above(
      fair, s.demand_share.row(e, width), width, [&](Size r) { return fair[r] - used[r]; },
      [&](Size r) {
        return t.total[r] > 0 ? static_cast<double>(smallest[r]) / static_cast<double>(t.total[r])
                              : 0.0;
      });
}

Status status_of(const Tables& t, const FairShareResult& s, const StarvationSettings& tree,
                 const PendingWork& work, double tolerance, Size e) {
  const auto width = t.total.size();
  const Size pools = t.pools.parent.size();
  if (e == 0) return Status::kNormal;
  const double* fair = s.total.row(e, width);
  const double* demand = s.demand_share.row(e, width);
  const double* used = s.usage_share.row(e, width);
  if (e >= pools) {
    if (!work.schedulable[e - pools]) return Status::kNormal;
    bool covered = true;
    for (Size r = 0; r < width; ++r) covered &= fair[r] + kCovers >= demand[r];
    if (covered) {
      if (tree.ignore_tolerance_if_satisfied) tolerance = 1.0;
    } else if (tree.absolute_tolerance && !gap_holds_an_allocation(t, s, work, e - pools, e)) {
      return Status::kNormal;
    }
  }
  const bool below = clearly_above(
      fair, demand, width,
      [&](Size r) { return std::min(fair[r] * tolerance, demand[r]); },  // rounding: fair > demand
      [&](Size r) { return used[r]; });
  return below ? Status::kBelowFairShare : Status::kNormal;
}

// Instants after which the state of an element may follow from the age of its deficit.
template <class Visit>
void for_due(const Tables& t, const StarvationSettings& tree, const PendingWork& work,
             const StarvationResult& out, Id e, Visit&& visit) {
  double part = 1;
  if (const Id o = e - t.pools.parent.rows(); o >= 0)
    part =
        std::min(1.0, static_cast<double>(work.allocations[o]) / tree.allocation_count_coefficient);
  const auto from = [&](Time since, Time timeout, Time aggressive_timeout) {
    if (since == kNoTime) return;
    const auto scaled = [&](Time of) {
      return since + static_cast<Time>(static_cast<double>(of) * part);
    };
    visit(scaled(timeout));
    if (out.effective.enable_aggressive[e]) visit(scaled(aggressive_timeout));
  };
  const Time since = out.clocks.since[e];
  from(since, out.effective.timeout[e], tree.aggressive_timeout);
  if (since != kNoTime && out.also_after != kNoTime) visit(since + out.also_after);
  for (const OtherStarvation::One& one : out.others.all)
    if (one.alike && out.others.in_deficit[e])
      from(out.others.clocks[at(one.clock)].since[e], one.timeout, one.aggressive_timeout);
}

// Is the new state of an element, which was another one before, the same under other settings?
// Returns whether a deficit began or ended there. A higher tolerance finds whatever a lower one
// does.
template <class StatusUnder>
bool judge_others(StatusUnder&& status_under, Time now, double part, bool aggressive,
                  Starvation before, Size e, StarvationResult& out) {
  OtherStarvation& others = out.others;
  if (!others.in_deficit[e] && status_under(others.clocks.back().tolerance) == Status::kNormal)
    return false;
  bool changed = false, any = false;
  for (Size c = 0; c < others.clocks.size(); ++c) {
    Time& since = others.clocks[c].since[e];
    const Status status = status_under(others.clocks[c].tolerance);
    Time next = since;
    for (OtherStarvation::One& one : others.all) {
      if (at(one.clock) != c || !one.alike) continue;
      next = since;
      Starvation state = before;
      check_starvation(status, now, static_cast<double>(one.timeout) * part,
                       static_cast<double>(one.aggressive_timeout) * part, aggressive, next, state);
      one.alike = state == out.clocks.starvation[e];
      others.apart |= !one.alike;
    }
    changed |= next != since;
    any |= next != kNoTime;
    since = next;
  }
  others.in_deficit[e] = any;
  return changed;
}

// The nearest element that starves, from that of the element above.
void inherit_lowest(StarvationResult& out, Id e, Id parent) {
  const Starvation state = out.clocks.starvation[e];
  const auto inherited = [&](const Column<Id>& lowest) {
    return parent == kNoId ? kNoId : lowest[parent];
  };
  out.lowest_starving[e] = state != Starvation::kNonStarving ? e : inherited(out.lowest_starving);
  out.lowest_aggressive[e] =
      state == Starvation::kAggressivelyStarving ? e : inherited(out.lowest_aggressive);
}

// Pools have changed their state: all that is below them follows it.
void hand_down(const Tables& t, StarvationResult& out) {
  const Id pools = t.pools.parent.rows();
  for (const Id pool : t.pools.top_down) inherit_lowest(out, pool, t.pools.parent[pool]);
  for (Id o = 0; o < t.operations.pool.rows(); ++o) {
    const Id e = pools + o, starving = out.lowest_starving[e],
             aggressive = out.lowest_aggressive[e];
    inherit_lowest(out, e, t.operations.pool[o]);
    if (out.lowest_starving[e] != starving || out.lowest_aggressive[e] != aggressive)
      out.looked_at.push_back(e);
  }
  std::ranges::sort(out.looked_at);
  out.looked_at.erase(std::unique(out.looked_at.begin(), out.looked_at.end()), out.looked_at.end());
}

}  // namespace

void check_starvation(Status status, Time now, double timeout, double aggressive_timeout,
                      bool aggressive, Time& since, Starvation& state) {
  if (status == Status::kNormal) {
    since = kNoTime;
    state = Starvation::kNonStarving;
    return;
  }
  if (since == kNoTime) {  // never on the first update, even with a timeout of 0
    since = now;
    return;
  }
  const auto waited = static_cast<double>(now - since);
  if (aggressive && waited > aggressive_timeout)
    state = Starvation::kAggressivelyStarving;
  else if (waited > timeout)
    state = Starvation::kStarving;
}

void starvation(const Tables& t, const FairShareResult& shares, const StarvationSettings& tree,
                const PendingWork& work, Time now, const Column<std::int8_t>& given,
                StarvationResult& out, const Column<Id>* of) {
  const Size pools = t.pools.parent.size(), elements = pools + t.operations.pool.size();
  out.status.resize(elements);
  out.clocks.since.resize(elements, kNoTime);
  out.clocks.starvation.resize(elements, Starvation::kNonStarving);
  out.lowest_starving.resize(elements);
  out.lowest_aggressive.resize(elements);
  out.others.fit(elements);

  out.changed.clear();
  const auto later = std::greater{};
  const bool scales_with_work = tree.allocation_count_coefficient > 1;
  const auto push_due = [&](Id e) {
    for_due(t, tree, work, out, e, [&](Time instant) {
      if (instant < now) return;
      out.due.push_back({instant, e});
      std::ranges::push_heap(out.due, later);
    });
  };
  const auto visit = [&](Size e, Id parent) {
    const Starvation before = out.clocks.starvation[e];
    const Time since = out.clocks.since[e];
    out.status[e] = status_of(t, shares, tree, work, out.effective.tolerance[e], e);
    Starvation& state = out.clocks.starvation[e];
    bool others_changed = false;
    if (e >= pools || tree.enable_pools) {
      double part = 1;
      if (e >= pools)
        part = std::min(1.0, static_cast<double>(work.allocations[e - pools]) /
                                 tree.allocation_count_coefficient);
      const bool aggressive = out.effective.enable_aggressive[e] != 0;
      check_starvation(out.status[e], now, static_cast<double>(out.effective.timeout[e]) * part,
                       static_cast<double>(tree.aggressive_timeout) * part, aggressive,
                       out.clocks.since[e], state);
      if (!out.others.clocks.empty())
        others_changed = judge_others(
            [&](double tolerance) { return status_of(t, shares, tree, work, tolerance, e); }, now,
            part, aggressive, before, e, out);
    }
    if (e < given.size() && given[e] != kUnset) state = static_cast<Starvation>(given[e]);
    const auto id = static_cast<Id>(e);
    if (state != before) out.changed.push_back(id);
    if (out.all || others_changed || out.clocks.since[e] != since ||
        (e >= pools && scales_with_work))
      push_due(id);
    inherit_lowest(out, id, parent);
  };
  out.all = of == nullptr || !given.empty();
  if (!out.all) {
    out.looked_at = *of;
    for (; !out.due.empty() && out.due.front().instant < now; out.due.pop_back()) {
      out.looked_at.push_back(out.due.front().element);
      std::ranges::pop_heap(out.due, later);
    }
    if (out.looked_at.size() > of->size()) {
      std::ranges::sort(out.looked_at);
      out.looked_at.erase(std::unique(out.looked_at.begin(), out.looked_at.end()),
                          out.looked_at.end());
    }
    bool pools_changed = false;
    for (const Id e : out.looked_at) {
      visit(at(e), at(e) < pools ? t.pools.parent[e] : t.operations.pool[at(e) - pools]);
      pools_changed |= at(e) < pools && !out.changed.empty() && out.changed.back() == e;
    }
    if (pools_changed) hand_down(t, out);
    return;
  }
  out.due.clear();
  for (const Id pool : t.pools.top_down) visit(at(pool), t.pools.parent[pool]);
  for (Size o = 0; o < t.operations.pool.size(); ++o) visit(pools + o, t.operations.pool[o]);
}

Time next_due(const Tables& t, const StarvationSettings& tree, const PendingWork& work, Time now,
              StarvationResult& out) {
  while (!out.due.empty()) {
    const DeficitDue first = out.due.front();
    bool is_due = false;
    for_due(t, tree, work, out, first.element,
            [&](Time instant) { is_due |= instant == first.instant; });
    if (is_due && first.instant >= now) return first.instant;
    std::ranges::pop_heap(out.due, std::greater{});
    out.due.pop_back();
  }
  return kNoTime;
}

}  // namespace evenhand
