#include "evenhand/policy/ytsaurus/plan.h"

#include <algorithm>

#include "evenhand/core/poll.h"
#include "evenhand/policy/ytsaurus/heartbeat.h"

namespace evenhand::ytsaurus {
namespace {

using Size = std::size_t;

// Between updates that nothing else asks for, volumes of integral pools move on.
constexpr Time kVolumeGrid = 60 * kMicrosecondsPerSecond;

std::unique_ptr<Desk> updated_desk(const PlanInputs& in) {
  auto desk = std::make_unique<Desk>(ClusterState(in.snapshot, in.rows.taken), in.settings, in.rows,
                                     in.given, in.memory);
  desk->update(in.has_volumes ? &in.volumes : nullptr, false);
  return desk;
}

}  // namespace

Plan::Plan(PlanInputs inputs) : inputs_(std::move(inputs)), desk_(updated_desk(inputs_)) {
  groups_.resize(static_cast<Size>(desk_->state.slots()));
  for (Size slot = 0; slot < groups_.size(); ++slot) {
    const auto id = static_cast<Id>(slot);
    groups_[slot] = desk_->state.running(id) ? desk_->group(id) : Group::kNone;
  }
  for (const Id node : inputs_.nodes) {
    poll();
    heartbeat(*desk_, node);
  }
}

std::vector<Event> Plan::trace(Id request, Id slot) const {
  const std::unique_ptr<Desk> desk = updated_desk(inputs_);
  Recorder recorder{request, slot, {}};
  for (const Id node : inputs_.nodes) {
    poll();
    heartbeat(*desk, node, recorder);
  }
  return std::move(recorder.events);
}

Time Plan::next_due() const {
  const Desk& d = *desk_;
  const Time now = d.state.now();
  if (!d.decisions.rows().empty()) return now;
  Time due = kNoTime;
  const auto after = [&](Time instant) {  // comparisons are strict: a microsecond later
    if (instant >= now && (due == kNoTime || instant + 1 < due)) due = instant + 1;
  };
  const StarvationSettings& set = d.settings.starvation;
  const Tables& t = d.state.tables();
  const auto pools = static_cast<Size>(t.pools.size());
  for (Size e = 1; e < static_cast<Size>(t.element_count()); ++e) {
    const Time since = d.last.starvation.clocks.since[e];
    if (since == kNoTime) continue;
    double part = 1;
    if (e >= pools)
      part = std::min(1.0, static_cast<double>(d.last.work.allocations[e - pools]) /
                               set.allocation_count_coefficient);
    const auto scaled = [&](Time timeout) {
      return since + static_cast<Time>(static_cast<double>(timeout) * part);
    };
    after(scaled(d.last.starvation.effective.timeout[e]));
    if (d.last.starvation.effective.enable_aggressive[e]) after(scaled(set.aggressive_timeout));
    if (d.settings.full_host_stage) after(since + d.settings.full_host_timeout);
  }
  const auto candidates = [&](Stage stage) { return !d.queue(stage).empty(); };
  const bool may_preempt = candidates(Stage::kPreemptive) || candidates(Stage::kAggressive) ||
                           candidates(Stage::kFullHost) || d.settings.repair_in_stage;
  for (const Id node : inputs_.nodes) {
    const auto n = static_cast<Size>(node);
    if (const Time last = d.memory.last_preemptive[n]; may_preempt && last != kNoTime)
      after(last + d.settings.backoff);
    if (const Time since = d.memory.overcommitted_since[n]; since != kNoTime)
      after(since + d.settings.overcommit_delay);
  }
  if (std::ranges::any_of(t.pools.integral.type,
                          [](IntegralType type) { return type != IntegralType::kNone; }))
    after((now / kVolumeGrid + 1) * kVolumeGrid - 1);
  return due;
}

}  // namespace evenhand::ytsaurus
