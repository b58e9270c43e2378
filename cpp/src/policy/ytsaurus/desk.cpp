#include "evenhand/policy/ytsaurus/desk.h"

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

Desk::Desk(ClusterState& s, Settings set, RowSettings own, Given g, Memory m)
    : settings(std::move(set)),
      rows(std::move(own)),
      given(std::move(g)),
      memory(std::move(m)),
      state(s),
      groups(state, group_options(settings)),
      decisions(state.width()),
      selector(state.width()),
      stages_{stage_rules(settings, false), stage_rules(settings, true)},
      shapes_(state.tables().requests, state.tables().resources.scope) {
  const Tables& t = state.tables();
  const auto nodes = static_cast<Size>(t.nodes.size());
  memory.last_preemptive.resize(nodes, kNoTime);
  memory.overcommitted_since.resize(nodes, kNoTime);
  for (Size n = 0; n < nodes; ++n)
    if (const Time since = at_or(t.nodes.overcommitted_since, static_cast<Index>(n), kNoTime);
        since != kNoTime)
      memory.overcommitted_since[n] = since;
  std::vector<Id> shape_of(static_cast<Size>(t.requests.size()));
  for (Size q = 0; q < shape_of.size(); ++q) shape_of[q] = shapes_.of(static_cast<Id>(q));
  by_shape_ = grouped(shape_of, shapes_.size());
  where_ = Where(t);
}

void Desk::update(const VolumeMemory* volumes, bool keep) {
  last = ytsaurus::update(state, settings, rows, given, memory.clocks, engine_, volumes, keep);
  memory.clocks = last.starvation.clocks;
  updated_ = true;
  const EffectiveSettings& effective = last.starvation.effective;
  for (Id o = 0; o < static_cast<Id>(state.tables().operations.size()); ++o) {
    const Id e = pools() + o;
    const bool has = effective.has_usage_threshold[static_cast<Size>(e)] != 0;
    groups.set_bounds(
        o, last.fair_share(e), last.demand_share(e),
        has ? effective.usage_threshold.data() + static_cast<Size>(e) * state.width() : nullptr);
  }
  groups.refresh(state);
  build_limits();
  build_queues();
  build_exposure();
}

bool Desk::waits(Id operation) const {
  return std::ranges::any_of(requests_of(operation), [&](Id q) { return state.pending(q) > 0; });
}

// Membership follows from the update and ends with an operation's last request.
void Desk::build_queues() {
  const Tables& t = state.tables();
  const auto operations = static_cast<Size>(t.operations.size());
  const auto first = last.satisfaction.begin() + static_cast<std::ptrdiff_t>(pools());
  live_satisfaction_.resize(operations);
  std::transform(first, last.satisfaction.end(), live_satisfaction_.begin(), in_billionths);
  refused_at_.assign(static_cast<Size>(t.requests.size()), 0);

  std::array<std::vector<Id>, kStages> members;
  for (std::vector<Index>& waiting : waiting_) waiting.assign(shapes_.size(), 0);
  const auto join = [&](Stage stage, Id o) {
    members[static_cast<Size>(stage)].push_back(o);
    for (const Id q : requests_of(o))
      waiting_[static_cast<Size>(stage)][static_cast<Size>(shapes_.of(q))] += state.pending(q) > 0;
  };
  for (Size i = 0; i < operations; ++i) {
    const auto o = static_cast<Id>(i);
    if (!last.work.schedulable[i] || !waits(o)) continue;
    const Size e = static_cast<Size>(pools()) + i;
    // A graceful operation would take again what it has just given up.
    if (graceful(o) && last.starvation.status[e] == Status::kNormal) continue;
    join(Stage::kRegular, o);
    const bool ssd = at_or(rows.wants_ssd, o, std::uint8_t{0}) != 0;
    const bool aggressive = last.priority[i] == Priority::kAggressive;
    if (last.priority[i] == Priority::kNormal ||
        (aggressive && settings.preemptive_stage_serves_aggressive)) {
      join(Stage::kPreemptive, o);
      if (ssd) join(Stage::kSsdPreemptive, o);
    }
    if (aggressive) {
      join(Stage::kAggressive, o);
      if (ssd) join(Stage::kSsdAggressive, o);
    }
    const Time since = last.starvation.clocks.since[e];
    const auto takes_a_host = [&](Id q) {
      return t.requests.resources[static_cast<Size>(q) * state.width() +
                                  static_cast<Size>(settings.gpu)] == settings.full_host_gpus;
    };
    if (settings.full_host_stage && settings.gpu != kNoId && since != kNoTime &&
        last.now > since + settings.full_host_timeout &&
        std::ranges::all_of(requests_of(o), takes_a_host))
      join(Stage::kFullHost, o);
  }
  for (Size s = 0; s < members.size(); ++s) {
    waiting_shapes_[s].clear();
    for (Size shape = 0; shape < shapes_.size(); ++shape)
      if (waiting_[s][shape] > 0) waiting_shapes_[s].push_back(static_cast<Id>(shape));
    queues_[s].reset(last.places, live_satisfaction_, std::move(members[s]));
  }
}

