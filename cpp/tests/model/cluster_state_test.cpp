#include "evenhand/model/cluster_state.h"

#include <gtest/gtest.h>

#include <random>

#include "scene.h"

namespace evenhand::cluster_state_test {
namespace {

using testing::essence;
using testing::Scene;

Scene crowded(std::mt19937& random) {
  const auto draw = [&](unsigned n) { return static_cast<std::int64_t>(random() % n); };
  Scene scene(2);
  scene.pool();
  scene.pool(1);
  for (int o = 0; o < 4; ++o) scene.operation(static_cast<Id>(draw(3)));
  for (int n = 0; n < 3; ++n) scene.node({20 + draw(9), 30});
  constexpr AllocationState kStates[] = {AllocationState::kRunning, AllocationState::kRunning,
                                         AllocationState::kPreempting, AllocationState::kSuspended,
                                         AllocationState::kPreempted};
  for (int a = 0; a < 12; ++a) {
    const AllocationState state = kStates[draw(5)];
    scene.allocation(static_cast<Id>(draw(4)), static_cast<Id>(draw(4)) - 1,
                     {1 + draw(4), 1 + draw(3)}, static_cast<double>(draw(900)), state,
                     state == AllocationState::kPreempted);
  }
  for (int q = 0; q < 3; ++q)
    scene.request(static_cast<Id>(draw(4)), {1 + draw(2), draw(3)}, 1 + draw(3));
  return scene;
}

void any_delta(ClusterState& s, std::mt19937& random) {
  const auto draw = [&](Index n) { return static_cast<Id>(random() % static_cast<unsigned>(n)); };
  const std::vector<Amount> size{draw(5), draw(5)};
  const Id slot = draw(s.slots());
  switch (random() % 11) {
    case 0:
      s.advance(s.now() + draw(100));
      break;
    case 1:
      s.start(draw(4), draw(4) - 1, size, s.now());
      break;
    case 2:
      if (const Id q = draw(3); s.pending(q) > 0) s.start_request(q, draw(3));
      break;
    case 3:
      if (!s.gone(slot) || s.away(slot)) s.end(slot);
      break;
    case 4:
      if (s.holds(slot)) {
        const std::vector<Amount> half{s.amounts(slot)[0] / 2, s.amounts(slot)[1]};
        s.preempt(slot, {draw(4), kNoId}, draw(2) ? half : std::vector<Amount>());
      }
      break;
    case 5:
      if (const Leaving* l = s.leaving_at(slot)) {
        const std::vector<Amount> half{l->left[0] / 2, l->left[1]};
        s.take_room(slot, half);
      }
      break;
    case 6:
      s.touch(slot, s.now() - draw(50), draw(2) ? s.now() : kNoTime);
      break;
    case 7:
      if (s.holds(slot)) s.resize(slot, size);
      break;
    case 8:
      if (s.holds(slot) || s.leaving(slot))
        s.suspend(slot, std::vector<Amount>{s.amounts(slot)[0] / 2, s.amounts(slot)[1]});
      break;
    case 9:
      if (s.away(slot)) s.resume(slot, draw(4) - 1, s.now());
      break;
    default:
      s.set_pending(draw(3), draw(4));
      s.set_capacity(draw(3), size);
      s.set_schedulable(draw(3), draw(2) != 0);
  }
}

TEST(ClusterState, UndoRestoresWhateverHappened) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    ClusterState state(crowded(random).snapshot());
    std::vector<std::pair<ClusterState::Mark, std::vector<Amount>>> marks;
    for (int step = 0; step < 120; ++step) {
      if (step % 30 == 7) marks.emplace_back(state.mark(), essence(state));
      any_delta(state, random);
    }
    for (auto mark = marks.rbegin(); mark != marks.rend(); ++mark) {
      state.undo(mark->first);
      EXPECT_EQ(essence(state), mark->second) << seed;
    }
  }
}

