#include "evenhand/policy/gridengine/planner.h"

#include <gtest/gtest.h>

#include "../../model/scene.h"

namespace evenhand::gridengine {
namespace {

// A host that one job fills; another waits. Both have no priority of their own but what is set.
Inputs inputs() {
  testing::Scene scene;
  const Id low = scene.operation(), high = scene.operation();
  scene.node({4});
  scene.allocation(low, 0, {4}, 0);
  scene.request(high, {2});
  Inputs in{scene.snapshot(), {}, {}, {}};
  in.settings.max_reservation = 5;
  in.settings.max_preemptees = 5;
  return in;
}

std::vector<Decision> decided(Planner& planner, const Trigger& trigger = {}) {
  planner.update(planner.state().now(), false);
  planner.decide(trigger);
  return planner.decisions().rows();
}

TEST(GridEnginePlanner, WithoutARequestNothingIsPreempted) {
  Planner planner(inputs());
  EXPECT_TRUE(decided(planner).empty());
  EXPECT_EQ(planner.refusals().rule, (std::vector{Outcome::kNoFreeRoom}));
}

TEST(GridEnginePlanner, ACommandForAnUnknownJobIsRefusedByItsPlace) {
  Planner planner(inputs());
  const std::vector<Trigger::Command> commands{
      {.consumer = "nobody", .providers = {}, .mode = Mode::kPreempt, .manager = true, .user = ""}};
  Trigger trigger;
  trigger.kind = Trigger::Kind::kCommands;
  trigger.commands = commands;
  EXPECT_TRUE(decided(planner, trigger).empty());
  ASSERT_EQ(planner.refusals().command.size(), 1u);
  EXPECT_EQ(planner.refusals().command[0], 0);
  EXPECT_EQ(planner.refusals().rule, (std::vector{Outcome::kConsumerNotPending}));
}

TEST(GridEngineMemory, OfAConsumerTheLaterRequestCountsAndARunDropsAll) {
  Memory memory;
  const RowName a{"a"}, b{"b"}, seven{"7", true};
  memory.replace(0, Asked::kPreempt, false, {a, seven});
  memory.replace(1, Asked::kPreempt, false, {a});
  memory.replace(0, Asked::kRequeue, true, {b});
  EXPECT_EQ(memory.asked[0], Asked::kRequeue);
  EXPECT_EQ(memory.forced[0], 1);
  EXPECT_EQ(memory.providers.names, (Column<RowName>{a, b}));
  EXPECT_EQ(memory.providers.of, (Column<Id>{1, 0}));
  memory.come(2, 0);  // the consumer gets another row
  EXPECT_EQ(memory.asked[2], Asked::kRequeue);
  EXPECT_EQ(memory.providers.of, (Column<Id>{1, 2}));
  memory.come(2, kNoId);  // and another one that number
  EXPECT_EQ(memory.asked[2], Asked::kNothing);
  EXPECT_EQ(memory.providers.names, (Column<RowName>{a}));
  memory.drop_requests();
  EXPECT_TRUE(memory.providers.names.empty());
  EXPECT_EQ(memory.asked[0], Asked::kNothing);
}

TEST(GridEngineMemory, RowsThatComeHaveTheDefaults) {
  RowSettings rows;
  rows.queue = {3, 4};
  rows.releases = {1, 1};
  const Id later = 1;
  rows.put_allocations({&later, 1}, {});
  EXPECT_EQ(rows.queue.column(2), (Column<Id>{3, kNoId}));
  EXPECT_EQ(rows.releases.column(2), (Column<std::uint8_t>{1, 0}));
}

}  // namespace
}  // namespace evenhand::gridengine
