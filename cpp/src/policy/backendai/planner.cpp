#include "evenhand/policy/backendai/planner.h"

#include <algorithm>

#include "run.h"

namespace evenhand::backendai {
namespace {

// What the recorder's request or allocation met in a run.
void report(const Run& run, Recorder& recorder) {
  const ClusterState& state = run.state();
  const auto [request, slot] = std::pair(recorder.request, recorder.slot);
  const Id operation =
      request != kNoId ? state.operation_of_request(request) : state.operation_of(slot);
  const bool suspended = slot != kNoId && state.away(slot);
  const Column<Amount> nothing(state.width(), 0);
  if (slot == kNoId || suspended) {
    for (const Entry& e : run.queue) {
      if (e.operation != operation || e.suspended != suspended) continue;
      const Outcome outcome = run.outcome(e, request);
      recorder.events.push_back({kNoId, Stage::kSchedulingRun, outcome, operation, request, slot,
                                 e.failed == request ? e.missing : nothing, e.spared});
      auto& before = recorder.events.back().facts.operations;
      if (outcome == Outcome::kBehindFirstWaiting)
        before.emplace_back(e.ahead != kNoId ? "reserved_before" : "behind",
                            e.ahead != kNoId ? e.ahead : run.blocker());
      else if (outcome == Outcome::kNotFirstInQueue)
        before.emplace_back("front", run.front());
      else if (outcome == Outcome::kOtherRequestWaits && e.failed != kNoId)
        recorder.events.back().facts.requests.emplace_back("other", e.failed);
    }
    for (const Attempt& a : run.attempts)
      if (a.operation == operation) recorder.stands(a.verdict);
    return;
  }
  for (const Attempt& a : run.attempts) {
    recorder.events.push_back({state.node_of(slot), Stage::kSchedulingRun, a.verdict[operation],
                               operation, a.request, slot, nothing,
                               a.spared.empty() ? Spared{} : a.spared[operation]});
    Facts& facts = recorder.events.back().facts;
    if (!a.place.empty() && a.place[operation] > 0) {
      facts.numbers.emplace_back("place", a.place[operation]);
      facts.numbers.emplace_back("candidates", a.among[operation]);
    }
    if (run.front() != kNoId) facts.operations.emplace_back("front", run.front());
    if (!a.nodes.empty()) facts.nodes.emplace_back("placed_on", a.nodes);
  }
}

}  // namespace

Planner::Planner(Inputs inputs)
    : evenhand::Planner(ClusterState(inputs.snapshot)), inputs_(std::move(inputs)) {}

Planner::Planner(Inputs inputs, std::shared_ptr<ClusterState> state, bool total_stated)
    : evenhand::Planner(std::move(state)), inputs_(std::move(inputs)) {
  if (!total_stated) state_.follow_total();
}

// What is remembered of an operation follows its name; what its row sets is handed over.
void Planner::after(const Delta& delta, Id row) {
  if (delta.kind != Delta::Kind::kPutOperation || delta.row != kNoId) return;
  inputs_.last_preempt.come(row, delta.before);
  pace_.come(row, delta.before);
}

void Planner::decide(const Trigger& trigger, Recorder* recorder) {
  Run run(inputs_, state_, pace_, recorder != nullptr);
  run.decisions.certify(trigger.certificates);
  run.go();
  refusals_ = run.refusals();
  decisions_ = std::move(run.decisions);
  tally_ = run.tally;
  next_due_ = run.next_due;
  if (const Time paced = pace_.due();
      next_due_ == kNoTime || (paced != kNoTime && paced < next_due_))
    next_due_ = paced;
  if (!decisions_.rows().empty()) next_due_ = state_.now();
  if (recorder != nullptr) report(run, *recorder);
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
