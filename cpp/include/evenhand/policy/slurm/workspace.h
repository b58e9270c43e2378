// What a scheduling run works on: free room, running jobs, which may be preempted.
#pragma once

#include <algorithm>
#include <compare>
#include <span>
#include <utility>
#include <vector>

#include "evenhand/model/cluster_state.h"
#include "evenhand/place/gang.h"
#include "evenhand/place/in_order.h"
#include "evenhand/place/where.h"
#include "evenhand/policy/slurm/jobs.h"
#include "evenhand/preempt/decision.h"
#include "evenhand/preempt/pace.h"
#include "evenhand/preempt/recorder.h"
#include "evenhand/preempt/victims.h"

namespace evenhand::slurm {

// A job with something that runs (or that a person stopped), by its operation.
struct RunningJob {
  // In which order victims are wanted: by this, then by submission.
  struct Key {
    std::int64_t first = 0;
    std::pair<Time, Index> submitted{};
    auto operator<=>(const Key&) const = default;
  };
  Id operation;
  Index first_slot, slots;  // in Workspace::slots
  Index first_node, nodes;  // in Workspace::nodes: distinct, ascending
  Time start;
  bool willing = true;  // each of its allocations may be preempted
  bool gone = false;    // preempted in this run
  // It was preempted, in this run or before, and still runs in its grace time; for which job.
  bool leaves = false;
  Id leaves_for = kNoId;
  Key key{};
};

class Workspace {
 public:
  // All are the caller's and outlive the workspace.
  Workspace(const Settings& set, const Jobs& columns, const ClusterState& cluster)
      : settings(set), jobs(columns), state(cluster), room{Rooms(cluster), {}, {}} {}
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  // Everything as it is now, before a run. O(rows) of the jobs that changed, O(R) of each node
  // that was touched, and O(running) if those that run are wanted.
  void refresh(const Jobs::Changed& changed, bool with_running);
  // What runs on a node, or the room there, is not as it was.
  void touch(Id node) {
    if (node == kNoId || all_nodes_) return;
    if (at(node) >= is_touched_.size())
      all_nodes_ = true;
    else if (std::exchange(is_touched_[node], std::uint8_t{1}) == 0)
      touched_.push_back(node);
  }
  // Which nodes there are, or take work, may not be as it was.
  void touch_nodes() noexcept { all_nodes_ = true; }

  const Settings& settings;
  const Jobs& jobs;
  const ClusterState& state;
  Occupancy room;  // for any job
  // In the order in which they are wanted as victims; if they are wanted.
  Column<RunningJob> running;
  // Suspended by the system, in the order in which they resume.
  Column<RunningJob> stopped;

  std::span<const Id> slots(const RunningJob& job) const noexcept {
    return {slots_.data() + job.first_slot, static_cast<std::size_t>(job.slots)};
  }
  std::span<const Id> nodes(const RunningJob& job) const noexcept {
    return {nodes_.data() + job.first_node, static_cast<std::size_t>(job.nodes)};
  }
  PreemptMode mode(const RunningJob& job) const noexcept { return jobs.mode[job.operation]; }
  // N: nodes of a partition that take work.
  View<const std::uint8_t> up(Id partition) const noexcept {
    const std::size_t nodes = room.occupants.size();
    return {up_.row(partition, nodes), nodes};
  }
  // Nodes of a partition, and how many of them take work.
  Index nodes_of(Id partition) const noexcept { return nodes_of_[partition]; }
  Index nodes_up(Id partition) const noexcept { return nodes_up_[partition]; }

  // Whether the pace spares a job that may be preempted otherwise.
  Spared spared(const RunningJob& job) const;
  mutable Pace pace;  // from run to run
  // May a job be preempted for another but for the pace: kTaken, or what stands in the way. O(1)
  // but for the nodes of the job.
  Outcome standing(Id preemptor, const RunningJob& job) const;
  // Whether a job in its grace time is counted on once more, by another one than it leaves for: as
  // it still runs, the system takes it for one that may be preempted.
  bool serves_again(Id preemptor, const RunningJob& job) const;
  // When a job that leaves has gone at the latest.
  Time gone_by(const RunningJob& job) const;
  // All that may be preempted for a job and are not spared, in the order in which they are wanted.
  Column<Index> candidates(Id preemptor) const;
  Reason reason(Id preemptor, const RunningJob& job) const;

  // What a victim gives back and what it keeps of an allocation, R each.
  void split(const RunningJob& job, Id slot, Amount* freed, Amount* kept) const {
    split(slot, mode(job) == PreemptMode::kSuspend, freed, kept);
  }
  // The job leaves a room (sign 1), or comes back to it (-1); `stays`: as if it were suspended.
  void give(Occupancy& to, const RunningJob& job, Amount sign, bool stays = false) const;

  // Why a request may not run on a node; kStarted: it may.
  Outcome barred(Id request, Id node) const;
  void read_request(Id operation, JobRequest& to) const;
  JobRequest job_request(Id operation) const {
    JobRequest made;
    read_request(operation, made);
    return made;
  }
  // Of a job, in canonical order; one of a job that started may wait no more.
  Column<Id> requests(Id operation) const {
    return in_order(state.requests(), state.requests_of(operation));
  }
  const Amount* amounts(Id request) const noexcept {
    return state.requests().get_row(&RequestColumns::resources, request);
  }
  // Earlier first.
  std::pair<Time, Index> submitted(Id operation) const noexcept {
    const LiveTable<OperationColumns>& rows = state.operations();
    return {rows.get(&OperationColumns::start_time, operation, kNoTime),
            rows.keys().rank(operation)};
  }
  ResourceScope scope(std::size_t r) const noexcept { return state.tables().resources.scope[r]; }
  // Room that leaves for an operation is added to a room; false: there is none.
  bool add_leaving(Occupancy& to, Id operation) const;
  bool leaves_for(Id operation) const noexcept {
    return std::ranges::any_of(
        state.leaving(), [=](const Leaving& l) { return l.beneficiary.operation == operation; });
  }

 private:
  void read_room();
  void read_nodes();
  void read_node(Id node);
  void collect(Id operation);
  void split(Id slot, bool suspends, Amount* freed, Amount* kept) const;
  RunningJob job_of(Id operation, Column<Id>& slots);

  mutable Where where_;
  Column<Id> slots_, nodes_;          // of what was collected, also of what has changed since
  Index live_ = 0;                    // of slots_
  Column<Id> held_, away_, leaving_;  // of one job
  Column<std::uint8_t> stale_;        // jobs to be collected anew,
  Column<Id> stale_jobs_;
  bool all_stale_ = true;            // or all are
  Column<std::uint8_t> is_touched_;  // N
  Column<Id> touched_;
  bool all_nodes_ = true;
  Column<std::uint8_t> up_;  // partitions x N
  Column<Index> nodes_of_, nodes_up_;
};

}  // namespace evenhand::slurm
