#include "evenhand/place/gang.h"

#include <gtest/gtest.h>

#include <numeric>

#include "../model/scene.h"
#include "evenhand/place/node_order.h"

namespace evenhand::gang_test {
namespace {

using testing::Scene;

struct Cluster {
  Tables tables;
  std::vector<Id> order;
  Occupancy room;

  // Nodes of so many free cpus.
  explicit Cluster(const std::vector<Amount>& free)
      : tables(made(free)),
        order(free.size()),
        room{Rooms(ClusterState(Snapshot(tables))), {}, {}} {
    std::iota(order.begin(), order.end(), 0);
    room.occupants.assign(free.size(), 0);
    room.exclusives.assign(free.size(), 0);
  }
  static Tables made(const std::vector<Amount>& free) {
    Scene scene;
    for (const Amount cpus : free) scene.node({cpus});
    Tables tables = scene.snapshot().tables();
    tables.resources.kind = {ResourceKind::kCpu};
    return tables;
  }
  JobRequest wants(Index count, const Amount& each, bool whole_nodes = false) const {
    return {tables.resources,
            order,
            order.size(),
            whole_nodes,
            {{0, count, true, &each, std::vector<std::uint8_t>(order.size(), 1)}}};
  }
  std::vector<Id> placed(const JobRequest& job) const {
    std::vector<Spot> spots;
    std::vector<Id> nodes;
    if (job.place(room, spots))
      for (const Spot& spot : spots) nodes.push_back(spot.node);
    return nodes;
  }
};

TEST(Gang, TheSmallestRunThatSufficesIsTaken) {
  const Cluster cluster({4, 4, 4, 0, 4, 4, 0, 8});
  const Amount each = 4;
  EXPECT_EQ(cluster.placed(cluster.wants(2, each)), (std::vector<Id>{4, 5}));
  EXPECT_EQ(cluster.placed(cluster.wants(3, each)), (std::vector<Id>{0, 1, 2}));
  EXPECT_EQ(cluster.placed(cluster.wants(1, each)), (std::vector<Id>{4}));  // 8 cpus in either
  EXPECT_EQ(cluster.placed(cluster.wants(6, each)).size(), 6U);
  EXPECT_EQ(cluster.placed(cluster.wants(7, each)).size(), 0U);
}

TEST(Gang, ANodeFitsToTheLastQuantumAndWholeNodesOnlyWhereNothingRuns) {
  Cluster cluster({4});
  for (const Amount each : {3, 4, 5})
    EXPECT_EQ(cluster.placed(cluster.wants(1, each)).empty(), each > 4);
  const Amount one = 1;
  cluster.room.occupants = {1};
  EXPECT_FALSE(cluster.placed(cluster.wants(1, one)).empty());
  EXPECT_TRUE(cluster.placed(cluster.wants(1, one, true)).empty());
  cluster.room.exclusives = {1};
  EXPECT_TRUE(cluster.placed(cluster.wants(1, one)).empty());
}

TEST(NodeOrder, LeastAndMostFreeByTheFirstResourceThatDiffers) {
  const Cluster cluster({4, 2, 4});
  const std::vector<Id> by{0};
  const auto better = [&](NodeOrder order, Id a, Id b) {
    return preferred(order, by, cluster.room.rooms, a, b);
  };
  EXPECT_TRUE(better(NodeOrder::kLeastFree, 1, 0));
  EXPECT_FALSE(better(NodeOrder::kLeastFree, 0, 1));
  EXPECT_TRUE(better(NodeOrder::kMostFree, 0, 1));
  for (const NodeOrder order : {NodeOrder::kCanonical, NodeOrder::kLeastFree, NodeOrder::kMostFree})
    EXPECT_FALSE(better(order, 0, 2));
  EXPECT_FALSE(better(NodeOrder::kCanonical, 1, 0));
}

}  // namespace
}  // namespace evenhand::gang_test
