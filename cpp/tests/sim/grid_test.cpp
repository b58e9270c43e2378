#include "evenhand/sim/grid.h"

#include <gtest/gtest.h>

#include <random>

namespace evenhand::sim::grid_test {
namespace {

// Every heartbeat from an instant on, by trying all places of two periods.
HeartbeatGrid::Tick by_hand(const Column<Id>& nodes, const Column<std::uint8_t>& wanted, Time begin,
                            Time period, Time from, Id first) {
  const auto n = static_cast<Time>(nodes.size());
  for (Time k = (from - begin) / period;; ++k) {
    for (Id i = 0; i < nodes.rows(); ++i) {
      const Time time = begin + k * period + i * period / n;
      if (time < from || (time == from && i < first) || !wanted[nodes[i]]) continue;
      return {time, nodes[i]};
    }
    if (k > (from - begin) / period + 2) return {};
  }
}

TEST(HeartbeatGrid, FindsTheNextHeartbeatOfThoseThatAreWanted) {
  std::mt19937 random(1);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 200; ++round) {
    const int n = 1 + below(round % 2 == 0 ? 6 : 200);
    const Time period = 1 + below(round % 3 == 0 ? 5 : 10'000), begin = below(50);
    Column<Id> nodes(static_cast<std::size_t>(n));
    for (Id i = 0; i < n; ++i) nodes[i] = i;
    std::ranges::shuffle(nodes, random);
    HeartbeatGrid grid(nodes, begin, period);
    Column<std::uint8_t> wanted(nodes.size(), 0);
    Time from = begin;
    Id first = 0;
    for (int step = 0; step < 80; ++step) {
      const Id node = below(n);
      wanted[node] = below(3) > 0;
      grid.want(node, wanted[node] != 0);
      EXPECT_EQ(grid.wants(node), wanted[node] != 0);
      if (below(4) == 0) {
        from += 1 + below(static_cast<int>(period) * 2);
        grid.go_to(from);
        first = 0;
      }
      const auto expected = by_hand(nodes, wanted, begin, period, from, first);
      const auto found = grid.next();
      ASSERT_EQ(found.node, expected.node) << n << ' ' << period << ' ' << from;
      ASSERT_EQ(found.time, expected.time);
      if (found.node == kNoId || below(2) == 0) continue;  // it is asked again
      grid.done(found.time, found.node);
      from = found.time;
      first = static_cast<Id>(std::ranges::find(nodes, found.node) - nodes.begin()) + 1;
    }
  }
}

TEST(HeartbeatGrid, SpreadsHeartbeatsOverThePeriod) {
  HeartbeatGrid grid({2, 0, 1}, 100, 30);
  for (const Id node : {0, 1, 2}) grid.want(node, true);
  Column<Time> times;
  for (int i = 0; i < 4; ++i) {
    const auto tick = grid.next();
    times.push_back(tick.time);
    grid.done(tick.time, tick.node);
  }
  EXPECT_EQ(times, (Column<Time>{100, 110, 120, 130}));
  EXPECT_EQ(grid.first(1, 125), 150);
  EXPECT_EQ(grid.first(1, 120), 120);
  EXPECT_EQ(grid.first(2, 0), 100);
}

}  // namespace
}  // namespace evenhand::sim::grid_test
