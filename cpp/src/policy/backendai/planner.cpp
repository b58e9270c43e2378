#include "evenhand/policy/backendai/planner.h"

#include <array>

#include "run.h"

namespace evenhand::backendai {
namespace {

constexpr std::size_t at(Id id) noexcept { return static_cast<std::size_t>(id); }

// What the recorder's request or allocation met in a run.
void tell(const Run& run, Recorder& recorder) {
  const ClusterState& state = run.state();
  const auto [request, slot] = std::pair(recorder.request, recorder.slot);
  const Id operation =
      request != kNoId ? state.tables().requests.operation[at(request)] : state.operation_of(slot);
  const bool suspended = slot != kNoId && state.away(slot);
  const std::vector<Amount> nothing(state.width(), 0);
  if (slot == kNoId || suspended) {
    for (const Entry& e : run.queue)
      if (e.operation == operation && e.suspended == suspended)
        recorder.events.push_back({kNoId, Stage::kSchedulingRun, run.outcome(e, request), operation,
                                   request, slot, e.failed == request ? e.missing : nothing});
    return;
  }
  for (const Attempt& a : run.attempts)
    recorder.events.push_back({state.node_of(slot), Stage::kSchedulingRun, a.verdict[at(operation)],
                               operation, a.request, slot, nothing});
}

}  // namespace

Planner::Planner(Inputs inputs)
    : evenhand::Planner(ClusterState(inputs.snapshot)), inputs_(std::move(inputs)) {
  for (Id n = 0; n < static_cast<Id>(state_.tables().nodes.size()); ++n)
    set_capacity(n, state_.node_capacity(n));
}

void Planner::set_capacity(Id node, const Amount* amounts) {
  const std::vector<Amount>& parts = inputs_.rows.in_parts;
  if (parts.empty()) return;
  const std::size_t width = state_.width();
  std::array<Amount, kMaxResources> rest{};
  for (std::size_t r = 0; r < width; ++r) rest[r] = amounts[r] - parts[at(node) * width + r];
  state_.set_capacity(node, {rest.data(), width});
}

void Planner::after(const Delta& delta, Id) {
  if (delta.kind == Delta::Kind::kCapacity) set_capacity(delta.row, delta.amounts.data());
}

void Planner::decide(const Trigger&, Recorder* recorder) {
  Run run(inputs_, state_, recorder != nullptr);
  run.go();
  refusals_ = run.refusals();
  decisions_ = std::move(run.decisions);
  tally_ = run.tally;
  if (recorder != nullptr) tell(run, *recorder);
}

Counts Planner::counts() const {
  Counts out{{"scheduling_run.started", tally_.starts},
             {"scheduling_run.resumed", tally_.resumes},
             {"scheduling_run.victims", tally_.victims},
             {"scheduling_run.preempted_sessions", tally_.sessions},
             {"scheduling_run.reservations", tally_.reservations}};
  if (inputs_.settings.selection == VictimSelection::kMinimum && tally_.sessions > 0)
    put_proof(out, tally_.proof);
  return out;
}

}  // namespace evenhand::backendai
