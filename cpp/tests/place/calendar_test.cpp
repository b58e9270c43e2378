#include "evenhand/place/calendar.h"

#include <gtest/gtest.h>

#include <vector>

namespace evenhand {
namespace {

const std::vector<ResourceScope> kScope{ResourceScope::kNode, ResourceScope::kCluster};

// One node with 4 of its own, and 2 that the cluster counts, from instant 10 on.
Calendar calendar() {
  Calendar c(10, 1, kScope);
  c.set(0, std::vector<Amount>{4, 0}.data());
  c.set(c.shared(), std::vector<Amount>{0, 2}.data());
  return c;
}

TEST(Calendar, RoomThatIsTakenComesBackAtItsEndAndNotBefore) {
  Calendar c = calendar();
  const std::vector<Amount> three{3, 0}, two{2, 0};
  c.take(0, three.data(), 10, 50);
  EXPECT_EQ(c.earliest(0, two.data(), 10, 5), 50);
  EXPECT_FALSE(c.fits(0, two.data(), 49, 51));
  EXPECT_TRUE(c.fits(0, two.data(), 50, kForever));
  EXPECT_EQ(c.earliest(0, two.data(), 10, 5, 50), kForever);  // not before the limit
}

TEST(Calendar, ASpanMustBeFreeAllThrough) {
  Calendar c = calendar();
  const std::vector<Amount> four{4, 0};
  c.take(0, four.data(), 30, 40);
  EXPECT_EQ(c.earliest(0, four.data(), 10, 20), 10);
  EXPECT_EQ(c.earliest(0, four.data(), 10, 21), 40);
  EXPECT_EQ(c.earliest(0, four.data(), 10, kForever), 40);
}

TEST(Calendar, WhatTheClusterCountsHasARowOfItsOwn) {
  Calendar c = calendar();
  const std::vector<Amount> both{1, 2};
  EXPECT_TRUE(c.fits(0, both.data(), 10, 20));  // the node counts its own alone
  c.take(0, both.data(), 10, 20);
  EXPECT_EQ(c.earliest(c.shared(), both.data(), 10, 1), 20);
  c.give(0, both.data(), 10, 20);
  EXPECT_EQ(c.earliest(c.shared(), both.data(), 10, 1), 10);
}

TEST(Calendar, CopiesAreTheFewestOfAllSteps) {
  Calendar c = calendar();
  const std::vector<Amount> one{1, 0}, two{2, 0};
  c.take(0, two.data(), 20, 30);
  EXPECT_EQ(c.copies(0, one.data(), 10, 20, 9), 4);
  EXPECT_EQ(c.copies(0, one.data(), 10, 21, 9), 2);
  EXPECT_EQ(c.copies(0, one.data(), 10, 21, 1), 1);
}

TEST(Calendar, TheLeastOfASpanIsOfItsInstantsAloneAndOfWhatARowCounts) {
  Calendar c = calendar();
  const std::vector<Amount> three{3, 1};
  c.take(0, three.data(), 20, 30);
  const auto least = [&](Id row, Time from, Time until) {
    std::vector<Amount> free{9, 9};
    c.least(row, from, until, free.data());
    return free;
  };
  EXPECT_EQ(least(0, 10, 20), (std::vector<Amount>{4, 9}));
  EXPECT_EQ(least(0, 10, 21), (std::vector<Amount>{1, 9}));
  EXPECT_EQ(least(0, 29, 40), (std::vector<Amount>{1, 9}));
  EXPECT_EQ(least(0, 30, 40), (std::vector<Amount>{4, 9}));
  EXPECT_EQ(least(c.shared(), 10, kForever), (std::vector<Amount>{9, 1}));
  std::vector<Amount> little{1, 0};  // no more than is said already
  c.least(0, 10, 20, little.data());
  EXPECT_EQ(little, (std::vector<Amount>{1, 0}));
}

TEST(Calendar, NothingIsTakenBeforeTheBeginning) {
  Calendar c = calendar();
  const std::vector<Amount> four{4, 0};
  c.take(0, four.data(), 0, 10);
  EXPECT_TRUE(c.fits(0, four.data(), 10, kForever));
}

}  // namespace
}  // namespace evenhand
