// Exactly at a rule's edge, and one quantum or microsecond to each side.
#include <gtest/gtest.h>

#include "scene.h"

namespace evenhand::edges_test {
namespace {

using testing::Arena;
using testing::problems;
using testing::Scene;

TEST(Edges, SumsMayReachTheLargestAmount) {
  for (const Amount beyond : {-1, 0, 1}) {
    Arena arena;
    raw::Input in = arena.input();
    in.nodes.name = arena.names({"a", "b"});
    in.nodes.capacity = arena.whole_amounts({kMaxAmount - 5, 5 + beyond});
    EXPECT_EQ(problems(in).empty(), beyond <= 0) << beyond;
  }
}

TEST(Edges, AReservationMayEndAsItBegins) {
  for (const double until : {99.999999, 100.0, 100.000001}) {
    Arena arena;
    raw::Input in = arena.input();
    in.operations.name = arena.names({"o"});
    in.nodes.name = arena.names({"n"});
    in.requests.name = arena.names({"q"});
    in.requests.operation = arena.rows({0});
    in.reservations.name = arena.names({"v"});
    in.reservations.request = arena.rows({0});
    in.reservations.node = arena.rows({0});
    in.reservations.from = arena.numbers({100.0});
    in.reservations.until = arena.numbers({until});
    EXPECT_EQ(problems(in).empty(), until >= 100.0) << until;
  }
}

TEST(Edges, ARelaxedPoolHasNoBurstAtAll) {
  for (const std::int64_t burst : {0, 1, 2}) {
    Arena arena;
    raw::Input in = arena.input();
    in.pools.name = arena.names({"p"});
    in.pools.integral_type = arena.codes({2});
    in.pools.burst = arena.whole_amounts({burst});
    EXPECT_EQ(problems(in).empty(), burst == 0) << burst;
  }
}

TEST(Edges, AnAllocationStartedLastWithItsLastJob) {
  Scene scene;
  scene.operation();
  scene.node({8});
  scene.allocation(0, 0, {1}, 10);
  Tables tables = scene.snapshot().tables();
  const ClusterState first{Snapshot(tables)};
  EXPECT_EQ(first.last_start(0), 10 * kMicrosecondsPerSecond);
  tables.allocations.last_job_start_time = {70 * kMicrosecondsPerSecond};
  const ClusterState state{Snapshot(tables)};
  EXPECT_EQ(state.last_start(0), 70 * kMicrosecondsPerSecond);
}

TEST(Edges, DemandCountsEveryOneOfARequest) {
  Scene scene;
  const Id o = scene.operation();
  const Id q = scene.request(o, {2}, 3);
  ClusterState state(scene.snapshot());
  for (const Index count : {3, 1, 0, 4}) {
    state.set_pending(q, count);
    EXPECT_EQ(state.demand()[0], 2 * count);
  }
}

}  // namespace
}  // namespace evenhand::edges_test
