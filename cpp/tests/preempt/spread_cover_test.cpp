#include "evenhand/preempt/spread_cover.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace evenhand::spread_cover_test {
namespace {

using Size = std::size_t;

struct Case {
  SpreadNeed need{2};
  Column<Index> costs;
};

// Do these jobs, by bits, make room for all copies?
bool suffices(const Case& c, unsigned mask) {
  Index levels = 0;
  for (const SpreadNeed::Site& site : c.need.sites) {
    Index reached = 0;
    for (; reached < site.levels; ++reached) {
      bool enough = true;
      for (Size r = 0; r < 2; ++r) {
        Amount sum = 0;
        for (Size p = site.first; p < site.first + site.pieces; ++p)
          if (mask >> c.need.job[p] & 1U) sum += c.need.amount[p * 2 + r];
        enough &= sum >= c.need.lack[site.first_lack + static_cast<Size>(reached) * 2 + r];
      }
      if (!enough) break;
    }
    if (site.must && reached == 0) return false;
    if (!site.must) levels += reached;
  }
  return levels >= c.need.copies;
}

// The cheapest set, of those the first in order; none: all do not suffice.
Column<Id> brute_force(const Case& c, Index& cost) {
  Column<Id> best;
  cost = -1;
  for (unsigned mask = 0; mask < 1U << c.costs.size(); ++mask) {
    Column<Id> set;
    Index sum = 0;
    for (Size j = 0; j < c.costs.size(); ++j)
      if (mask >> j & 1U) {
        set.push_back(static_cast<Id>(j));
        sum += c.costs[j];
      }
    if ((cost >= 0 && (sum > cost || (sum == cost && set >= best))) || !suffices(c, mask)) continue;
    best = set;
    cost = sum;
  }
  return best;
}

Case drawn(std::mt19937& random) {
  const auto draw = [&](unsigned low, unsigned high) {
    return static_cast<Amount>(low + random() % (high - low + 1));
  };
  Case c;
  const auto jobs = static_cast<Size>(draw(1, 9)), sites = static_cast<Size>(draw(1, 4));
  const unsigned dearest = draw(0, 1) == 0 ? 1 : 50;
  for (Size j = 0; j < jobs; ++j) c.costs.push_back(draw(1, dearest));
  for (Size s = 0; s < sites; ++s) {
    Column<Id> here;
    Column<Amount> amounts, lacks;
    for (Size j = 0; j < jobs; ++j)
      if (draw(0, 2) == 0) {
        here.push_back(static_cast<Id>(j));
        amounts.push_back(draw(0, 4));
        amounts.push_back(draw(0, 4));
      }
    const bool must = draw(0, 5) == 0;
    Amount first = draw(0, 5), second = draw(0, 5);
    for (Amount l = 0; l < (must ? 1 : draw(1, 3)); ++l) {
      lacks.push_back(first);
      lacks.push_back(second);
      first += draw(0, 4);
      second += draw(0, 4);
    }
    c.need.add(here, amounts, lacks, must);
  }
  c.need.copies = draw(0, 4);
  return c;
}

TEST(SpreadCover, IsTheFirstOfTheCheapest) {
  std::mt19937 random(3);
  Index able = 0;
  for (int round = 0; round < 3000; ++round) {
    const Case c = drawn(random);
    Index cost = 0;
    const Column<Id> expected = brute_force(c, cost);
    SpreadCover cover;
    SelectionProof proof;
    Column<Id> taken;
    ASSERT_EQ(cover.solve(c.need, c.costs, 100'000, taken, proof), cost >= 0);
    if (cost < 0) continue;
    ++able;
    EXPECT_EQ(taken, expected) << "round " << round;
    EXPECT_EQ(proof.cost, cost);
    EXPECT_EQ(proof.lower_bound, cost);
    EXPECT_LE(proof.root_bound, cost);
    EXPECT_TRUE(proof.proved);
    EXPECT_TRUE(proof.first);
  }
  EXPECT_GT(able, 500);
}

TEST(SpreadCover, ASpentBudgetIsToldAndNeverDearer) {
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    const Case c = drawn(random);
    Index cost = 0;
    brute_force(c, cost);
    if (cost < 0) continue;
    Column<Id> all(c.costs.size());
    std::iota(all.begin(), all.end(), 0);
    for (const Index budget : {0, 1, 3}) {
      Column<Id> taken = all;
      SelectionProof proof;
      SpreadCover().solve(c.need, c.costs, budget, taken, proof);
      unsigned mask = 0;
      for (const Id j : taken) mask |= 1U << j;
      EXPECT_TRUE(suffices(c, mask));
      EXPECT_LE(proof.lower_bound, cost);
      EXPECT_GE(proof.cost, cost);
      EXPECT_EQ(proof.proved, proof.cost == proof.lower_bound);
    }
  }
}

// The parts of a job on the sites that can be chosen together are no more than it costs.
TEST(SpreadCover, PartsAreNoMoreThanTheCosts) {
  std::mt19937 random(9);
  for (int round = 0; round < 500; ++round) {
    const Case c = drawn(random);
    SpreadCover cover;
    SelectionProof proof;
    Column<Id> taken;
    if (!cover.solve(c.need, c.costs, 1000, taken, proof)) continue;
    const SpreadProof parts = cover.prove(1000);
    ASSERT_EQ(parts.part.size(), c.need.job.size());
    Size together = static_cast<Size>(c.need.copies);
    for (const SpreadNeed::Site& site : c.need.sites) together += site.must;
    for (Size j = 0; j < c.costs.size(); ++j) {
      Column<Index> own;
      for (Size p = 0; p < parts.part.size(); ++p)
        if (c.need.job[p] == static_cast<Id>(j)) own.push_back(parts.part[p]);
      std::ranges::sort(own, std::greater<>());
      own.resize(std::min(own.size(), together));
      EXPECT_LE(std::accumulate(own.begin(), own.end(), Index{0}), parts.scale * c.costs[j]);
    }
  }
}

}  // namespace
}  // namespace evenhand::spread_cover_test