void Desk::build_limits() {
  const Tables& t = state.tables();
  const auto elements = static_cast<Size>(t.element_count());
  limited_.clear();
  limited_from_.assign(elements, kNoId);
  over_.assign(elements, 0);
  over_count_ = 0;
  const auto visit = [&](Id element, Id parent, ResourceMask limits) {
    if (limits != 0) limited_.push_back(element);
    limited_from_[static_cast<Size>(element)] = limits != 0 ? element
                                                : parent == kNoId
                                                    ? kNoId
                                                    : limited_from_[static_cast<Size>(parent)];
  };
  for (const Id p : t.pools.top_down)
    visit(p, t.pools.parent[static_cast<Size>(p)], t.pools.limits_given[static_cast<Size>(p)]);
  for (Id o = 0; o < static_cast<Id>(t.operations.size()); ++o)
    visit(pools() + o, t.operations.pool[static_cast<Size>(o)],
          t.operations.limits_given[static_cast<Size>(o)]);
  for (const Id e : limited_) check_over(e);
}

Id Desk::limited_above(Id element) const {
  const Id parent = parent_of(element);
  return parent == kNoId ? kNoId : limited_from(parent);
}

Desk::Limits Desk::limits_of(Id element, bool preemptive) const {
  const Tables& t = state.tables();
  const bool pool = element < pools();
  const auto row = static_cast<Size>(pool ? element : element - pools());
  const Amount* slack = preemptive && pool && !rows.limits_tolerance.empty()
                            ? rows.limits_tolerance.data() + row * state.width()
                            : nullptr;
  return {pool ? t.pools.limits_given[row] : t.operations.limits_given[row],
          (pool ? t.pools.limits : t.operations.limits).data() + row * state.width(), slack};
}

bool Desk::exceeds(Id element, const Amount* usage) const {
  const Limits limits = limits_of(element, false);
  for (Size r = 0; r < state.width(); ++r)
    if (limits.given(r) && usage[r] > limits.at(r)) return true;
  return false;
}

void Desk::check_over(Id element) {
  const bool over = exceeds(element, usage_of(element));
  over_count_ += static_cast<Index>(over) - over_[static_cast<Size>(element)];
  over_[static_cast<Size>(element)] = over;
}

Id Desk::over_limit(Id operation) const {
  for (Id e = limited_from(pools() + operation); e != kNoId; e = limited_above(e))
    if (over_[static_cast<Size>(e)]) return e;
  return kNoId;
}

