#include "evenhand/policy/slurm/planner.h"

#include <numeric>

#include "run_work.h"

namespace evenhand::slurm {

Planner::Planner(Inputs inputs)
    : evenhand::Planner(ClusterState(inputs.snapshot)),
      inputs_(std::move(inputs)),
      jobs_(inputs_.settings, inputs_.rows),
      run_(std::make_unique<Run>(workspace_, jobs_, queue_, memory_)) {
  workspace_.pace = Pace(inputs_.settings.pace, state_, inputs_.memory.victims);
}

Planner::Planner(Inputs inputs, std::shared_ptr<ClusterState> state)
    : evenhand::Planner(std::move(state)),
      inputs_(std::move(inputs)),
      jobs_(inputs_.settings, inputs_.rows),
      run_(std::make_unique<Run>(workspace_, jobs_, queue_, memory_)) {
  workspace_.pace = Pace(inputs_.settings.pace, state_, inputs_.memory.victims);
}

Planner::~Planner() = default;

// Its columns and its queue are worked out again: they follow from the rows.
std::shared_ptr<evenhand::Planner> Planner::copy(std::shared_ptr<ClusterState> state) const {
  Inputs inputs = inputs_;
  inputs.rows = jobs_.rows();
  auto out = std::make_shared<Planner>(std::move(inputs), std::move(state));
  out->memory_ = memory_;
  out->workspace_.pace = workspace_.pace;
  out->next_due_ = next_due_;
  out->cycle_ = cycle_;
  return out;
}

void Planner::rows_came(std::span<const Id> rows, const JobRows& cells) {
  stands_ = false;
  jobs_.came(rows, cells);
}

void Planner::update(Time now, bool) {
  stands_ = false;
  state_.advance(now);
  jobs_.update(state_);
}

// What is measured of a job follows from its rows and from the nodes.
void Planner::before(const Delta& delta) {
  stands_ = false;
  switch (delta.kind) {
    case Delta::Kind::kEnd:
    case Delta::Kind::kPreempt:
    case Delta::Kind::kSuspend:
    case Delta::Kind::kResume:
    case Delta::Kind::kTouch:
    case Delta::Kind::kResize:
    case Delta::Kind::kCells:
      workspace_.touch(state_.node_of(delta.row));
      return jobs_.touch(state_.operation_of(delta.row));
    case Delta::Kind::kPending:
    case Delta::Kind::kRemoveRequest:
      return jobs_.touch(state_.operation_of_request(delta.row));
    case Delta::Kind::kPutRequest:
      if (delta.row != kNoId) jobs_.touch(state_.operation_of_request(delta.row));
      return;
    case Delta::Kind::kCapacity:
    case Delta::Kind::kPutNode:
    case Delta::Kind::kRemoveNode:
      return jobs_.touch_nodes();
    case Delta::Kind::kSchedulable:
    case Delta::Kind::kReserve:
    case Delta::Kind::kRelease:
      return workspace_.touch_nodes();
    case Delta::Kind::kRemoveOperation:
      return jobs_.touch(delta.row);
    default:
      return;
  }
}

void Planner::after(const Delta& delta, Id row) {
  switch (delta.kind) {
    case Delta::Kind::kStart:
    case Delta::Kind::kStartRow:
    case Delta::Kind::kResume:
      workspace_.touch(state_.node_of(row));
      return jobs_.touch(state_.operation_of(row));
    case Delta::Kind::kPutRequest:
      return jobs_.touch(state_.operation_of_request(row));
    case Delta::Kind::kPutOperation:
      if (delta.row != kNoId) return;  // what it sets is handed over, and it is read then
      memory_.last_preempt.come(row, delta.before);
      workspace_.pace.come(row, delta.before);
      return;
    default:
      return;
  }
}

void Planner::decide(const Trigger& trigger, Recorder* recorder) {
  if (jobs_.touched()) jobs_.update(state_);
  const bool others = inputs_.settings.type != PreemptType::kNone || inputs_.settings.backfill;
  workspace_.refresh(jobs_.changed(), others || recorder != nullptr);
  queue_.refresh(jobs_.changed());
  jobs_.forget_changed();
  run_->all(trigger, recorder);
  stands_ = true;
  recorded_ = recorder != nullptr && recorder->request != kNoId;
  next_due_ = decisions().rows().empty() ? run_->next_due : state_.now();
  cycle_ = run_->rounds_only && state_.reservations().rows() == 0
               ? std::lcm(inputs_.settings.passes.bf_resolution, kMicrosecondsPerSecond)
               : kNoTime;
}

bool Planner::report(Recorder& recorder) {
  return recorded_ && stands_ && recorder.request != kNoId && run_->report(recorder);
}

const Decisions& Planner::decisions() const { return run_->decisions; }

Columns Planner::memory() const {
  Columns out{{"last_preempt", memory_.last_preempt.column(at(state_.operations().rows()))}};
  put_victims(out, workspace_.pace.memory(state_));
  return out;
}

Refusals Planner::refusals() const { return stands_ ? run_->refusals() : Refusals{}; }
Contested Planner::contested() const { return stands_ ? run_->contested() : Contested{}; }

Counts Planner::counts() const {
  Counts out;
  const Tally& tally = run_->tally;
  const auto put = [&](const char* name, Index count) {
    if (count > 0) out.emplace_back(name, count);
  };
  put("scheduling_run.started", tally.starts);
  put("scheduling_run.resumed", tally.resumes);
  put("scheduling_run.victims", tally.victims);
  put("scheduling_run.preempted_jobs", tally.victim_jobs);
  put("scheduling_run.jobs_that_preempt", tally.jobs);
  put("scheduling_run.reservations", tally.reservations);
  put("backfill.started", tally.backfilled);
  if (tally.jobs > 0 && inputs_.settings.selection == Selection::kMinimum)
    put_proof(out, tally.proof);
  return out;
}

}  // namespace evenhand::slurm
