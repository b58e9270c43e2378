#include "evenhand/preempt/victims.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>

namespace evenhand::victims_test {
namespace {

struct Drawn {
  std::size_t width;
  std::vector<std::vector<Amount>> candidates;
  std::vector<Amount> shortage;

  bool covers(std::uint32_t set) const {
    for (std::size_t r = 0; r < width; ++r) {
      Amount sum = 0;
      for (std::size_t i = 0; i < candidates.size(); ++i)
        if (set >> i & 1) sum += candidates[i][r];
      if (shortage[r] > 0 && sum < shortage[r]) return false;
    }
    return true;
  }
  std::uint32_t all() const { return (1u << candidates.size()) - 1; }
};

Drawn draw(unsigned seed) {
  std::mt19937 random(seed);
  Drawn d{1 + random() % 4, {}, {}};
  d.candidates.resize(random() % 17);
  for (auto& amounts : d.candidates)
    for (std::size_t r = 0; r < d.width; ++r) amounts.push_back(random() % 6);
  const auto most = static_cast<unsigned>(1 + d.candidates.size());
  for (std::size_t r = 0; r < d.width; ++r)
    d.shortage.push_back(static_cast<Amount>(random() % (2 * most)) - 2);
  return d;
}

// The set that a selection takes, or all bits if there is none.
std::uint32_t selected(const Drawn& d, VictimSelection selection, VictimSelector& selector) {
  selector.clear();
  for (std::size_t i = 0; i < d.candidates.size(); ++i)
    selector.add(static_cast<Id>(100 + i), d.candidates[i].data());
  if (!selector.select(selection, d.shortage, 1'000'000)) return ~0u;
  std::uint32_t set = 0;
  Id last = -1;
  for (const Id position : selector.taken()) {
    EXPECT_LT(last, position);
    last = position;
    set |= 1u << position;
  }
  return set;
}

TEST(Victims, CoverTheShortageIfAllTogetherDo) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const Drawn d = draw(seed);
    for (const auto s :
         {VictimSelection::kPrefix, VictimSelection::kIrreducible, VictimSelection::kMinimum}) {
      VictimSelector selector(d.width);
      const std::uint32_t set = selected(d, s, selector);
      EXPECT_EQ(set != ~0u, d.covers(d.all())) << seed;
      if (set != ~0u) {
        EXPECT_TRUE(d.covers(set)) << seed;
      }
    }
  }
}

TEST(Victims, PrefixIsTheShortestOne) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const Drawn d = draw(seed);
    VictimSelector selector(d.width);
    const std::uint32_t set = selected(d, VictimSelection::kPrefix, selector);
    if (set == ~0u) continue;
    std::uint32_t prefix = 0;
    while (!d.covers(prefix)) prefix = prefix << 1 | 1;
    EXPECT_EQ(set, prefix) << seed;
  }
}

TEST(Victims, NobodyOfAnIrreducibleSetCouldStay) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const Drawn d = draw(seed);
    VictimSelector selector(d.width);
    const std::uint32_t set = selected(d, VictimSelection::kIrreducible, selector);
    if (set == ~0u) continue;
    for (std::size_t i = 0; i < d.candidates.size(); ++i)
      if (set >> i & 1) {
        EXPECT_FALSE(d.covers(set & ~(1u << i))) << seed;
      }
  }
}

TEST(Victims, MinimumIsThatOfAllSets) {
  for (unsigned seed = 0; seed < 700; ++seed) {
    const Drawn d = draw(seed);
    VictimSelector selector(d.width);
    const std::uint32_t set = selected(d, VictimSelection::kMinimum, selector);
    if (set == ~0u) continue;
    int least = 17;
    for (std::uint32_t other = 0; other <= d.all(); ++other)
      if (std::popcount(other) < least && d.covers(other)) least = std::popcount(other);
    EXPECT_EQ(std::popcount(set), least) << seed;
    EXPECT_TRUE(selector.proof().proved) << seed;
    EXPECT_EQ(selector.proof().cost, least) << seed;
    EXPECT_LE(selector.proof().lower_bound, least) << seed;
  }
}

TEST(Victims, WithoutABudgetTheIrreducibleSetStands) {
  VictimSelector selector(2);
  const std::vector<std::vector<Amount>> candidates{{3, 0}, {0, 3}, {2, 2}, {2, 2}};
  for (std::size_t i = 0; i < candidates.size(); ++i)
    selector.add(static_cast<Id>(i), candidates[i].data());
  const std::vector<Amount> shortage{4, 4};
  ASSERT_TRUE(selector.select(VictimSelection::kMinimum, shortage, 0));
  EXPECT_GE(selector.proof().cost, 2);
  EXPECT_LE(selector.proof().lower_bound, 2);
}

}  // namespace
}  // namespace evenhand::victims_test
