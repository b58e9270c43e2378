#include "evenhand/policy/backendai/planner.h"

#include <gtest/gtest.h>

#include <cmath>

#include "../../model/scene.h"

namespace evenhand::backendai::planner_test {
namespace {

// An agent that one session fills; one with a higher priority waits.
Inputs inputs() {
  testing::Scene scene;
  const Id low = scene.operation(), high = scene.operation();
  scene.node({4});
  scene.allocation(low, 0, {4}, 0);
  scene.request(high, {2});
  Inputs in{scene.snapshot(), {}, {}};
  in.settings.resource_order = {0};
  in.rows.priority = {5, 10};
  in.rows.preemptible = {1, 1};
  in.rows.started = {1, 1};
  in.rows.refused = {0, 0};
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
  in.rows.priority.set(0, 5 + 1e-9);
  Planner above(in);
  EXPECT_TRUE(decided(above).empty());
  EXPECT_EQ(above.refusals().rule, (std::vector{Outcome::kNoLowerPriority}));
}

TEST(BackendAIPlanner, LogicalNodesLeaveLessToTheirMachineAlsoAfterItsSizeChanges) {
  Inputs in = inputs();
  Tables t = in.snapshot.tables();
  t.nodes.names.text.push_back("n2000");
  t.nodes.capacity.push_back(1);
  t.nodes.schedulable.push_back(0);
  t.nodes.tags = {};
  t.nodes.physical.values.push_back("n1000");
  t.nodes.physical.codes = {kNoId, 0};
  t.allocations_by_node.offsets.push_back(t.allocations_by_node.offsets.back());
  in.snapshot = Snapshot(t);
  Planner planner(in);
  const auto grows = [&](Amount to) {
    planner.on({.kind = Delta::Kind::kCapacity, .row = 0, .amounts = std::vector<Amount>{to}});
    const std::vector<Decision> rows = decided(planner);
    return !rows.empty() && rows[0].action == Action::kStart;
  };
  EXPECT_FALSE(grows(6));  // two are free, of which one is the logical node's
  EXPECT_TRUE(grows(7));
}

TEST(BackendAIPlanner, ARowThatComesHasTheDefaults) {
  RowSettings rows;
  rows.priority = {1, 2};
  rows.preemption_cost = {3, 4};
  const std::vector<Id> came{1, 3};
  rows.put(came, {});
  EXPECT_EQ(rows.priority[0], 1);
  for (const std::size_t row : {1, 2, 3}) EXPECT_TRUE(std::isnan(rows.priority[row]));
  EXPECT_EQ(rows.preemption_cost.column(4), (std::vector<Index>{3, 1, 1, 1}));
  EXPECT_EQ(rows.preemptible[3], RowSettings::kByKind);
}

TEST(BackendAIPlanner, HandsOnWhatItIsGivenToRemember) {
  Inputs in = inputs();
  in.last_preempt = {7, kNoTime};
  const Columns memory = Planner(in).memory();
  ASSERT_EQ(memory.size(), 1u);
  EXPECT_EQ(std::get<Column<Time>>(memory[0].values), in.last_preempt.column(2));
}

}  // namespace
}  // namespace evenhand::backendai::planner_test
