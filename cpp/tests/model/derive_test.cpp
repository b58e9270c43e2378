// Usage, demand, total and sums.
#include <gtest/gtest.h>

#include <cmath>

#include "arena.h"

namespace evenhand::derive_test {
namespace {

using testing::Arena;
using testing::built;
using testing::only_message;
using testing::problems;
using Lines = std::vector<std::string>;
using Amounts = std::vector<Amount>;

constexpr std::uint8_t kRunning = 0, kPreempting = 1, kSuspended = 2, kPreempted = 3;

class Derived : public ::testing::Test {
 protected:
  Derived() : in_(arena_.input()) {
    in_.operations.name = arena_.names({"a", "b"});
    in_.allocations.name = arena_.names({"k", "l", "m", "n"});
    in_.allocations.operation = arena_.rows({0, 0, 0, 0});
    in_.allocations.resources = arena_.amounts({1, 10, 100, 1000});
    in_.allocations.state = arena_.codes({kRunning, kPreempting, kSuspended, kPreempted});
  }
  Arena arena_;
  raw::Input in_;
};

TEST_F(Derived, UsageIsWhatRunsIsSuspendedOrHeld) {
  EXPECT_EQ(built(in_).operations.usage, (Amounts{101, 0}));
  in_.allocations.held = arena_.amounts({1, 10, 100, 40});
  EXPECT_EQ(built(in_).operations.usage, (Amounts{141, 0}));
  EXPECT_EQ(built(in_).operations.demand, (Amounts{141, 0}));
}

TEST_F(Derived, NobodyHoldsMoreThanTheyHad) {
  in_.allocations.held = arena_.amounts({0, 0, 0, 1001});
  EXPECT_EQ(only_message(in_),
            "held.r0 of the allocation \"n\" is 1001, more than its resources of 1000");
}

TEST_F(Derived, DemandAddsWhatIsRequested) {
  in_.requests.name = arena_.names({"r", "s"});
  in_.requests.operation = arena_.rows({1, 0});
  in_.requests.resources = arena_.amounts({2, 3});
  in_.requests.count = arena_.integers({5, 1});
  const Tables t = built(in_);
  EXPECT_EQ(t.operations.usage, (Amounts{101, 0}));
  EXPECT_EQ(t.operations.demand, (Amounts{104, 10}));
  EXPECT_EQ(t.requests_by_operation.offsets, (std::vector<Index>{0, 1, 2}));
  EXPECT_EQ(t.requests_by_operation.items, (std::vector<Id>{1, 0}));
}

TEST_F(Derived, GivenUsageMustAgree) {
  in_.operations.usage = arena_.amounts({101, 7}, {1, 0});
  EXPECT_EQ(built(in_).operations.usage, (Amounts{101, 0}));
  in_.operations.usage = arena_.amounts({111, 7}, {1, 0});
  EXPECT_EQ(only_message(in_),
            "usage.r0 of the operation \"a\" is 111, but its allocations that are not leaving add "
            "up to 101 (10 less); leave usage out or correct it");
  in_.operations.usage = arena_.amounts({100, 7}, {1, 0});
  EXPECT_NE(only_message(in_).find("(1 more)"), std::string::npos);
}

TEST_F(Derived, GivenDemandMustAgree) {
  in_.requests.name = arena_.names({"r"});
  in_.requests.operation = arena_.rows({0});
  in_.requests.resources = arena_.amounts({2});
  in_.operations.demand = arena_.amounts({103, 0}, {1, 0});
  EXPECT_EQ(built(in_).operations.demand, (Amounts{103, 0}));
  in_.operations.demand = arena_.amounts({105, 0}, {1, 0});
  EXPECT_EQ(only_message(in_),
            "demand.r0 of the operation \"a\" is 105, but its usage (101) and its requests (2) add "
            "up to 103 (2 less); leave demand out or correct it");
}

TEST_F(Derived, OperationsWithoutRowsTakeWhatIsGiven) {
  in_.operations.usage = arena_.amounts({0, 7}, {0, 1});
  EXPECT_EQ(built(in_).operations.usage, (Amounts{101, 7}));
  EXPECT_EQ(built(in_).operations.demand, (Amounts{101, 7}));  // demand is at least usage
  in_.operations.demand = arena_.amounts({0, 9}, {0, 1});
  EXPECT_EQ(built(in_).operations.demand, (Amounts{101, 9}));
  in_.operations.demand = arena_.amounts({0, 6}, {0, 1});
  EXPECT_EQ(only_message(in_),
            "usage.r0 of the operation \"b\" is 7, more than its demand of 6; demand includes what "
            "is running");
}

TEST_F(Derived, AFaultyAmountCausesNoSecondProblem) {
  in_.operations.usage = arena_.amounts({101, 0});
  in_.operations.demand = arena_.amounts({101, -1});
  EXPECT_EQ(problems(in_), Lines{"operations[1] b demand.r0 non_negative"});
  in_.operations.demand = {};
  in_.allocations.resources = arena_.amounts({std::nan(""), 10, 100, 1000});
  EXPECT_EQ(problems(in_), Lines{"allocations[0] k resources.r0 finite"});
  in_.allocations.resources = arena_.amounts({1, 10, 100, -1000});
  in_.allocations.held = arena_.amounts({0, 0, 0, 0.5});
  EXPECT_EQ(problems(in_), (Lines{"allocations[3] n resources.r0 non_negative",
                                  "allocations[3] n held.r0 quantum"}));
}

TEST_F(Derived, GroupsListRowsInCanonicalOrder) {
  in_.nodes.name = arena_.names({"x", "y"});
  in_.allocations.operation = arena_.rows({1, 0, 1, 0});
  in_.allocations.node = arena_.rows({1, 1, -1, 0});
  const Tables t = built(in_);
  EXPECT_EQ(t.allocations_by_operation.offsets, (std::vector<Index>{0, 2, 4}));
  EXPECT_EQ(t.allocations_by_operation.items, (std::vector<Id>{1, 3, 0, 2}));
  EXPECT_EQ(t.allocations_by_node.offsets, (std::vector<Index>{0, 1, 3}));
  EXPECT_EQ(t.allocations_by_node.items, (std::vector<Id>{3, 0, 1}));
}

TEST_F(Derived, OvercommittedNodesAreLegal) {
  in_.nodes.name = arena_.names({"x"});
  in_.nodes.capacity = arena_.amounts({1});
  in_.allocations.node = arena_.rows({0, 0, 0, 0});
  EXPECT_EQ(problems(in_), Lines{});
}

TEST(Total, SumsSchedulableNodesAndCapacities) {
  Arena arena;
  raw::Input in = arena.input({1.0, 0.5});
  in.resources.scope = arena.keep(std::vector<std::uint8_t>{0, 1});
  in.resources.capacity = arena.amounts({0, 3.5}, {0, 1});
  in.nodes.name = arena.names({"x", "y", "z"});
  in.nodes.capacity = arena.amounts({1, 0, 2, 0, 4, 0});
  in.nodes.schedulable = arena.codes({1, 0, 1});
  EXPECT_EQ(built(in).total, (Amounts{5, 7}));
  in.total = arena.amounts({9, 0}, {1, 0});
  EXPECT_EQ(built(in).total, (Amounts{9, 0}));
  in.total = arena.amounts({-9, 0.25});
  EXPECT_EQ(problems(in),
            (Lines{"snapshot[-1]  total.r0 non_negative", "snapshot[-1]  total.r1 quantum"}));
}

TEST(Total, ClusterResourcesAreNotOfNodes) {
  Arena arena;
  raw::Input in = arena.input({1.0, 1.0});
  in.resources.scope = arena.keep(std::vector<std::uint8_t>{0, 1});
  in.nodes.name = arena.names({"x"});
  in.nodes.capacity = arena.amounts({1, 2});
  EXPECT_EQ(problems(in), Lines{"nodes[0] x capacity.r1 scope"});
  in.nodes.capacity = {};
  in.resources.capacity = arena.amounts({5, 5});
  EXPECT_EQ(problems(in), Lines{"resources[0] r0 capacity scope"});
}

TEST(Sums, AreCheckedInEveryTable) {
  const double limit = std::ldexp(1.0, 60);
  Arena arena;
  const auto two = [&] { return arena.amounts({limit, 1.0}); };
  raw::Input nodes = arena.input();
  nodes.nodes.name = arena.names({"x", "y"});
  nodes.nodes.capacity = two();
  nodes.nodes.schedulable = arena.codes({1, 0});
  EXPECT_EQ(problems(nodes), Lines{"nodes[-1]  capacity.r0 overflow"});

  raw::Input operations = arena.input();
  operations.operations.name = arena.names({"a", "b"});
  operations.operations.demand = two();
  EXPECT_EQ(problems(operations), Lines{"operations[-1]  demand.r0 overflow"});
  operations.operations.usage = two();
  EXPECT_EQ(problems(operations),
            (Lines{"operations[-1]  usage.r0 overflow", "operations[-1]  demand.r0 overflow"}));

  raw::Input allocations = arena.input();
  allocations.operations.name = arena.names({"a"});
  allocations.allocations.name = arena.names({"k", "l"});
  allocations.allocations.operation = arena.rows({0, 0});
  allocations.allocations.state = arena.codes({0, kPreempting});
  allocations.allocations.resources = two();
  EXPECT_EQ(problems(allocations), Lines{"allocations[-1]  resources.r0 overflow"});

  raw::Input requests = arena.input();
  requests.operations.name = arena.names({"a"});
  requests.requests.name = arena.names({"r"});
  requests.requests.operation = arena.rows({0});
  requests.requests.resources = arena.amounts({limit / 2});
  requests.requests.count = arena.integers({2});
  EXPECT_EQ(problems(requests), Lines{});
  requests.requests.count = arena.integers({3});
  EXPECT_EQ(problems(requests), Lines{"requests[-1]  resources.r0 overflow"});

  allocations.allocations.state = {};
  allocations.allocations.resources = arena.amounts({limit / 2, limit / 2});
  allocations.requests = requests.requests;
  allocations.requests.count = {};
  EXPECT_EQ(problems(allocations), Lines{"operations[0] a demand.r0 overflow"});
}

}  // namespace
}  // namespace evenhand::derive_test
