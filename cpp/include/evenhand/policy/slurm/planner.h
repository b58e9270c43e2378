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
#include "evenhand/policy/reports.h"
#include "evenhand/policy/slurm/choose.h"
#include "evenhand/policy/slurm/queue.h"

namespace evenhand::slurm {

// What a run did.
struct Tally {
  Index starts = 0, backfilled = 0, resumes = 0, victims = 0, victim_jobs = 0, jobs = 0,
        reservations = 0;
  SelectionProof proof;  // summed over the jobs that preempt
};

// Everything that decisions follow from, beside the trigger.
struct Inputs {
  Snapshot snapshot;
  Settings settings;
  JobRows rows;
  Memory memory;
};

class Run;

class Planner final : public evenhand::Planner, public Reports {
 public:
  explicit Planner(Inputs inputs);
  // Follows a living cluster.
  Planner(Inputs inputs, std::shared_ptr<ClusterState> state);
  ~Planner() override;

  // Settings of jobs that came later, a cell each.
  void rows_came(std::span<const Id> rows, const JobRows& cells);

  void update(Time now, bool) override;
  void decide(const Trigger& trigger, Recorder* recorder = nullptr) override;
  bool report(Recorder& recorder) override;
  void before(const Delta& delta) override;
  void after(const Delta& delta, Id row) override;

  const Decisions& decisions() const override;
  Counts counts() const override;
  // Of the state that was decided on: they end with the next delta.
  Refusals refusals() const override;
  Contested contested() const override;
  Time next_due() const override { return next_due_; }
  Time cycle() const override { return cycle_; }
  Columns memory() const override;
  std::unique_ptr<evenhand::Planner> afresh() const override {
    return std::make_unique<Planner>(inputs_);
  }
  std::shared_ptr<evenhand::Planner> copy(std::shared_ptr<ClusterState> state) const override;

 private:
  Inputs inputs_;
  Memory memory_ = inputs_.memory;  // as the runs so far left it
  Jobs jobs_;
  Workspace workspace_{inputs_.settings, jobs_, state_};
  Queue queue_{workspace_};
  std::unique_ptr<Run> run_;  // the last one
  bool stands_ = false;       // nothing has changed since
  bool recorded_ = false;     // it followed a request
  Time next_due_ = kNoTime, cycle_ = kNoTime;
};

}  // namespace evenhand::slurm
