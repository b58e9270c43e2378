// The fewest victims of one node, against all subsets.
#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <vector>

#include "evenhand/preempt/cover_bound.h"
#include "evenhand/preempt/victims.h"

namespace evenhand::minimum_test {
namespace {

using Size = std::size_t;

struct Node {
  Size width;
  std::vector<Amount> amounts;
  std::vector<Amount> shortage;

  Size size() const { return amounts.size() / width; }
  bool covered_by(unsigned set) const {
    for (Size r = 0; r < width; ++r) {
      Amount sum = 0;
      for (Size i = 0; i < size(); ++i)
        if ((set >> i & 1) != 0) sum += amounts[i * width + r];
      if (sum < shortage[r]) return false;
    }
    return true;
  }
};

std::vector<Id> positions(unsigned set) {
  std::vector<Id> out;
  for (Id i = 0; i < 32; ++i)
    if ((set >> i & 1) != 0) out.push_back(i);
  return out;
}

// The smallest, of those the first in order; false: all together do not cover it.
bool brute_force(const Node& node, std::vector<Id>& best) {
  const unsigned all = (1u << node.size()) - 1;
  if (!node.covered_by(all)) return false;
  best = positions(all);
  for (unsigned set = 0; set < all; ++set) {
    if (static_cast<Size>(std::popcount(set)) > best.size() || !node.covered_by(set)) continue;
    const std::vector<Id> here = positions(set);
    if (here.size() < best.size() || here < best) best = here;
  }
  return true;
}

VictimSelector selector_of(const Node& node) {
  VictimSelector selector(node.width);
  for (Size i = 0; i < node.size(); ++i)
    selector.add(static_cast<Id>(i), node.amounts.data() + i * node.width);
  return selector;
}

std::vector<Id> taken(const VictimSelector& selector) {
  return {selector.taken().begin(), selector.taken().end()};
}

Node random_node(std::mt19937_64& draws, Size most) {
  const auto below = [&](Amount end) {
    return static_cast<Amount>(draws() % static_cast<std::uint64_t>(end));
  };
  Node node{.width = 1 + static_cast<Size>(below(4)), .amounts = {}, .shortage = {}};
  const Size count = 1 + static_cast<Size>(below(static_cast<Amount>(most)));
  const Amount top = Amount{1} << (1 + below(40));
  std::vector<Amount> shapes(4 * node.width);
  for (Amount& a : shapes) a = below(top + 1);
  const bool few = below(2) == 0;
  for (Size i = 0; i < count; ++i) {
    const Size shape = static_cast<Size>(below(4));
    for (Size r = 0; r < node.width; ++r)
      node.amounts.push_back(few ? shapes[shape * node.width + r] : below(top + 1));
  }
  for (Size r = 0; r < node.width; ++r) {
    Amount total = 0;
    for (Size i = 0; i < count; ++i) total += node.amounts[i * node.width + r];
    node.shortage.push_back(below(4) == 0 ? 0 : below(total + 1));
  }
  return node;
}

TEST(Minimum, IsTheFirstOfTheSmallest) {
  std::mt19937_64 draws(1);
  for (int round = 0; round < 3000; ++round) {
    const Node node = random_node(draws, 11);
    std::vector<Id> best;
    const bool able = brute_force(node, best);
    VictimSelector selector = selector_of(node);
    ASSERT_EQ(selector.select(VictimSelection::kMinimum, node.shortage, 1'000'000), able);
    if (!able) continue;
    ASSERT_EQ(taken(selector), best) << "round " << round;
    ASSERT_TRUE(selector.proof().proved);
    ASSERT_TRUE(selector.proof().first);
    ASSERT_EQ(selector.proof().cost, static_cast<Index>(best.size()));
    ASSERT_EQ(selector.proof().lower_bound, selector.proof().cost);
    ASSERT_LE(selector.proof().root_bound, selector.proof().cost);
  }
}

TEST(Minimum, KeepsTheIrreducibleSetWithoutABudget) {
  std::mt19937_64 draws(2);
  int open = 0;
  for (int round = 0; round < 500; ++round) {
    const Node node = random_node(draws, 30);
    VictimSelector selector = selector_of(node);
    if (!selector.select(VictimSelection::kIrreducible, node.shortage, 0)) continue;
    const std::vector<Id> irreducible = taken(selector);
    ASSERT_TRUE(selector.select(VictimSelection::kMinimum, node.shortage, 0));
    EXPECT_EQ(selector.proof().branches, 0);
    EXPECT_EQ(selector.proof().cost, static_cast<Index>(irreducible.size()));
    EXPECT_EQ(taken(selector), irreducible);
    open += !selector.proof().proved;
  }
  EXPECT_GT(open, 50);
}

TEST(Minimum, OneSelectorServesManyNodes) {
  std::mt19937_64 draws(3);
  std::vector<Node> nodes;
  for (int i = 0; i < 50; ++i) nodes.push_back(random_node(draws, 20));
  for (const Node& node : nodes) {
    VictimSelector fresh = selector_of(node), used = selector_of(nodes.front());
    used.select(VictimSelection::kMinimum, nodes.front().shortage, 1000);
    if (node.width != nodes.front().width) continue;
    used.clear();
    for (Size i = 0; i < node.size(); ++i)
      used.add(static_cast<Id>(i), node.amounts.data() + i * node.width);
    ASSERT_EQ(fresh.select(VictimSelection::kMinimum, node.shortage, 1000),
              used.select(VictimSelection::kMinimum, node.shortage, 1000));
    EXPECT_EQ(taken(fresh), taken(used));
    EXPECT_EQ(fresh.proof().branches, used.proof().branches);
  }
}

TEST(Minimum, SkipsUselessCandidatesWhereTheTotalIsExact) {
  VictimSelector selector(2);
  for (const std::vector<Amount>& a :
       {std::vector<Amount>{0, 9}, {1, 0}, {0, 0}, {2, 9}, {3, 0}, {3, 0}})
    selector.add(0, a.data());
  const std::vector<Amount> shortage{5, -4};
  ASSERT_TRUE(selector.select(VictimSelection::kMinimum, shortage, 100));
  EXPECT_EQ(taken(selector), (std::vector<Id>{3, 4}));
  const std::vector<Amount> everything{9, 0};
  ASSERT_TRUE(selector.select(VictimSelection::kMinimum, everything, 100));
  EXPECT_EQ(taken(selector), (std::vector<Id>{1, 3, 4, 5}));
  const std::vector<Amount> more{10, 0};
  EXPECT_FALSE(selector.select(VictimSelection::kMinimum, more, 100));
}

// min x + y + z: 3x + y >= 6, x + 2y + z >= 5, each up to 2: x = 1.4, y = 1.8.
TEST(CoverBound, SolvesTheLinearProgram) {
  const std::vector<Amount> amounts{3, 1, 1, 2, 0, 1}, need{6, 5};
  const std::vector<double> most{2, 2, 2}, none{0, 0, 0};
  CoverBound bound;
  const std::vector<Index> ones{1, 1, 1};
  bound.set(amounts, need, most, ones);
  ASSERT_TRUE(bound.within(none, most, 100));
  EXPECT_NEAR(bound.value(), 3.2, 1e-6);
  EXPECT_LT(bound.margin(), 1e-9);
  EXPECT_NEAR(bound.x()[0], 1.4, 1e-9);
  EXPECT_NEAR(bound.x()[1], 1.8, 1e-9);
  EXPECT_NEAR(bound.multiplier(0), 0.2, 1e-6);
  EXPECT_NEAR(bound.multiplier(1), 0.4, 1e-6);
  EXPECT_FALSE(bound.within(none, most, 3));
  // With y at most 1: x = 5/3, y = 1, z = 4/3.
  const std::vector<double> fewer{2, 1, 2};
  ASSERT_TRUE(bound.within(none, fewer, 100));
  EXPECT_NEAR(bound.value(), 4, 1e-6);
}

}  // namespace
}  // namespace evenhand::minimum_test
