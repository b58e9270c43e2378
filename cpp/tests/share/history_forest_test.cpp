#include <gtest/gtest.h>

#include "evenhand/share/history/forest.h"

namespace evenhand::history::history_forest_test {
namespace {

TEST(Forest, ListsChildrenInRowOrderWhereverTheParentStands) {
  const std::vector<Id> parent{2, kNoId, 1, 2, kNoId};
  const Forest forest(parent);
  EXPECT_EQ(forest.order, (std::vector<Id>{1, 4, 2, 0, 3}));
  const auto top = forest.children(kNoId);
  EXPECT_EQ(std::vector<Id>(top.begin(), top.end()), (std::vector<Id>{1, 4}));
  const auto below = forest.children(2);
  EXPECT_EQ(std::vector<Id>(below.begin(), below.end()), (std::vector<Id>{0, 3}));
  EXPECT_TRUE(forest.children(4).empty());
}

TEST(Forest, LeavesRowsInCyclesOut) {
  const std::vector<Id> parent{1, 0, kNoId, 1};
  EXPECT_EQ(Forest(parent).order, (std::vector<Id>{2}));
}

TEST(Forest, RollsUpExceptIntoTotals) {
  const std::vector<Id> parent{kNoId, 0, 1, 0};
  const std::vector<double> own{1, 2, 4, 8};
  const Forest forest(parent);
  EXPECT_EQ(forest.roll_up(own), (std::vector<double>{15, 6, 4, 8}));
  const std::vector<std::uint8_t> total{0, 1, 0, 0};
  EXPECT_EQ(forest.roll_up(own, total), (std::vector<double>{11, 2, 4, 8}));
}

TEST(Forest, MayBeEmptyOrVeryDeep) {
  EXPECT_TRUE(Forest(std::vector<Id>{}).order.empty());
  constexpr Id kRows = 200'000;
  std::vector<Id> chain(kRows);
  for (Id v = 0; v < kRows; ++v) chain[static_cast<std::size_t>(v)] = v - 1;
  const auto sum = Forest(chain).roll_up(std::vector<double>(kRows, 1.0));
  EXPECT_EQ(sum.front(), kRows);
}

}  // namespace
}  // namespace evenhand::history::history_forest_test
