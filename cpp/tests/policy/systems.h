// For each system: a planner of a cluster under settings that a seed draws.
#pragma once

#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "evenhand/policy/backendai/planner.h"
#include "evenhand/policy/slurm/planner.h"
#include "evenhand/policy/ytsaurus/planner.h"
#include "evenhand/policy/yunikorn/planner.h"
#include "random_cluster.h"

namespace evenhand::testing {

// Spans of a few units: the clusters' clocks are at 1000 s.
inline PaceSettings random_pace(Random& random, const Tables& tables,
                                Time unit = kMicrosecondsPerSecond) {
  PaceSettings out;
  out.victim_cooldown = random.below(4) * unit;
  out.spare_if_ran_less_than = random.below(3) * unit;
  out.spare_if_ends_within = random.below(3) * unit;
  for (Index p = 0; p < tables.pools.size(); ++p)
    out.most_victims.push_back(random.chance(40) ? random.below(6) : -1);
  const Time begins = (1000 + random.below(60)) * kMicrosecondsPerSecond;
  const Id pool = random.below(static_cast<int>(tables.pools.size()));
  out.immune_hours = {{pool, begins, begins + 15 * kMicrosecondsPerSecond, 0}};
  out.zones.resize(1);
  out.zones[0].since = {0};
  out.zones[0].ahead = {0};
  return out;
}

// Pools and operations whose victims still count.
inline VictimTimes random_victims(Random& random, const Tables& tables) {
  VictimTimes out;
  for (Id e = 0; e < static_cast<Id>(tables.element_count()); ++e)
    for (int i = random.below(3); i > 0; --i) {
      out.element.push_back(e);
      out.time.push_back((1000 - random.below(200)) * kMicrosecondsPerSecond);
    }
  return out;
}

struct YTsaurusSystem {
  static std::unique_ptr<evenhand::Planner> planner(Snapshot snapshot, unsigned seed) {
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
  using Rows = slurm::JobRows;
  using Settings = slurm::Settings;
  using Planner = slurm::Planner;

  static constexpr int kPartitions = 3, kQualities = 3;

  static slurm::Settings settings(Random& random, const Tables& t) {
    const auto seconds = [&](int most) { return random.below(most) * kMicrosecondsPerSecond; };
    slurm::Settings s;
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
    s.requeue = random.chance(50);
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
    const auto mode = [&] {
      return static_cast<slurm::PreemptMode>(random.chance(10) ? 0 : 1 + random.below(3));
    };
    s.mode = mode();
    slurm::Partitions& parts = s.partitions;
    parts.names = {"p0", "p1"};  // beside that of jobs in none
    s.partition = random.below(kPartitions);
    for (int i = 0; i < kPartitions; ++i) {
      parts.tier.push_back(i + 1);
      parts.mode.push_back(mode());
      parts.grace.push_back(random.chance(60) ? 0 : seconds(60));
      parts.exempt.push_back(random.chance(75) ? 0 : seconds(900));
      parts.suspendable.push_back(random.chance(50));
      parts.exclusive.push_back(random.chance(10));
      parts.down.push_back(random.chance(2));
      parts.priority.push_back(random.chance(20));
      parts.max_time.push_back(random.chance(90) ? kNoTime : seconds(300) + 1);
      parts.default_time.push_back(random.chance(90) ? kNoTime : seconds(300) + 1);
      parts.factor.push_back(random.below(4));
      parts.all_nodes.push_back(random.chance(50));
      std::vector<std::string>& names = parts.nodes.emplace_back();
      for (Index n = 0; n < t.nodes.size(); ++n)
        if (random.chance(80)) names.emplace_back(t.nodes.names.text[n]);
    }
    slurm::Qualities& quality = s.qualities;
    quality.names = {"q0", "q1", "q2"};
    for (int i = 0; i < kQualities; ++i) {
      quality.rank.push_back(random.below(3));
      quality.mode.push_back(mode());
      quality.grace.push_back(random.chance(60) ? 0 : seconds(60));
      quality.exempt.push_back(random.chance(75) ? kNoTime : seconds(900));
      quality.factor.push_back(random.below(4));
      quality.priority.push_back(random.chance(20));
    }
    for (int i = 0; i < kQualities * kQualities; ++i) quality.preempts.push_back(random.chance(70));
    for (int r = 0; r < t.resource_count(); ++r) s.suspend_frees.push_back(random.chance(60));
    slurm::Weights& w = s.weights;
    w.multifactor = random.chance(60);
    for (double* weight : {&w.age, &w.assoc, &w.fair_share, &w.size, &w.partition, &w.qos})
      *weight = random.chance(40) ? 0 : random.below(50);
    w.assoc_of = {{"a/u0", random.below(3) / 2.0}, {"a/u1", random.below(3) / 2.0}};
    w.fair_share_of = {{"a/u1", random.below(4) / 4.0}, {"a/u1/p1", random.below(4) / 4.0}};
    w.max_age = 100 + random.below(2000);
    w.cpu = random.chance(50) ? 0 : kNoId;
    w.tres = {static_cast<double>(random.below(30)), static_cast<double>(random.below(9))};
    w.tres_resource = {0, random.chance(50) ? kNoId : slurm::Weights::kUnknown};
    w.calculate_running = random.chance(30);
    w.small_first = random.chance(30);
    w.relative_to_time = random.chance(30);
    w.plain_tres = random.chance(30);
    return s;
  }

  static Rows rows(Random& random, std::size_t jobs) {
    const auto seconds = [&](int most) { return random.below(most) * kMicrosecondsPerSecond; };
    Rows j;
    j.requeue = random.column<std::uint8_t>(jobs, 3);
    j.exclusive = random.column<std::uint8_t>(jobs, random.chance(30) ? 2 : 1);
    j.expedited = random.column<std::uint8_t>(jobs, random.chance(10) ? 2 : 1);
    j.cancelled = random.column<std::uint8_t>(jobs, 2);
    j.site = random.column<double>(jobs, 5);
    j.nice = random.column<double>(jobs, 3);
    for (std::size_t o = 0; o < jobs; ++o) {
      j.eligible.push_back(random.chance(90) ? kNoTime : 990'000'000 + seconds(20));
      j.accrue.push_back(random.chance(70) ? kNoTime : seconds(1000));
      j.time_min.push_back(random.chance(80) ? kNoTime : seconds(100) + 1);
      j.preemption_cost.push_back(1 + random.below(4));
    }
    return j;
  }

  // The rows of several tables, by (table, row).
  static Rows gathered(const std::vector<const Rows*>& from,
                       const std::vector<std::pair<std::size_t, Id>>& rows) {
    Rows out;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Rows& its = *from[rows[i].first];
      const auto row = static_cast<std::size_t>(rows[i].second);
      const auto take = [&](auto... columns) {
        ((out.*columns).push_back((its.*columns)[row]), ...);
      };
      take(&Rows::requeue, &Rows::exclusive, &Rows::expedited, &Rows::cancelled, &Rows::eligible,
           &Rows::accrue, &Rows::time_min, &Rows::site, &Rows::nice, &Rows::preemption_cost);
    }
    return out;
  }

