#include <gtest/gtest.h>

#include "../../model/scene.h"
#include "evenhand/policy/slurm/planner.h"

namespace evenhand::slurm {
namespace {

constexpr Time kNow = 1000 * kMicrosecondsPerSecond;

// A node that a job of a low tier fills; one of a high tier waits for a part of it.
Inputs inputs() {
  testing::Scene scene;
  const Id low = scene.operation(), high = scene.operation();
  scene.node({4});
  scene.allocation(low, 0, {4}, 0);
  scene.request(high, {2});
  Inputs in{scene.snapshot(), {}, {}, {}};
  in.settings.type = PreemptType::kPartitionPrio;
  in.settings.backoff = 60 * kMicrosecondsPerSecond;
  JobColumns& j = in.jobs;
  j.partition = {0, 1};
  j.qos = {kNoId, kNoId};
  j.tier = {1, 2};
  j.rank = {1, 2};
  j.priority = {1, 1};
  j.mode = {PreemptMode::kRequeue, PreemptMode::kRequeue};
  j.grace = j.exempt = {0, 0};
  j.eligible = j.time_min = {kNoTime, kNoTime};
  j.requeue = {1, 1};
  j.suspendable = j.exclusive = j.expedited = {0, 0};
  j.node_of_partition = {1, 1};
  j.suspend_frees = {1};
  j.partition_down = {0, 0};
  j.user = {0, 0};
  j.partition_max_time = j.partition_default_time = {kNoTime, kNoTime};
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

TEST(SlurmPlanner, BacksOffUntilExactlyItsTime) {
  Inputs in = inputs();
  in.memory.last_preempt = {kNoTime, kNow - in.settings.backoff + 1};
  Planner early(in);
  EXPECT_EQ(refused(early), Outcome::kPreemptionBackoff);
  EXPECT_EQ(early.next_due(), kNow + 1);
  --in.memory.last_preempt[1];
  Planner due(in);
  EXPECT_EQ(refused(due), Outcome::kWaitsForVictims);
}

TEST(SlurmPlanner, RemembersFromOneRunToTheNextForWhomItPreempted) {
  Planner planner(inputs());
  EXPECT_EQ(refused(planner), Outcome::kWaitsForVictims);
  EXPECT_EQ(refused(planner), Outcome::kPreemptionBackoff);
  EXPECT_TRUE(planner.decisions().rows().empty());
  const Columns memory = planner.memory();
  EXPECT_EQ(std::get<std::vector<Time>>(memory[0].values), (std::vector<Time>{kNoTime, kNow}));
}

TEST(SlurmPlanner, WithoutPassesNothingStarts) {
  Planner planner(inputs());
  planner.update(kNow, false);
  planner.decide({.main_pass = false, .backfill_pass = false});
  EXPECT_TRUE(planner.decisions().rows().empty());
  EXPECT_EQ(planner.refusals().rule, (std::vector{Outcome::kWaitsForNextPass}));
}

}  // namespace
}  // namespace evenhand::slurm