TEST(ClusterState, SumsAreThoseOfItsSlots) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const Snapshot snapshot = crowded(random).snapshot();
    ClusterState state(snapshot);
    for (int step = 0; step < 100; ++step) any_delta(state, random);
    for (Id n = 0; n < 3; ++n) {
      Amount used = 0, left = 0;
      for (Id slot = 0; slot < static_cast<Id>(state.slots()); ++slot) {
        if (state.node_of(slot) != n) continue;
        if (state.holds(slot)) used += state.amounts(slot)[0];
        if (const Amount* held = state.away(slot) ? state.kept(slot) : nullptr) used += held[0];
        if (const Leaving* l = state.leaving_at(slot)) left += l->left[0];
      }
      EXPECT_EQ(state.node_used(n)[0], used) << seed;
      EXPECT_EQ(state.node_left(n)[0], left) << seed;
    }
    Amount all = 0, leaves = 0;
    for (Id slot = 0; slot < static_cast<Id>(state.slots()); ++slot)
      if (const Leaving* l = state.leaving_at(slot)) leaves += l->left[1];
    EXPECT_EQ(state.all_left()[1], leaves) << seed;
    for (Id o = 0; o < 4; ++o) all += state.operation_usage(o)[1];
    EXPECT_EQ(state.pool_usage(0)[1], all) << seed;
  }
}

TEST(ClusterState, WhatAPreemptedAllocationKeepsIsFreeOnceItEnds) {
  Scene scene;
  scene.node({8});
  const Id a = scene.allocation(scene.operation(), 0, {5}, 0, AllocationState::kPreempted, 2);
  ClusterState state(scene.snapshot());
  EXPECT_EQ(state.node_used(0)[0], 2);
  EXPECT_EQ(state.operation_usage(0)[0], 2);
  const ClusterState::Mark mark = state.mark();
  state.end(a);
  EXPECT_EQ(state.node_used(0)[0], 0);
  EXPECT_EQ(state.operation_usage(0)[0], 0);
  state.undo(mark);
  EXPECT_EQ(state.node_used(0)[0], 2);
}

TEST(ClusterState, ASuspendedVictimKeepsAPartAndRunsAgainElsewhere) {
  Scene scene;
  scene.node({8});
  scene.node({8});
  const Id o = scene.operation();
  const Id a = scene.allocation(o, 0, {5}, 0);
  ClusterState state(scene.snapshot());
  const ClusterState::Mark mark = state.mark();
  state.preempt(a, {o, kNoId});
  EXPECT_EQ(state.node_left(0)[0], 5);
  state.suspend(a, std::vector<Amount>{2});
  EXPECT_TRUE(state.away(a));
  EXPECT_FALSE(state.has_leaving(0));
  EXPECT_EQ(state.node_left(0)[0], 0);
  EXPECT_EQ(state.node_used(0)[0], 2);
  EXPECT_EQ(state.operation_usage(o)[0], 2);
  EXPECT_TRUE(state.on_node(0).empty());
  state.resume(a, 1, 9);
  EXPECT_EQ(state.node_used(0)[0], 0);
  EXPECT_EQ(state.node_used(1)[0], 5);
  EXPECT_EQ(state.last_start(a), 9);
  state.undo(mark);
  EXPECT_TRUE(state.running(a));
  EXPECT_EQ(state.node_used(0)[0], 5);
  EXPECT_EQ(state.node_used(1)[0], 0);
}

TEST(ClusterState, WhatAVictimWillKeepIsSaidWhenItLeaves) {
  Scene scene;
  scene.node({8});
  const Id o = scene.operation();
  const Id a = scene.allocation(o, 0, {5}, 0);
  ClusterState state(scene.snapshot());
  const ClusterState::Mark mark = state.mark();
  state.preempt(a, {o, kNoId}, std::vector<Amount>{2});
  EXPECT_EQ(state.kept(a)[0], 2);
  EXPECT_EQ(state.node_left(0)[0], 5);
  EXPECT_EQ(state.node_used(0)[0], 0);
  EXPECT_EQ(state.frozen(false).allocations.held[0], 2);
  state.undo(mark);
  EXPECT_EQ(state.kept(a)[0], 0);
  state.preempt(a, {o, kNoId});
  EXPECT_EQ(state.kept(a)[0], 0);
}

TEST(ClusterState, WhatLeavesWithoutANodeIsNobodysUntilItHasGone) {
  Scene scene;
  const Id o = scene.operation();
  const Id a = scene.allocation(o, kNoId, {5}, 0, AllocationState::kPreempting);
  const Id b = scene.allocation(o, kNoId, {3}, 0);
  ClusterState state(scene.snapshot());
  EXPECT_EQ(state.all_left()[0], 5);
  ASSERT_NE(state.leaving_at(a), nullptr);
  const ClusterState::Mark mark = state.mark();
  state.preempt(b, {o, kNoId});
  EXPECT_EQ(state.all_left()[0], 8);
  state.end(a);
  EXPECT_EQ(state.all_left()[0], 3);
  state.undo(mark);
  EXPECT_EQ(state.all_left()[0], 5);
}

}  // namespace
}  // namespace evenhand::cluster_state_test
