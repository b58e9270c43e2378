// Settings of Slurm's preemption, as numbers.
//
// Source: Slurm documentation, preemption; slurm.conf (PreemptType, PreemptMode,
// PreemptParameters, PreemptExemptTime, partitions) and the QOS table.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "evenhand/core/beside.h"
#include "evenhand/policy/slurm/limits.h"
#include "evenhand/policy/slurm/rules.h"
#include "evenhand/preempt/pace.h"
#include "evenhand/preempt/victim_cost.h"

namespace evenhand::slurm {

enum class PreemptType : std::uint8_t { kNone, kPartitionPrio, kQos };

// What becomes of a victim; a job whose mode is off is never one.
enum class PreemptMode : std::uint8_t { kOff, kCancel, kRequeue, kSuspend };

enum class Selection : std::uint8_t {
  kReorder,      // as the system does: in order until it fits, then reordered passes
  kPrefix,       // in order until it fits
  kIrreducible,  // then give back, last wanted first, what is not needed
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

// What partitions say, by number; the last one, without a name, is that of jobs in none.
struct Partitions {
  Column<std::string> names;
  Column<std::int32_t> tier;
  Column<PreemptMode> mode;
  Column<Time> grace, exempt;
  Column<std::uint8_t> suspendable, exclusive, down;  // down: what waits does not start
  Column<std::uint8_t> priority;        // what its jobs preempt is not of a higher one
  Column<Time> max_time, default_time;  // kNoTime: none
  Column<double> factor;                // of priority
  Column<std::uint8_t> all_nodes;
  std::vector<std::vector<std::string>> nodes;  // names of those that it has, where not all

  std::size_t size() const noexcept { return tier.size(); }
};

// What QOS say, by number.
struct Qualities {
  Column<std::string> names;
  Column<std::int64_t> rank;
  Column<PreemptMode> mode;
  Column<Time> grace, exempt;  // kNoTime: of the partition
  Column<double> factor;
  Column<std::uint8_t> priority;  // what its jobs preempt is of a lower one
  Column<std::uint8_t> preempts;  // QOS x QOS: row may preempt column

  std::size_t size() const noexcept { return rank.size(); }
  // kNoId: none.
  bool lists(Id mine, Id its) const noexcept {
    return mine != kNoId && its != kNoId && preempts[at(mine) * size() + at(its)] != 0;
  }
};

// What a job's priority is the sum of.
//
// Source: Slurm documentation, priority_multifactor.
struct Weights {
  bool multifactor = false;
  double age = 0, assoc = 0, fair_share = 0, size = 0, partition = 0, qos = 0;
  Column<double> tres;
  Column<Id> tres_resource;  // kNoId: nodes; kUnknown: the cluster has none of it
  Id cpu = kNoId;            // the resource of cpus
  double max_age = 1;        // seconds
  bool calculate_running = false, small_first = false, relative_to_time = false;
  bool plain_tres = false;  // no parts of what the partition has
  // Factors of associations: of "account/user", or before it of "account/user/partition".
  std::map<std::string, double, std::less<>> assoc_of, fair_share_of;

  static constexpr Id kUnknown = -2;
};

struct Settings {
  Rules rules = rules_of(Release::k26_05);
  PaceSettings pace;
  PreemptType type = PreemptType::kNone;
  PreemptMode mode = PreemptMode::kOff;  // of jobs without a QOS, where the QOS says it
  bool requeue = true;                   // of jobs that say nothing
  Id partition = 0;                      // of jobs that name none
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
  Partitions partitions;
  Qualities qualities;
  Weights weights;
  std::map<std::string, std::int64_t, std::less<>> node_weights;  // of nodes by name; others have 1
  Limits limits;
  Column<std::uint8_t> suspend_frees;  // R: given back by a suspended job

  // Whether the priority of a job counts, too, where it preempts others: by partition (equal ones
  // will do), or by QOS (within one always). Of one that is not named it does not.
  bool asks_priority_in(Id of) const noexcept {
    return priority || is_set(partitions.priority, of);
  }
  bool asks_priority_of(Id mine, Id its) const noexcept {
    return priority || mine == its || is_set(qualities.priority, mine);
  }
  static bool is_set(const Column<std::uint8_t>& of, Id row) noexcept {
    return row != kNoId && at(row) < of.size() && of[row] != 0;
  }
};

// A place in the queue. A job that names several partitions has one for each.
struct Turn {
  Id job = kNoId;
  Id partition = kNoId;
  std::int32_t tier = 0;
  double priority = 0;
  std::uint8_t exclusive = 0;
};

// What rows of operations say themselves.
struct JobRows {
  static constexpr std::uint8_t kAsCluster = 2;

  Beside<std::uint8_t> requeue = Absent(kAsCluster);         // it says nothing
  Beside<std::uint8_t> exclusive = Absent(std::uint8_t{0});  // takes whole nodes
  Beside<std::uint8_t> expedited = Absent(std::uint8_t{0});
  Beside<std::uint8_t> cancelled = Absent(std::uint8_t{0});  // where it would be suspended
  Beside<Time> eligible = Absent(kNoTime);                   // at once
  Beside<Time> accrue = Absent(kNoTime);    // since when its age counts; by default its submission
  Beside<Time> time_min = Absent(kNoTime);  // shortest time limit
  Beside<double> site = Absent(0.0), nice = Absent(0.0);
  Beside<Index> preemption_cost = Absent(Index{1});
  Beside<Index> cpus_per_task = Absent(Index{1});  // with memory by cpu
  Beside<Index> max_nodes = Absent(Index{1});      // that it might have, though it asks for one

  // Each column with its name, of one or of several of these at once.
  static void each(auto&& visit, auto&... of) {
    visit("requeue", of.requeue...);
    visit("exclusive", of.exclusive...);
    visit("expedited", of.expedited...);
    visit("cancelled", of.cancelled...);
    visit("eligible", of.eligible...);
    visit("accrue", of.accrue...);
    visit("time_min", of.time_min...);
    visit("site", of.site...);
    visit("nice", of.nice...);
    visit("preemption_cost", of.preemption_cost...);
    visit("cpus_per_task", of.cpus_per_task...);
    visit("max_nodes", of.max_nodes...);
  }
  // Settings of rows that came or changed, or are put without any.
  void put(std::span<const Id> rows, const JobRows& cells) {
    each([&](const char*, auto& to, const auto& from) { to.put(rows, from); }, *this, cells);
  }
};

struct Memory {
  Beside<Time> last_preempt = Absent(kNoTime);  // O: when others were last preempted for it
  VictimTimes victims{};                        // before; of the runs since, Workspace::pace knows
};

}  // namespace evenhand::slurm
