// Settings of Slurm's preemption, as numbers.
//
// Source: Slurm documentation, preemption; slurm.conf (PreemptType, PreemptMode,
// PreemptParameters, PreemptExemptTime, partitions) and the QOS table. What depends on
// partition and QOS arrives worked out for every job.
#pragma once

#include <vector>

#include "evenhand/core/types.h"
#include "evenhand/preempt/victim_cost.h"

namespace evenhand::slurm {

enum class PreemptType : std::uint8_t { kNone, kPartitionPrio, kQos };

// What becomes of a victim; a job whose mode is off is never one.
enum class PreemptMode : std::uint8_t { kOff, kCancel, kRequeue, kSuspend };

enum class Selection : std::uint8_t {
  kReorder,      // as the system does: in order until it fits, then reordered passes
  kPrefix,       // in order until it fits
  kIrreducible,  // then give back, last wanted first, whoever is not needed
  kMinimum,      // fewest jobs
  kTestOnly      // the dry run: all at once, then all that touch the chosen nodes
};

// How far the passes look; counts of 0 are no limits.
struct Passes {
  Index partition_job_depth = 0, sched_max_job_start = 0;
  Index bf_max_job_test = 500, bf_node_space_size = 500, bf_max_job_start = 0;
  Index bf_max_job_part = 0, bf_max_job_user = 0, bf_job_part_count_reserve = 0;
  Time bf_window = 0, bf_resolution = 1, bf_min_age_reserve = 0;
  double bf_min_prio_reserve = 0;
  bool bf_one_resv_per_job = false;
};

struct Settings {
  PreemptType type = PreemptType::kNone;
  bool gang = false;
  bool within = false;    // a QOS may preempt itself, by priority
  bool priority = false;  // the preemptor's priority must not be lower, too
  Selection selection = Selection::kReorder;
  Index reorder_count = 1;
  bool strict_order = false;
  bool youngest_first = false;
  bool reclaim_licenses = false;
  bool whole_nodes = false;  // select/linear
  bool has_min_exempt_priority = false;
  double min_exempt_priority = 0;
  bool gang_honours_exempt_time = true;
  bool backfill = false;    // sched/backfill
  bool first_come = false;  // jobs are tried as they were submitted
  Time backoff = 0;         // before others are preempted for the same job again
  Time kill_wait = 0;
  Passes passes;
  Index minimum_budget = 20'000;
  VictimCost victim_cost = VictimCost::kVictims;  // of `minimum`
};

// A place in the queue. A job that names several partitions has one for each.
struct Turn {
  Id job = kNoId;
  Id partition = kNoId;
  std::int32_t tier = 0;
  double priority = 0;
  std::uint8_t exclusive = 0;
};

// One row an operation, that is a job; one of several partitions is told by its first turn.
struct JobColumns {
  std::vector<Id> partition;
  std::vector<Id> qos;  // kNoId: none
  std::vector<std::int32_t> tier;
  std::vector<std::int64_t> rank;  // order among victims: tier, or priority of the QOS
  std::vector<double> priority;
  std::vector<PreemptMode> mode;
  std::vector<Time> grace;
  std::vector<Time> exempt;           // run time before it may be a victim
  std::vector<std::uint8_t> requeue;  // may be started anew
  std::vector<std::uint8_t> suspendable;
  std::vector<std::uint8_t> exclusive;  // takes whole nodes
  std::vector<std::uint8_t> expedited;
  std::vector<Time> eligible;                   // kNoTime: at once
  std::vector<Index> preemption_cost;           // empty: 1 each
  std::vector<std::uint8_t> node_of_partition;  // partitions x nodes
  std::vector<std::uint8_t> qos_preempts;       // QOS x QOS: row may preempt column
  std::vector<std::uint8_t> suspend_frees;      // R: given back by a suspended job
  std::vector<std::uint8_t> partition_down;     // partitions: what waits there does not start
  std::vector<Turn> turns;                      // the further ones of jobs that wait
  std::vector<Id> user;                         // kNoId: none
  std::vector<Time> time_min;                   // shortest time limit, kNoTime: none
  // Partitions, kNoTime: none.
  std::vector<Time> partition_max_time, partition_default_time;
};

struct Memory {
  std::vector<Time> last_preempt;  // O: when others were last preempted for it; kNoTime: never
};

}  // namespace evenhand::slurm
