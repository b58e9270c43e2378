// A plan: one scheduling run of a resource group. No clock, no file, no random source.
//
// Source: Backend.AI, proposal on preemption of low-priority sessions, and the planner of
// release 26.8; which of both is a matter of settings.
#pragma once

#include <vector>

#include "evenhand/policy/backendai/settings.h"
#include "evenhand/preempt/recorder.h"

namespace evenhand::backendai {

struct PlanInputs {
  Snapshot snapshot;
  Settings settings;
  RowSettings rows;
};

// Requests that still wait after the run.
struct Counts {
  Index starts = 0, resumes = 0, victims = 0, sessions = 0, reservations = 0;
  SelectionProof proof;  // summed over the sessions that preempt
};

class Plan {
 public:
  explicit Plan(PlanInputs inputs);

  const PlanInputs& inputs() const noexcept { return inputs_; }
  std::size_t width() const noexcept { return width_; }
  const Decisions& decisions() const noexcept { return decisions_; }
  const Counts& counts() const noexcept { return counts_; }
  const Refusals& refusals() const noexcept { return refusals_; }

  // Runs again and tells what a request (slot = kNoId) or an allocation met.
  std::vector<Event> trace(Id request, Id slot) const;

 private:
  PlanInputs inputs_;
  std::size_t width_;
  Decisions decisions_;
  Counts counts_;
  Refusals refusals_;
};

}  // namespace evenhand::backendai
