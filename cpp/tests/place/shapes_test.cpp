#include "evenhand/place/shapes.h"

#include <gtest/gtest.h>

namespace evenhand::shapes_test {
namespace {

constexpr ResourceScope kNode = ResourceScope::kNode, kCluster = ResourceScope::kCluster;

TEST(Shapes, EqualAmountsAreOneShape) {
  RequestColumns requests;
  requests.operation = {0, 0, 1, 1};
  requests.resources = {1, 2, 3, 0, 1, 2, 1, 3};
  const std::vector<ResourceScope> scope{kNode, kNode};
  const Shapes shapes(requests, scope);
  EXPECT_EQ(shapes.size(), 3u);
  EXPECT_EQ(shapes.of(0), shapes.of(2));
  EXPECT_NE(shapes.of(0), shapes.of(3));
  EXPECT_EQ(shapes.amounts(shapes.of(1))[0], 3);
}

TEST(Shapes, AnOverfullNodeHasNoRoomAtAll) {
  RequestColumns requests;
  requests.operation = {0};
  requests.resources = {3, 0};
  const std::vector<ResourceScope> scope{kNode, kNode};
  const Shapes shapes(requests, scope);
  const std::vector<Amount> enough{3, 0}, short_by_one{2, 9}, overfull{3, -1};
  EXPECT_TRUE(shapes.fits(0, enough.data()));
  EXPECT_FALSE(shapes.fits(0, short_by_one.data()));
  EXPECT_FALSE(shapes.fits(0, overfull.data()));
}

TEST(Shapes, WhatIsCountedInTheClusterMattersToThoseWhoTakeIt) {
  RequestColumns requests;
  requests.operation = {0, 0};
  requests.resources = {1, 0, 1, 1};
  const std::vector<ResourceScope> scope{kNode, kCluster};
  const Shapes shapes(requests, scope);
  const std::vector<Amount> overdrawn{1, -2 * kMaxAmount}, none{1, 0}, one{1, 1};
  EXPECT_TRUE(shapes.fits(shapes.of(0), overdrawn.data()));
  EXPECT_FALSE(shapes.fits(shapes.of(1), overdrawn.data()));
  EXPECT_FALSE(shapes.fits(shapes.of(1), none.data()));
  EXPECT_TRUE(shapes.fits(shapes.of(1), one.data()));
}

TEST(Shapes, NoRequests) {
  const std::vector<ResourceScope> scope{kNode, kNode};
  EXPECT_EQ(Shapes(RequestColumns{}, scope).size(), 0u);
  EXPECT_EQ(Shapes().size(), 0u);
}

}  // namespace
}  // namespace evenhand::shapes_test