bool Desk::within_limits(Id operation, const Amount* more, bool preemptive) const {
  if (preemptive && settings.infinite_limits_overcommit) return true;
  for (Id e = limited_from(pools() + operation); e != kNoId; e = limited_above(e)) {
    const Limits limits = limits_of(e, preemptive);
    const Amount* used = usage_of(e);
    for (Size r = 0; r < state.width(); ++r)
      if (limits.given(r) && used[r] + more[r] > limits.at(r)) return false;
  }
  return true;
}

void Desk::lacking_limits(Id operation, const Amount* more, bool preemptive, Amount* lacking,
                          std::span<const Id> victims) const {
  std::fill_n(lacking, state.width(), 0);
  for (Id e = limited_from(pools() + operation); e != kNoId; e = limited_above(e)) {
    std::array<Amount, kMaxResources> used{};
    std::copy_n(usage_of(e), state.width(), used.begin());
    for (const Id slot : victims) {
      const Id owner = pools() + state.operation_of(slot);
      if (owner != e && !stands_in(owner, e, [&](Id x) { return parent_of(x); })) continue;
      for (Size r = 0; r < state.width(); ++r) used[r] += state.amounts(slot)[r];
    }
    const Limits limits = limits_of(e, preemptive);
    for (Size r = 0; r < state.width(); ++r)
      if (limits.given(r)) lacking[r] = std::max(lacking[r], used[r] + more[r] - limits.at(r));
  }
}

void Desk::refuse_by_limits(Id request) { refused_at_[static_cast<Size>(request)] = falls_; }

Desk::Place Desk::why_not_on(Id request, Id node) const {
  const Tables& t = state.tables();
  const RequestColumns& q = t.requests;
  if (const evenhand::Place place = where_.why_not(t, request, node);
      place != evenhand::Place::kAllowed)
    return place == evenhand::Place::kOtherNode ? Place::kOtherNode : Place::kTagMissing;
  if (is_ssd_node(node) && !rows.regular_on_ssd.empty()) {
    const auto o = static_cast<Size>(q.operation[static_cast<Size>(request)]);
    if (!at_or(rows.wants_ssd, static_cast<Index>(o), std::uint8_t{0}))
      for (Id p = t.operations.pool[o]; p != kNoId; p = t.pools.parent[static_cast<Size>(p)])
        if (!rows.regular_on_ssd[static_cast<Size>(p)]) return Place::kSsdOnly;
  }
  return Place::kAllowed;
}

void Desk::build_exposure() {
  const Tables& t = state.tables();
  exposure_.resize(static_cast<Size>(t.operations.size()));
  for (Size o = 0; o < exposure_.size(); ++o) {
    const Size e = static_cast<Size>(pools()) + o;
    const bool starves = last.starvation.clocks.starvation[e] != Starvation::kNonStarving;
    Exposure& x = exposure_[o];
    x.aggressive = last.starvation.effective.allow_aggressive[e] != 0;
    x.to_stages =
        !graceful(static_cast<Id>(o)) && (settings.allow_preemption_from_starving || !starves);
    x.to_preemptive = x.to_stages;
    if (!rows.allow_normal.empty())
      for (Id p = t.operations.pool[o]; p != kNoId; p = t.pools.parent[static_cast<Size>(p)])
        x.to_preemptive &= rows.allow_normal[static_cast<Size>(p)] != 0;
  }
}

