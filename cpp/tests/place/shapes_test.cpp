#include "evenhand/place/shapes.h"

#include <gtest/gtest.h>

namespace evenhand {
namespace {

TEST(Shapes, EqualAmountsAreOneShape) {
  RequestColumns requests;
  requests.operation = {0, 0, 1, 1};
  requests.resources = {1, 2, 3, 0, 1, 2, 1, 3};
  const Shapes shapes(requests, 2);
  EXPECT_EQ(shapes.size(), 3u);
  EXPECT_EQ(shapes.of(0), shapes.of(2));
  EXPECT_NE(shapes.of(0), shapes.of(3));
  EXPECT_EQ(shapes.amounts(shapes.of(1))[0], 3);
}

TEST(Shapes, WhatIsNotWantedNeedNotBeThere) {
  RequestColumns requests;
  requests.operation = {0};
  requests.resources = {3, 0};
  const Shapes shapes(requests, 2);
  const std::vector<Amount> enough{3, -5}, short_by_one{2, 9};
  EXPECT_TRUE(shapes.fits(0, enough.data()));
  EXPECT_FALSE(shapes.fits(0, short_by_one.data()));
}

TEST(Shapes, NoRequests) {
  EXPECT_EQ(Shapes(RequestColumns{}, 2).size(), 0u);
  EXPECT_EQ(Shapes().size(), 0u);
}

}  // namespace
}  // namespace evenhand
