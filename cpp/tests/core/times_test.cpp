#include "evenhand/core/times.h"

#include <gtest/gtest.h>

namespace evenhand::times_test {
namespace {

TEST(After, NeverLeavesTheRange) {
  EXPECT_EQ(after(5, 7), 12);
  EXPECT_EQ(after(-5, 7), 2);
  EXPECT_EQ(after(-5, 0), -5);
  EXPECT_EQ(after(-5, kForever), kForever);
  EXPECT_EQ(after(kForever, 1), kForever);
  EXPECT_EQ(after(kForever, 0), kForever);
  EXPECT_EQ(after(kForever - 7, 7), kForever);
  EXPECT_EQ(after(kForever - 6, 7), kForever);
  EXPECT_EQ(after(kForever - 8, 7), kForever - 1);
}

TEST(Between, IsForEverUntilWhatNeverEnds) {
  EXPECT_EQ(between(5, 12), 7);
  EXPECT_EQ(between(12, 5), -7);
  EXPECT_EQ(between(-5, -5), 0);
  for (const Time from : {Time{-1} << 60, Time{-1}, Time{0}, Time{1}, Time{1} << 60})
    EXPECT_EQ(between(from, kForever), kForever);
  EXPECT_EQ(between(-7, kForever - 7), kForever);
  EXPECT_EQ(between(-6, kForever - 7), kForever - 1);
}

TEST(FloorTo, IsNoLaterOnEitherSideOfTheEpoch) {
  EXPECT_EQ(floor_to(0, 60), 0);
  EXPECT_EQ(floor_to(59, 60), 0);
  EXPECT_EQ(floor_to(60, 60), 60);
  EXPECT_EQ(floor_to(-1, 60), -60);
  EXPECT_EQ(floor_to(-60, 60), -60);
  EXPECT_EQ(floor_to(-61, 60), -120);
}

}  // namespace
}  // namespace evenhand::times_test
