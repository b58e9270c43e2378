#include "evenhand/policy/slurm/planner.h"

#include "run_work.h"

namespace evenhand::slurm {

Planner::Planner(Inputs inputs)
    : evenhand::Planner(ClusterState(inputs.snapshot)),
      inputs_(std::move(inputs)),
      jobs_(inputs_.settings, inputs_.rows) {}

Planner::~Planner() = default;

void Planner::update(Time now, bool) {
  state_.advance(now);
  run_.reset();
  jobs_.update(state_);
}

Id Planner::on(const Delta& delta) {
  const auto touch = [&] {
    switch (delta.kind) {
      case Delta::Kind::kStart:
        return jobs_.touch(delta.row);
      case Delta::Kind::kPending:
        return jobs_.touch(state_.operation_of_request(delta.row));
      case Delta::Kind::kCapacity:
        return jobs_.touch_nodes();
      case Delta::Kind::kSchedulable:
        return;
      default:
        return jobs_.touch(state_.operation_of(delta.row));
    }
  };
  run_.reset();
  touch();
  return apply(state_, delta);
}

void Planner::decide(const Trigger& trigger, Recorder* recorder) {
  if (jobs_.touched()) jobs_.update(state_);
  run_ = std::make_unique<Run>(inputs_.settings, jobs_, state_, memory_, trigger, recorder);
  run_->all();
  decisions_ = std::move(run_->decisions);
  tally_ = run_->tally;
  next_due_ = decisions_.rows().empty() ? run_->next_due : state_.now();
}

Refusals Planner::refusals() const { return run_ == nullptr ? Refusals{} : run_->refusals(); }
Contested Planner::contested() const { return run_ == nullptr ? Contested{} : run_->contested(); }

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
