// A plan: one update and the heartbeats that a trigger asks for, from a state to
// decisions and the next state. No clock, no file, no random source.
#pragma once

#include <memory>
#include <vector>

#include "evenhand/policy/ytsaurus/desk.h"
#include "evenhand/preempt/recorder.h"

namespace evenhand::ytsaurus {

// Everything that decisions follow from.
struct PlanInputs {
  Snapshot snapshot;
  Settings settings;
  RowSettings rows;
  Given given;
  Memory memory;
  bool has_volumes = false;
  VolumeMemory volumes;
  std::vector<Id> nodes;  // heartbeats in this order
};

class Plan {
 public:
  explicit Plan(PlanInputs inputs);

  const PlanInputs& inputs() const noexcept { return inputs_; }
  const Desk& desk() const noexcept { return *desk_; }
  const std::vector<Group>& groups() const noexcept { return groups_; }  // A, at the update

  // Requests that still wait, with what stands in their way at the end of the plan.
  // O(shapes x nodes R + allocations + requests x victims of limit repair).
  Refusals refusals() const;

  // Plans again and tells what a request (slot = kNoId) or an allocation met.
  std::vector<Event> trace(Id request, Id slot) const;

  // The earliest instant at which a plan of the same cluster can decide anything that
  // this one does not: now, if this one decided something; kNoTime: never.
  Time next_due() const;

 private:
  PlanInputs inputs_;
  std::unique_ptr<Desk> desk_;
  std::vector<Group> groups_;
};

}  // namespace evenhand::ytsaurus
