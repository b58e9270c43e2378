// Rounds that are passed over count as those that are not.
#include "evenhand/policy/yunikorn/rounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "../random_cluster.h"

namespace evenhand::yunikorn::rounds_test {
namespace {

using evenhand::testing::Random;

// What one round counts: an allocation cycle, in which asks that are left out wait for less long
// and others are tried as far as it has room for copies, then a preemption cycle.
void round(std::vector<Rounds::Ask>& asks, Index most, std::int64_t longest) {
  const auto miss = [&](Rounds::Ask& ask) {
    ++ask.missed;
    ask.wait = 2;
    for (std::int64_t i = 1; i < ask.missed; ++i) ask.wait = std::min(2 * ask.wait, longest);
    ask.wait = std::min(ask.wait, longest);
  };
  Index left = most;
  for (Rounds::Ask& ask : asks) {
    if (ask.wait > 0) {
      --ask.wait;
      continue;
    }
    if (left <= 0) continue;
    left -= ask.copies;
    miss(ask);
  }
  for (Rounds::Ask& ask : asks)
    if (ask.in_preemption) miss(ask);
}

TEST(Rounds, PassedAtOnceAreAsPassedOneByOne) {
  Random random(3);
  for (int trial = 0; trial < 400; ++trial) {
    std::vector<Rounds::Ask> asks;
    for (Id q = 0; q < random.below(6); ++q)
      asks.push_back({q, 1 + static_cast<Index>(random.below(3)), false, random.below(4) == 0,
                      random.below(5), random.below(6)});
    const std::int64_t longest = random.below(2) == 0 ? 1200 : 1 + random.below(9);
    const auto most = static_cast<Index>(1 + random.below(4));
    for (Rounds::Ask& ask : asks) {
      ask.wait = std::min(ask.wait, longest);
      if (ask.in_preemption) ask.wait = left_out_for(++ask.missed, longest);
    }
    Rounds rounds;
    rounds.begin(asks, most, longest);
    AskMemory memory;
    for (int stop = 0; stop < 4; ++stop) {
      const std::int64_t passed = random.below(stop == 3 ? 300 : 12);
      rounds.pass(passed, memory);
      for (std::int64_t i = 0; i < passed; ++i) round(asks, most, longest);
      for (const Rounds::Ask& ask : asks) {
        ASSERT_EQ(memory.missed[ask.request], ask.missed) << trial;
        ASSERT_EQ(memory.wait[ask.request], ask.wait) << trial;
      }
    }
  }
}

TEST(Rounds, AreInVainUntilAnAskWithRoomIsLeftOutNoLonger) {
  Rounds rounds;
  EXPECT_EQ(rounds.in_vain(), -1);  // nothing waits
  rounds.begin({{0, 1, false, false, 1, 0}, {1, 1, true, false, 1, 7}, {2, 1, true, false, 1, 5}},
               100, 1200);
  EXPECT_EQ(rounds.in_vain(), 5);  // the sixth may start it
  AskMemory memory;
  rounds.pass(4, memory);
  EXPECT_EQ(rounds.in_vain(), 1);
  rounds.pass(1, memory);
  EXPECT_EQ(rounds.in_vain(), 0);
  rounds.come(2, kNoId);
  EXPECT_EQ(rounds.in_vain(), 2);
  rounds.come(4, 1);  // the same ask in another row
  EXPECT_EQ(rounds.in_vain(), 2);
  rounds.come(4, kNoId);
  EXPECT_EQ(rounds.in_vain(), -1);
}

TEST(Rounds, OfAnAskThatCameAnewNothingIsCounted) {
  Rounds rounds;
  rounds.begin({{0, 1, false, false, 3, 2}, {1, 1, false, false, 3, 2}}, 100, 1200);
  rounds.come(0, kNoId);
  rounds.come(5, 1);
  AskMemory memory;
  rounds.pass(1, memory);
  EXPECT_EQ(memory.wait[0], 0);
  EXPECT_EQ(memory.wait[1], 0);
  EXPECT_EQ(memory.wait[5], 1);
  EXPECT_EQ(memory.missed[5], 3);
}

// What one pass counts: of each leaf the first asks that may look for victims do, at most so many.
void pass(std::vector<Attempts::Ask>& asks, Index most, Time retry, Time now) {
  Index left = most;
  for (std::size_t i = 0; i < asks.size(); ++i) {
    Attempts::Ask& ask = asks[i];
    if (i > 0 && asks[i - 1].leaf != ask.leaf) left = most;
    if (left <= 0 || now < ask.ready || (ask.last != kNoTime && now < ask.last + retry)) continue;
    ask.last = now;
    --left;
  }
}

TEST(Attempts, OfPassesThatAreLeftOutAreAsOfThoseThatAreNot) {
  Random random(5);
  for (int trial = 0; trial < 400; ++trial) {
    std::vector<Attempts::Ask> asks;
    for (Id leaf = 0; leaf < 3; ++leaf)
      for (Id n = random.below(trial % 20 == 0 ? 150 : 9); n > 0; --n)
        asks.push_back({static_cast<Id>(asks.size()), leaf, Time{random.below(60)},
                        random.below(2) == 0 ? kNoTime : Time{random.below(20)}});
    const Index most = random.below(5);
    const Time retry = 1 + random.below(24), period = 1 + random.below(7);
    Attempts attempts;
    attempts.begin(asks, most, retry);
    AskMemory memory;
    Time now = 20;
    for (int stop = 0; stop < 4; ++stop) {
      const int passes = 1 + random.below(stop == 3 ? 150 : 9);
      attempts.pass(now, period, now + (passes - 1) * period, memory);
      for (int i = 0; i < passes; ++i, now += period) pass(asks, most, retry, now);
      for (const Attempts::Ask& ask : asks)
        ASSERT_EQ(memory.last_attempt[ask.request], ask.last) << trial;
    }
  }
}

TEST(Attempts, OfAnAskThatCameAnewAreNone) {
  Attempts attempts;
  attempts.begin({{0, 0, 0, kNoTime}, {1, 0, 0, kNoTime}, {2, 0, 11, 10}}, 10, 5);
  attempts.come(0, kNoId);
  attempts.come(7, 1);
  AskMemory memory;
  attempts.pass(14, 1, 14, memory);
  EXPECT_EQ(memory.last_attempt[0], kNoTime);
  EXPECT_EQ(memory.last_attempt[1], kNoTime);
  EXPECT_EQ(memory.last_attempt[7], 14);
  EXPECT_EQ(memory.last_attempt[2], 10);  // 15 is the first instant at which it may again
  attempts.pass(15, 1, 15, memory);
  EXPECT_EQ(memory.last_attempt[2], 15);
  attempts.pass(16, 1, 19, memory);
  EXPECT_EQ(memory.last_attempt[2], 15);
}

}  // namespace
}  // namespace evenhand::yunikorn::rounds_test
