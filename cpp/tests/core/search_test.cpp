#include "evenhand/core/search.h"

#include <gtest/gtest.h>

#include <cmath>

namespace evenhand::search_test {
namespace {

TEST(LargestSatisfying, IsTheLastDoubleForWhichItHolds) {
  double last = 0.3;
  for (int i = 0; i < 8; ++i, last = std::nextafter(last, 1.0))
    EXPECT_EQ(largest_satisfying(0.0, 1.0, [&](double x) { return x <= last; }), last);
  EXPECT_EQ(largest_satisfying(0.0, 1.0, [](double x) { return x <= 0x1p-1074; }), 0x1p-1074);
}

TEST(LargestSatisfying, TakesTheEnds) {
  EXPECT_EQ(largest_satisfying(0.0, 1.0, [](double) { return true; }), 1.0);
  EXPECT_EQ(largest_satisfying(0.0, 1.0, [](double) { return false; }), 0.0);
}

}  // namespace
}  // namespace evenhand::search_test
