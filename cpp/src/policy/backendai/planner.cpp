#include "evenhand/policy/backendai/planner.h"

#include <algorithm>

#include "run.h"

namespace evenhand::backendai {
Planner::Planner(Inputs inputs)
    : evenhand::Planner(ClusterState(inputs.snapshot)), inputs_(std::move(inputs)) {}

Planner::Planner(Inputs inputs, std::shared_ptr<ClusterState> state, bool total_stated)
    : evenhand::Planner(std::move(state)), inputs_(std::move(inputs)) {
  if (!total_stated) state_.follow_total();
}

Planner::~Planner() = default;

// What is remembered of an operation follows its name; what its row sets is handed over.
void Planner::after(const Delta& delta, Id row) {
  if (delta.kind != Delta::Kind::kPutOperation || delta.row != kNoId) return;
  inputs_.last_preempt.come(row, delta.before);
  pace_.come(row, delta.before);
}

void Planner::decide(const Trigger& trigger, Recorder* recorder) {
  recorded_ = std::make_unique<Run>(inputs_, state_, pace_, recorder != nullptr);
  Run& run = *recorded_;
  run.decisions.certify(trigger.certificates);
  run.go();
  if (recorder != nullptr) run.report(*recorder);
  refusals_ = run.refusals();
  decisions_ = recorder != nullptr ? run.decisions : std::move(run.decisions);
  tally_ = run.tally;
  next_due_ = run.next_due;
  if (const Time paced = pace_.due();
      next_due_ == kNoTime || (paced != kNoTime && paced < next_due_))
    next_due_ = paced;
  if (!decisions_.rows().empty()) next_due_ = state_.now();
  if (recorder == nullptr) recorded_.reset();
}

bool Planner::report(Recorder& recorder) {
  if (recorded_ == nullptr) return false;
  recorded_->report(recorder);
  return true;
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