  static slurm::Inputs inputs(Snapshot snapshot, slurm::Settings settings, Rows rows) {
    return {std::move(snapshot), std::move(settings), std::move(rows), {}};
  }

  static std::unique_ptr<evenhand::Planner> planner(Snapshot snapshot, unsigned seed) {
    Random random(seed);
    const auto jobs = static_cast<std::size_t>(snapshot.tables().operations.size());
    slurm::Settings set = settings(random, snapshot.tables());
    slurm::Inputs in = inputs(snapshot, std::move(set), rows(random, jobs));
    if (random.chance(30))
      for (std::size_t o = 0; o < jobs; ++o)
        in.memory.last_preempt.push_back(
            random.chance(50) ? kNoTime : 950'000'000 + random.below(50) * kMicrosecondsPerSecond);
    if (random.chance(40)) {
      in.settings.pace = random_pace(random, in.snapshot.tables(), 100 * kMicrosecondsPerSecond);
      in.memory.victims = random_victims(random, in.snapshot.tables());
    }
    return std::make_unique<slurm::Planner>(std::move(in));
  }
  // What a planner knows from earlier runs; `operations`: its row of each row.
  static void remember(slurm::Inputs& in, const evenhand::Planner& planner,
                       const Column<Id>& operations) {
    const Columns memory = planner.memory();
    const auto& last = std::get<Column<Time>>(memory.at(0).values);
    for (const Id o : operations) in.memory.last_preempt.push_back(last[o]);
  }
  static std::shared_ptr<Planner> live(slurm::Inputs in,
                                       const std::shared_ptr<ClusterState>& state) {
    return std::make_shared<slurm::Planner>(std::move(in), state);
  }
};

struct BackendAISystem {
  using Rows = backendai::RowSettings;
  using Settings = backendai::Settings;
  using Planner = backendai::Planner;

