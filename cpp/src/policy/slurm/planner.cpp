#include "evenhand/policy/slurm/planner.h"

#include "run_work.h"

namespace evenhand::slurm {

void Planner::decide(const Trigger& trigger, Recorder* recorder) {
  Inputs inputs = inputs_;
  inputs.memory = std::move(memory_);
  const ClusterState::Mark before = state_.mark();
  Run run(std::move(inputs), state_, trigger, recorder);
  run.all();
  state_.take_back(before);
  decisions_ = std::move(run.decisions);
  tally_ = run.tally;
  refusals_ = std::move(run.refusals);
  contested_ = std::move(run.contested);
  memory_ = std::move(run.desk.memory);
  next_due_ = decisions_.rows().empty() ? run.next_due : state_.now();
}

Counts Planner::counts() const {
  Counts out;
  const auto put = [&](const char* name, Index count) {
    if (count > 0) out.emplace_back(name, count);
  };
  put("scheduling_run.started", tally_.starts);
  put("scheduling_run.resumed", tally_.resumes);
  put("scheduling_run.victims", tally_.victims);
  put("scheduling_run.preempted_jobs", tally_.victim_jobs);
  put("scheduling_run.jobs_that_preempt", tally_.jobs);
  put("scheduling_run.reservations", tally_.reservations);
  put("backfill.started", tally_.backfilled);
  if (tally_.jobs > 0 && inputs_.settings.selection == Selection::kMinimum)
    put_proof(out, tally_.proof);
  return out;
}

}  // namespace evenhand::slurm
