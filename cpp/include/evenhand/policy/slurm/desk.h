// What a scheduling run works on: free room, running jobs, who may be preempted.
#pragma once

#include <span>
#include <vector>

#include "evenhand/model/cluster_state.h"
#include "evenhand/place/where.h"
#include "evenhand/policy/slurm/room.h"
#include "evenhand/policy/slurm/settings.h"
#include "evenhand/preempt/decision.h"
#include "evenhand/preempt/recorder.h"
#include "evenhand/preempt/victims.h"

namespace evenhand::slurm {

// Everything that decisions follow from, beside the trigger.
struct Inputs {
  Snapshot snapshot;
  Settings settings;
  JobColumns jobs;
  Memory memory;
};

// A job with something that runs (or that a person stopped), by its operation.
struct RunningJob {
  Id operation;
  Index first_slot, slots;  // in Desk::slots
  Index first_node, nodes;  // in Desk::nodes: distinct, ascending
  Time start;
  bool gone = false;  // preempted in this run
};

class Desk {
 public:
  // Both are the caller's and outlive the desk.
  Desk(const Inputs& inputs, ClusterState& state);
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  const Inputs& inputs;
  ClusterState& state;
  Room room;  // for anybody
  Memory memory;
  // In the order in which they are wanted as victims.
  std::vector<RunningJob> running;
  // Suspended by the system; who goes on first comes first.
  std::vector<RunningJob> stopped;

  std::span<const Id> slots(const RunningJob& job) const noexcept {
    return {slots_.data() + job.first_slot, static_cast<std::size_t>(job.slots)};
  }
  std::span<const Id> nodes(const RunningJob& job) const noexcept {
    return {nodes_.data() + job.first_node, static_cast<std::size_t>(job.nodes)};
  }
  PreemptMode mode(const RunningJob& job) const noexcept {
    return inputs.jobs.mode[static_cast<std::size_t>(job.operation)];
  }

  // May a job be preempted for another: kTaken, or what stands in the way. O(1) but for
  // the nodes of the job.
  Outcome standing(Id preemptor, const RunningJob& job) const;
  // All that may be preempted for a job, in the order in which they are wanted.
  std::vector<Index> candidates(Id preemptor) const;
  Reason reason(Id preemptor, const RunningJob& job) const;

  // What a victim gives back and what it keeps of an allocation, R each.
  void split(const RunningJob& job, Id slot, Amount* freed, Amount* kept) const {
    split(slot, mode(job) == PreemptMode::kSuspend, freed, kept);
  }
  // The job leaves a room (sign 1), or comes back to it (-1); `stays`: as if it were suspended.
  void give(Room& to, const RunningJob& job, Amount sign, bool stays = false) const;

  // Why a request may not run on a node; kStarted: it may.
  Outcome barred(Id request, Id node) const;
  Wish wish(Id operation) const;
  // Room that leaves for an operation is added to a room; false: there is none.
  bool add_leaving(Room& to, Id operation) const;

 private:
  void collect();
  void split(Id slot, bool suspends, Amount* freed, Amount* kept) const;
  RunningJob job_of(Id operation, std::span<const Id> slots);
  void sort_running();

  Where where_;
  std::size_t qos_count_;
  std::vector<Id> slots_, nodes_;
};

}  // namespace evenhand::slurm
