#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "evenhand/share/history/backendai_factor.h"

namespace evenhand::history::history_backendai_test {
namespace {

TEST(BackendAi, ReproducesTheProposalsExample) {
  const auto usage = backendai_normalised_usage(std::vector<double>{288'000, 2'880'000, 57'600},
                                                std::vector<double>{100, 1000, 8},
                                                std::vector<double>{1, 1, 10}, 86400);
  ASSERT_EQ(usage.size(), 1U);
  EXPECT_NEAR(usage[0], 0.075, 1e-15);
  EXPECT_NEAR(backendai_factor(usage, std::vector<double>{1})[0], 0.949342, 1e-6);
}

TEST(BackendAi, LeavesResourcesWithoutCapacityOut) {
  const auto usage = backendai_normalised_usage(
      std::vector<double>{50, 7}, std::vector<double>{1, 0}, std::vector<double>{1, 10}, 100);
  EXPECT_EQ(usage, (std::vector<double>{0.5}));
  EXPECT_EQ(backendai_normalised_usage(std::vector<double>{50}, std::vector<double>{0},
                                       std::vector<double>{1}, 100),
            (std::vector<double>{0}));
}

TEST(BackendAi, ClampsTheExponent) {
  const auto factor =
      backendai_factor(std::vector<double>{10, 10, 1e9, 0}, std::vector<double>{2, 1, 1, 1});
  EXPECT_EQ(factor, (std::vector<double>{0.03125, 0.0009765625, 0.0009765625, 1}));
}

}  // namespace
}  // namespace evenhand::history::history_backendai_test
