#include "evenhand/policy/ytsaurus/planner.h"

#include <gtest/gtest.h>

#include "../../model/scene.h"
#include "evenhand/policy/live_cluster.h"
#include "evenhand/policy/ytsaurus/heartbeat.h"

namespace evenhand::ytsaurus::planner_test {
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
  Inputs inputs(Settings settings = {}) {
    return {scene.snapshot(), std::move(settings), {}, {}, {}, false, {}};
  }
  // The young one starves already.
  Inputs starving(Settings settings = {}) {
    Inputs in = inputs(std::move(settings));
    in.given.starvation = {kUnset, kUnset, 1};  // root, old, young
    return in;
  }
};

// A planner that has updated and decided once, on all nodes.
struct Plan {
  Planner planner;
  explicit Plan(Inputs inputs) : planner(std::move(inputs)) {
    planner.update(planner.state().now(), false);
    planner.decide({});
  }
  const std::vector<Decision>& rows() const { return planner.decisions().rows(); }
};

TEST(Heartbeat, NoAllocationLeavesBeforeAnOperationStarves) {
  const Plan plan(Small().inputs());
  EXPECT_TRUE(plan.rows().empty());
  EXPECT_EQ(plan.planner.next_due(), (1000 + 30) * kMicrosecondsPerSecond + 1);
}

TEST(Heartbeat, TheNewestGoesForAStarvingOperation) {
  Small small;
  const Plan plan(small.starving());
  const auto& rows = plan.rows();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].action, Action::kPreempt);
  EXPECT_EQ(rows[0].slot, 3);
  EXPECT_EQ(rows[0].beneficiary, (Beneficiary{small.young, small.request}));
  EXPECT_EQ(rows[1].action, Action::kStart);
  EXPECT_EQ(rows[1].reason, Reason::kFitsAfterPreemption);
  EXPECT_EQ(rows[0].step, rows[1].step);
  EXPECT_EQ(plan.planner.next_due(), plan.planner.state().now());
}

TEST(Heartbeat, FreeRoomComesFirst) {
  const Plan plan(Small(5).starving());
  const auto& rows = plan.rows();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].reason, Reason::kFitsFreeRoom);
}

TEST(Heartbeat, ANodeBacksOffAfterAnAttempt) {
  Inputs in = Small().starving();
  const Time now = in.snapshot.tables().now;
  in.memory.last_preemptive = {now - 5 * kMicrosecondsPerSecond};
  const Plan plan(in);
  EXPECT_TRUE(plan.rows().empty());
  EXPECT_EQ(plan.planner.next_due(), now + 1);
  in.memory.last_preemptive = {now - 5 * kMicrosecondsPerSecond - 1};
  EXPECT_EQ(Plan(in).rows().size(), 2u);
}

TEST(Heartbeat, WhatIsBeyondTheNodeLeaves) {
  const Plan plan(Small(2).inputs());
  const auto& rows = plan.rows();
  ASSERT_EQ(rows.size(), 2u);
  for (const Decision& d : rows) EXPECT_EQ(d.reason, Reason::kResourceOvercommit);
}

TEST(Heartbeat, RecordingDecidesNothingElse) {
  Small small;
  const Plan plan(small.starving());
  const std::unique_ptr<evenhand::Planner> again = plan.planner.afresh();
  again->update(again->state().now(), false);
  Recorder recorder{small.request, kNoId, {}};
  again->decide({}, &recorder);
  EXPECT_FALSE(recorder.events.empty());
  ASSERT_EQ(again->decisions().rows().size(), 2u);
  EXPECT_EQ(again->decisions().rows()[0].slot, plan.rows()[0].slot);
}

TEST(Planner, DeltasBetweenHeartbeatsAreSeen) {
  Small small;
  Planner planner(small.inputs());
  const std::vector<Amount> one{1};
  const Id slot = planner.on(
      {.kind = Delta::Kind::kStart, .row = small.old, .node = 0, .amounts = one, .time = 0});
  EXPECT_EQ(slot, 4);
  planner.on({.kind = Delta::Kind::kEnd, .row = slot});  // before any update
  planner.update(planner.state().now(), true);
  planner.decide({});
  EXPECT_TRUE(planner.decisions().rows().empty());
  planner.on({.kind = Delta::Kind::kEnd, .row = 1});
  planner.decide({});
  ASSERT_EQ(planner.decisions().rows().size(), 1u);
  EXPECT_EQ(planner.decisions().rows()[0].request, small.request);
  EXPECT_EQ(planner.counts(),
            (Counts{{"regular.run", 1}, {"regular.started", 1}, {"preemptive.backoff", 1}}));
  planner.on({.kind = Delta::Kind::kEnd, .row = 2});
  planner.on({.kind = Delta::Kind::kPending, .row = small.request, .count = 0});
  planner.decide({});
  EXPECT_TRUE(planner.decisions().rows().empty());
}

