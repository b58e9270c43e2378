// One attempt of today's preemption, and the switches by which it differs from what was meant.
#include "evenhand/policy/yunikorn/search.h"

#include <gtest/gtest.h>

#include "evenhand/policy/yunikorn/parts.h"

namespace evenhand::yunikorn::search_test {
namespace {

constexpr Time kTimeout = 3'600'000'000;

Resource amount(Amount of) {
  Resource out;
  out.set(0, of);
  return out;
}

// Root with two leaves: 1 asks, 2 has what is wanted.
struct Cluster {
  Queues queues;
  Held held;
  NodeRooms nodes{1, {}, {}, {}};

  Cluster(Amount asker_guaranteed, Amount giver_guaranteed) {
    queues.parent = {kNoId, 0, 0};
    queues.leaf = {0, 1, 1};
    queues.policy.assign(3, QueuePolicy::kDefault);
    queues.priority_fence = {0, 0, 0};
    queues.offset = {0, 0, 0};
    queues.path = {"root", "root.a", "root.b"};
    queues.max = {amount(100), {}, {}};
    queues.guaranteed = {{}, amount(asker_guaranteed), amount(giver_guaranteed)};
    queues.allocated = {amount(0), amount(0), amount(0)};
    queues.preempting.assign(3, Resource{});
  }
  void node(Amount capacity) {
    nodes.schedulable.push_back(1);
    nodes.capacity.push_back(capacity);
    nodes.free.push_back(capacity);
  }
  Id runs(Id queue, Id node, Amount of, Time created, double priority = 0) {
    held.queue.push_back(queue);
    held.node.push_back(node);
    held.priority.push_back(priority);
    held.created.push_back(created);
    held.allows.push_back(1);
    held.originator.push_back(0);
    held.barred.push_back(0);
    held.preempted.push_back(0);
    held.resources.push_back(amount(of));
    for (const Id q : {Id{0}, queue}) add_to(queues.allocated[q], amount(of));
    nodes.free[node] -= of;
    return held.rows() - 1;
  }
  Attempt ask(Amount of, const Switches& switches, double priority = 0) const {
    World world(queues, held, nodes, {}, !switches.newest_before_lowest_priority);
    Search search(world, switches, kTimeout);
    search.begin({0, 1, amount(of), priority});
    return search.attempt(true);
  }
};

TEST(Search, ANodeWithFewerVictimsComesFirst) {
  Cluster c(10, 2);
  c.node(4);
  c.node(4);
  for (Time t = 1; t <= 4; ++t) c.runs(2, 0, 1, t);
  const Id large = c.runs(2, 1, 4, 9);
  const Attempt found = c.ask(4, {});
  ASSERT_TRUE(found.success());
  EXPECT_EQ(found.node, 1);
  EXPECT_EQ(found.victims, Column<Id>{large});
}

TEST(Search, AQueueIsNotTakenBelowItsGuarantee) {
  Cluster c(10, 5);
  c.node(6);
  c.runs(2, 0, 6, 1);
  EXPECT_EQ(c.ask(6, {}).failure, Failure::kNoNode);
  EXPECT_TRUE(c.ask(6, {.gives_below_guarantee = true}).success());
}

TEST(Search, FreeRoomCounts) {
  Cluster c(10, 1);
  c.node(4);
  c.runs(2, 0, 2, 1);
  const Id newest = c.runs(2, 0, 1, 2);
  EXPECT_EQ(c.ask(2, {}).victims, Column<Id>{newest});
  EXPECT_EQ(c.ask(2, {.ignores_free_room = true, .stops_at_any_type = true}).failure,
            Failure::kShortfall);
}

TEST(Search, AQueueWithoutGuaranteeNeverAsks) {
  Cluster c(0, 0);
  c.queues.guaranteed[1] = c.queues.guaranteed[2] = {};
  c.node(2);
  c.runs(2, 0, 2, 1);
  EXPECT_EQ(c.ask(2, {}).failure, Failure::kQueueGuarantee);
}

TEST(Search, OnlyEqualOrLowerPriority) {
  Cluster c(10, 0);
  c.queues.guaranteed[2] = {};
  c.node(2);
  c.runs(2, 0, 2, 1, 5);
  EXPECT_FALSE(c.ask(2, {}, 4).success());
  EXPECT_TRUE(c.ask(2, {}, 5).success());
}

TEST(Search, TheLowestPriorityLeavesFirst) {
  Cluster c(10, 1);
  c.node(4);
  const Id low = c.runs(2, 0, 2, 1, 1);
  const Id newest = c.runs(2, 0, 2, 9, 2);
  EXPECT_EQ(c.ask(2, {}, 5).victims, Column<Id>{low});
  EXPECT_EQ(c.ask(2, {.newest_before_lowest_priority = true}, 5).victims, Column<Id>{newest});
}

TEST(Search, WhatWasTriedIsPutBack) {
  Cluster c(10, 2);
  c.node(4);
  for (Time t = 1; t <= 4; ++t) c.runs(2, 0, 1, t);
  World world(c.queues, c.held, c.nodes, {}, true);
  Search search(world, {}, kTimeout);
  for (int i = 0; i < 3; ++i) {
    search.begin({0, 1, amount(2), 0});
    EXPECT_TRUE(search.attempt(true).success());
    for (Id q = 0; q < 3; ++q)
      EXPECT_EQ(world.queues().allocated[q].v[0], c.queues.allocated[q].v[0]);
  }
}

TEST(FairShare, TypesWithoutGuaranteeCountByTheMax) {
  EXPECT_EQ(fair_share(amount(4), amount(8), {}), 0.5);
  EXPECT_EQ(fair_share(amount(4), {}, amount(16)), 0.25);
  EXPECT_EQ(fair_share(amount(4), {}, {}), 0);
}

}  // namespace
}  // namespace evenhand::yunikorn::search_test
