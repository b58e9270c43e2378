#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "evenhand/share/history/gridengine_share_tree.h"

namespace evenhand::history::history_gridengine_test {
namespace {

using Flags = std::vector<std::uint8_t>;

TEST(GridEngineShareTree, FavoursWhoUsedLess) {
  const Forest forest(std::vector<Id>{kNoId, 0, 0, 0});
  const auto result =
      gridengine_share_tree(forest, std::vector<double>{1, 50, 50, 10},
                            std::vector<double>{400, 300, 100, 0}, Flags{0, 1, 1, 0}, 5);
  EXPECT_EQ(result.long_term, (std::vector<double>{1, 0.5, 0.5, 0}));
  EXPECT_NEAR(result.short_term[1], 0.25, 1e-15);
  EXPECT_NEAR(result.short_term[2], 0.75, 1e-15);
  EXPECT_EQ(result.short_term[3], 0);  // no jobs
}

TEST(GridEngineShareTree, CompensatesOnceOrNotAtAll) {
  const Forest forest(std::vector<Id>{kNoId, kNoId, kNoId});
  const std::vector<double> shares{50, 50, 10}, usage{1e5, 1e5, 10};
  const auto cut = gridengine_share_tree(forest, shares, usage, Flags{1, 1, 1}, 2);
  EXPECT_NEAR(cut.short_term[2], 0.973366, 1e-6);
  const auto off = gridengine_share_tree(forest, shares, usage, Flags{1, 1, 1}, 0);
  EXPECT_NEAR(off.short_term[2], 0.995025, 1e-6);
}

TEST(GridEngineShareTree, MultipliesDownAndStaysFiniteWithoutShares) {
  const Forest forest(std::vector<Id>{kNoId, kNoId, 0, 0, 1});
  const auto result = gridengine_share_tree(forest, std::vector<double>{3, 0, 1, 1, 5},
                                            std::vector<double>(5, 0.0), Flags{0, 0, 1, 1, 1}, 5);
  EXPECT_EQ(result.short_term, (std::vector<double>{1, 0, 0.5, 0.5, 0}));
  for (const double value : result.level_short_term) EXPECT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace evenhand::history::history_gridengine_test
