#include "evenhand/place/room_blocks.h"

#include <gtest/gtest.h>

#include <numeric>

#include "../model/scene.h"

namespace evenhand::room_blocks_test {
namespace {

using testing::Scene;

constexpr Amount kUsual = 4;

// So many nodes with the usual amount, looked at from the last to the first.
struct Case {
  explicit Case(std::size_t count, ResourceScope scope = ResourceScope::kNode) : nodes(count) {
    for (std::size_t i = 0; i < count; ++i) scene.node({kUsual});
    Tables tables = scene.snapshot().tables();
    tables.resources.scope = {scope};
    if (scope == ResourceScope::kCluster) tables.resources.capacity = {kUsual};
    rooms.emplace(ClusterState(Snapshot(tables)));
    blocks.emplace(count, tables.resources.scope);
    std::iota(nodes.rbegin(), nodes.rend(), Id{0});
  }
  bool may(std::size_t block, Amount need) { return blocks->may_fit(&need, block, *rooms, nodes); }

  Scene scene;
  std::optional<Rooms> rooms;
  std::optional<RoomBlocks> blocks;
  std::vector<Id> nodes;
};

TEST(RoomBlocks, TheLastBlockHasTheRest) {
  for (const auto& [nodes, blocks] : {std::pair<std::size_t, std::size_t>{0, 0},
                                      {1, 1},
                                      {RoomBlocks::kNodes, 1},
                                      {RoomBlocks::kNodes + 1, 2}})
    EXPECT_EQ(Case(nodes).blocks->blocks(), blocks) << nodes;
}

TEST(RoomBlocks, ABlockMayFitWhatAnyOfItsNodesHas) {
  Case c(RoomBlocks::kNodes + 1);
  const Amount two = 2;
  const Id alone = c.nodes.back();
  c.rooms->add(&two, alone, 1);
  for (const std::size_t block : {0, 1}) {
    EXPECT_TRUE(c.may(block, kUsual));
    EXPECT_EQ(c.may(block, kUsual + 2), block == 1);
    EXPECT_FALSE(c.may(block, kUsual + 3));
  }
}

TEST(RoomBlocks, ABlockIsReadAgainOnceANodeOfItHasChanged) {
  Case c(2 * RoomBlocks::kNodes);
  const Amount one = 1;
  EXPECT_FALSE(c.may(0, kUsual + 1));
  EXPECT_FALSE(c.may(1, kUsual + 1));
  for (const std::size_t place : {RoomBlocks::kNodes - 1, RoomBlocks::kNodes}) {
    c.rooms->add(&one, c.nodes[place], 1);
    c.blocks->changed(place);
    EXPECT_TRUE(c.may(RoomBlocks::block_of(place), kUsual + 1)) << place;
  }
  for (const Id n : c.nodes) c.rooms->add(&one, n, -1);
  c.blocks->all_changed();
  for (const std::size_t block : {0, 1}) EXPECT_TRUE(c.may(block, kUsual));
  for (const std::size_t block : {0, 1}) EXPECT_FALSE(c.may(block, kUsual + 1));
}

TEST(RoomBlocks, RoomBelowNothingIsTheMostOfNodesThatHaveLess) {
  Case c(1);
  const Amount six = 6;
  c.rooms->take(&six, 0);
  EXPECT_EQ(*c.blocks->most(0, *c.rooms, c.nodes), kUsual - six);
}

TEST(RoomBlocks, WhatTheClusterCountsIsNoMatterOfBlocks) {
  Case c(1, ResourceScope::kCluster);
  EXPECT_TRUE(c.may(0, kUsual + 1));
}

}  // namespace
}  // namespace evenhand::room_blocks_test
