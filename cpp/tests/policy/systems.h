// For each system: a planner of a cluster under settings that a seed draws.
#pragma once

#include <memory>
#include <numeric>

#include "evenhand/policy/backendai/planner.h"
#include "evenhand/policy/slurm/planner.h"
#include "evenhand/policy/ytsaurus/planner.h"
#include "random_cluster.h"

namespace evenhand::testing {

struct YTsaurusSystem {
  static std::unique_ptr<Planner> planner(Snapshot snapshot, unsigned seed) {
    Random random(seed);
    const Tables& t = snapshot.tables();
    ytsaurus::Inputs in{snapshot, {}, {}, {}, {}, false, {}};
    in.settings.aggressive_stage_first = random.chance(50);
    in.settings.freed_room_at_once = random.chance(50);
    in.settings.repair_in_stage = random.chance(30);
    in.settings.starvation.enable_aggressive = random.chance(50);
    in.settings.victim_selection = static_cast<VictimSelection>(random.below(3));
    in.settings.backoff = random.below(2) * kMicrosecondsPerSecond;
    in.rows.graceful =
        random.column<std::uint8_t>(static_cast<std::size_t>(t.operations.size()), 2);
    in.given.starvation.assign(static_cast<std::size_t>(t.element_count()), -1);
    for (std::size_t e = 1; e < in.given.starvation.size(); ++e)
      in.given.starvation[e] = static_cast<std::int8_t>(random.below(3));
    return std::make_unique<ytsaurus::Planner>(std::move(in));
  }
};

struct SlurmSystem {
  static std::unique_ptr<Planner> planner(Snapshot snapshot, unsigned seed) {
    Random random(seed);
    const Tables& t = snapshot.tables();
    const auto jobs = static_cast<std::size_t>(t.operations.size());
    const auto nodes = static_cast<std::size_t>(t.nodes.size());
    const auto seconds = [&](int most) { return random.below(most) * kMicrosecondsPerSecond; };
    slurm::Inputs in{snapshot, {}, {}, {}};
    slurm::Settings& s = in.settings;
    s.type = static_cast<slurm::PreemptType>(random.chance(95) ? 1 + random.below(2) : 0);
    s.gang = random.chance(40);
    s.within = random.chance(30);
    s.priority = random.chance(30);
    s.selection = static_cast<slurm::Selection>(random.below(5));
    s.reorder_count = random.below(3);
    s.strict_order = random.chance(30);
    s.youngest_first = random.chance(30);
    s.reclaim_licenses = random.chance(50);
    s.whole_nodes = random.chance(20);
    s.has_min_exempt_priority = random.chance(10);
    s.min_exempt_priority = random.below(5);
    s.gang_honours_exempt_time = random.chance(50);
    s.backfill = random.chance(60);
    s.first_come = random.chance(20);
    s.backoff = seconds(40);
    s.kill_wait = seconds(30);
    s.minimum_budget = 1 + random.below(200);
    s.victim_cost = static_cast<VictimCost>(random.below(3));
    const auto few = [&](int n) { return random.chance(15) ? random.below(n) : 0; };
    slurm::Passes& p = s.passes;
    p.partition_job_depth = few(3);
    p.sched_max_job_start = few(3);
    p.bf_max_job_test = few(6);
    p.bf_node_space_size = random.chance(30) ? 2 + random.below(10) : 500;
    p.bf_max_job_start = few(3);
    p.bf_max_job_part = few(3);
    p.bf_max_job_user = few(3);
    p.bf_job_part_count_reserve = random.below(3);
    p.bf_window = seconds(2000);
    p.bf_resolution = 1 + seconds(30);
    p.bf_min_age_reserve = random.chance(20) ? seconds(900) : 0;
    p.bf_min_prio_reserve = random.chance(20) ? random.below(5) : 0;
    p.bf_one_resv_per_job = random.chance(30);

    const int partitions = 1 + random.below(3), qualities = 1 + random.below(3);
    slurm::JobColumns& j = in.jobs;
    std::vector<int> tiers(static_cast<std::size_t>(partitions));
    std::iota(tiers.begin(), tiers.end(), 1);
    j.partition = random.column<Id>(jobs, partitions);
    j.qos = random.column<Id>(jobs, qualities + 1);
    for (Id& qos : j.qos) --qos;
    for (const Id partition : j.partition)
      j.tier.push_back(tiers[static_cast<std::size_t>(partition)]);
    j.rank.assign(j.tier.begin(), j.tier.end());
    j.priority = random.column<double>(jobs, 5);
    for (std::size_t o = 0; o < jobs; ++o)
      j.mode.push_back(
          static_cast<slurm::PreemptMode>(random.chance(10) ? 0 : 1 + random.below(3)));
    for (std::size_t o = 0; o < jobs; ++o) {
      j.grace.push_back(random.chance(60) ? 0 : seconds(60));
      j.exempt.push_back(random.chance(75) ? 0 : seconds(900));
      j.eligible.push_back(random.chance(90) ? kNoTime : 990'000'000 + seconds(20));
      j.time_min.push_back(random.chance(80) ? kNoTime : seconds(100) + 1);
    }
    j.requeue = random.column<std::uint8_t>(jobs, 2);
    j.suspendable = random.column<std::uint8_t>(jobs, 2);
    j.exclusive = random.column<std::uint8_t>(jobs, random.chance(30) ? 2 : 1);
    j.expedited = random.column<std::uint8_t>(jobs, random.chance(10) ? 2 : 1);
    if (random.chance(50))
      for (std::size_t o = 0; o < jobs; ++o) j.preemption_cost.push_back(1 + random.below(4));
    for (std::size_t i = 0; i < static_cast<std::size_t>(partitions) * nodes; ++i)
      j.node_of_partition.push_back(random.chance(85));
    for (int i = 0; i < qualities * qualities; ++i) j.qos_preempts.push_back(random.chance(70));
    for (int r = 0; r < t.resource_count(); ++r) j.suspend_frees.push_back(random.chance(60));
    for (int i = 0; i < partitions; ++i) {
      j.partition_down.push_back(random.chance(2));
      j.partition_max_time.push_back(random.chance(90) ? kNoTime : seconds(300) + 1);
      j.partition_default_time.push_back(random.chance(90) ? kNoTime : seconds(300) + 1);
    }
    j.user = random.column<Id>(jobs, 3);
    for (std::size_t i = 0; i < 3; ++i) {
      const auto job = static_cast<std::size_t>(random.below(static_cast<int>(jobs)));
      const Id other = random.below(partitions);
      if (other != j.partition[job])
        j.turns.push_back({static_cast<Id>(job), other, tiers[static_cast<std::size_t>(other)],
                           j.priority[job], 0});
    }
    if (random.chance(30))
      for (std::size_t o = 0; o < jobs; ++o)
        in.memory.last_preempt.push_back(random.chance(50) ? kNoTime : 950'000'000 + seconds(50));
    return std::make_unique<slurm::Planner>(std::move(in));
  }
};

struct BackendAISystem {
  static std::unique_ptr<Planner> planner(Snapshot snapshot, unsigned seed) {
    Random random(seed);
    const Tables& t = snapshot.tables();
    const auto sessions = static_cast<std::size_t>(t.operations.size());
    const auto width = static_cast<std::size_t>(t.resource_count());
    backendai::Inputs in{snapshot, {}, {}, {}};
    backendai::Settings& s = in.settings;
    s.enabled = random.chance(90);
    s.threshold = 2 + random.below(5);
    s.order = static_cast<backendai::VictimOrder>(random.below(4));
    s.mode = static_cast<backendai::PreemptionMode>(random.below(3));
    s.unsuited_are_terminated = random.chance(50);
    s.keep_containers = random.chance(50);
    s.min_runtime = random.chance(60) ? 0 : random.below(900) * kMicrosecondsPerSecond;
    s.every_session_preempts = random.chance(60);
    s.per_agent = random.chance(50);
    s.selection = static_cast<VictimSelection>(random.below(3));
    s.minimum_budget = 1 + random.below(200);
    s.victim_cost = static_cast<VictimCost>(random.below(3));
    s.agents = static_cast<backendai::AgentSelection>(random.below(3));
    s.resource_order.resize(width);
    std::iota(s.resource_order.begin(), s.resource_order.end(), 0);
    s.reserve_room = random.chance(50);
    s.only_lack_blocks = random.chance(50);
    s.max_containers = random.chance(70) ? 0 : 1 + random.below(5);
    backendai::RowSettings& r = in.rows;
    r.priority = random.column<double>(sessions, 5);
    r.rank = random.chance(50) ? r.priority : random.column<double>(sessions, 4);
    r.scope = random.column<Id>(sessions, random.chance(80) ? 1 : 2);
    for (std::size_t o = 0; o < sessions; ++o) {
      r.preemptible.push_back(random.chance(80));
      r.started.push_back(random.chance(80));
      r.refused.push_back(random.chance(95)
                              ? std::uint8_t{0}
                              : static_cast<std::uint8_t>(Outcome::kPriorityOutOfRange));
    }
    r.sequence = random.column<double>(sessions, 3);
    if (random.chance(50))
      for (std::size_t o = 0; o < sessions; ++o) r.preemption_cost.push_back(1 + random.below(4));
    if (random.chance(20)) {
      r.in_parts.assign(static_cast<std::size_t>(t.nodes.size()) * width, 0);
      r.in_parts[0] = 1;
    }
    return std::make_unique<backendai::Planner>(std::move(in));
  }
};

}  // namespace evenhand::testing
