// Slurm's scheduling runs as a planner: one run over the queue a trigger. No clock, no file, no
// random source.
//
// Source: Slurm, main scheduling loop: pending jobs in the order of the queue; a job that
// cannot start closes its partition and keeps all nodes of it from those behind it. Then its
// backfill plugin: every job on nodes that are kept for no job before it, now or later.
#pragma once

#include <memory>
#include <vector>

#include "evenhand/policy/planner.h"
#include "evenhand/policy/slurm/choose.h"

namespace evenhand::slurm {

// What a run did.
struct Tally {
  Index starts = 0, backfilled = 0, resumes = 0, victims = 0, victim_jobs = 0, jobs = 0,
        reservations = 0;
  SelectionProof proof;  // summed over the jobs that preempt
};

class Planner final : public evenhand::Planner {
 public:
  explicit Planner(Inputs inputs)
      : evenhand::Planner(ClusterState(inputs.snapshot)), inputs_(std::move(inputs)) {}

  void update(Time now, bool) override { state_.advance(now); }
  void decide(const Trigger& trigger, Recorder* recorder = nullptr) override;

  const Decisions& decisions() const override { return decisions_; }
  Counts counts() const override;
  Refusals refusals() const override { return refusals_; }
  Contested contested() const override { return contested_; }
  Time next_due() const override { return next_due_; }
  Columns memory() const override { return {{"last_preempt", memory_.last_preempt}}; }
  std::unique_ptr<evenhand::Planner> afresh() const override {
    return std::make_unique<Planner>(inputs_);
  }

 private:
  Inputs inputs_;
  Memory memory_ = inputs_.memory;  // as the runs so far left it
  Decisions decisions_;
  Tally tally_;
  Refusals refusals_;
  Contested contested_;
  Time next_due_ = kNoTime;
};

// Turns of pending jobs in the order of the queue; O(n log n + n QOS^2).
std::vector<Turn> queue_order(const Desk& desk);

}  // namespace evenhand::slurm
