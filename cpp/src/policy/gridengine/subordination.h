// Suspend on subordinate in a scheduling run: which jobs it stops and which it lets run again.
//
// A job that it has stopped is away and keeps all that it has, and no action of preemption has done
// that: so it stands in a snapshot. It is no preemptee: it waits for no room.
#pragma once

#include <vector>

#include "evenhand/model/cluster_state.h"
#include "evenhand/policy/gridengine/settings.h"
#include "evenhand/preempt/codes.h"
#include "evenhand/preempt/decision.h"
#include "host_tree.h"

namespace evenhand::gridengine {

class Subordination {
 public:
  struct Change {
    Id operation;
    bool stops;
    Reason reason;
    QueueCount count;
  };
  struct Verdict {
    Outcome outcome;
    QueueCount count;
  };

  // preempted_as: by operation, nonzero where an action of preemption has stopped it.
  Subordination(const ClusterState& state, const Settings& settings, const RowSettings& rows,
                const Beside<std::uint8_t>& preempted_as);

  bool on() const noexcept { return on_; }
  // Whether the rule has stopped a job, or the job of an allocation, before this run.
  bool stopped(Id operation) const noexcept { return on_ && stopped_[operation] != 0; }
  bool stopped_slot(Id slot) const noexcept { return on_ && stopped(state_.operation_of(slot)); }
  Id queue_of(Id slot) const noexcept;
  Id queue_of_job(Id operation) const noexcept;

  // Queue-wise: whether nothing starts in a queue's instance on a node.
  bool has_pairs() const noexcept { return !set_.above.empty(); }
  bool suspended(Id node, Id queue, QueueCount* count = nullptr) const noexcept;

  // What the run does, in order: a part of a job starts or resumes on a node, a job leaves.
  void starts(Id operation, Id node, Id queue, const Amount* amounts);
  void leaves(Id operation);

  // After all else of the run.
  const std::vector<Change>& settle();
  Verdict verdict(Id slot) const;
  bool stops(Id operation) const;  // by this run

 private:
  struct Start {
    Id operation, node, queue;
  };
  enum class Moved : std::uint8_t { kNot, kByRule, kLeaves, kStarts };
  bool subject(Id queue) const noexcept;
  double slots_in(const Amount* amounts) const noexcept;
  void add_used(Id node, Id queue, const Amount* amounts);
  void read_jobs();
  bool add_task(Id operation, Id node, Id queue);
  void bar_suspended();
  void stop_over(Id node_of_tree, Id host);
  void stop_upwards(Id queue, Id host);
  void resume_below(Id root, Id host);
  void move(Id operation, bool stops, Reason reason, const QueueCount& count);

  const Subordinates& set_;
  const ClusterState& state_;
  const RowSettings& rows_;
  const ResourceSpace& resources_;
  bool on_, has_slots_ = false;
  Column<std::uint8_t> stopped_;       // O
  Column<std::uint8_t> below_a_pair_;  // by queue: it is named in a queue-wise list
  Column<double> used_;                // N x queues: slots; empty: no queue-wise list
  Column<Id> bottom_up_;               // queues with a slot-wise list
  std::vector<Start> started_;
  Column<TaskStatus> status_;             // O
  Column<Moved> moved_;                   // O: in this run
  std::vector<std::vector<Task>> tasks_;  // by node, of queues in slot-wise trees
  std::vector<Change> changes_;
};

}  // namespace evenhand::gridengine
