#include "evenhand/policy/ytsaurus/workspace.h"

#include <algorithm>
#include <utility>

#include "evenhand/model/building.h"
#include "evenhand/preempt/blocking.h"
#include "evenhand/share/satisfaction.h"

namespace evenhand::ytsaurus {
namespace {

using Size = std::size_t;

constexpr double kTolerance = 1e-9;

GroupLists::Options group_options(const Settings& s) {
  return {s.aggressive_preemption_threshold, s.preemption_threshold, s.on_bound_preemptible,
          s.saved_progress_counts, s.usage_threshold_protects_prefix};
}

}  // namespace

std::vector<StageRule> stage_rules(const Settings& s, bool ssd_node) {
  std::vector<StageRule> out;
  const auto pair = [&](StageRule plain, StageRule aggressive) {
    out.push_back(s.aggressive_stage_first ? aggressive : plain);
    out.push_back(s.aggressive_stage_first ? plain : aggressive);
  };
  if (ssd_node)
    pair({Stage::kSsdPreemptive, Level::kNonPreemptible, Reason::kSsdPreemption},
         {Stage::kSsdAggressive, Level::kSsdAggressivelyPreemptible,
          Reason::kSsdAggressivePreemption});
  pair({Stage::kPreemptive, Level::kPreemptible, Reason::kPreemption},
       {Stage::kAggressive, Level::kAggressivelyPreemptible, Reason::kAggressivePreemption});
  if (s.full_host_stage)
    out.push_back(
        {Stage::kFullHost, Level::kSsdNonPreemptible, Reason::kDefaultGpuFullHostPreemption});
  return out;
}

Level level(Group group, bool aggressive_allowed, bool ssd) {
  if (group == Group::kPreemptible) return Level::kPreemptible;
  if (group == Group::kAggressivelyPreemptible && aggressive_allowed)
    return ssd ? Level::kSsdAggressivelyPreemptible : Level::kAggressivelyPreemptible;
  return ssd ? Level::kSsdNonPreemptible : Level::kNonPreemptible;
}

WorkspaceData::WorkspaceData(const ClusterState& state, bool live, Settings set, RowSettings own,
                             Given g, Memory m)
    : settings(std::move(set)),
      rows(std::move(own)),
      given(std::move(g)),
      memory(std::move(m)),
      groups(state, group_options(settings)),
      decisions(state.width()),
      pace(settings.pace, state, memory.victims),
      live_(live),
      inputs_(state, live),
      stages_{stage_rules(settings, false), stage_rules(settings, true)},
      shapes_(state.tables().requests, state.tables().resources.scope) {}

Workspace::Workspace(ClusterState& s, bool live, Settings set, RowSettings own, Given g, Memory m)
    : WorkspaceData(s, live, std::move(set), std::move(own), std::move(g), std::move(m)),
      state(s),
      selector(s.width()) {
  whole_usage_counts_ = !settings.starvation.usage_threshold.empty() ||
                        !rows.starvation.has_usage_threshold.empty() ||
                        settings.check_satisfaction || settings.full_host_stage;
  for (Id n = 0; n < state.nodes().rows(); ++n)
    if (stated_since(n) != kNoTime) stated_.push_back(n);
  last.starvation.clocks = std::move(memory.clocks);
  came_ = state.requests().in_order();
}

Workspace::Workspace(const Workspace& other, ClusterState& s)
    : WorkspaceData(other), state(s), selector(s.width()) {
  inputs_.refer(state);
  engine_.refer(inputs_.known(), inputs_.children());
  if (last.shares != nullptr) last.shares = &engine_.result();
  for (ServiceQueue& queue : queues_) queue.refer(last.places, live_satisfaction_);
}

void Workspace::update(const VolumeMemory* volumes, bool keep) {
  join_requests();
  gone_nodes_.clear();
  stated_.insert(stated_.end(), newly_stated_.begin(), newly_stated_.end());
  newly_stated_.clear();
  std::ranges::sort(stated_);
  stated_.erase(std::ranges::unique(stated_).begin(), stated_.end());
  std::erase_if(stated_, [&](Id node) { return stated_since(node) == kNoTime; });
  for (const Id node : stated_) memory.overcommitted_since.set(node, stated_since(node));
  ytsaurus::update(last, state, inputs_, settings, rows, given, engine_, volumes, keep);
  const FairShareResult &now = *last.shares, &then = engine_.before();
  const bool all =
      !updated_ || inputs().total != total_ ||
      (!last.only_changed && (inputs_.rows_changed() || then.total.size() != now.total.size()));
  updated_ = true;
  total_ = inputs().total;
  groups.set_total(total_);
  const auto operations = static_cast<Size>(state.operations().rows());
  groups.fit(operations);
  live_satisfaction_.resize(operations);
  resatisfied_.clear();
  const Size width = state.width();
  if (all || !last.only_changed) {
    const auto same = [&](Size e, const Column<double>& a, const Column<double>& b) {
      return std::equal(a.row(e, width), a.row(e, width) + width, b.row(e, width));
    };
    for (Id o = 0; at(o) < operations; ++o)
      if (const Size e = at(pools() + o); all || !same(e, now.total, then.total) ||
                                          !same(e, now.demand_share, then.demand_share) ||
                                          !same(e, now.usage_share, then.usage_share))
        follow_share(o);
  } else {
    for (const Id e : last.changed) {
      if (e < pools()) continue;
      follow_share(e - pools());
      stay_calm(e - pools());
    }
    for (const Id o : engine_.calm().moved) resatisfy(o);
  }
  if (all || !last.only_changed) {
    if (inputs_.rows_changed()) build_limits();
    build_queues();
  } else {
    follow_queues();
  }
  build_exposure(all);
}

void Workspace::build_limits() {
  const PoolColumns& p = state.pools();
  limited_from_.assign(static_cast<Size>(pools() + state.operations().rows()), kNoId);
  over_.assign(limited_from_.size(), 0);
  over_count_ = 0;
  for (const Id pool : p.top_down) {
    const auto row = static_cast<Size>(pool);
    limited_ |= p.limits_given[row] != 0;
    if (p.limits_given[row] != 0)
      limited_from_[row] = pool;
    else if (const Id parent = p.parent[row]; parent != kNoId)
      limited_from_[row] = limited_from_[parent];
    if (limited_from_[row] == pool) check_over(pool);
  }
  for (Id o = 0; o < state.operations().rows(); ++o) limit_operation(o);
}

void Workspace::limit_operation(Id operation) {
  const Id e = pools() + operation;
  Id& from = limited_from_[e];
  from = kNoId;
  if (state.operations().get(&OperationColumns::limits_given, operation) != 0)
    from = e;
  else if (state.operations().present(operation))
    from = limited_from_[state.pool_of(operation)];
  limited_ |= from == e;
  if (from == e || over_[e]) check_over(e);
}

Id Workspace::limited_above(Id element) const {
  const Id parent = parent_of(element);
  return parent == kNoId ? kNoId : limited_from(parent);
}

Workspace::Limits Workspace::limits_of(Id element, bool preemptive) const {
  if (element >= pools()) {
    const LiveTable<OperationColumns>& o = state.operations();
    return {o.get(&OperationColumns::limits_given, element - pools()),
            o.get_row(&OperationColumns::limits, element - pools()), nullptr};
  }
  const PoolColumns& p = state.pools();
  const auto row = static_cast<Size>(element);
  return {p.limits_given[row], p.limits.data() + row * state.width(),
          preemptive && !rows.limits_tolerance.empty()
              ? rows.limits_tolerance.data() + row * state.width()
              : nullptr};
}

bool Workspace::exceeds(Id element, const Amount* usage) const {
  const Limits limits = limits_of(element, false);
  for (Size r = 0; r < state.width(); ++r)
    if (limits.given(r) && usage[r] > limits.at(r)) return true;
  return false;
}

void Workspace::check_over(Id element) {
  const bool over = exceeds(element, usage_of(element));
  over_count_ += static_cast<Index>(over) - over_[element];
  over_[element] = over;
}

Id Workspace::over_limit(Id operation) const {
  for (Id e = limited_from(pools() + operation); e != kNoId; e = limited_above(e))
    if (over_[e]) return e;
  return kNoId;
}

bool Workspace::within_limits(Id operation, const Amount* more, bool preemptive) const {
  if (preemptive && settings.infinite_limits_overcommit) return true;
  for (Id e = limited_from(pools() + operation); e != kNoId; e = limited_above(e)) {
    const Limits limits = limits_of(e, preemptive);
    const Amount* used = usage_of(e);
    for (Size r = 0; r < state.width(); ++r)
      if (limits.given(r) && used[r] + more[r] > limits.at(r)) return false;
  }
  return true;
}

void Workspace::lacking_limits(Id operation, const Amount* more, bool preemptive, Amount* lacking,
                               std::span<const Amount> gone) const {
  std::fill_n(lacking, state.width(), 0);
  for (Id e = limited_from(pools() + operation); e != kNoId; e = limited_above(e)) {
    const Amount* used = usage_of(e);
    const Limits limits = limits_of(e, preemptive);
    for (Size r = 0; r < state.width(); ++r) {
      if (!limits.given(r)) continue;
      const Amount more_then = gone.empty() ? 0 : gone[static_cast<Size>(e) * state.width() + r];
      lacking[r] = std::max(lacking[r], used[r] + more_then + more[r] - limits.at(r));
    }
  }
}

void Workspace::refuse_by_limits(Id request) { refused_at_[request] = falls_; }

Workspace::Place Workspace::why_not_on(Id request, Id node) {
  if (const evenhand::Place place = where_.why_not(state, request, node);
      place != evenhand::Place::kAllowed)
    return place == evenhand::Place::kOtherNode ? Place::kOtherNode : Place::kTagMissing;
  if (is_ssd_node(node) && !rows.regular_on_ssd.empty()) {
    const Id o = state.operation_of_request(request);
    if (rows.wants_ssd[o] == 0)
      for (Id p = state.pool_of(o); p != kNoId; p = parent_of(p))
        if (!rows.regular_on_ssd[p]) return Place::kSsdOnly;
  }
  return Place::kAllowed;
}

// Between updates of the same rows it follows which elements starve.
void Workspace::build_exposure(bool all) {
  const auto set = [&](Id o) {
    exposure_[o] = state.operations().present(o) ? exposure_of(o) : Exposure{false, false, false};
  };
  exposure_.resize(static_cast<Size>(state.operations().rows()));
  if (all)
    for (Id o = 0; o < state.operations().rows(); ++o) set(o);
  else {
    for (const Id e : last.starvation.changed)
      if (e >= pools()) set(e - pools());
    for (const Id o : *inputs_.moved()) set(o);
  }
}

Workspace::Exposure Workspace::exposure_of(Id operation) const {
  const auto e = static_cast<Size>(pools() + operation);
  const bool starves = last.starvation.clocks.starvation[e] != Starvation::kNonStarving;
  Exposure x{};
  x.aggressive = last.starvation.effective.allow_aggressive[e] != 0;
  x.to_stages = !graceful(operation) && (settings.allow_preemption_from_starving || !starves);
  x.to_preemptive = x.to_stages;
  if (!rows.allow_normal.empty())
    for (Id p = state.pool_of(operation); p != kNoId; p = parent_of(p))
      x.to_preemptive &= rows.allow_normal[p] != 0;
  return x;
}

Id Workspace::shield(Id operation, Stage stage) const {
  if (!settings.check_starvation && !settings.check_satisfaction) return kNoId;
  const bool aggressive = stage == Stage::kAggressive || stage == Stage::kSsdAggressive;
  const Size width = state.width();
  const auto starving = [&](Id e) {
    return settings.check_starvation &&
           last.starvation.clocks.starvation[e] != Starvation::kNonStarving;
  };
  const auto served = [&](Id e) {
    if (!settings.check_satisfaction) return kInfiniteSatisfaction;
    std::array<double, kMaxResources> share{};
    const Column<Amount>& total = inputs().total;
    for (Size r = 0; r < width; ++r)
      share[r] =
          total[r] > 0 ? static_cast<double>(usage_of(e)[r]) / static_cast<double>(total[r]) : 0.0;
    return satisfaction_of({last.fair_share(e), width}, {share.data(), width},
                           {last.demand_share(e), width});
  };
  return blocking_element(
      pools() + operation, [&](Id e) { return parent_of(e); }, starving, served,
      aggressive ? settings.aggressive_preemption_threshold : settings.preemption_threshold);
}

bool Workspace::cpu_gap(Id slot) const noexcept {
  const Size first = static_cast<Size>(slot) * state.width();
  const Amount* used = state.amounts(slot);
  for (Size r = 0; r < state.width(); ++r)
    if (rows.cpu_limits[first + r] > used[r]) return true;
  return false;
}

bool Workspace::within_fair_share(Id operation) const {
  const double* fair = last.fair_share(pools() + operation);
  const Amount* used = state.operation_usage(operation);
  const Column<Amount>& total = inputs().total;
  for (Size r = 0; r < state.width(); ++r)
    if (total[r] > 0 &&
        static_cast<double>(used[r]) / static_cast<double>(total[r]) > fair[r] + kTolerance)
      return false;
  return true;
}

std::int8_t Workspace::pool_within_guarantee(Id operation) const {
  const PoolColumns& columns = state.pools();
  std::int8_t found = -1;
  for (Id p = state.pool_of(operation); p > 0; p = columns.parent[p]) {  // the root is owed nothing
    const Amount* used = state.pool_usage(p);
    std::int8_t within = -1;
    for (Size r = 0; r < state.width(); ++r)
      if (const Amount owed = columns.strong_guarantee[static_cast<Size>(p) * state.width() + r];
          owed > 0)
        within = within != 0 && used[r] <= owed ? 1 : 0;
    found = std::max(found, within);
  }
  return found;
}

void Workspace::usage_changed(Id operation, bool fell) {
  touch(operation);
  if (!updated_) return;
  set_bounds(operation);
  const Size width = state.width();
  std::array<double, kMaxResources> share{};
  const Amount* used = state.operation_usage(operation);
  const Column<Amount>& total = inputs().total;
  for (Size r = 0; r < width; ++r)
    share[r] = total[r] > 0 ? static_cast<double>(used[r]) / static_cast<double>(total[r]) : 0.0;
  const Id e = pools() + operation;
  live_satisfaction_[operation] = in_billionths(satisfaction_of(
      {last.fair_share(e), width}, {share.data(), width}, {last.demand_share(e), width}));
  for (ServiceQueue& queue : queues_)
    if (queue.contains(operation)) queue.touch(operation);
  if (fell) ++falls_;
  check_limits(operation);
}

void Workspace::check_limits(Id operation) {
  for (Id e = limited_from(pools() + operation); e != kNoId; e = limited_above(e)) check_over(e);
}

Id Workspace::start_request(Id request, Id node) {
  groups.refresh_unheld(state, state.operation_of_request(request));
  const Id slot = state.start_request(request, node);
  if (live_) rows.put(state, ClusterState::Table::kAllocations, {&slot, 1}, {});
  groups.add(state, slot);
  usage_changed(state.operation_of(slot), false);
  pending_changed(request, state.pending(request));
  if (stands_) done_.push_back({slot, state.operation_of(slot), request});
  return slot;
}

void Workspace::preempt(Id slot, Beneficiary beneficiary) {
  groups.remove(state, slot);
  state.preempt(slot, beneficiary);
  usage_changed(state.operation_of(slot), true);
  if (stands_) done_.push_back({slot, state.operation_of(slot), kNoId});
}

void Workspace::begin() {
  ++begun_times_;
  decisions.clear();
  counts = {};
  held_by_caps_.clear();
  handed.clear();
  pace.begin(state);
  gone_nodes_.clear();
  for (const Id node : newly_stated_)
    if (const Time since = stated_since(node); since != kNoTime)
      memory.overcommitted_since.set(node, since);
  stated_.insert(stated_.end(), newly_stated_.begin(), newly_stated_.end());
  newly_stated_.clear();
  steps = 0;
  if (!live_ || keeps_) return;
  begun_ = state.mark();
  stands_ = true;
}

void Workspace::take_back() {
  if (!stands_) return;
  for (Size i = done_.size(); i-- > 0;)
    if (done_[i].request == kNoId)
      groups.put_back(state, done_[i].slot);
    else
      groups.remove(state, done_[i].slot);
  state.take_back(begun_);
  for (const Done& d : done_) usage_changed(d.operation, true);
  for (const Dropped& d : dropped_)
    for (Size s = 0; s < queues_.size(); ++s)
      if (d.queues >> s & 1) queues_[s].insert(d.operation);
  for (const Done& d : done_)
    if (d.request != kNoId) pending_changed(d.request, state.pending(d.request));
  done_.clear();
  dropped_.clear();
  stands_ = false;
}

}  // namespace evenhand::ytsaurus
