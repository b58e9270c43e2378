#include "evenhand/share/fair_share.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "evenhand/share/satisfaction.h"
#include "tree.h"

namespace evenhand::fair_share_test {
namespace {

using testing::Cluster;

double total(const FairShareResult& result, Index element, int resource = 0) {
  return result.total[static_cast<std::size_t>(element * result.resource_count + resource)];
}

TEST(FairShare, DividesByWeight) {
  Cluster cluster(1);
  const Id a = cluster.pool(0, 3), b = cluster.pool(0, 1);
  cluster.operation(a, {1000});
  cluster.operation(b, {1000});
  const auto result = fair_share(cluster.tables(), {});
  EXPECT_DOUBLE_EQ(total(result, a), 0.75);
  EXPECT_DOUBLE_EQ(total(result, b), 0.25);
  EXPECT_DOUBLE_EQ(total(result, 0), 1.0);
}

TEST(FairShare, GuaranteeComesBeforeTheRest) {
  Cluster cluster(1);
  const Id a = cluster.pool(0, 1, 600), b = cluster.pool(0, 1, 200);
  cluster.operation(a, {1000});
  cluster.operation(b, {1000});
  const auto result = fair_share(cluster.tables(), {});
  EXPECT_NEAR(total(result, a), 0.7, 1e-15);
  EXPECT_NEAR(total(result, b), 0.3, 1e-15);
}

TEST(FairShare, ComplementaryDemands) {
  Cluster cluster(3);
  const Id a = cluster.pool(0);
  cluster.operation(a, {1000, 1000, 2000});
  cluster.operation(a, {1000, 2000, 1000});
  const auto result = fair_share(cluster.tables(), {});
  const double third = 1.0 / 3.0;
  const double expected[2][3] = {{third, third, 2 * third}, {third, 2 * third, third}};
  for (int o = 0; o < 2; ++o)
    for (int r = 0; r < 3; ++r) EXPECT_NEAR(total(result, 2 + o, r), expected[o][r], 1e-12);
}

TEST(FairShare, EveryWidthGivesTheSame) {
  for (int width = 1; width <= kMaxResources; ++width) {
    Cluster cluster(width);
    const Id a = cluster.pool(0, 2), b = cluster.pool(0);
    cluster.operation(a, std::vector<Amount>(static_cast<std::size_t>(width), 800));
    cluster.operation(b, std::vector<Amount>(static_cast<std::size_t>(width), 800));
    const auto result = fair_share(cluster.tables(), {});
    for (int r = 0; r < width; ++r) {
      EXPECT_NEAR(total(result, a, r), 2.0 / 3.0, 1e-15) << width;
      EXPECT_NEAR(total(result, b, r), 1.0 / 3.0, 1e-15) << width;
    }
  }
}

TEST(FairShare, GangsJumpTogetherOrOneAfterTheOther) {
  Cluster cluster(1);
  const Id a = cluster.pool(0), b = cluster.pool(0);
  cluster.operation(a, {600}, 1, true);
  cluster.operation(b, {600}, 1, true);
  FairShareOptions options;
  options.step_function_for_gang = true;
  auto result = fair_share(cluster.tables(), options);
  EXPECT_EQ(total(result, 0), 0.0);
  options.improved = true;
  result = fair_share(cluster.tables(), options);
  EXPECT_DOUBLE_EQ(total(result, a), 0.6);
  EXPECT_EQ(total(result, b), 0.0);
}

TEST(FairShare, FifoServesByWeightAndStart) {
  Cluster cluster(1);
  const Id pool = cluster.pool(0, 1, 0, PoolMode::kFifo);
  cluster.operation(pool, {700}, 1);
  cluster.operation(pool, {700}, 2);
  const auto result = fair_share(cluster.tables(), {});
  EXPECT_NEAR(total(result, 2), 0.3, 1e-15);
  EXPECT_NEAR(total(result, 3), 0.7, 1e-15);
  EXPECT_EQ(result.fifo_index, (std::vector<Id>{1, 0}));
}

TEST(FairShare, ReportsGuaranteesBeyondTheCluster) {
  Cluster cluster(1);
  cluster.operation(cluster.pool(0, 1, 900), {1000});
  cluster.operation(cluster.pool(0, 1, 300), {1000});
  const auto result = fair_share(cluster.tables(), {});
  ASSERT_EQ(result.diagnostics.size(), 2u);
  EXPECT_NEAR(total(result, 1), 0.75, 1e-12);
  EXPECT_NEAR(total(result, 2), 0.25, 1e-12);
}

TEST(FairShare, EmptyTree) {
  Cluster cluster(2);
  cluster.pool(0);
  const auto result = fair_share(cluster.tables(), {});
  for (double x : result.total) EXPECT_EQ(x, 0.0);
  EXPECT_EQ(satisfaction(cluster.tables(), result)[0], kInfiniteSatisfaction);
}

TEST(FairShareEngine, IncrementalUpdateHasTheBitsOfAFullOne) {
  Cluster cluster(3);
  std::vector<Id> leaves;
  for (int i = 0; i < 6; ++i) {
    const Id parent = cluster.pool(0, 1 + i, i % 2 ? 100 : 0);
    for (int j = 0; j < 3; ++j) leaves.push_back(cluster.pool(parent, 1 + 0.5 * j));
  }
  for (std::size_t i = 0; i < 120; ++i) {
    const auto x = static_cast<Amount>(i);
    cluster.operation(leaves[i % leaves.size()], {7 + x % 31, 3 + x * 7 % 23, 11 + x * 13 % 17},
                      1 + static_cast<double>(i % 4), i % 9 == 0);
  }
  FairShareOptions options;
  options.step_function_for_gang = true;
  Tables& t = cluster.tables();
  FairShareEngine engine;
  engine.update(t, options);
  for (std::size_t step = 0; step < 60; ++step) {
    const std::size_t o = step * 37 % 120;
    if (step % 5 == 4)
      t.operations.weight[o] += 1;
    else if (step % 7 == 6)
      t.pools.weight[1 + step % 20] += 0.25;
    else
      t.operations.demand[o * 3 + step % 3] += static_cast<Amount>(step % 11);
    const FairShareResult& kept = engine.update(t, options);
    const FairShareResult afresh = fair_share(t, options);
    ASSERT_EQ(kept.total, afresh.total) << "step " << step;
    ASSERT_EQ(kept.strong_share, afresh.strong_share);
  }
}

// Single operations are replaced in the functions of pools that have no other children; children
// come, go and change pools in between.
TEST(FairShareEngine, ReplacedOperationsHaveTheBitsOfAFullUpdate) {
  for (const bool improved : {false, true}) {
    Cluster cluster(3);
    const std::vector<Id> leaves{cluster.pool(0), cluster.pool(0, 2, 100), cluster.pool(0, 1, 0)};
    for (std::size_t i = 0; i < 150; ++i) {
      const auto x = static_cast<Amount>(i);
      cluster.operation(leaves[i % 3], {7 + x % 31, 3 + x * 7 % 23, 11 + x * 13 % 17},
                        1 + static_cast<double>(i % 4), i % 9 == 0);
    }
    FairShareOptions options;
    options.step_function_for_gang = true;
    options.improved = improved;
    FairShareEngine engine;
    engine.update(cluster.tables(), options);
    for (std::size_t step = 0; step < 80; ++step) {
      OperationColumns& o = cluster.tables().operations;
      const std::size_t row = step * 37 % 150, cell = row * 3 + step % 3;
      if (step % 4 == 0)
        o.demand[cell] += static_cast<Amount>(step % 11);
      else if (step % 4 == 1)
        o.usage[cell] = std::min<Amount>(o.demand[cell], static_cast<Amount>(step % 17));
      else if (step % 4 == 2)
        for (std::size_t r = 0; r < 3; ++r) o.usage[row * 3 + r] = o.demand[row * 3 + r];
      else if (step % 8 == 3)
        o.pool[row] = leaves[step % 3];
      else
        cluster.operation(leaves[step % 3], {static_cast<Amount>(step), 5, 1});
      const Tables& t = cluster.tables();
      const FairShareResult& kept = engine.update(t, options);
      const FairShareResult afresh = fair_share(t, options);
      ASSERT_EQ(kept.total, afresh.total) << "step " << step;
    }
  }
}

// Between updates of which more is said to differ, those that follow touched operations.
TEST(FairShareEngine, TouchedOperationsHaveTheBitsOfAFullUpdate) {
  for (const Amount guarantee : {0, 40}) {
    Cluster cluster(3);
    std::vector<Id> leaves;
    for (int i = 0; i < 4; ++i) {
      const Id parent = cluster.pool(0, 1 + i, guarantee * i);
      for (int j = 0; j < 3; ++j) leaves.push_back(cluster.pool(parent, 1 + 0.5 * j));
    }
    for (std::size_t i = 0; i < 90; ++i) {
      const auto x = static_cast<Amount>(i);
      cluster.operation(leaves[i % leaves.size()], {7 + x % 31, 3 + x * 7 % 23, 11 + x * 13 % 17},
                        1 + static_cast<double>(i % 4), i % 9 == 0);
    }
    FairShareOptions options;
    options.step_function_for_gang = true;
    FairShareEngine engine;
    Tables& t = cluster.tables();
    FairShareResult before = engine.update(t, options);
    std::size_t followed = 0;
    for (std::size_t step = 0; step < 80; ++step) {
      Column<Id> touched;
      for (std::size_t i = 0; i < 1 + step % 3; ++i) {
        const std::size_t o = (step * 37 + i) % 90;
        touched.push_back(static_cast<Id>(o));
        for (std::size_t r = 0; r < 3; ++r) {
          t.operations.demand[o * 3 + r] = static_cast<Amount>((step * 7 + r * 5 + i) % 53);
          t.operations.usage[o * 3 + r] =
              std::min<Amount>(t.operations.demand[o * 3 + r], static_cast<Amount>(step % 17));
        }
      }
      if (step % 16 == 15) t.operations.weight[step % 90] += 0.5;
      const TreeDelta delta{.only = step % 16 != 15, .touched = touched};
      const FairShareResult& kept = engine.update(t, options, nullptr, true, &delta);
      const FairShareResult afresh = fair_share(t, options);
      ASSERT_EQ(kept.total, afresh.total) << "step " << step;
      ASSERT_EQ(kept.demand_share, afresh.demand_share);
      ASSERT_EQ(kept.usage_share, afresh.usage_share);
      if (const Column<Id>* changed = engine.changed()) {
        ++followed;
        for (std::size_t i = 0; i < kept.total.size(); ++i) {
          const auto e = static_cast<Id>(i / 3);
          if (kept.total[i] == before.total[i]) continue;
          ASSERT_TRUE(std::ranges::binary_search(*changed, e)) << e << " in step " << step;
        }
      }
      before = kept;
    }
    EXPECT_GT(followed, 60u);
  }
}

// Lists leave out pools without operations, and operations that have gone.
Column<Column<Id>> listed(Tables& t, const Grouping& whole, const std::vector<bool>& there) {
  const Id pools = t.pools.parent.rows();
  std::vector<bool> inhabited(static_cast<std::size_t>(pools));
  for (std::size_t o = 0; o < there.size(); ++o)
    for (Id p = there[o] ? t.operations.pool[o] : kNoId; p != kNoId; p = t.pools.parent[p])
      inhabited[static_cast<std::size_t>(p)] = true;
  Column<Column<Id>> lists(static_cast<std::size_t>(pools));
  t.children = {{0}, {}};
  for (Id p = 0; p < pools; ++p) {
    for (const Id e : whole.of(p)) {
      if (e >= pools && !there[static_cast<std::size_t>(e - pools)]) continue;
      t.children.items.push_back(e);
      if (e >= pools || inhabited[static_cast<std::size_t>(e)]) lists[p].push_back(e);
    }
    t.children.offsets.push_back(static_cast<Index>(t.children.items.size()));
  }
  return lists;
}

TEST(FairShareEngine, OperationsThatComeAndGoHaveTheBitsOfAFullUpdate) {
  Cluster cluster(2);
  std::vector<Id> leaves;
  for (int i = 0; i < 3; ++i) {
    const Id parent = cluster.pool(0, 1 + i, 30 * i);
    leaves.push_back(cluster.pool(parent, 1, 0, PoolMode::kFifo));
    for (int j = 0; j < 5; ++j) leaves.push_back(cluster.pool(parent, 0.5 + j));
  }
  for (std::size_t i = 0; i < 24; ++i) {
    const auto x = static_cast<Amount>(i);
    cluster.operation(leaves[i * 7 % leaves.size()], {70 + x * 31 % 91, 30 + x * 7 % 83},
                      1 + static_cast<double>(i % 3), i % 9 == 0);
  }
  const FairShareOptions options{.step_function_for_gang = true};
  Tables& t = cluster.tables();
  const Grouping whole = t.children;
  std::vector<bool> there(24, true);
  FairShareEngine engine;
  for (std::size_t step = 0; step < 400; ++step) {
    Column<Id> touched, went, came;
    for (std::size_t i = 0; i < 1 + step % 4; ++i) {
      const std::size_t o = (step * 29 + i * 5) % 24;
      if (std::ranges::find(touched, static_cast<Id>(o)) != touched.end()) continue;
      touched.push_back(static_cast<Id>(o));
      const bool stays = step % 5 == 0, moves = !stays || step % 10 == 0, was = there[o];
      there[o] = stays || !was;
      if (was && moves) went.push_back(static_cast<Id>(o));
      if (there[o] && (!was || moves)) came.push_back(static_cast<Id>(o));
      for (std::size_t r = 0; r < 2; ++r) {
        const auto wants = there[o] ? static_cast<Amount>((step * 37 + r * 11 + i) % 153) : 0;
        t.operations.demand[o * 2 + r] = wants;
        t.operations.usage[o * 2 + r] = std::min(wants, static_cast<Amount>(step % 17));
      }
    }
    const Column<Column<Id>> lists = listed(t, whole, there);
    const TreeDelta delta{
        .children = &lists, .only = step % 32 > 1, .touched = touched, .went = went, .came = came};
    const FairShareResult& kept = engine.update(t, options, nullptr, true, &delta);
    ASSERT_EQ(engine.changed() != nullptr, delta.only);
    const FairShareResult afresh = fair_share(t, options);
    ASSERT_EQ(kept.total, afresh.total) << "step " << step;
    ASSERT_EQ(kept.demand_share, afresh.demand_share);
    ASSERT_EQ(kept.usage_share, afresh.usage_share);
    ASSERT_EQ(kept.fifo_index, afresh.fifo_index);
  }
}

// Functions of pools stay as they are where what one operation leaves another takes up.
TEST(FairShareEngine, AnOperationLikeTheOneThatHasGoneHasItsShare) {
  Cluster cluster(1);
  const Id pool = cluster.pool(0);
  for (Amount i = 0; i < 3; ++i) cluster.operation(pool, {300});
  const Tables& t = cluster.tables();
  const Column<Column<Id>> lists{{pool}, {2, 3, 4}};
  FairShareEngine engine;
  const TreeDelta first{.children = &lists};
  engine.update(t, {}, nullptr, true, &first);
  const Column<Id> touched{1};
  const TreeDelta again{
      .children = &lists, .only = true, .touched = touched, .went = touched, .came = touched};
  EXPECT_EQ(engine.update(t, {}, nullptr, true, &again).total, fair_share(t, {}).total);
  EXPECT_EQ(*engine.changed(), (Column<Id>{0, 1, 3}));
}

// It has the function with which it left: its parent lists it all the same.
TEST(FairShareEngine, APoolThatComesBackIsListedInFullUpdates) {
  for (const IntegralType type : {IntegralType::kNone, IntegralType::kBurst}) {
    Cluster cluster(1);
    const Id parent = cluster.pool(0), other = cluster.pool(parent), away = cluster.pool(parent);
    for (const Id pool : {other, away, away}) cluster.operation(pool, {300});
    Tables& t = cluster.tables();
    t.pools.integral.type[parent] = type;
    const Grouping whole = t.children;
    FairShareEngine engine;
    for (const bool there : {true, false, true, false, true}) {
      const Column<Column<Id>> lists = listed(t, whole, {true, there, there});
      for (const std::size_t o : {1u, 2u}) t.operations.demand[o] = there ? 300 : 0;
      const TreeDelta delta{.children = &lists};
      ASSERT_EQ(engine.update(t, {}, nullptr, true, &delta).total, fair_share(t, {}).total);
    }
  }
}

TEST(FairShare, LimitsBeyondTheClusterAreTheCluster) {
  Cluster cluster(1);
  const Id pool = cluster.pool(0);
  cluster.operation(pool, {3000});
  Tables& t = cluster.tables();
  t.pools.limits_given[1] = 1;
  for (const Amount limit : {999, 1000, 1001}) {
    t.pools.limits[1] = limit;
    EXPECT_EQ(fair_share(t, {}).limits_share[1],
              std::min(static_cast<double>(limit), 1000.0) / 1000);
  }
}

TEST(FairShare, ANegligibleWeightIsNotTheSmallest) {
  for (const double weight : {1e-9, 1.1e-9}) {
    Cluster cluster(1);
    const Id light = cluster.pool(0, weight), heavy = cluster.pool(0, 1);
    cluster.operation(light, {100});
    cluster.operation(heavy, {100});
    const auto result = fair_share(cluster.tables(), {});
    EXPECT_NEAR(total(result, heavy), 0.1, 1e-12);
    EXPECT_NEAR(total(result, light), weight > 1e-9 ? 0.1 : 0.0, 1e-6);
  }
}

TEST(FairShare, OfEqualWeightsTheFirstToStartIsFirstInAFifoPool) {
  Cluster cluster(1);
  const Id pool = cluster.pool(0, 1, 0, PoolMode::kFifo);
  for (int i = 0; i < 3; ++i) cluster.operation(pool, {700});
  Tables& t = cluster.tables();
  t.operations.fifo_start_time = {6, 5, 5};
  EXPECT_EQ(fair_share(t, {}).fifo_index, (std::vector<Id>{2, 0, 1}));
}

TEST(FairShare, ATruncatedGangLacksMoreThanTheTolerance) {
  for (const Amount lacks : {0, 90, 110}) {  // of a million; 100 are tolerated
    Cluster cluster(1);
    const Id pool = cluster.pool(0, 1, 0, PoolMode::kFifo);
    cluster.operation(pool, {999'000}, 2);
    cluster.operation(pool, {1'000 + lacks}, 1, true);
    Tables& t = cluster.tables();
    t.total = {1'000'000};
    FairShareOptions options;
    options.fifo_truncation = true;
    EXPECT_NEAR(total(fair_share(t, options), 3), lacks > 100 ? 0.0 : 0.001, 1e-12) << lacks;
  }
}

TEST(FairShare, GuaranteesMayFillTheCluster) {
  for (const Amount last : {399, 400, 401}) {
    Cluster cluster(1);
    cluster.operation(cluster.pool(0, 1, 600), {1000});
    cluster.operation(cluster.pool(0, 1, last), {1000});
    EXPECT_EQ(fair_share(cluster.tables(), {}).diagnostics.empty(), last <= 400) << last;
  }
}

TEST(FairShare, AGangFitsIntoAGuaranteeWithinTheTolerance) {
  constexpr Amount kTotal = 1'000'000'000'000, kGuarantee = kTotal / 2;
  for (const Amount over : {0, 500, 2000}) {  // 1e-9 of the cluster is 1,000
    Cluster cluster(1);
    const Id pool = cluster.pool(0, 1, kGuarantee, PoolMode::kFifo);
    cluster.operation(pool, {kGuarantee + over}, 2, true);
    cluster.operation(pool, {10});
    Tables& t = cluster.tables();
    t.total = {kTotal};
    t.pools.fifo_reordering[1] = 1;
    FairShareOptions options;
    options.step_function_for_gang = options.fifo_reordering = true;
    const std::vector<Id> stays{kNoId, kNoId}, goes_behind{1, 0};
    EXPECT_EQ(fair_share(t, options).effective_fifo_index, over > 1000 ? goes_behind : stays)
        << over;
  }
}

// A pool with a flow of 100 of 1,000 a second, that wants everything.
struct Flowing {
  explicit Flowing(IntegralType type) : cluster(1) {
    cluster.operation(cluster.pool(0), {1000});
    tables().pools.integral.type[1] = type;
    tables().pools.integral.resource_flow[1] = 100;
  }
  Tables& tables() { return cluster.tables(); }
  FairShareResult after(Time passed, double volume) {
    const VolumeMemory memory{0, {0, volume}, {0, 0}};
    tables().now = passed;
    return fair_share(tables(), options, &memory);
  }
  Cluster cluster;
  FairShareOptions options;
};

TEST(Volumes, GrowByTheFlowOfEverySecond) {
  Flowing pool(IntegralType::kBurst);
  EXPECT_DOUBLE_EQ(pool.after(0, 50).volume.accumulated[1], 50);
  EXPECT_DOUBLE_EQ(pool.after(10 * kMicrosecondsPerSecond, 50).volume.accumulated[1], 1050);
}

TEST(Volumes, AreSavedUpToTheCapacityAndNothingOfThemIsCut) {
  Flowing pool(IntegralType::kBurst);
  pool.options.integral_pool_capacity_saturation_period_s = 5;
  for (const auto& [before, kept] : {std::pair{400.0, 500.0}, {500.0, 500.0}, {800.0, 800.0}})
    EXPECT_DOUBLE_EQ(pool.after(10 * kMicrosecondsPerSecond, before).volume.accumulated[1], kept);
}

TEST(Volumes, AreSpentOverTheSmoothPeriodUpToTheBurst) {
  Flowing pool(IntegralType::kBurst);
  pool.tables().pools.integral.burst[1] = 15;
  for (const auto& [period, share] : {std::pair{120.0, 0.005}, {60.0, 0.01}, {30.0, 0.015}}) {
    pool.options.integral_smooth_period_s = period;
    EXPECT_NEAR(pool.after(0, 600).integral_share[1], share, 1e-12) << period;
  }
}

TEST(Volumes, ARelaxedPoolHasAMultipleOfItsFlow) {
  Flowing pool(IntegralType::kRelaxed);
  for (const double most : {1.0, 2.0, 3.0}) {
    pool.tables().pools.integral.relaxed_share_multiplier_limit[1] = most;
    EXPECT_NEAR(pool.after(0, 60'000).integral_share[1], 0.1 * most, 1e-12);
  }
}

TEST(Satisfaction, OfResourcesThatMayGrowTheBestAndElseTheWorst) {
  const auto of = [](std::vector<double> fair, std::vector<double> used,
                     std::vector<double> wants) { return satisfaction_of(fair, used, wants); };
  EXPECT_DOUBLE_EQ(of({0.4, 0.2}, {0.2, 0.2}, {0.4, 0.2}), 0.5);  // none may grow
  EXPECT_DOUBLE_EQ(of({0.4, 0.2}, {0.2, 0.15}, {0.5, 0.3}), 0.75);
  EXPECT_DOUBLE_EQ(of({0.4, 0.2}, {0.2, 0.15}, {0.5, 0.2}), 0.5);
  EXPECT_DOUBLE_EQ(of({0.4, 0.2}, {0.4, 0.1}, {0.4, 0.2}), 0.5);  // nothing is above
  EXPECT_DOUBLE_EQ(of({0.4, 0.2}, {0.6, 0.1}, {0.6, 0.2}), 1.5);
}

}  // namespace
}  // namespace evenhand::fair_share_test
