#include "evenhand/place/timeline.h"

#include <gtest/gtest.h>

namespace evenhand::timeline_test {
namespace {

NodeSet nodes(std::initializer_list<Id> some) {
  NodeSet out = node_set(130);
  for (const Id node : some) put(out, node);
  return out;
}

TEST(Timeline, NodesAreKeptFromTheBeginningUntilBeforeTheEnd) {
  Timeline timeline(0, 1000, nodes({0, 64, 129}));
  EXPECT_FALSE(timeline.ever_taken(nodes({64})));
  timeline.keep(nodes({64}), 100, 200);
  EXPECT_EQ(timeline.size(), 3);
  for (const auto& [begin, end, taken] :
       {std::tuple{Time{0}, Time{100}, false}, {0, 101, true}, {199, 300, true}, {200, 300, false}})
    EXPECT_EQ(timeline.taken(nodes({64}), begin, end), taken) << begin;
  EXPECT_FALSE(timeline.taken(nodes({0, 129}), 0, 1000));
  EXPECT_TRUE(timeline.ever_taken(nodes({0, 64})));
}

TEST(Timeline, WhatIsOpenIsFreeInEverySpanAndMoreMayBeFreeLater) {
  Timeline timeline(0, 1000, nodes({0, 64, 129}));
  timeline.keep(nodes({0}), 100, 200);
  timeline.keep(nodes({129}), 150, 300);
  const NodeSet three = nodes({0, 64, 129});
  NodeSet all = nodes({0, 64, 129, 5});  // 5 was never free
  EXPECT_EQ(timeline.open(120, 180, three, all), 200);
  EXPECT_EQ(all, nodes({64}));
  all = three;
  EXPECT_EQ(timeline.open(120, 149, three, all), 200);  // by the first span behind it
  EXPECT_EQ(all, nodes({64, 129}));
  all = three;
  EXPECT_EQ(timeline.open(100, 149, nodes({64, 129}), all), kNoTime);
  all = three;
  EXPECT_EQ(timeline.open(200, 250, three, all), 300);
  EXPECT_EQ(all, nodes({0, 64}));
  all = three;
  EXPECT_EQ(timeline.open(300, 2000, three, all), kNoTime);
  EXPECT_EQ(all, three);
  all = nodes({64});
  EXPECT_EQ(timeline.open(120, 180, nodes({64}), all), kNoTime);  // the others are not asked for
}

}  // namespace
}  // namespace evenhand::timeline_test
