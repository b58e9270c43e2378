#include "evenhand/policy/ytsaurus/desk.h"

#include <algorithm>
#include <utility>

#include "evenhand/model/building.h"
#include "evenhand/share/satisfaction.h"

namespace evenhand::ytsaurus {
namespace {

using Size = std::size_t;

constexpr double kTolerance = 1e-9;

GroupLists::Options group_options(const Settings& s) {
  return {s.aggressive_preemption_threshold, s.preemption_threshold, s.on_bound_preemptible,
          s.saved_progress_counts, s.usage_threshold_protects_prefix};
}

std::vector<Id> common_codes(const StringColumn& from, const StringColumn& to) {
  std::vector<Id> out(static_cast<Size>(from.size()), kNoId);
  for (Index i = 0; i < from.size(); ++i)
    for (Index j = 0; j < to.size(); ++j)
      if (from[i] == to[j]) out[static_cast<Size>(i)] = static_cast<Id>(j);
  return out;
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
    out.push_back({Stage::kFullHost, Level::kSsdNonPreemptible, Reason::kFullHostPreemption});
  return out;
}

Level level(Group group, bool aggressive_allowed, bool ssd) {
  if (group == Group::kPreemptible) return Level::kPreemptible;
  if (group == Group::kAggressivelyPreemptible && aggressive_allowed)
    return ssd ? Level::kSsdAggressivelyPreemptible : Level::kAggressivelyPreemptible;
  return ssd ? Level::kSsdNonPreemptible : Level::kNonPreemptible;
}

Desk::Desk(ClusterState s, Settings set, RowSettings own, Given g, Memory m)
    : settings(std::move(set)),
      rows(std::move(own)),
      given(std::move(g)),
      memory(std::move(m)),
      state(std::move(s)),
      groups(state, group_options(settings)),
      decisions(state.width()),
      selector(state.width()),
      shapes_(state.tables().requests, state.width()) {
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
  node_tag_of_ = common_codes(t.requests.node_tags.values, t.nodes.tags.values);
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
}

bool Desk::waits(Id operation) const {
  return std::ranges::any_of(requests_of(operation), [&](Id q) { return state.pending(q) > 0; });
}

// Membership follows from the update and ends with an operation's last request.
void Desk::build_queues() {
  const Tables& t = state.tables();
  const auto operations = static_cast<Size>(t.operations.size());
  const auto first = last.satisfaction.begin() + static_cast<std::ptrdiff_t>(pools());
  live_satisfaction_.assign(first, last.satisfaction.end());
  refused_at_.assign(static_cast<Size>(t.requests.size()), 0);
  shape_waiting_.assign(shapes_.size(), 0);

  std::array<std::vector<Id>, kStages> members;
  const auto join = [&](Stage stage, Id o) { members[static_cast<Size>(stage)].push_back(o); };
  for (Size i = 0; i < operations; ++i) {
    const auto o = static_cast<Id>(i);
    if (!last.work.schedulable[i] || !waits(o)) continue;
    const Size e = static_cast<Size>(pools()) + i;
    // A graceful operation would take again what it has just given up.
    if (graceful(o) && last.starvation.status[e] == Status::kNormal) continue;
    join(Stage::kRegular, o);
    for (const Id q : requests_of(o))
      shape_waiting_[static_cast<Size>(shapes_.of(q))] += state.pending(q) > 0;
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
  for (Size s = 0; s < members.size(); ++s)
    queues_[s].reset(last.places, live_satisfaction_, std::move(members[s]));
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
  const Tables& t = state.tables();
  const Id parent = element < pools() ? t.pools.parent[static_cast<Size>(element)]
                                      : t.operations.pool[static_cast<Size>(element - pools())];
  return parent == kNoId ? kNoId : limited_from(parent);
}

bool Desk::exceeds(Id element, const Amount* usage) const {
  const Tables& t = state.tables();
  const bool pool = element < pools();
  const auto row = static_cast<Size>(pool ? element : element - pools());
  const ResourceMask given_mask = pool ? t.pools.limits_given[row] : t.operations.limits_given[row];
  const Amount* limits = (pool ? t.pools.limits : t.operations.limits).data() + row * state.width();
  for (Size r = 0; r < state.width(); ++r)
    if ((given_mask >> r & 1) && usage[r] > limits[r]) return true;
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
  const Tables& t = state.tables();
  for (Id e = limited_from(pools() + operation); e != kNoId; e = limited_above(e)) {
    const bool pool = e < pools();
    const auto row = static_cast<Size>(pool ? e : e - pools());
    const ResourceMask mask = pool ? t.pools.limits_given[row] : t.operations.limits_given[row];
    const Amount* limits =
        (pool ? t.pools.limits : t.operations.limits).data() + row * state.width();
    const Amount* used = usage_of(e);
    for (Size r = 0; r < state.width(); ++r) {
      if (!(mask >> r & 1) || more[r] == 0) continue;
      const Amount slack = preemptive && pool && !rows.limits_tolerance.empty()
                               ? rows.limits_tolerance[row * state.width() + r]
                               : 0;
      if (used[r] + more[r] > limits[r] + slack) return false;
    }
  }
  return true;
}

void Desk::lacking_limits(Id operation, const Amount* more, Amount* lacking) const {
  const Tables& t = state.tables();
  std::fill_n(lacking, state.width(), 0);
  for (Id e = limited_from(pools() + operation); e != kNoId; e = limited_above(e)) {
    const bool pool = e < pools();
    const auto row = static_cast<Size>(pool ? e : e - pools());
    const ResourceMask mask = pool ? t.pools.limits_given[row] : t.operations.limits_given[row];
    const Amount* limits =
        (pool ? t.pools.limits : t.operations.limits).data() + row * state.width();
    for (Size r = 0; r < state.width(); ++r)
      if ((mask >> r & 1) && more[r] > 0)
        lacking[r] = std::max(lacking[r], usage_of(e)[r] + more[r] - limits[r]);
  }
}

void Desk::refuse_by_limits(Id request) { refused_at_[static_cast<Size>(request)] = falls_; }

Desk::Place Desk::why_not_on(Id request, Id node) const {
  const Tables& t = state.tables();
  const RequestColumns& q = t.requests;
  if (const Id required = at_or(q.required_node, request, kNoId);
      required != kNoId && required != node)
    return Place::kOtherNode;
  if (q.node_tags.offsets.size() > 1) {
    const auto tags = [](const TextListColumn& column, Id row) {
      const auto i = static_cast<Size>(row);
      if (column.offsets.size() <= 1) return std::span<const Id>{};
      return std::span(column.codes)
          .subspan(static_cast<Size>(column.offsets[i]),
                   static_cast<Size>(column.offsets[i + 1] - column.offsets[i]));
    };
    const auto has = tags(t.nodes.tags, node);
    for (const Id tag : tags(q.node_tags, request)) {
      const Id code = node_tag_of_[static_cast<Size>(tag)];
      if (code == kNoId || std::ranges::find(has, code) == has.end()) return Place::kTagMissing;
    }
  }
  if (is_ssd_node(node) && !rows.regular_on_ssd.empty()) {
    const auto o = static_cast<Size>(q.operation[static_cast<Size>(request)]);
    if (!at_or(rows.wants_ssd, static_cast<Index>(o), std::uint8_t{0}))
      for (Id p = t.operations.pool[o]; p != kNoId; p = t.pools.parent[static_cast<Size>(p)])
        if (!rows.regular_on_ssd[static_cast<Size>(p)]) return Place::kSsdOnly;
  }
  return Place::kAllowed;
}

bool Desk::exposed(Id operation, Stage stage) const noexcept {
  if (graceful(operation)) return false;
  const auto e = static_cast<Size>(pools() + operation);
  if (!settings.allow_preemption_from_starving &&
      last.starvation.clocks.starvation[e] != Starvation::kNonStarving)
    return false;
  if (stage == Stage::kPreemptive && !rows.allow_normal.empty()) {
    const Tables& t = state.tables();
    for (Id p = t.operations.pool[static_cast<Size>(operation)]; p != kNoId;
         p = t.pools.parent[static_cast<Size>(p)])
      if (!rows.allow_normal[static_cast<Size>(p)]) return false;
  }
  return true;
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
  live_satisfaction_[static_cast<Size>(operation)] = satisfaction_of(
      {last.fair_share(e), width}, {share.data(), width}, {last.demand_share(e), width});
  for (ServiceQueue& queue : queues_)
    if (queue.contains(operation)) queue.update(operation);
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
  if (!updated_ || (before > 0) == (now > 0) || !queue(Stage::kRegular).contains(operation)) return;
  shape_waiting_[static_cast<Size>(shapes_.of(request))] += now > 0 ? 1 : -1;
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

void Desk::start(Id operation, Id node, std::span<const Amount> amounts, Time time) {
  const Id slot = state.start(operation, node, amounts, time);
  groups.add(state, slot);
  usage_changed(operation, false);
}

void Desk::end(Id slot) {
  if (state.running(slot)) groups.remove(state, slot);
  state.end(slot);
  usage_changed(state.operation_of(slot), true);
}

void Desk::preempt(Id slot, Beneficiary beneficiary) {
  if (state.running(slot)) groups.remove(state, slot);
  state.preempt(slot, beneficiary);
  usage_changed(state.operation_of(slot), true);
}

void Desk::touch(Id slot, Time last_start, Time last_progress) {
  const bool listed = state.running(slot);
  if (listed) groups.remove(state, slot);
  state.touch(slot, last_start, last_progress);
  if (listed) groups.add(state, slot);
}

void Desk::resize(Id slot, std::span<const Amount> amounts) {
  const bool listed = state.running(slot);
  if (listed) groups.remove(state, slot);
  state.resize(slot, amounts);
  if (listed) groups.add(state, slot);
  usage_changed(state.operation_of(slot), true);
}

void Desk::set_pending(Id request, Index count) {
  const Index before = state.pending(request);
  state.set_pending(request, count);
  pending_changed(request, before);
}

}  // namespace evenhand::ytsaurus
