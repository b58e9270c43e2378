#include "evenhand/policy/ytsaurus/planner.h"

#include <algorithm>

#include "evenhand/core/poll.h"
#include "evenhand/core/times.h"
#include "evenhand/policy/ytsaurus/heartbeat.h"
#include "evenhand/share/satisfaction.h"

namespace evenhand::ytsaurus {
namespace {

using Size = std::size_t;

// As often at least a live cluster asks for an update, so that volumes of integral pools move on.
constexpr Time kVolumeGrid = 60 * kMicrosecondsPerSecond;

bool has_integral_pools(const Tables& t) {
  return std::ranges::any_of(t.pools.integral.type,
                             [](IntegralType type) { return type != IntegralType::kNone; });
}

}  // namespace

Planner::Planner(Inputs inputs)
    : evenhand::Planner(ClusterState(inputs.snapshot, inputs.rows.taken)),
      inputs_(std::move(inputs)),
      volumes_(inputs_.volumes),
      has_volumes_(inputs_.has_volumes),
      integral_(has_integral_pools(state_.tables())),
      workspace_(std::make_unique<Workspace>(state_, false, inputs_.settings, inputs_.rows,
                                             inputs_.given, inputs_.memory)) {}

Planner::Planner(Inputs inputs, std::shared_ptr<ClusterState> state, bool total_stated)
    : evenhand::Planner(std::move(state)),
      inputs_(std::move(inputs)),
      volumes_(inputs_.volumes),
      has_volumes_(inputs_.has_volumes),
      integral_(has_integral_pools(state_.tables())) {
  if (!total_stated) state_.follow_total();
  for (const ClusterState::TakenRoom& t : inputs_.rows.taken)
    state_.set_taken(t.allocation, t.amounts);
  workspace_ = std::make_unique<Workspace>(state_, true, inputs_.settings, inputs_.rows,
                                           inputs_.given, inputs_.memory);
}

Planner::Planner(const Planner& other, std::shared_ptr<ClusterState> state)
    : evenhand::Planner(std::move(state)),
      inputs_(other.inputs_),
      volumes_(other.volumes_),
      has_volumes_(other.has_volumes_),
      integral_(other.integral_),
      workspace_(std::make_unique<Workspace>(*other.workspace_, state_)),
      nodes_(other.nodes_),
      pace_due_(other.pace_due_) {}

void Planner::rows_came(ClusterState::Table table, std::span<const Id> rows,
                        const RowSettings& cells) {
  take_back();
  workspace_->rows_came(table, rows, cells);
}

void Planner::become(const Column<Id>& rows) {
  workspace_->become(rows);
  inputs_.settings = workspace_->settings;
}

std::unique_ptr<evenhand::Planner> Planner::afresh() const {
  return std::make_unique<Planner>(inputs_);
}

void Planner::update(Time now, bool keep) {
  take_back();
  state_.advance(now);
  workspace_->update(has_volumes_ ? &volumes_ : nullptr, keep);
  workspace_->pace.begin(state_);  // what is remembered is of this instant
  if (!integral_) return;
  const FairShareResult& shares = *workspace_->last.shares;
  volumes_ = {now, shares.volume.accumulated, shares.volume.last_share_ratio};
  has_volumes_ = true;
}

void Planner::decide(const Trigger& trigger, Recorder* recorder) {
  take_back();
  if (trigger.kind == Trigger::Kind::kRound)
    nodes_ = state_.nodes().in_order();
  else
    nodes_.assign(trigger.nodes.begin(), trigger.nodes.end());
  workspace_->begin();
  workspace_->decisions.certify(trigger.certificates);
  // All are asked for, or groups alone are.
  if (trigger.kind == Trigger::Kind::kRound || nodes_.empty()) workspace_->groups.refresh(state_);
  for (const Id node : nodes_) {
    poll();
    heartbeat(*workspace_, node, recorder);
  }
  if (recorder != nullptr) name_started(*workspace_, *recorder);
  pace_due_ = workspace_->pace.due();
}

Counts Planner::counts() const {
  static constexpr const char* kStage[] = {"regular",        "preemptive",     "aggressive",
                                           "ssd_preemptive", "ssd_aggressive", "full_host",
                                           "graceful",       "limit_repair",   "overcommit"};
  static constexpr const char* kWhat[] = {"run", "started", "victims", "backoff"};
  Counts out;
  for (Size s = 0; s < workspace_->counts.size(); ++s)
    for (Size w = 0; w < std::size(kWhat); ++w)
      if (const Index count = workspace_->counts[s][w]; count > 0)
        out.emplace_back(std::string(kStage[s]) + "." + kWhat[w], count);
  return out;
}

Columns Planner::elements() const {
  const Update& u = workspace_->last;
  const EffectiveSettings& effective = u.starvation.effective;
  Column<std::uint8_t> priority(static_cast<Size>(workspace_->pools()), 0);
  for (const Priority p : u.priority) priority.push_back(static_cast<std::uint8_t>(p));
  return {{"status", codes(u.starvation.status)},
          {"starvation", codes(u.starvation.clocks.starvation)},
          {"since", u.starvation.clocks.since},
          {"satisfaction", satisfaction(workspace_->listed_inputs(), *u.shares)},
          {"tolerance", effective.tolerance},
          {"timeout", effective.timeout},
          {"aggressive_starvation", effective.enable_aggressive},
          {"aggressive_preemption", effective.allow_aggressive},
          {"usage_threshold", effective.usage_threshold, true},
          {"lowest_starving_ancestor", u.starvation.lowest_starving},
          {"lowest_aggressive_ancestor", u.starvation.lowest_aggressive},
          {"priority", std::move(priority)}};
}

SharesView Planner::shares() const {
  return {workspace_->last.shares, inputs_.settings.fair_share};
}

Column<Group> Planner::groups() const {
  workspace_->groups.refresh(state_);
  Column<Group> out(static_cast<Size>(state_.slots()), Group::kNone);
  for (Size slot = 0; slot < out.size(); ++slot)
    if (const auto id = static_cast<Id>(slot); state_.running(id))
      out[slot] = workspace_->group(id);
  return out;
}

Columns Planner::memory() const {
  const Memory& m = workspace_->memory;
  const StarvationClocks& clocks = workspace_->last.starvation.clocks;
  const Size nodes = at(state_.nodes().rows());
  Columns out{{"since", clocks.since},
              {"starvation", codes(clocks.starvation)},
              {"last_preemptive", m.last_preemptive.column(nodes)},
              {"overcommitted_since", m.overcommitted_since.column(nodes)}};
  put_victims(out, workspace_->pace.memory(state_));
  return out;
}

std::size_t Planner::memory_bytes() const {
  return state_.memory_bytes() + workspace_->groups.memory_bytes();
}

// Each tries what a stage may take, if its back-off has passed.
void Planner::passed(Id node, Time first, Time period, Time last) {
  Beside<Time>& clock = workspace_->memory.last_preemptive;
  const Time tried = clock[node];
  const Time backoff = inputs_.settings.backoff;
  if (tried != kNoTime && first <= tried + backoff)
    first += (tried + backoff - first + period) / period * period;
  if (first > last) return;
  const Time step = (backoff / period + 1) * period;
  clock.set(node, first + (last - first) / step * step);
}

// Volumes of integral pools move on at every update, and by how far depends on where the last was.
Time Planner::next_update() const { return integral_ ? workspace_->state.now() : next_deficit(); }

// When an element that is below its share begins to starve, if nothing happens until then.
Time Planner::next_deficit() const {
  const Workspace& d = *workspace_;
  const Time now = d.state.now();
  if (d.stale()) return now;
  const Time due = evenhand::next_due(d.inputs(), d.settings.starvation, d.work(), now,
                                      workspace_->last.starvation);
  return due == kNoTime || due < now ? kNoTime : due + 1;  // comparisons are strict
}

Time Planner::next_due() const {
  const Workspace& d = *workspace_;
  const Time now = d.state.now();
  if (!d.decisions.rows().empty() || d.stale()) return now;
  Time due = next_deficit();
  const auto after = [&](Time instant) {
    if (instant >= now && (due == kNoTime || instant + 1 < due)) due = instant + 1;
  };
  if (integral_) after(floor_to(now, kVolumeGrid) + kVolumeGrid - 1);
  const auto candidates = [&](Stage stage) { return !d.queue(stage).empty(); };
  const bool may_preempt = candidates(Stage::kPreemptive) || candidates(Stage::kAggressive) ||
                           candidates(Stage::kFullHost) || d.settings.repair_in_stage;
  for (const Id node : nodes_) {
    const auto n = static_cast<Size>(node);
    if (const Time last = d.memory.last_preemptive[n]; may_preempt && last != kNoTime)
      after(last + d.settings.backoff);
    if (const Time since = d.memory.overcommitted_since[n]; since != kNoTime)
      after(since + d.settings.overcommit_delay);
  }
  if (pace_due_ != kNoTime) after(pace_due_ - 1);
  return due;
}

}  // namespace evenhand::ytsaurus
