#include "evenhand/policy/backendai/plan.h"

#include "run.h"

namespace evenhand::backendai {

Plan::Plan(PlanInputs inputs)
    : inputs_(std::move(inputs)),
      width_(static_cast<std::size_t>(inputs_.snapshot.tables().resource_count())) {
  Run run(inputs_, false);
  run.go();
  refusals_ = run.refusals();
  decisions_ = std::move(run.decisions);
  counts_ = run.counts;
}

std::vector<Event> Plan::trace(Id request, Id slot) const {
  Run run(inputs_, true);
  run.go();
  const Tables& t = inputs_.snapshot.tables();
  const auto at = [](Id id) { return static_cast<std::size_t>(id); };
  const Id operation =
      request != kNoId ? t.requests.operation[at(request)] : t.allocations.operation[at(slot)];
  const bool suspended =
      slot != kNoId && t.allocations.state[at(slot)] == AllocationState::kPreempted;
  std::vector<Event> events;
  const std::vector<Amount> nothing(width_, 0);
  if (slot == kNoId || suspended) {
    for (const Entry& e : run.queue)
      if (e.operation == operation && e.suspended == suspended)
        events.push_back({kNoId, Stage::kSchedulingRun, run.outcome(e, request), operation, request,
                          slot, e.failed == request ? e.missing : nothing});
    return events;
  }
  for (const Attempt& a : run.attempts)
    events.push_back({t.allocations.node[at(slot)], Stage::kSchedulingRun, a.verdict[at(operation)],
                      operation, a.request, slot, nothing});
  return events;
}

}  // namespace evenhand::backendai
