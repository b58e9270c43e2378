// The cheapest cover of a node, where candidates have costs.
#include <gtest/gtest.h>

#include <random>

#include "evenhand/preempt/victims.h"

namespace evenhand::cheapest_test {
namespace {

using Size = std::size_t;

struct Node {
  std::vector<Amount> amounts;  // n x 2
  std::vector<Index> costs;
  std::vector<Amount> shortage;
};

Node drawn(std::mt19937& random) {
  Node node;
  const Size n = 1 + random() % 11;
  const unsigned dearest = random() % 2 == 0 ? 4 : 1000, top = random() % 2 == 0 ? 5 : 100'000;
  for (Size i = 0; i < n; ++i) {
    node.costs.push_back(1 + static_cast<Index>(random() % dearest));
    for (int r = 0; r < 2; ++r) node.amounts.push_back(random() % top);
  }
  for (int r = 0; r < 2; ++r) node.shortage.push_back(random() % (top * n / 2 + 1));
  return node;
}

bool cheapest(const Node& node, std::vector<Id>& best, Index& cost) {
  bool any = false;
  for (unsigned mask = 0; mask < 1U << node.costs.size(); ++mask) {
    Amount freed[2] = {};
    Index sum = 0;
    std::vector<Id> set;
    for (Size i = 0; i < node.costs.size(); ++i)
      if (mask >> i & 1U) {
        set.push_back(static_cast<Id>(i));
        sum += node.costs[i];
        for (Size r = 0; r < 2; ++r) freed[r] += node.amounts[2 * i + r];
      }
    if (freed[0] < node.shortage[0] || freed[1] < node.shortage[1]) continue;
    if (any && (sum > cost || (sum == cost && set >= best))) continue;
    any = true;
    best = set;
    cost = sum;
  }
  return any;
}

TEST(Cheapest, IsThatOfBruteForce) {
  std::mt19937 random(17);
  VictimSelector selector(2);
  for (int round = 0; round < 2000; ++round) {
    const Node node = drawn(random);
    std::vector<Id> expected;
    Index cost = 0;
    const bool able = cheapest(node, expected, cost);
    selector.clear();
    for (Size i = 0; i < node.costs.size(); ++i)
      selector.add(static_cast<Id>(i), node.amounts.data() + 2 * i, node.costs[i]);
    ASSERT_EQ(selector.select(VictimSelection::kMinimum, node.shortage, 100'000), able);
    if (!able) continue;
    EXPECT_EQ(std::vector<Id>(selector.taken().begin(), selector.taken().end()), expected);
    EXPECT_EQ(selector.proof().cost, cost);
    EXPECT_EQ(selector.proof().lower_bound, cost);
    EXPECT_TRUE(selector.proof().proved);
    EXPECT_TRUE(selector.proof().first);
    EXPECT_LE(selector.proof().root_bound, cost);
    // Never dearer than the irreducible set, whatever the budget.
    selector.select(VictimSelection::kIrreducible, node.shortage, 0);
    const Index plain = selector.proof().cost;
    selector.select(VictimSelection::kMinimum, node.shortage, 1);
    EXPECT_LE(selector.proof().cost, plain);
    EXPECT_LE(selector.proof().lower_bound, cost);
  }
}

}  // namespace
}  // namespace evenhand::cheapest_test
