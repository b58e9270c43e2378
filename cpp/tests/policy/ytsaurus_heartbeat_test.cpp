#include <gtest/gtest.h>

#include "../model/scene.h"
#include "evenhand/policy/ytsaurus/heartbeat.h"
#include "evenhand/policy/ytsaurus/plan.h"

namespace evenhand::ytsaurus {
namespace {

using evenhand::testing::Scene;

// One node of four, taken by an old operation; a new one asks for one.
struct Small {
  Scene scene;
  Id old, young, request;

  explicit Small(std::int64_t capacity = 4) {
    old = scene.operation();
    young = scene.operation();
    scene.node({capacity});
    for (int i = 0; i < 4; ++i) scene.allocation(old, 0, {1}, i);
    request = scene.request(young, {1});
  }
  PlanInputs inputs(Settings settings = {}) {
    return {scene.snapshot(), std::move(settings), {}, {}, {}, false, {}, {0}};
  }
  // The young one starves already.
  PlanInputs starving(Settings settings = {}) {
    PlanInputs in = inputs(std::move(settings));
    in.given.starvation = {kUnset, kUnset, 1};  // root, old, young
    return in;
  }
};

TEST(Heartbeat, NobodyLeavesBeforeSomebodyStarves) {
  const Plan plan(Small().inputs());
  EXPECT_TRUE(plan.desk().decisions.rows().empty());
  EXPECT_EQ(plan.next_due(), (1000 + 30) * kMicrosecondsPerSecond + 1);
}

TEST(Heartbeat, TheNewestGoesForAStarvingOperation) {
  Small small;
  const Plan plan(small.starving());
  const auto& rows = plan.desk().decisions.rows();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].action, Action::kPreempt);
  EXPECT_EQ(rows[0].slot, 3);
  EXPECT_EQ(rows[0].beneficiary, (Beneficiary{small.young, small.request}));
  EXPECT_EQ(rows[1].action, Action::kStart);
  EXPECT_EQ(rows[1].reason, Reason::kFitsAfterPreemption);
  EXPECT_EQ(rows[0].step, rows[1].step);
  EXPECT_EQ(plan.next_due(), plan.desk().state.now());
}

TEST(Heartbeat, FreeRoomComesFirst) {
  const Plan plan(Small(5).starving());
  const auto& rows = plan.desk().decisions.rows();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].reason, Reason::kFitsFreeRoom);
}

TEST(Heartbeat, ANodeBacksOffAfterAnAttempt) {
  PlanInputs in = Small().starving();
  const Time now = in.snapshot.tables().now;
  in.memory.last_preemptive = {now - 5 * kMicrosecondsPerSecond};
  const Plan plan(in);
  EXPECT_TRUE(plan.desk().decisions.rows().empty());
  EXPECT_EQ(plan.next_due(), now + 1);
  in.memory.last_preemptive = {now - 5 * kMicrosecondsPerSecond - 1};
  EXPECT_EQ(Plan(in).desk().decisions.rows().size(), 2u);
}

TEST(Heartbeat, WhatIsBeyondTheNodeLeaves) {
  const Plan plan(Small(2).inputs());
  const auto& rows = plan.desk().decisions.rows();
  ASSERT_EQ(rows.size(), 2u);
  for (const Decision& d : rows) EXPECT_EQ(d.reason, Reason::kResourceOvercommit);
}

TEST(Heartbeat, RecordingDecidesNothingElse) {
  Small small;
  const Plan plan(small.starving());
  EXPECT_FALSE(plan.trace(small.request, kNoId).empty());
  EXPECT_EQ(plan.desk().decisions.rows().size(), 2u);
}

TEST(Desk, DeltasBetweenHeartbeatsAreSeen) {
  Small small;
  const PlanInputs in = small.inputs();
  Desk desk(ClusterState(in.snapshot), in.settings, in.rows, in.given, in.memory);
  desk.start(small.old, 0, std::vector<Amount>{1}, 0);  // before any update
  desk.end(4);
  desk.update(nullptr, true);
  heartbeat(desk, 0);
  EXPECT_TRUE(desk.decisions.rows().empty());
  desk.end(1);
  heartbeat(desk, 0);
  ASSERT_EQ(desk.decisions.rows().size(), 1u);
  EXPECT_EQ(desk.decisions.rows()[0].request, small.request);
  desk.end(2);
  desk.set_pending(small.request, 0);
  heartbeat(desk, 0);
  EXPECT_EQ(desk.decisions.rows().size(), 1u);
}

}  // namespace
}  // namespace evenhand::ytsaurus
