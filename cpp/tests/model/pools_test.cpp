// The tree of pools and the rules that hold in it.
#include <gtest/gtest.h>

#include "arena.h"

namespace evenhand::pools_test {
namespace {

using testing::Arena;
using testing::built;
using testing::only_message;
using testing::problems;
using Lines = std::vector<std::string>;

constexpr std::uint8_t kFairShareCode = 0, kFifoCode = 1;
constexpr std::uint8_t kNoneCode = 0, kBurstCode = 1, kRelaxedCode = 2;

class Pools : public ::testing::Test {
 protected:
  Pools() : in_(arena_.input()) {}
  // a over b over c, d beside a.
  void chain() {
    in_.pools.name = arena_.names({"a", "b", "c", "d"});
    in_.pools.parent = arena_.reference({std::nullopt, "a", "b", std::nullopt});
  }
  Arena arena_;
  raw::Input in_;
};

std::vector<Id> children(const Tables& t, std::size_t pool) {
  return {t.children.items.begin() + t.children.offsets[pool],
          t.children.items.begin() + t.children.offsets[pool + 1]};
}

TEST_F(Pools, AnEmptySnapshotHasARoot) {
  const Tables t = built(in_);
  EXPECT_EQ(t.pools.size(), 1);
  EXPECT_EQ(t.pools.names.text[0], "<Root>");
  EXPECT_EQ(t.pools.parent, std::vector<Id>{kNoId});
  EXPECT_EQ(t.pools.top_down, std::vector<Id>{0});
  EXPECT_EQ(t.children.offsets, (std::vector<Index>{0, 0}));
  EXPECT_EQ(t.element_count(), 1);
}

TEST_F(Pools, MayBeInAnOrderWhereThereAreNoOperations) {
  chain();
  in_.pools.order = arena_.numbers({2.0, 1.0, 3.0, 1.0});
  const Tables t = built(in_);
  EXPECT_EQ(t.operations.size(), 0);
  EXPECT_EQ(children(t, 0).size(), 2U);
}

TEST_F(Pools, DefaultsOfPools) {
  chain();
  const PoolColumns p = built(in_).pools;
  EXPECT_EQ(p.weight, std::vector<double>(5, 1.0));
  EXPECT_EQ(p.mode, std::vector<PoolMode>(5, PoolMode::kFairShare));
  EXPECT_EQ(p.integral.type, std::vector<IntegralType>(5, IntegralType::kNone));
  EXPECT_EQ(p.integral.relaxed_share_multiplier_limit, std::vector<double>(5, 3.0));
  EXPECT_EQ(p.integral.can_accept_free_volume, std::vector<std::uint8_t>(5, 1));
  EXPECT_EQ(p.step_function_for_gang, std::vector<std::uint8_t>(5, 1));
  EXPECT_EQ(p.fifo_reordering, std::vector<std::uint8_t>(5, 0));
  EXPECT_EQ(p.limits_given, std::vector<ResourceMask>(5, 0));
}

TEST_F(Pools, TheRootHasSettingsOfItsOwn) {
  chain();
  in_.root.mode = arena_.codes({kFairShareCode});
  in_.root.limits = arena_.amounts({5.0});
  in_.root.priority_donor = arena_.codes({1});
  in_.root.can_accept_free_volume = arena_.codes({0});
  in_.root.step_function_for_gang = arena_.codes({0});
  const PoolColumns p = built(in_).pools;
  EXPECT_EQ(p.limits[0], 5);
  EXPECT_EQ(p.limits_given, (std::vector<ResourceMask>{1, 0, 0, 0, 0}));
  EXPECT_EQ(p.priority_donor, (std::vector<std::uint8_t>{1, 0, 0, 0, 0}));
  EXPECT_EQ(p.integral.can_accept_free_volume, (std::vector<std::uint8_t>{0, 1, 1, 1, 1}));
  EXPECT_EQ(p.step_function_for_gang[0], 0);
  in_.root.weight = arena_.numbers({2.0});
  EXPECT_EQ(problems(in_), Lines{"root[-1]  name unknown"});
}

TEST_F(Pools, ProblemsOfTheRootNameTheRoot) {
  in_.root.limits = arena_.amounts({-5.0});
  EXPECT_EQ(only_message(in_), "limits.r0 of the root is -5; it must not be negative");
}

TEST_F(Pools, ParentsComeBeforeChildrenTopDown) {
  in_.pools.name = arena_.names({"a", "b", "c"});
  in_.pools.parent = arena_.reference({"b", "c", std::nullopt});
  const Tables t = built(in_);
  EXPECT_EQ(t.pools.parent, (std::vector<Id>{kNoId, 2, 3, 0}));
  EXPECT_EQ(t.pools.top_down, (std::vector<Id>{0, 3, 2, 1}));
}

TEST_F(Pools, ChildrenArePoolsThenOperationsByName) {
  in_.pools.name = arena_.names({"q", "p"});
  in_.operations.name = arena_.names({"z", "b", "a"});
  in_.operations.pool = arena_.reference({std::nullopt, "p", std::nullopt});
  const Tables t = built(in_);  // elements: root 0, p 1, q 2, a 3, b 4, z 5
  EXPECT_EQ(children(t, 0), (std::vector<Id>{1, 2, 3, 5}));
  EXPECT_EQ(children(t, 1), std::vector<Id>{4});
  EXPECT_EQ(children(t, 2), std::vector<Id>{});
}

TEST_F(Pools, OrderMixesPoolsAndOperations) {
  in_.pools.name = arena_.names({"p", "q", "r"});
  in_.pools.order = arena_.numbers({2.0, 1.0, 0.0}, {1, 1, 0});
  in_.operations.name = arena_.names({"a", "b", "c"});
  in_.operations.order = arena_.numbers({1.0, 0.5, 0.0}, {1, 1, 0});
  const Tables t = built(in_);  // q 1, p 2, r 3; b 4, a 5, c 6
  EXPECT_EQ(children(t, 0), (std::vector<Id>{4, 1, 5, 2, 3, 6}));
}

TEST_F(Pools, OrderOfOnlyOneKindMixesToo) {
  in_.pools.name = arena_.names({"p"});
  in_.operations.name = arena_.names({"a", "b"});
  in_.operations.order = arena_.numbers({0.0, 1.0}, {0, 1});
  EXPECT_EQ(children(built(in_), 0), (std::vector<Id>{2, 1, 3}));  // b, p, a
}

TEST_F(Pools, ACycleIsReportedOnceWithItsWholeLoop) {
  in_.pools.name = arena_.names({"d", "c", "b", "a", "tail"});
  in_.pools.parent = arena_.reference({"b", "d", "c", std::nullopt, "d"});
  EXPECT_EQ(only_message(in_),
            "parent of the pool \"b\" closes a cycle: \"b\" under \"c\" under \"d\" under \"b\"");
  in_.pools.parent = arena_.reference({"d", "c", "b", "a", "a"});
  EXPECT_EQ(problems(in_), (Lines{"pools[3] a parent cycle", "pools[2] b parent cycle",
                                  "pools[1] c parent cycle", "pools[0] d parent cycle"}));
}

TEST_F(Pools, LongCyclesAreCutShortInTheMessage) {
  std::vector<std::string> names;
  std::vector<std::int64_t> parents;
  for (int i = 0; i < 1000; ++i) {
    names.push_back("pool-" + std::to_string(i));
    parents.push_back((i + 1) % 1000);
  }
  in_.pools.name = arena_.names(names);
  in_.pools.parent = arena_.rows(parents);
  EXPECT_LT(only_message(in_).size(), 400u);
}

TEST_F(Pools, DeepTreesNeedNoStack) {
  constexpr std::int64_t kDepth = 200'000;
  std::vector<std::int64_t> names, parents;
  for (std::int64_t i = 0; i < kDepth; ++i) {
    names.push_back(i);
    parents.push_back(i - 1);
  }
  in_.pools.name = arena_.integer_names(names);
  in_.pools.parent = arena_.rows(parents);
  EXPECT_EQ(built(in_).pools.top_down.size(), static_cast<std::size_t>(kDepth) + 1);
}

TEST_F(Pools, FifoPoolsHaveOperationsOnly) {
  chain();
  in_.pools.mode = arena_.codes({kFifoCode, 0, 0, 0});
  EXPECT_EQ(only_message(in_),
            "parent of the pool \"b\" is the FIFO pool \"a\", which may contain operations only; "
            "make that pool fair_share or move this one");
  in_.pools.strong_guarantee = arena_.amounts({1, 1, 1, 1});
  EXPECT_EQ(problems(in_), (Lines{"pools[1] b parent fifo_children",
                                  "pools[1] b strong_guarantee guarantee_under_fifo"}));
  in_.pools.mode = arena_.codes({0, 0, kFifoCode, kFifoCode});
  EXPECT_EQ(problems(in_), Lines{});
  in_.root.mode = arena_.codes({kFifoCode});
  EXPECT_EQ(problems(in_).size(), 4u);  // a and d, each with a guarantee
}

TEST_F(Pools, IntegralPoolsAreNotNested) {
  chain();
  in_.pools.integral_type = arena_.codes({kBurstCode, kNoneCode, kRelaxedCode, kRelaxedCode});
  EXPECT_EQ(only_message(in_),
            "integral.type of the pool \"c\" is relaxed, but the pool lies under \"a\" of type "
            "burst; integral pools cannot be nested");
  in_.pools.integral_type = arena_.codes({kBurstCode, kNoneCode, kNoneCode, kRelaxedCode});
  EXPECT_EQ(problems(in_), Lines{});
  in_.pools.resource_flow = arena_.amounts({1, 2, 0, 4});
  in_.pools.burst = arena_.amounts({1, 0, 3, 0});
  EXPECT_EQ(problems(in_), (Lines{"pools[1] b integral.resource_flow.r0 nested_integral",
                                  "pools[2] c integral.burst.r0 nested_integral"}));
}

TEST_F(Pools, FlowAndBurstOfPoolsThatAreNotIntegralAreIgnored) {
  chain();
  in_.pools.resource_flow = arena_.amounts({1, 2, 3, 4});
  in_.pools.burst = arena_.amounts({1, 2, 3, 4});
  EXPECT_EQ(problems(in_), Lines{});
}

TEST_F(Pools, NestingUnderAnIntegralRootCounts) {
  chain();
  in_.root.integral_type = arena_.codes({kBurstCode});
  EXPECT_EQ(problems(in_), Lines{});
  in_.pools.integral_type = arena_.codes({0, 0, 0, kRelaxedCode});
  EXPECT_EQ(problems(in_), Lines{"pools[3] d integral.type nested_integral"});
}

TEST_F(Pools, RelaxedPoolsHaveNoBurst) {
  chain();
  in_.pools.integral_type = arena_.codes({0, 0, 0, kRelaxedCode});
  in_.pools.burst = arena_.amounts({0, 0, 0, 0.0});
  EXPECT_EQ(problems(in_), Lines{});
  in_.pools.burst = arena_.amounts({0, 0, 0, 7.0});
  EXPECT_EQ(problems(in_), Lines{"pools[3] d integral.burst.r0 burst_on_relaxed"});
}

TEST_F(Pools, MultiplierAndRatioStayInTheirRanges) {
  chain();
  in_.pools.relaxed_share_multiplier_limit = arena_.numbers({1.0, 10.0, 0.999, 10.001});
  EXPECT_EQ(problems(in_), (Lines{"pools[2] c integral.relaxed_share_multiplier_limit range",
                                  "pools[3] d integral.relaxed_share_multiplier_limit range"}));
  in_.pools.relaxed_share_multiplier_limit = {};
  in_.pools.last_share_ratio = arena_.numbers({0.0, 5.0, -0.1, 0.0});
  EXPECT_EQ(problems(in_), Lines{"pools[2] c integral.last_share_ratio non_negative"});
}

TEST_F(Pools, GuaranteesMayExceedTheParentsAndTheTotal) {
  chain();
  in_.total = arena_.amounts({10});
  in_.pools.strong_guarantee = arena_.amounts({5, 50, 500, 5});
  in_.pools.limits = arena_.amounts({0, 0, 0, 1000});
  EXPECT_EQ(problems(in_), Lines{});
}

TEST_F(Pools, SumsOverChildrenStayWithinTheLargestAmount) {
  const double half = 576460752303423488.0;  // 2^59
  chain();
  in_.pools.strong_guarantee = arena_.amounts({half, 2 * half, 2 * half, half});
  EXPECT_EQ(problems(in_), Lines{});
  in_.pools.strong_guarantee = arena_.amounts({half, 0, 0, half + 1024});
  EXPECT_EQ(only_message(in_),
            "the children of the pool \"<Root>\" add up to more than 2^60 quanta of 1 in "
            "strong_guarantee.r0; choose a larger unit or quantum");
}

}  // namespace
}  // namespace evenhand::pools_test
