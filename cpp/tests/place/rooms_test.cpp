#include "evenhand/place/rooms.h"

#include <gtest/gtest.h>

#include "../model/scene.h"
#include "evenhand/place/where.h"

namespace evenhand::rooms_test {
namespace {

using testing::Scene;

// Where reservations stand, of one node for the first request.
Tables reserved(Scene& scene, Amount amount) {
  Tables tables = scene.snapshot().tables();
  tables.reservations.names = tables.nodes.names;  // one row
  tables.reservations.request = {0};
  tables.reservations.allocation = {kNoId};
  tables.reservations.node = {0};
  tables.reservations.resources = {amount};
  return tables;
}

TEST(Rooms, WhatLeavesHasItsRoomYet) {
  Scene scene;
  scene.operation();
  scene.node({8});
  scene.allocation(0, 0, {2}, 0);
  scene.allocation(0, 0, {3}, 0, AllocationState::kPreempting);
  Tables tables = scene.snapshot().tables();
  EXPECT_EQ(Rooms(ClusterState(Snapshot(tables))).at(0, 0), 3);
  tables.resources.scope = {ResourceScope::kCluster};  // the same, counted for the cluster
  tables.resources.capacity = {8};
  const Rooms cluster{ClusterState(Snapshot(tables))};
  EXPECT_EQ(cluster.at(0, 0), 3);
  EXPECT_EQ(cluster.at(kNoId, 0), 3);
}

TEST(Rooms, WhatIsFreeFitsToTheLastQuantum) {
  Scene scene;
  scene.node({4});
  const Rooms rooms{ClusterState(scene.snapshot())};
  for (const Amount need : {3, 4, 5}) {
    Amount missing = -1;
    EXPECT_EQ(rooms.fits(&need, 0), need <= 4);
    EXPECT_EQ(rooms.lacks(&need, 0, &missing), need > 4);
    EXPECT_EQ(missing, need > 4 ? need - 4 : 0);
  }
}

TEST(Rooms, AReservationIsInForceFromItsBeginningUntilBeforeItsEnd) {
  Scene scene;
  scene.request(scene.operation(), {1});
  scene.node({8});
  Tables tables = reserved(scene, 3);
  tables.reservations.from = {100};
  tables.reservations.until = {200};
  for (const auto& [now, room] : {std::pair{Time{99}, 8}, {100, 5}, {199, 5}, {200, 8}}) {
    tables.now = now;
    EXPECT_EQ(Rooms(ClusterState(Snapshot(tables))).at(0, 0), room) << now;
  }
}

TEST(Rooms, ASoftReservationKeepsNothing) {
  Scene scene;
  scene.request(scene.operation(), {1});
  scene.node({8});
  Tables tables = reserved(scene, 3);
  for (const bool soft : {false, true}) {
    tables.reservations.soft = {soft};
    EXPECT_EQ(Rooms(ClusterState(Snapshot(tables))).at(0, 0), soft ? 8 : 5);
  }
}

TEST(Where, OnTheNodeAndWithTheTagsThatARequestNames) {
  Scene scene;
  scene.request(scene.operation(), {1});
  scene.node({8});
  scene.node({8});
  Tables tables = scene.snapshot().tables();
  const auto at = [&](Id node) { return Where().why_not(ClusterState(Snapshot(tables)), 0, node); };
  EXPECT_EQ(at(0), Place::kAllowed);
  tables.nodes.tags.values.push_back("ssd");
  tables.nodes.tags.offsets = {0, 1, 1};
  tables.nodes.tags.codes = {0};
  tables.requests.node_tags.values.push_back("ssd");
  tables.requests.node_tags.offsets = {0, 1};
  tables.requests.node_tags.codes = {0};
  EXPECT_EQ(at(0), Place::kAllowed);
  EXPECT_EQ(at(1), Place::kTagMissing);
  tables.nodes.tags = {};  // no node has it
  EXPECT_EQ(at(0), Place::kTagMissing);
  tables.requests.node_tags = {};
  tables.requests.required_node = {1};
  EXPECT_EQ(at(0), Place::kOtherNode);
  EXPECT_EQ(at(1), Place::kAllowed);
}

}  // namespace
}  // namespace evenhand::rooms_test
