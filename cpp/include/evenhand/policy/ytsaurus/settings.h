// Settings of YTsaurus' preemption, each switch between the published text and the
// running system one field. Defaults are the preset "documented".
#pragma once

#include <vector>

#include "evenhand/model/cluster_state.h"
#include "evenhand/preempt/groups.h"
#include "evenhand/preempt/pace.h"
#include "evenhand/preempt/victim_cost.h"
#include "evenhand/preempt/victims.h"
#include "evenhand/share/fair_share.h"
#include "evenhand/starve/starvation.h"

namespace evenhand::ytsaurus {

struct Settings {
  FairShareOptions fair_share;
  StarvationSettings starvation;
  PaceSettings pace;

  // Groups.
  double preemption_threshold = 1.0;
  double aggressive_preemption_threshold = 0.2;
  bool on_bound_preemptible = false;
  bool saved_progress_counts = false;
  bool usage_threshold_protects_prefix = false;  // else: all or nothing of an operation

  // Stages.
  bool aggressive_stage_first = false;
  bool preemptive_stage_serves_aggressive = true;
  bool one_start_per_heartbeat = false;  // else one a preemptive stage
  bool priority_from_ancestors = true;
  bool allow_preemption_from_starving = false;
  VictimSelection victim_selection = VictimSelection::kIrreducible;
  Index minimum_budget = 20'000;
  VictimCost victim_cost = VictimCost::kVictims;  // of `minimum`
  bool freed_room_at_once = false;                // else it is not free until the victims have gone
  bool infinite_limits_overcommit = false;
  Time backoff = 5 * kMicrosecondsPerSecond;
  Time preemption_timeout = 30 * kMicrosecondsPerSecond;
  Time graceful_timeout = 60 * kMicrosecondsPerSecond;

  // Older revisions: what starves, or is served below the stage's threshold, shields its
  // work; a pool not from its own members, if conditional.
  bool check_starvation = false;
  bool check_satisfaction = false;
  bool conditional_preemption = false;

  // Repair.
  bool repair_in_stage = false;  // else on every heartbeat
  Time overcommit_delay = 0;

  // Special hardware.
  bool ssd_stages = false;
  bool full_host_stage = false;
  double full_host_max_penalty = 0;  // seconds x quanta of `gpu` of protected work
  Time full_host_timeout = 120 * kMicrosecondsPerSecond;
  Id gpu = kNoId;             // resource of the full-host stage
  Amount full_host_gpus = 8;  // in quanta
};

// What rows set of their own; of pools an empty column: none sets anything.
struct RowSettings {
  OwnStarvationSettings starvation;
  Beside<std::uint8_t> graceful = Absent(std::uint8_t{0});       // O
  Beside<Index> preemption_cost = Absent(Index{1});              // O
  Beside<std::uint8_t> unschedulable = Absent(std::uint8_t{0});  // O
  Beside<std::uint8_t> wants_ssd = Absent(std::uint8_t{0});      // O
  Beside<std::uint8_t> other_segment = Absent(std::uint8_t{0});  // O
  Column<std::uint8_t> allow_normal;                             // P (1)
  Column<std::uint8_t> regular_on_ssd;                           // P (1)
  Column<Amount> limits_tolerance;                               // P x R
  Beside<std::uint8_t> node_ssd = Absent(std::uint8_t{0});       // N
  Beside<Amount> cpu_limits = Absent(Amount{-1});                // A x R: limits of cpus; none
  Beside<std::uint8_t> uses_ssd = Absent(std::uint8_t{0});       // A
  std::vector<ClusterState::TakenRoom> taken;

  // Settings of rows of a table that came or changed, or are put without any.
  void put(const ClusterState& state, ClusterState::Table table, std::span<const Id> of,
           const RowSettings& cells);
};

// Settings in which runs differ that are the same so far, one row a run; the first is that of the
// planner.
struct SharedSettings {
  Column<double> tolerance, threshold, aggressive_threshold;
  Column<Time> timeout, aggressive_timeout;

  Id rows() const noexcept { return tolerance.rows(); }
  SharedSettings chosen(const Column<Id>& rows) const;
};

// What one update or heartbeat leaves for the next.
struct Memory {
  StarvationClocks clocks;
  Beside<Time> last_preemptive = Absent(kNoTime);      // N: never
  Beside<Time> overcommitted_since = Absent(kNoTime);  // N: is not
  VictimTimes victims;
};

// Values in the place of computed ones; empty: everything is computed.
struct Given {
  Column<double> fair_share;            // E x R
  Column<std::uint8_t> has_fair_share;  // E
  Column<std::int8_t> starvation;       // E; kUnset: computed
  Column<std::uint8_t> groups;          // A; 255: computed
};

}  // namespace evenhand::ytsaurus
