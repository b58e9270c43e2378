// Exactly at a bound, and one step to each side: groups, costs, shields, selections.
#include <gtest/gtest.h>

#include "../model/scene.h"
#include "evenhand/preempt/blocking.h"
#include "evenhand/preempt/groups.h"
#include "evenhand/preempt/victim_cost.h"
#include "evenhand/preempt/victims.h"

namespace evenhand::edges_test {
namespace {

using testing::Scene;

// One operation of five allocations of 1, one after the other, on a node of 10.
Scene five() {
  Scene scene;
  scene.operation();
  scene.node({10});
  for (int i = 0; i < 5; ++i) scene.allocation(0, 0, {1}, i);
  return scene;
}

std::array<Index, 2> cuts(GroupLists::Options options, double fair, double demand,
                          const Amount* threshold = nullptr) {
  const ClusterState state(five().snapshot());
  GroupLists groups(state, options);
  groups.set_bounds(0, &fair, &demand, threshold);
  groups.refresh(state);
  return groups.cuts(0);
}

TEST(Groups, ABoundIsReachedWithinTheTolerance) {
  for (const bool beyond : {false, true}) {
    const GroupLists::Options options{.aggressive_threshold = 0.0, .on_bound_preemptible = beyond};
    EXPECT_EQ(cuts(options, 0.3 - 1e-8, 1.0)[1], beyond ? 2 : 3);
    for (const double off : {-1e-10, 0.0, 1e-10}) EXPECT_EQ(cuts(options, 0.3 + off, 1.0)[1], 3);
    EXPECT_EQ(cuts(options, 0.3 + 1e-8, 1.0)[1], beyond ? 3 : 4);
  }
}

TEST(Groups, WhatCrossesIsInsideUnlessItIsAskedFor) {
  EXPECT_EQ(cuts({}, 0.35, 1.0), (std::array<Index, 2>{1, 4}));
  EXPECT_EQ(cuts({.on_bound_preemptible = true}, 0.35, 1.0), (std::array<Index, 2>{0, 3}));
}

TEST(Groups, WorkIsProtectedBelowItsUsageThreshold) {
  const GroupLists::Options options{.aggressive_threshold = 0.0};
  for (const Amount threshold : {4, 5, 6})  // 5 are used
    EXPECT_EQ(cuts(options, 0.0, 1.0, &threshold)[0], threshold > 5 ? 5 : 0) << threshold;
}

TEST(Groups, WhoWantsNothingHasNothingThatIsSafe) {
  const GroupLists::Options options{.aggressive_threshold = 0.0};
  EXPECT_EQ(cuts(options, 0.0, 0.0)[1], 0);
  EXPECT_EQ(cuts(options, 0.0, 0.1)[1], 0);  // no share at all: nothing crosses its bound
  EXPECT_EQ(cuts(options, 0.1, 0.1)[1], 5);  // its fair share covers its demand
}

TEST(Groups, SavedProgressMovesAnAllocationOnIfItCounts) {
  ClusterState state(five().snapshot());
  const GroupLists starts(state, {}), progress(state, {.saved_progress_counts = true});
  state.touch(0, 10, 50);
  EXPECT_EQ(starts.order_time(state, 0), 10);
  EXPECT_EQ(progress.order_time(state, 0), 50);
  state.touch(0, 60, 50);
  EXPECT_EQ(progress.order_time(state, 0), 60);
}

// Work that is lost: seconds times the part of the node, rounded up.
TEST(VictimCosts, LostWorkIsInNodeSeconds) {
  Scene scene;
  scene.operation();
  scene.node({10});
  scene.allocation(0, 0, {5}, 990);
  scene.allocation(0, 0, {1}, 990);
  ClusterState state(scene.snapshot(1000));
  const Beside<Index> given = Absent(Index{1});
  const VictimCosts costs{VictimCost::kLostWork, given};
  const auto after = [&](Time last_progress) {
    state.touch(0, 990 * kMicrosecondsPerSecond, last_progress);
    return costs.of(state, 0);
  };
  EXPECT_EQ(costs.of(state, 0), 5);
  EXPECT_EQ(after(900 * kMicrosecondsPerSecond), 5);  // of the job before
  EXPECT_EQ(after(994 * kMicrosecondsPerSecond), 3);
  EXPECT_EQ(after(994 * kMicrosecondsPerSecond - 1), 4);
  EXPECT_EQ(after(1000 * kMicrosecondsPerSecond), 1);  // at least
  EXPECT_EQ(after(900 * kMicrosecondsPerSecond), 5);
  const std::vector<Id> both{0, 1};
  EXPECT_EQ(costs.of(state, 0, both), 6);
}

TEST(Victims, WhoFreesNothingOfWhatIsMissingIsPassedOver) {
  const Amount elsewhere[] = {0, 5}, here[] = {2, 0}, shortage[] = {2, 0};
  VictimSelector selector(2);
  selector.add(0, elsewhere);
  selector.add(1, here);
  ASSERT_TRUE(selector.select(VictimSelection::kPrefix, shortage, 1));
  EXPECT_EQ(selector.taken().size(), 2u);
  selector.skip_useless(true);
  ASSERT_TRUE(selector.select(VictimSelection::kPrefix, shortage, 1));
  ASSERT_EQ(selector.taken().size(), 1u);
  EXPECT_EQ(selector.taken()[0], 1);
}

TEST(Blocking, WhoIsServedBelowTheThresholdShields) {
  const auto parent = [](Id e) { return e - 1; };  // 2 in 1 in the root
  const auto none_starves = [](Id) { return false; };
  for (const auto& [served, shields] :
       {std::pair{0.5, true}, {0.5 + 0.5e-4, true}, {0.5 + 2e-4, false}}) {
    const auto of = [served = served](Id e) { return e == 1 ? served : 1.0; };
    EXPECT_EQ(blocking_element(2, parent, none_starves, of, 0.5), shields ? 1 : kNoId) << served;
  }
}

}  // namespace
}  // namespace evenhand::edges_test
