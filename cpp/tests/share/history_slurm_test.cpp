#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "evenhand/share/history/slurm_classic.h"
#include "evenhand/share/history/slurm_fair_tree.h"

namespace evenhand::history::history_slurm_test {
namespace {

using Flags = std::vector<std::uint8_t>;

TEST(SlurmClassic, ReproducesTheDocumentedExample) {
  // A D B C E F, then users 1 to 5.
  const std::vector<Id> parent{kNoId, kNoId, 0, 0, 1, 1, 2, 3, 3, 4, 5};
  const std::vector<double> shares{40, 60, 30, 10, 25, 35, 1, 1, 1, 1, 1};
  const std::vector<double> own{0, 0, 0, 0, 0, 0, 20, 25, 0, 25, 0};
  const Forest forest(parent);
  const auto result = slurm_classic(forest, shares, Flags(11), forest.roll_up(own), {.total = 100});
  const std::vector<double> factor{0.408479, 0.022097, 0.125, 0.5, 0.749154};
  for (std::size_t user = 0; user < 5; ++user)
    EXPECT_NEAR(result.factor[6 + user], factor[user], 1e-6);
  EXPECT_NEAR(result.effective_usage[10], 0.145833, 1e-6);
  EXPECT_NEAR(result.norm_shares[10], 0.35, 1e-12);
}

TEST(SlurmClassic, AnExplicitRootChangesNothingBelowIt) {
  const std::vector<double> own{0, 3, 1};
  const Forest flat(std::vector<Id>{kNoId, kNoId});
  const Forest rooted(std::vector<Id>{kNoId, 0, 0});
  const auto a = slurm_classic(flat, std::vector<double>{2, 1}, Flags(2), std::vector<double>{3, 1},
                               {.total = 4});
  const auto b = slurm_classic(rooted, std::vector<double>{1, 2, 1}, Flags(3), rooted.roll_up(own),
                               {.total = 4, .root = 0});
  EXPECT_EQ(a.factor[0], b.factor[1]);
  EXPECT_EQ(a.factor[1], b.factor[2]);
  EXPECT_EQ(b.norm_shares[0], 1);
}

TEST(SlurmClassic, NothingOwedAndNothingUsed) {
  const Forest forest(std::vector<Id>{kNoId, kNoId});
  const auto result = slurm_classic(forest, std::vector<double>{0, 1}, Flags(2),
                                    std::vector<double>{0, 0}, {.total = 0});
  EXPECT_EQ(result.factor[0], 0);
  EXPECT_EQ(result.factor[1], 1);
}

struct Tree {
  std::vector<Id> parent;
  std::vector<double> shares, own;
  Flags user;

  FairTree ranked(FairTreeOptions options) const {
    const Forest forest(parent);
    return slurm_fair_tree(forest, shares, Flags(parent.size()), user, forest.roll_up(own),
                           options);
  }
};

TEST(SlurmFairTree, EqualFractionsTieOnlyInExactArithmetic) {
  // 40 shares for 20 and 50 for 25, beside 80 shares and 65 of usage.
  const Tree tree{{kNoId, kNoId, kNoId}, {40, 50, 80}, {20, 25, 65}, {1, 1, 1}};
  const auto exact = tree.ranked({.exact = true});
  EXPECT_EQ(exact.rank, (std::vector<Id>{3, 3, 1}));
  const auto rounded = tree.ranked({.exact = false});
  EXPECT_NE(rounded.rank[0], rounded.rank[1]);
}

TEST(SlurmFairTree, MergesTiedAccountsOnlyIfAsked) {
  // Two tied accounts, each with a better and a worse user.
  const Tree tree{
      {kNoId, kNoId, 0, 0, 1, 1}, {1, 1, 1, 1, 1, 1}, {0, 0, 1, 3, 1, 3}, {0, 0, 1, 1, 1, 1}};
  const auto merged = tree.ranked({.merge_tied_accounts = true});
  EXPECT_EQ(merged.rank, (std::vector<Id>{0, 0, 4, 2, 4, 2}));
  // One after the other; the first user of the second inherits the tie.
  const auto visited = tree.ranked({.merge_tied_accounts = false});
  EXPECT_EQ(visited.rank, (std::vector<Id>{0, 0, 4, 3, 3, 1}));
}

TEST(SlurmFairTree, UserTiedWithAnAccountSharesTheRankOfItsBestUser) {
  const Tree tree{{kNoId, kNoId, 0, 0}, {1, 1, 2, 1}, {0, 2, 1, 1}, {0, 1, 1, 1}};
  EXPECT_EQ(tree.ranked({}).rank, (std::vector<Id>{0, 3, 3, 1}));
}

TEST(SlurmFairTree, SurvivesDeepTrees) {
  constexpr Id kRows = 100'000;
  Tree tree;
  for (Id v = 0; v < kRows; ++v) tree.parent.push_back(v - 1);
  tree.shares.assign(kRows, 1);
  tree.own.assign(kRows, 0);
  tree.own.back() = 1;
  tree.user.assign(kRows, 0);
  tree.user.back() = 1;
  EXPECT_EQ(tree.ranked({}).factor.back(), 1);
}

TEST(CompareProducts, SeesTheLastBit) {
  const double next = std::nextafter(3.0, 4.0);
  const std::array<double, 4> a{3, 7, 1e300, 1e-300};
  std::array<double, 4> b{7, 1e-300, 3, 1e300};
  EXPECT_EQ(compare_products(a, b), 0);
  b[2] = next;
  EXPECT_EQ(compare_products(a, b), -1);
  EXPECT_EQ(compare_products(b, a), 1);
  const std::array<double, 4> small{1e-300, 1e-300, 1e-300, 1e-300};
  EXPECT_EQ(compare_products(small, a), -1);
  EXPECT_EQ(compare_products(small, small), 0);
}

}  // namespace
}  // namespace evenhand::history::history_slurm_test
