#include "evenhand/share/calm_shares.h"

#include <gtest/gtest.h>

#include "evenhand/share/fair_share.h"
#include "tree.h"

namespace evenhand::calm_shares_test {
namespace {

using testing::Cluster;

// Of operations whose share alone moves within its bounds an update says at most that it did.
TEST(FairShareEngine, SharesThatMoveWithinTheirBoundsAreNotChanged) {
  Cluster cluster(1);
  for (Amount i = 0; i < 12; ++i) cluster.operation(0, {200}, 1 + static_cast<double>(i % 3));
  FairShareEngine engine;
  Tables& t = cluster.tables();
  const Column<Id> touched{0};
  const TreeDelta delta{.only = true, .touched = touched};
  const auto want = [&](Amount amount) {
    t.operations.demand[0] = amount;
    return engine.update(t, {}, nullptr, true, &delta).total;
  };
  engine.update(t, {});
  want(190);
  EXPECT_TRUE(engine.calm().moved.empty());
  const Column<double> before = want(20);
  EXPECT_EQ(engine.changed()->size(), 13u);  // also the pool, whose demand has
  for (const Id o : {1, 2, 3, 4}) {
    double* bounds = engine.calm().bounds.row(o, 2);
    bounds[0] = before[1 + o] - (o == 3 ? -1e-12 : 0.5);
    bounds[1] = before[1 + o] + 0.5;
  }
  double* tight = engine.calm().bounds.row(10, 2);  // its share leaves them upwards
  tight[0] = before[11] - 0.5;
  tight[1] = before[11] + 1e-12;
  engine.calm().watched[2] = 1;
  const Column<double> after = want(10);
  for (Id e = 2; e < 13; ++e) EXPECT_GT(after[e], before[e]);
  EXPECT_EQ(*engine.changed(), (Column<Id>{0, 1, 6, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(engine.calm().moved, (Column<Id>{2}));
  EXPECT_EQ(after, fair_share(t, {}).total);
  want(190);  // below the least of the fourth, and within those of the eleventh
  EXPECT_EQ(*engine.changed(), (Column<Id>{0, 1, 4, 6, 7, 8, 9, 10, 12}));
  engine.update(t, {});
  EXPECT_TRUE(engine.calm().bounds.empty());
}

}  // namespace
}  // namespace evenhand::calm_shares_test
