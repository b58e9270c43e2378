#include "evenhand/core/beside.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace evenhand {
namespace {

constexpr std::array<Id, 2> kTwo{0, 3};

TEST(Beside, ARowThatItDoesNotReachHasTheDefault) {
  Beside<int> column = Absent(7);
  EXPECT_TRUE(column.empty());
  EXPECT_EQ(column[100], 7);
  column.set(1, 7);
  EXPECT_TRUE(column.empty());  // nothing is said by it
  column.set(1, 8);
  EXPECT_EQ(column.size(), 2u);
  EXPECT_EQ(column.column(4), (Column<int>{7, 8, 7, 7}));
}

TEST(Beside, RowsThatArePutWithoutACellHaveTheDefault) {
  Beside<int> column = Absent(7), cells = Absent(7);
  cells = {1, 2};
  column.put(kTwo, cells);
  EXPECT_EQ(column.column(4), (Column<int>{1, 7, 7, 2}));
  cells = {5};  // of the first of them
  column.put(kTwo, cells);
  EXPECT_EQ(column.column(4), (Column<int>{5, 7, 7, 7}));
  column.put(kTwo, Absent(7));
  EXPECT_EQ(column.column(4), (Column<int>{7, 7, 7, 7}));
}

TEST(Beside, RowsOfSeveralCellsMayStandBehindOthers) {
  Beside<int> column = Absent(-1), cells = Absent(-1);
  cells = {1, 2, 3, 4};
  column.put(kTwo, cells, 1, 2);
  EXPECT_EQ(column.size(), 10u);
  EXPECT_EQ(column.row(1, 2)[1], 2);
  EXPECT_EQ(column.row(4, 2)[0], 3);
  EXPECT_EQ(column.row(5, 2), nullptr);
  EXPECT_EQ(column[2 * 2 + 1], -1);
}

TEST(Beside, ARowTakesThePlaceOfAnotherOrOfNone) {
  Beside<int> column = Absent(0);
  column.set(1, 5);
  column.come(4, 1);
  EXPECT_EQ(column[4], 5);
  column.come(4, kNoId);
  EXPECT_EQ(column[4], 0);
  column.come(9, 8);
  EXPECT_EQ(column.size(), 5u);  // of both nothing is known
}

TEST(Beside, NoNumberIsADefault) {
  Beside<double> column = Absent(std::numeric_limits<double>::quiet_NaN());
  column.set(3, std::nan(""));
  EXPECT_TRUE(column.empty());
  EXPECT_TRUE(std::isnan(column[3]));
}

}  // namespace
}  // namespace evenhand
