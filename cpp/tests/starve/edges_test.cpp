// Tolerances and timeouts exactly at their edges.
#include <gtest/gtest.h>

#include <limits>

#include "../model/scene.h"
#include "evenhand/starve/relation.h"
#include "evenhand/starve/starvation.h"

namespace evenhand::edges_test {
namespace {

using testing::Scene;

constexpr Time kSecond = kMicrosecondsPerSecond;

// One operation in a pool, one resource.
struct Drawn {
  double fair = 0.3, demand = 1.0, used = 0.0;
  StarvationSettings tree;
  Index waiting = 1;
  Time since = kNoTime, now = 1000 * kSecond;

  StarvationResult run() const {
    Scene scene;
    scene.operation(scene.pool());
    const Snapshot snapshot = scene.snapshot();
    FairShareResult shares;
    shares.pool_count = 2;
    shares.operation_count = 1;
    shares.resource_count = 1;
    shares.total = {fair, fair, fair};
    shares.demand_share = {demand, demand, demand};
    shares.usage_share = {used, used, used};
    const PendingWork work{{waiting}, {0}, {1}};
    StarvationResult result{.effective = inherit(snapshot.tables(), tree, {}),
                            .status = {},
                            .clocks = {{kNoTime, since, since}, std::vector<Starvation>(3)},
                            .lowest_starving = {},
                            .lowest_aggressive = {}};
    starvation(snapshot.tables(), shares, tree, work, now, {}, result);
    return result;
  }
  Status status() const { return run().status[2]; }
};

TEST(Starvation, ADeficitBeginsNow) {
  const StarvationResult found = Drawn{}.run();
  EXPECT_EQ(found.clocks.since[2], 1000 * kSecond);
  EXPECT_EQ(found.clocks.starvation[2], Starvation::kNonStarving);
}

TEST(Starvation, BelowIsUnderTheToleranceOfTheFairShare) {
  Drawn drawn;  // 0.8 of 0.5
  drawn.fair = 0.5;
  for (const auto& [used, below] :
       {std::pair{0.39, true}, {0.4 - 1e-8, true}, {0.4 - 1e-10, false}, {0.4, false}}) {
    drawn.used = used;
    EXPECT_EQ(drawn.status() == Status::kBelowFairShare, below) << used;
  }
}

TEST(Starvation, AFairShareCoversADemandWithinItsTolerance) {
  Drawn drawn;
  drawn.used = 0.29;  // below all of the fair share, not below 0.8 of it
  drawn.tree.ignore_tolerance_if_satisfied = true;
  for (const auto& [over, covers] : {std::pair{0.0, true}, {0.9e-4, true}, {1.1e-4, false}}) {
    drawn.demand = 0.3 + over;
    EXPECT_EQ(drawn.status() == Status::kBelowFairShare, covers) << over;
  }
}

TEST(Starvation, FewAllocationsStarveSooner) {
  Drawn drawn;
  drawn.tree.timeout = 30 * kSecond;
  drawn.tree.aggressive_timeout = 120 * kSecond;
  drawn.tree.enable_aggressive = true;
  drawn.tree.allocation_count_coefficient = 2;
  const auto after = [&](Time waited) {
    drawn.since = drawn.now - waited;
    return drawn.run().clocks.starvation[2];
  };
  EXPECT_EQ(after(15 * kSecond), Starvation::kNonStarving);
  EXPECT_EQ(after(15 * kSecond + 1), Starvation::kStarving);
  EXPECT_EQ(after(60 * kSecond), Starvation::kStarving);
  EXPECT_EQ(after(60 * kSecond + 1), Starvation::kAggressivelyStarving);
  drawn.waiting = 2;  // no longer few
  EXPECT_EQ(after(30 * kSecond), Starvation::kNonStarving);
  EXPECT_EQ(after(30 * kSecond + 1), Starvation::kStarving);
}

TEST(Starvation, PoolsStarveIfTheTreeSaysSo) {
  Drawn drawn;
  drawn.since = 0;
  for (const bool pools : {false, true}) {
    drawn.tree.enable_pools = pools;
    EXPECT_EQ(drawn.run().clocks.starvation[1] == Starvation::kStarving, pools);
  }
}

TEST(Starvation, AGangIsSparedIfTheTreeSaysSo) {
  Scene scene;
  scene.operation();
  Tables tables = scene.snapshot().tables();
  StarvationSettings tree;
  for (const bool gang : {false, true})
    for (const bool allowed : {false, true}) {
      tables.operations.gang = {gang};
      tree.allow_aggressive_preemption_for_gangs = allowed;
      EXPECT_EQ(inherit(tables, tree, {}).allow_aggressive[1] != 0, !gang || allowed);
    }
}

TEST(Starvation, TheLowerUsageThresholdHolds) {
  Scene scene;
  scene.operation();
  const Snapshot snapshot = scene.snapshot();
  StarvationSettings tree;
  tree.usage_threshold = {5};
  for (const Amount own : {4, 5, 6}) {
    OwnStarvationSettings rows;
    rows.usage_threshold = {kUnlimited, own};
    rows.has_usage_threshold = {0, 1};
    EXPECT_EQ(inherit(snapshot.tables(), tree, rows).usage_threshold[1], std::min<Amount>(own, 5));
  }
}

TEST(Relation, AResourceIsBlockedWithinTheTolerance) {
  const double demand[] = {0.4, 0.4};
  const auto of = [](double a, double b) { return [=](std::size_t r) { return r == 0 ? a : b; }; };
  for (const auto& [gap, blocked] : {std::pair{0.0, true}, {1e-10, true}, {1e-8, false}}) {
    const double fair[] = {0.4 - gap, 0.2};
    EXPECT_EQ(clearly_above(fair, demand, 2, of(0.0, 0.2), of(0.1, 0.1)), blocked) << gap;
  }
}

}  // namespace
}  // namespace evenhand::edges_test
