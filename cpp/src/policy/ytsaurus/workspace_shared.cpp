// Settings that share a run as long as everything is the same under them.
//
// Starvation is judged under all of them, each tolerance with clocks of its own: a deficit that
// leads to nothing tells nothing apart. Groups are compared on the nodes whose heartbeats read
// them.
#include <algorithm>
#include <limits>
#include <utility>

#include "evenhand/policy/ytsaurus/workspace.h"

namespace evenhand::ytsaurus {
namespace {

using Size = std::size_t;

std::array<double, 2> factors_of(const SharedSettings& shared, Id row) {
  return {shared.aggressive_threshold[row], shared.threshold[row]};
}

}  // namespace

bool Workspace::share(SharedSettings set) {
  const auto is_set = [](Time since) { return since != kNoTime; };
  if (updated_ || settings.full_host_stage || settings.check_satisfaction ||
      !rows.graceful.empty() || !rows.starvation.tolerance.empty() ||
      !rows.starvation.timeout.empty() || !given.groups.empty() || !given.starvation.empty() ||
      std::ranges::any_of(last.starvation.clocks.since, is_set))
    return false;
  list_others(set);
  shared_ = std::move(set);
  return true;
}

// Clocks of tolerances that there are already keep their time.
void Workspace::list_others(const SharedSettings& set) {
  OtherStarvation& others = last.starvation.others;
  OtherStarvation now;
  starves_as_.clear();
  is_cut_as_.clear();
  cuts_.clear();
  cuts_apart_ = false;
  if (set.rows() > 1) {
    Column<double> tolerances = set.tolerance;
    std::ranges::sort(tolerances);
    tolerances.erase(std::unique(tolerances.begin(), tolerances.end()), tolerances.end());
    for (const double tolerance : tolerances) {
      const auto known =
          std::ranges::find(others.clocks, tolerance, &OtherStarvation::Clock::tolerance);
      now.clocks.push_back(
          {tolerance, known == others.clocks.end() ? last.starvation.clocks.since : known->since});
    }
    now.in_deficit = others.in_deficit;
  }
  for (Id row = 0; set.rows() > 1 && row < set.rows(); ++row) {
    const auto clock =
        std::ranges::find(now.clocks, set.tolerance[row], &OtherStarvation::Clock::tolerance);
    const OtherStarvation::One one{static_cast<Id>(clock - now.clocks.begin()), set.timeout[row],
                                   set.aggressive_timeout[row]};
    const auto same = std::ranges::find_if(now.all, [&](const OtherStarvation::One& other) {
      return other.clock == one.clock && other.timeout == one.timeout &&
             other.aggressive_timeout == one.aggressive_timeout;
    });
    starves_as_.push_back(static_cast<Id>(same - now.all.begin()));
    if (same == now.all.end()) now.all.push_back(one);
    const auto cut = std::ranges::find(cuts_, factors_of(set, row), &Cuts::factors);
    is_cut_as_.push_back(static_cast<Id>(cut - cuts_.begin()));
    if (cut == cuts_.end()) cuts_.push_back({factors_of(set, row)});
  }
  others = std::move(now);
}

Column<Id> Workspace::apart() const {
  Column<Id> out;
  for (Id row = 0; row < starves_as_.rows(); ++row)
    if (!last.starvation.others.all[at(starves_as_[row])].alike ||
        !cuts_[at(is_cut_as_[row])].alike)
      out.push_back(row);
  return out;
}

void Workspace::become(const Column<Id>& remaining) {
  const bool leads = remaining.front() == 0;
  shared_ = shared_.chosen(remaining);
  if (!leads) {
    StarvationSettings& tree = settings.starvation;
    tree.tolerance = shared_.tolerance[0];
    tree.timeout = shared_.timeout[0];
    tree.aggressive_timeout = shared_.aggressive_timeout[0];
    settings.preemption_threshold = shared_.threshold[0];
    settings.aggressive_preemption_threshold = shared_.aggressive_threshold[0];
    groups.set_factors(factors_of(shared_, 0));
    for (const OtherStarvation::Clock& clock : last.starvation.others.clocks)
      if (clock.tolerance == tree.tolerance) last.starvation.clocks.since = clock.since;
  }
  list_others(shared_);
  if (leads || !updated_) return;
  std::ranges::fill(last.starvation.effective.tolerance, settings.starvation.tolerance);
  std::ranges::fill(last.starvation.effective.timeout, settings.starvation.timeout);
  for (Id o = 0; o < state.operations().rows(); ++o) set_bounds(o);
  // What shares may do without changing anything was told of other settings.
  std::ranges::fill(engine_.calm().bounds, std::numeric_limits<double>::quiet_NaN());
}

// Where nothing is preempted nothing reads them. Those that only aggressive stages take are read by
// these, and by whatever takes any work.
void Workspace::compare_groups(Id node) {
  if (!shares_groups()) return;
  std::array<Amount, kMaxResources> room{};
  const bool repairs = over_count_ > 0 || !free_room(node, room.data());
  if (!repairs && !has_candidates()) return;
  const bool whole = repairs || !queue(Stage::kAggressive).empty() ||
                     !queue(Stage::kSsdPreemptive).empty() || !queue(Stage::kSsdAggressive).empty();
  for (const Id slot : state.on_node(node)) {
    if (!state.running(slot)) continue;
    const Id o = state.operation_of(slot);
    const std::array<Index, 2> own = groups.cuts(o);
    for (Cuts& cuts : cuts_) {
      if (!cuts.alike) continue;
      const std::array<Index, 2> its =
          groups.cuts_under(state, o, last.fair_share(pools() + o), cuts.factors);
      cuts.alike = its[1] == own[1] && (!whole || its[0] == own[0]);
      cuts_apart_ |= !cuts.alike;
    }
  }
}

}  // namespace evenhand::ytsaurus
