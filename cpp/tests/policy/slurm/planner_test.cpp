#include "evenhand/policy/slurm/planner.h"

#include <gtest/gtest.h>

#include "../../model/scene.h"

namespace evenhand::slurm::planner_test {
namespace {

constexpr Time kNow = 1000 * kMicrosecondsPerSecond;

// A node that a job of a low tier fills; one of a high tier waits for a part of it.
Inputs inputs() {
  testing::Scene scene;
  const Id low = scene.operation(), high = scene.operation();
  scene.node({4});
  scene.allocation(low, 0, {4}, 0);
  scene.request(high, {2});
  Tables tables = scene.snapshot().tables();
  tables.operations.partition.values.push_back("high");
  tables.operations.partition.values.push_back("low");
  tables.operations.partition.codes = {1, 0};
  Inputs in{Snapshot(tables), {}, {}, {}};
  in.settings.type = PreemptType::kPartitionPrio;
  in.settings.backoff = 60 * kMicrosecondsPerSecond;
  Partitions& p = in.settings.partitions;
  p.names = {"low", "high"};
  p.tier = {1, 2};
  p.mode = {PreemptMode::kRequeue, PreemptMode::kRequeue};
  p.grace = p.exempt = {0, 0};
  p.suspendable = p.exclusive = p.down = p.priority = {0, 0};
  p.max_time = p.default_time = {kNoTime, kNoTime};
  p.factor = {0.5, 1};
  p.all_nodes = {1, 1};
  p.nodes = {{}, {}};
  in.settings.suspend_frees = {1};
  return in;
}

Outcome refused(Planner& planner) {
  planner.update(kNow, false);
  planner.decide({});
  const Refusals refusals = planner.refusals();
  return refusals.rule.empty() ? Outcome::kStarted : refusals.rule[0];
}

TEST(SlurmPlanner, AJobOfAHigherTierPreemptsAndTheStateStaysAsItWas) {
  Planner planner(inputs());
  EXPECT_EQ(refused(planner), Outcome::kWaitsForVictims);
  const std::vector<Decision>& rows = planner.decisions().rows();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].action, Action::kPreempt);
  EXPECT_EQ(rows[0].mode, Mode::kRequeue);
  EXPECT_EQ(rows[1].action, Action::kReserve);
  EXPECT_TRUE(planner.state().running(0));
  EXPECT_EQ(planner.state().pending(0), 1);
  EXPECT_EQ(planner.next_due(), kNow);
}

TEST(SlurmPlanner, BacksOffByWholeSecondsOfThenAndOfNow) {
  Inputs in = inputs();
  for (const Time then : {kNow - in.settings.backoff, kNow - in.settings.backoff + 999'999}) {
    in.memory.last_preempt = {kNoTime, then};
    Planner due(in);
    EXPECT_EQ(refused(due), Outcome::kWaitsForVictims);
  }
  in.memory.last_preempt = {kNoTime, kNow - in.settings.backoff + kMicrosecondsPerSecond};
  Planner early(in);
  EXPECT_EQ(refused(early), Outcome::kPreemptionBackoff);
  EXPECT_EQ(early.next_due(), kNow + kMicrosecondsPerSecond);
}

TEST(SlurmPlanner, RemembersFromOneRunToTheNextForWhomItPreempted) {
  Planner planner(inputs());
  EXPECT_EQ(refused(planner), Outcome::kWaitsForVictims);
  EXPECT_EQ(refused(planner), Outcome::kPreemptionBackoff);
  EXPECT_TRUE(planner.decisions().rows().empty());
  const Columns memory = planner.memory();
  EXPECT_EQ(std::get<Column<Time>>(memory[0].values), (Column<Time>{kNoTime, kNow}));
}

TEST(SlurmPlanner, PrioritiesGrowWithTheAgeOfJobsThatWait) {
  Inputs in = inputs();
  in.settings.weights.multifactor = true;
  in.settings.weights.age = 1000;
  in.settings.weights.partition = 10;
  in.settings.weights.max_age = 4000;
  in.rows.nice = {1, 2};
  const ClusterState state(in.snapshot);
  Jobs jobs(in.settings, in.rows);
  jobs.update(state);
  // The first has run since the beginning; the second has waited for 1,000 s.
  EXPECT_EQ(jobs.priority, (std::vector<double>{4, 258}));
  EXPECT_EQ(jobs.started, (std::vector<Time>{0, kNoTime}));
  EXPECT_EQ(jobs.tier, (std::vector<std::int32_t>{1, 2}));
}

TEST(SlurmPlanner, AJobStaysInThatOfItsPartitionsThatHasItsNodes) {
  Inputs in = inputs();
  in.settings.partitions.all_nodes = {1, 0};
  Tables tables = in.snapshot.tables();
  tables.operations.partition = {};
  tables.operations.partition.values.push_back(" low, high,low");
  tables.operations.partition.codes = {0, 0};
  in.snapshot = Snapshot(tables);
  Jobs jobs(in.settings, in.rows);
  jobs.update(ClusterState(in.snapshot));
  EXPECT_EQ(jobs.partition, (std::vector<Id>{0, 1}));
  std::vector<Turn> turns;
  jobs.add_turns(0, turns);  // it has something
  EXPECT_TRUE(turns.empty());
  jobs.add_turns(1, turns);
  ASSERT_EQ(turns.size(), 1u);
  EXPECT_EQ(turns[0].partition, 0);
  EXPECT_EQ(turns[0].tier, 1);
}

TEST(SlurmPlanner, WithoutPassesNothingStarts) {
  Planner planner(inputs());
  planner.update(kNow, false);
  planner.decide({.main_pass = false, .backfill_pass = false});
  EXPECT_TRUE(planner.decisions().rows().empty());
  EXPECT_EQ(planner.refusals().rule, (std::vector{Outcome::kWaitsForNextPass}));
}

}  // namespace
}  // namespace evenhand::slurm::planner_test