  static backendai::Settings settings(Random& random, const Tables& t) {
    backendai::Settings s;
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
    s.agents = static_cast<NodeOrder>(random.below(3));
    s.resource_order.resize(static_cast<std::size_t>(t.resource_count()));
    std::iota(s.resource_order.begin(), s.resource_order.end(), 0);
    s.reserve_room = random.chance(50);
    s.only_lack_blocks = random.chance(50);
    s.max_containers = random.chance(70) ? 0 : 1 + random.below(5);
    s.rank_is_priority = random.chance(50);
    s.scope = static_cast<backendai::Scope>(random.chance(75) ? 0 : 1 + random.below(3));
    s.inference_preemptible = random.chance(50);
    s.sequencer = static_cast<backendai::Sequencer>(random.below(3));
    return s;
  }

  static Rows rows(Random& random, std::size_t sessions) {
    Rows r;
    Column<double> priorities = random.column<double>(sessions, 5);
    for (double& priority : priorities)
      if (random.chance(20)) priority = Rows::kOwnOrDefault;
    r.priority = std::move(priorities);
    r.rank = random.column<double>(sessions, 4);
    Column<Id> domains = random.column<Id>(sessions, 3);
    for (Id& domain : domains) --domain;
    r.domain = std::move(domains);
    for (std::size_t o = 0; o < sessions; ++o) {
      r.preemptible.push_back(
          static_cast<std::uint8_t>(random.chance(20) ? 0 : 1 + random.below(2)));
      r.preemption_cost.push_back(1 + random.below(4));
      r.started.push_back(random.chance(80));
      r.refused.push_back(random.chance(95)
                              ? std::uint8_t{0}
                              : static_cast<std::uint8_t>(Outcome::kPriorityOutOfRange));
    }
    return r;
  }

  static Rows gathered(const std::vector<const Rows*>& from,
                       const std::vector<std::pair<std::size_t, Id>>& rows) {
    Rows out;
    for (const auto& [table, row] : rows) {
      const auto take = [&](auto... columns) {
        ((out.*columns).push_back((from[table]->*columns)[static_cast<std::size_t>(row)]), ...);
      };
      take(&Rows::priority, &Rows::rank, &Rows::domain, &Rows::preemptible, &Rows::started,
           &Rows::refused, &Rows::preemption_cost);
    }
    return out;
  }

  static backendai::Inputs inputs(Snapshot snapshot, backendai::Settings settings, Rows rows) {
    return {std::move(snapshot), std::move(settings), std::move(rows)};
  }

  static std::unique_ptr<evenhand::Planner> planner(Snapshot snapshot, unsigned seed) {
    Random random(seed);
    const auto sessions = static_cast<std::size_t>(snapshot.tables().operations.size());
    backendai::Settings set = settings(random, snapshot.tables());
    backendai::Inputs in = inputs(std::move(snapshot), std::move(set), rows(random, sessions));
    if (random.chance(40)) {
      in.settings.pace = random_pace(random, in.snapshot.tables(), 100 * kMicrosecondsPerSecond);
      in.victims = random_victims(random, in.snapshot.tables());
    }
    return std::make_unique<backendai::Planner>(std::move(in));
  }
  static void remember(backendai::Inputs&, const evenhand::Planner&, const Column<Id>&) {}
  static std::shared_ptr<Planner> live(backendai::Inputs in,
                                       const std::shared_ptr<ClusterState>& state) {
    return std::make_shared<backendai::Planner>(std::move(in), state, true);
  }
};

struct YuniKornSystem {
  static yunikorn::Settings settings(Random& random) {
    yunikorn::Settings s;
    s.per_ask = random.chance(40);
    s.n_alloc = 1 + random.below(5);
    s.ask_candidates = 1 + random.below(5);
    s.limit_share = random.chance(50) ? 1 : 0.2;
    if (random.chance(30)) s.policies = {yunikorn::PolicyKind::kInterQueue};
    if (random.chance(30)) s.cost = {yunikorn::CostKey::kLostWork, yunikorn::CostKey::kPriority};
    s.shotgun = random.chance(15);
    s.quota_enabled = random.chance(50);
    s.asks_once = random.chance(50);
    for (bool* one : {&s.switches.gives_below_guarantee, &s.switches.stops_at_unfitting_victim,
                      &s.switches.ignores_free_room, &s.switches.stops_at_any_type,
                      &s.switches.unguaranteed_types_open, &s.switches.fair_max_by_position})
      *one = random.chance(50);
    return s;
  }

  static std::unique_ptr<evenhand::Planner> planner(Snapshot snapshot, unsigned seed) {
    Random random(seed);
    yunikorn::Inputs in{std::move(snapshot), settings(random), {}};
    if (random.chance(40)) {
      in.settings.pace = random_pace(random, in.snapshot.tables(), 100 * kMicrosecondsPerSecond);
      in.victims = random_victims(random, in.snapshot.tables());
    }
    return std::make_unique<yunikorn::Planner>(std::move(in));
  }
};

}  // namespace evenhand::testing
