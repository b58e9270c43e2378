#include "evenhand/share/rows.h"

#include <gtest/gtest.h>

namespace evenhand::rows_test {
namespace {

TEST(Row, ComparesEveryLane) {
  Row<5> a = filled_row<5>(1), b = a;
  EXPECT_TRUE((a == b).all());
  EXPECT_FALSE(any_above(a, b));
  b[4] = 0.5;
  EXPECT_FALSE((a == b).all());
  EXPECT_TRUE(any_above(a, b));
  EXPECT_FALSE(any_above(b, a));
}

TEST(Row, LargestIsAtLeastZero) {
  EXPECT_EQ(largest(filled_row<3>(-2)), 0);
  Row<7> row = filled_row<7>(-2);
  row[6] = 0.25;
  EXPECT_EQ(largest(row), 0.25);
}

TEST(Row, TheLargestMayStandInAnyLane) {
  for (int r = 0; r < 4; ++r) {
    Row<4> row = filled_row<4>(0.5);
    row[r] = 3;
    EXPECT_EQ(largest(row), 3) << r;
  }
}

TEST(Row, BetweenIsExactAtBothEnds) {
  const Row<1> from = filled_row<1>(0.1), to = filled_row<1>(0.7);
  EXPECT_EQ(between(from, to, 0.0)[0], 0.1);
  EXPECT_EQ(between(from, to, 1.0)[0], 0.7);
}

TEST(DoubleRow, ForgetsNothingBesideASteepPiece) {
  DoubleRow<2> sum;
  sum.add(filled_row<2>(0.1));
  sum.add(filled_row<2>(5e15));
  sum.subtract(filled_row<2>(5e15));
  EXPECT_EQ(sum.value()[0], 0.1);
}

TEST(DoubleRow, CountsTheRoundingErrorOfAProduct) {
  DoubleRow<1> slope, sum;
  slope.add(filled_row<1>(1.0 / 3.0));
  sum.add(filled_row<1>(1.0));
  sum.add_product(slope, 3e-17);  // 1e-17: lost in a plain sum
  sum.subtract(filled_row<1>(1.0));
  EXPECT_NEAR(sum.value()[0], 1e-17, 1e-32);
}

TEST(DoubleRow, ProductsKeepBothPartsOfTheSlope) {
  DoubleRow<1> slope, sum;
  slope.add(filled_row<1>(1.0));
  slope.add(filled_row<1>(0x1p-80));
  sum.add_product(slope, 4);
  sum.subtract(filled_row<1>(4.0));
  EXPECT_EQ(sum.value()[0], 0x1p-78);
}

}  // namespace
}  // namespace evenhand::rows_test
