#include "evenhand/starve/starvation.h"

#include <gtest/gtest.h>

#include "../model/scene.h"
#include "evenhand/starve/relation.h"

namespace evenhand::starvation_test {
namespace {

using testing::Scene;

constexpr Time kTimeout = 30 * kMicrosecondsPerSecond;
constexpr Time kAggressive = 120 * kMicrosecondsPerSecond;

TEST(Starvation, ClocksAreStrict) {
  Time since = kNoTime;
  Starvation state = Starvation::kNonStarving;
  const auto at = [&](Time now, Status status = Status::kBelowFairShare) {
    check_starvation(status, now, static_cast<double>(kTimeout), static_cast<double>(kAggressive),
                     true, since, state);
    return state;
  };
  EXPECT_EQ(at(5), Starvation::kNonStarving);
  EXPECT_EQ(since, 5);
  EXPECT_EQ(at(5 + kTimeout), Starvation::kNonStarving);
  EXPECT_EQ(at(5 + kTimeout + 1), Starvation::kStarving);
  EXPECT_EQ(at(5 + kAggressive), Starvation::kStarving);
  EXPECT_EQ(at(5 + kAggressive + 1), Starvation::kAggressivelyStarving);
  EXPECT_EQ(at(6 + kAggressive, Status::kNormal), Starvation::kNonStarving);
  EXPECT_EQ(since, kNoTime);
}

TEST(Starvation, ToleranceAndTimeoutAreInherited) {
  Scene scene;
  const Id pool = scene.pool();
  scene.operation(scene.pool(pool));
  const Snapshot snapshot = scene.snapshot();
  StarvationSettings tree;
  OwnStarvationSettings own;
  const double unset = std::numeric_limits<double>::quiet_NaN();
  own.tolerance = {unset, 0.5, unset, 0.9};  // root, pool, pool below, operation
  own.timeout = {kNoTime, kNoTime, 60 * kMicrosecondsPerSecond, 10 * kMicrosecondsPerSecond};
  const EffectiveSettings effective = inherit(snapshot.tables(), tree, own);
  EXPECT_EQ(effective.tolerance[0], tree.tolerance);
  EXPECT_EQ(effective.tolerance[2], 0.5);
  EXPECT_EQ(effective.tolerance[3], 0.5);  // an operation's is at most the inherited one
  EXPECT_EQ(effective.timeout[1], tree.timeout);
  EXPECT_EQ(effective.timeout[3], 60 * kMicrosecondsPerSecond);  // at least the inherited one
}

TEST(Relation, BlockedResourcesDoNotCount) {
  const double fair[] = {0.2, 0.5}, demand[] = {0.4, 0.5};
  const auto of = [](double a, double b) { return [=](std::size_t r) { return r == 0 ? a : b; }; };
  EXPECT_TRUE(clearly_above(fair, demand, 2, of(0.2, 0.0), of(0.1, 0.9)));
  EXPECT_FALSE(clearly_above(fair, demand, 2, of(0.1, 0.9), of(0.1, 0.0)));
  EXPECT_FALSE(clearly_above(fair, demand, 2, of(0.1 + 1e-10, 0.9), of(0.1, 0.0)));
  const double satisfied[] = {0.4, 0.5};  // nothing open: any resource will do
  EXPECT_TRUE(clearly_above(satisfied, demand, 2, of(0.0, 0.6), of(0.1, 0.5)));
}

}  // namespace
}  // namespace evenhand::starvation_test
