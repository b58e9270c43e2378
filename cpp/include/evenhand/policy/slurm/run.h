// A plan: one scheduling run over the queue. No clock, no file, no random source.
//
// Source: Slurm, main scheduling loop: pending jobs in the order of the queue; a job that
// cannot start closes its partition and keeps all nodes of it from those behind it. Then its
// backfill plugin: every job on nodes that are kept for no job before it, now or later.
#pragma once

#include <vector>

#include "evenhand/policy/slurm/choose.h"

namespace evenhand::slurm {

// Requests that still wait after the run.
struct Counts {
  Index starts = 0, backfilled = 0, resumes = 0, victims = 0, victim_jobs = 0, jobs = 0,
        reservations = 0;
  SelectionProof proof;  // summed over the jobs that preempt
};

// Jobs that others leave for, and a job before each that may take the room first.
struct Contested {
  std::vector<Id> beneficiary, earlier;
};

class Plan {
 public:
  explicit Plan(RunInputs inputs);

  const RunInputs& inputs() const noexcept { return inputs_; }
  std::size_t width() const noexcept { return width_; }
  const Decisions& decisions() const noexcept { return decisions_; }
  const Counts& counts() const noexcept { return counts_; }
  const Refusals& refusals() const noexcept { return refusals_; }
  const Contested& contested() const noexcept { return contested_; }
  const Memory& memory() const noexcept { return memory_; }
  Time next_due() const noexcept { return next_due_; }

  // Runs again and tells what a request (slot = kNoId) or an allocation met.
  std::vector<Event> trace(Id request, Id slot) const;

 private:
  RunInputs inputs_;
  std::size_t width_;
  Decisions decisions_;
  Counts counts_;
  Refusals refusals_;
  Contested contested_;
  Memory memory_;
  Time next_due_ = kNoTime;
};

// Turns of pending jobs in the order of the queue; O(n log n + n QOS^2).
std::vector<Turn> queue_order(const Desk& desk);

}  // namespace evenhand::slurm
