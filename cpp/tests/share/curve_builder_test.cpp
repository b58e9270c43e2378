#include "evenhand/share/curve_builder.h"

#include <gtest/gtest.h>

#include <array>

#include "evenhand/share/operation_curve.h"

namespace evenhand::curve_builder_test {
namespace {

using Row2 = Row<2>;

Row2 row(double a, double b) { return {a, b}; }

// (s, first resource, second resource) of every vertex.
std::vector<std::array<double, 3>> corners(const CurveBuilder<2>& builder) {
  std::vector<std::array<double, 3>> out;
  for (const Vertex<2>& v : builder.vertices()) out.push_back({v.s, v.shares[0], v.shares[1]});
  return out;
}

using Corners = std::vector<std::array<double, 3>>;

TEST(OperationCurve, GoesStraightToTheDemand) {
  CurveBuilder<2> b;
  build_operation_curve<2>(b, row(0, 0), row(0.5, 0.25), row(1, 1), false);
  EXPECT_EQ(corners(b), (Corners{{0, 0, 0}, {0.5, 0.5, 0.25}}));
}

TEST(OperationCurve, GrowsUsageFirstAtEqualSpeed) {
  CurveBuilder<2> b;
  build_operation_curve<2>(b, row(0.25, 0.125), row(0.5, 0.125), row(1, 1), false);
  EXPECT_EQ(corners(b),
            (Corners{{0, 0, 0}, {0.125, 0.125, 0.125}, {0.25, 0.25, 0.125}, {0.5, 0.5, 0.125}}));
}

TEST(OperationCurve, StopsAtTheFirstLimit) {
  CurveBuilder<2> b;
  build_operation_curve<2>(b, row(0, 0), row(0.5, 0.25), row(1, 0.125), false);
  EXPECT_EQ(corners(b), (Corners{{0, 0, 0}, {0.25, 0.25, 0.125}}));
}

TEST(OperationCurve, GangIsAllOrNothing) {
  CurveBuilder<2> b;
  build_operation_curve<2>(b, row(0, 0), row(0.5, 0.25), row(1, 1), true);
  EXPECT_EQ(corners(b), (Corners{{0, 0, 0}, {0.5, 0, 0}, {0.5, 0.5, 0.25}}));
  build_operation_curve<2>(b, row(0, 0), row(0.5, 0.25), row(1, 0.125), true);
  EXPECT_EQ(corners(b), (Corners{{0, 0, 0}}));
  build_operation_curve<2>(b, row(0, 0), row(1, 0.25), row(1, 1), true);
  EXPECT_EQ(corners(b), (Corners{{0, 0, 0}})) << "a gang of the whole cluster never starts";
}

TEST(CurveBuilder, BendsWhereAnotherResourceBecomesTheTightest) {
  CurveBuilder<2> b;
  b.start(row(0, 0), row(0.25, 0), row(1, 1));
  b.line(row(0.75, 0.25), {1, 0});  // the second leads until both are 0.125 above
  EXPECT_EQ(corners(b), (Corners{{0, 0, 0}, {0.125, 0.375, 0.125}, {0.5, 0.75, 0.25}}));
}

TEST(CurveBuilder, DropsEverythingInsideTheGuarantee) {
  CurveBuilder<2> b;
  b.start(row(0, 0), row(0.5, 0.5), row(1, 1));
  b.line(row(0.25, 0.25), {0.25, 0});
  EXPECT_TRUE(b.inside_guarantee());
  b.line(row(0.75, 0.75), {0.75, 0});
  EXPECT_FALSE(b.inside_guarantee());
  EXPECT_EQ(corners(b), (Corners{{0, 0.5, 0.5}, {0.25, 0.75, 0.75}}));
  EXPECT_EQ(b.vertices()[0].at.f, 0.5);
}

TEST(CurveBuilder, CutsAtSigmaOne) {
  CurveBuilder<2> b;
  b.start(row(0, 0), row(0, 0), row(2, 2));
  b.line(row(2, 1), {1, 0});
  EXPECT_TRUE(b.ended());
  EXPECT_EQ(corners(b), (Corners{{0, 0, 0}, {1, 1, 0.5}}));
}

TEST(CurveBuilder, JumpOntoALimitCountsOnlyIfTheWayOnIsOpen) {
  for (const bool level : {false, true}) {
    CurveBuilder<2> b;
    b.start(row(0, 0), row(0, 0), row(0.5, 1));
    b.jump(row(0.5, 0.25), 1);
    if (level) b.line(row(0.5, 0.25), {0.5, 0});
    b.line(row(0.75, 0.25), {1, 0});
    EXPECT_TRUE(b.ended());
    EXPECT_EQ(corners(b).back()[1], level ? 0.5 : 0.0);
  }
}

TEST(CurveBuilder, JumpBeyondALimitIsNotTaken) {
  CurveBuilder<2> b;
  b.start(row(0, 0), row(0, 0), row(0.5, 1));
  b.line(row(0.25, 0), {0.5, 0});
  b.jump(row(0.75, 0), 1);
  EXPECT_TRUE(b.ended());
  EXPECT_EQ(corners(b), (Corners{{0, 0, 0}, {0.25, 0.25, 0}}));
}

TEST(CurveBuilder, KeepsThePositionBeforeAndAfterALevelWay) {
  CurveBuilder<2> b;
  b.start(row(0, 0), row(0, 0), row(1, 1));
  b.line(row(0.25, 0), {0.25, 0});
  b.line(row(0.25, 0), {0.5, 0});
  b.line(row(0.5, 0), {0.75, 0});
  ASSERT_EQ(b.vertices().size(), 4u);
  EXPECT_EQ(b.vertices()[1].at.f, 0.25);
  EXPECT_EQ(b.vertices()[2].at.f, 0.5);
  EXPECT_EQ(b.vertices()[2].s, b.vertices()[1].s);
}

}  // namespace
}  // namespace evenhand::curve_builder_test
