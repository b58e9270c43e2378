#include <gtest/gtest.h>

#include "../../model/scene.h"
#include "evenhand/policy/backendai/planner.h"

namespace evenhand::backendai {
namespace {

// An agent that one session fills; one with a higher priority waits.
Inputs inputs() {
  testing::Scene scene;
  const Id low = scene.operation(), high = scene.operation();
  scene.node({4});
  scene.allocation(low, 0, {4}, 0);
  scene.request(high, {2});
  Inputs in{scene.snapshot(), {}, {}, {}};
  in.settings.resource_order = {0};
  in.rows.priority = in.rows.rank = {5, 10};
  in.rows.scope = {0, 0};
  in.rows.preemptible = in.rows.started = {1, 1};
  in.rows.refused = {0, 0};
  in.rows.sequence = {0, 0};
  return in;
}

std::vector<Decision> decided(Planner& planner) {
  planner.update(planner.state().now(), false);
  planner.decide({});
  return planner.decisions().rows();
}

TEST(BackendAIPlanner, APriorityOfExactlyTheThresholdIsPreemptible) {
  Inputs in = inputs();
  Planner at(in);
  const std::vector<Decision> rows = decided(at);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].action, Action::kPreempt);
  EXPECT_TRUE(at.state().running(0));
  EXPECT_EQ(at.refusals().rule, (std::vector{Outcome::kWaitsForVictims}));
  in.rows.priority[0] = 5 + 1e-9;
  Planner above(in);
  EXPECT_TRUE(decided(above).empty());
  EXPECT_EQ(above.refusals().rule, (std::vector{Outcome::kNoLowerPriority}));
}

TEST(BackendAIPlanner, LogicalNodesLeaveLessToTheirMachineAlsoAfterItsSizeChanges) {
  Inputs in = inputs();
  in.rows.in_parts = {1};
  Planner planner(in);
  EXPECT_EQ(*planner.state().node_capacity(0), 3);
  planner.on({.kind = Delta::Kind::kCapacity, .row = 0, .amounts = std::vector<Amount>{8}});
  EXPECT_EQ(*planner.state().node_capacity(0), 7);
  const std::vector<Decision> rows = decided(planner);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].action, Action::kStart);
}

TEST(BackendAIPlanner, HandsOnWhatItIsGivenToRemember) {
  Inputs in = inputs();
  in.last_preempt = {7, kNoTime};
  const Columns memory = Planner(in).memory();
  ASSERT_EQ(memory.size(), 1u);
  EXPECT_EQ(std::get<std::vector<Time>>(memory[0].values), in.last_preempt);
}

}  // namespace
}  // namespace evenhand::backendai