Id Desk::shield(Id operation, Stage stage) const {
  if (!settings.check_starvation && !settings.check_satisfaction) return kNoId;
  const bool aggressive = stage == Stage::kAggressive || stage == Stage::kSsdAggressive;
  const Size width = state.width();
  const auto starving = [&](Id e) {
    return settings.check_starvation &&
           last.starvation.clocks.starvation[static_cast<Size>(e)] != Starvation::kNonStarving;
  };
  const auto served = [&](Id e) {
    if (!settings.check_satisfaction) return kInfiniteSatisfaction;
    std::array<double, kMaxResources> share{};
    const std::vector<Amount>& total = state.tables().total;
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

bool Desk::cpu_gap(Id slot) const noexcept {
  const Size first = static_cast<Size>(slot) * state.width();
  if (first >= rows.cpu_limits.size()) return false;
  const Amount* used = state.amounts(slot);
  for (Size r = 0; r < state.width(); ++r)
    if (rows.cpu_limits[first + r] > used[r]) return true;
  return false;
}

bool Desk::within_fair_share(Id operation) const {
  const double* fair = last.fair_share(pools() + operation);
  const Amount* used = state.operation_usage(operation);
  const std::vector<Amount>& total = state.tables().total;
  for (Size r = 0; r < state.width(); ++r)
    if (total[r] > 0 &&
        static_cast<double>(used[r]) / static_cast<double>(total[r]) > fair[r] + kTolerance)
      return false;
  return true;
}

std::span<const Id> Desk::requests_of_shape(Id shape) const {
  const auto s = static_cast<Size>(shape);
  return std::span(by_shape_.items)
      .subspan(static_cast<Size>(by_shape_.offsets[s]),
               static_cast<Size>(by_shape_.offsets[s + 1] - by_shape_.offsets[s]));
}

void Desk::usage_changed(Id operation, bool fell) {
  if (!updated_) return;
  const Size width = state.width();
  std::array<double, kMaxResources> share{};
  const Amount* used = state.operation_usage(operation);
  const std::vector<Amount>& total = state.tables().total;
  for (Size r = 0; r < width; ++r)
    share[r] = total[r] > 0 ? static_cast<double>(used[r]) / static_cast<double>(total[r]) : 0.0;
  const Id e = pools() + operation;
  live_satisfaction_[static_cast<Size>(operation)] = in_billionths(satisfaction_of(
      {last.fair_share(e), width}, {share.data(), width}, {last.demand_share(e), width}));
  for (ServiceQueue& queue : queues_)
    if (queue.contains(operation)) queue.touch(operation);
  if (fell) ++falls_;
  for (Id limited = limited_from(e); limited != kNoId; limited = limited_above(limited))
    check_over(limited);
}

void Desk::drop_operation(Id operation) {
  for (ServiceQueue& queue : queues_)
    if (queue.contains(operation)) queue.remove(operation);
}

// A request of a shape that waits no more, or waits again.
void Desk::pending_changed(Id request, Index before) {
  const Id operation = state.tables().requests.operation[static_cast<Size>(request)];
  const Index now = state.pending(request);
  if (!updated_ || (before > 0) == (now > 0)) return;
  for (Size s = 0; s < queues_.size(); ++s)
    if (queues_[s].contains(operation))
      waiting_[s][static_cast<Size>(shapes_.of(request))] += now > 0 ? 1 : -1;
  if (!waits(operation)) drop_operation(operation);
}

Id Desk::start_request(Id request, Id node) {
  const Index before = state.pending(request);
  const Id slot = state.start_request(request, node);
  groups.add(state, slot);
  usage_changed(state.operation_of(slot), false);
  pending_changed(request, before);
  return slot;
}

Id Desk::on(const Delta& delta) {
  using Kind = Delta::Kind;
  const bool of_slot = delta.kind != Kind::kStart && delta.kind < Kind::kPending;
  const Index before = delta.kind == Kind::kPending ? state.pending(delta.row) : 0;
  // Where a slot stands in its group's order follows from what changes here.
  if (of_slot && state.running(delta.row)) groups.remove(state, delta.row);
  const Id slot = apply(state, delta);
  if (slot == kNoId) {
    if (delta.kind == Kind::kPending) pending_changed(delta.row, before);
    return slot;
  }
  if (state.running(slot)) groups.add(state, slot);
  if (delta.kind != Kind::kTouch)
    usage_changed(state.operation_of(slot),
                  delta.kind != Kind::kStart && delta.kind != Kind::kResume);
  return slot;
}

void Desk::begin() {
  decisions.clear();
  counts = {};
  handed.clear();
  steps = 0;
}

}  // namespace evenhand::ytsaurus