TEST(Planner, HeartbeatsAreOfTheNamedNodesInTheirOrder) {
  Scene scene;
  const Id operation = scene.operation();
  for (int n = 0; n < 3; ++n) scene.node({1});
  scene.request(operation, {1}, 3);
  Planner planner({scene.snapshot(), {}, {}, {}, {}, false, {}});
  planner.update(planner.state().now(), true);
  const std::vector<Id> nodes{2, 0};
  planner.decide({.kind = Trigger::Kind::kHeartbeats, .nodes = nodes});
  ASSERT_EQ(planner.decisions().rows().size(), 2u);
  EXPECT_EQ(planner.decisions().rows()[0].node, 2);
  EXPECT_EQ(planner.decisions().rows()[1].node, 0);
  planner.decide({});  // all of them; what was decided holds
  ASSERT_EQ(planner.decisions().rows().size(), 1u);
  EXPECT_EQ(planner.decisions().rows()[0].node, 1);
  EXPECT_EQ(planner.decisions().rows()[0].step, 0);
}

TEST(Planner, ResumedAndSuspendedAllocationsChangeTheirGroups) {
  Small small;
  Planner planner(small.inputs());
  planner.update(planner.state().now(), true);
  EXPECT_NE(planner.groups()[0], Group::kNone);
  planner.on({.kind = Delta::Kind::kSuspend, .row = 0, .amounts = std::vector<Amount>{0}});
  EXPECT_EQ(planner.groups()[0], Group::kNone);
  EXPECT_EQ(*planner.state().operation_usage(small.old), 3);
  planner.on({.kind = Delta::Kind::kResume, .row = 0, .node = 0, .time = planner.state().now()});
  EXPECT_NE(planner.groups()[0], Group::kNone);
  EXPECT_EQ(*planner.state().operation_usage(small.old), 4);
}

// A planner that follows a cluster.
struct Following {
  Small small;
  LiveCluster cluster;
  std::shared_ptr<Planner> planner;

  explicit Following(std::int64_t capacity = 4)
      : small(capacity),
        cluster(ClusterState(small.scene.snapshot())),
        planner(std::make_shared<Planner>(small.inputs(), cluster.shared(), false)) {
    cluster.attach(planner);
    planner->update(cluster.state().now(), true);
  }
};

TEST(LivePlanner, WhatStartsOutsideRaisesUsageAboveTheDemandOfTheUpdate) {
  Following f;
  const Id element = f.planner->workspace().pools() + f.small.old;
  const double fair = *f.planner->workspace().last.fair_share(element);
  const Id slot = f.cluster.on({.kind = Delta::Kind::kStart,
                                .row = f.small.old,
                                .node = 0,
                                .amounts = std::vector<Amount>{1},
                                .time = f.cluster.state().now()});
  EXPECT_EQ(*f.cluster.state().operation_usage(f.small.old), 5);
  EXPECT_EQ(*f.planner->workspace().last.demand_share(element), 1.0);
  EXPECT_EQ(*f.planner->workspace().last.fair_share(element), fair);
  EXPECT_EQ(f.planner->groups()[static_cast<std::size_t>(slot)], Group::kPreemptible);
  EXPECT_FALSE(f.planner->workspace().within_fair_share(f.small.old));
  EXPECT_TRUE(f.planner->workspace().stale());
}

TEST(LivePlanner, GivesBackWhatItDecidedButForItsMemory) {
  Following f(6);
  const std::vector<Amount> before = evenhand::testing::essence(f.cluster.state());
  f.planner->decide({});
  EXPECT_EQ(f.planner->decisions().rows().size(), 1u);
  EXPECT_EQ(f.cluster.state().pending(f.small.request), 0);
  f.planner->take_back();
  EXPECT_EQ(evenhand::testing::essence(f.cluster.state()), before);
  EXPECT_EQ(f.planner->decisions().rows().size(), 1u);
  EXPECT_EQ(f.planner->workspace().memory.last_preemptive[0], f.cluster.state().now());
  EXPECT_FALSE(f.planner->workspace().stale());
  f.planner->decide({});  // the operation asks again
  EXPECT_EQ(f.planner->decisions().rows().size(), 1u);
  f.cluster.on({.kind = Delta::Kind::kEnd, .row = 0});  // takes back what stands
  EXPECT_EQ(f.cluster.state().pending(f.small.request), 1);
}

TEST(LivePlanner, DoesNotFollowWhatItCannot) {
  Following f;
  f.planner->decide({});
  f.cluster.drop();
  EXPECT_FALSE(f.planner->follows());
  LiveCluster copy(f.cluster);
  copy.on({.kind = Delta::Kind::kEnd, .row = 0});
  EXPECT_TRUE(f.cluster.state().running(0));
}

}  // namespace
}  // namespace evenhand::ytsaurus::planner_test
