// What suspend on subordinate decides: after everything else of a run.
#include <algorithm>

#include "run.h"

namespace evenhand::gridengine {

Id Run::queue_of(const Entry& entry, const Unit& unit) const {
  return unit.slot != kNoId ? subordination_.queue_of(unit.slot)
                            : subordination_.queue_of_job(entry.operation);
}

// It frees nothing and needs nothing: what stops keeps all it has, slots too.
void Run::subordinate() {
  if (!subordination_.on()) return;
  const Time now = state_.now();
  const Column<Amount> nothing(width_, 0);
  for (const Subordination::Change& change : subordination_.settle()) {
    const Id o = change.operation;
    const Id step = steps_++;
    for (const Id slot : in_order(state_.allocations(), state_.allocations_of(o))) {
      Decision d{.action = change.stops ? Action::kPreempt : Action::kResume,
                 .stage = Stage::kSchedulingRun,
                 .reason = change.reason,
                 .mode = Mode::kSuspend};
      d.slot = slot;
      d.operation = o;
      d.node = state_.node_of(slot);
      d.step = step;
      d.over = change.count;
      if (change.stops) {
        d.until = now;
        d.ran = now - state_.allocations().get(&AllocationColumns::start_time, slot,
                                               state_.last_start(slot));
      } else {
        d.beneficiary = {o, kNoId};
      }
      room_at(d.node);
      add(d, {nullptr, scratch_.data(), nullptr, state_.operation_usage(o), state_.amounts(slot)});
      ++(change.stops ? tally.victims : tally.resumes);
    }
    tally.jobs += change.stops;
    becomes_[o] = static_cast<std::uint8_t>(change.stops ? JobState::kSuspended : JobState::kRuns);
  }
  decisions.name_queues(set_.subordinates.names);
}

}  // namespace evenhand::gridengine
