#include "evenhand/preempt/pace.h"

#include <gtest/gtest.h>

#include "../model/scene.h"

namespace evenhand::pace_test {
namespace {

using testing::Scene;

constexpr Time kSecond = kMicrosecondsPerSecond;
constexpr Time kNow = 1'000 * kSecond;

// The root, in it pool 1, in that pool 2; an operation in each.
ClusterState nested(double now = 1000) {
  Scene scene;
  scene.pool();
  scene.pool(1);
  for (const Id pool : {0, 1, 2}) scene.operation(pool);
  scene.node({9});
  scene.allocation(0, 0, {1}, 900);
  return ClusterState(scene.snapshot(now));
}

Outcome why(Pace& pace, const ClusterState& state, Id operation, Time began = 0,
            Time end = kNoTime) {
  return pace.spared(state, operation, began, end).why;
}

PaceSettings daily(Time from, Time to, Time ahead = 0, Id pool = 0) {
  PaceSettings set;
  set.immune_hours = {{pool, from * kHour, to * kHour, 0}};
  set.zones.resize(1);
  set.zones[0].since = {0};
  set.zones[0].ahead = {ahead};
  return set;
}

TEST(Pace, IsOffWithoutSettings) {
  const ClusterState state = nested();
  EXPECT_FALSE(Pace({}, state, {{3}, {kNow}}).on());
  PaceSettings none;
  none.most_victims = {-1, -1, -1};
  EXPECT_FALSE(Pace(none, state, {}).on());
  none.most_victims = {-1, -1, 0};
  EXPECT_TRUE(Pace(none, state, {}).on());
}

TEST(Pace, ACooldownEndsWhenItHasPassed) {
  const ClusterState state = nested();
  for (const Time off : {-1, 0, 1}) {
    PaceSettings set;
    set.victim_cooldown = 60 * kSecond;
    Pace pace(set, state, {{3, 4}, {kNow - 60 * kSecond + off, kNow}});
    pace.begin(state);
    EXPECT_EQ(why(pace, state, 0), off > 0 ? Outcome::kVictimCooldown : Outcome::kTaken) << off;
    EXPECT_EQ(pace.due(), off > 0 ? kNow + off : kNoTime);
    EXPECT_EQ(why(pace, state, 1), Outcome::kVictimCooldown);
    EXPECT_EQ(why(pace, state, 2), Outcome::kTaken);
    pace.took(state, 2);
    EXPECT_EQ(why(pace, state, 2), Outcome::kVictimCooldown);
    pace.come(2, kNoId);  // another one gets its number
    EXPECT_EQ(why(pace, state, 2), Outcome::kTaken);
    pace.come(2, 1);  // it takes the place of one of its name
    EXPECT_EQ(why(pace, state, 2), Outcome::kVictimCooldown);
  }
}

TEST(Pace, RunTimeAndPlannedEndAtTheirBounds) {
  const ClusterState state = nested();
  PaceSettings set;
  set.spare_if_ran_less_than = 100 * kSecond;
  Pace ran(set, state, {});
  ran.begin(state);
  for (const Time off : {-1, 0, 1}) {
    const Time began = kNow - 100 * kSecond + off;
    EXPECT_EQ(why(ran, state, 0, began), off > 0 ? Outcome::kSparedRunTime : Outcome::kTaken);
  }
  EXPECT_EQ(ran.due(), kNow + 1);
  EXPECT_EQ(ran.spared(state, Id{0}).why, Outcome::kTaken);  // the allocation: since second 900

  set = {};
  set.spare_if_ends_within = 100 * kSecond;
  for (const Time off : {-1, 0, 1}) {
    Pace ends(set, state, {});
    ends.begin(state);
    EXPECT_EQ(why(ends, state, 0, 0, kNow + 100 * kSecond + off),
              off > 0 ? Outcome::kTaken : Outcome::kSparedEndsSoon);
    EXPECT_EQ(ends.due(), off > 0 ? kNow + 1 : kNow + 100 * kSecond + off + 1);
    // What should have ended tells nothing more about its end.
    EXPECT_EQ(why(ends, state, 0, 0, kNow + off),
              off < 0 ? Outcome::kTaken : Outcome::kSparedEndsSoon);
    EXPECT_EQ(why(ends, state, 0), Outcome::kTaken);
  }
}

TEST(Pace, AVictimCountsForAnHourInEveryPoolAbove) {
  const ClusterState state = nested();
  PaceSettings set;
  set.most_victims = {3, -1, 2};
  for (const Time off : {-1, 0, 1}) {
    Pace pace(
        set, state,
        {{0, 0, 0, 2, 2}, {kNow - 9, kNow - kHour + off, kNow - 8, kNow - 7, kNow - 2 * kHour}});
    pace.begin(state);
    const Spared found = pace.spared(state, 1, 0, kNoTime);  // in pool 1, which has no cap
    EXPECT_EQ(found.why, off > 0 ? Outcome::kPoolVictimsPerHour : Outcome::kTaken) << off;
    if (off > 0) {
      EXPECT_EQ(found.pool, 0);
      EXPECT_EQ(found.victims, 3);
      EXPECT_EQ(found.most, 3);
      EXPECT_EQ(found.at, kNow + off);
    }
    EXPECT_EQ(pace.due(), off > 0 ? kNow + off : kNow - 9 + kHour);
    if (off > 0) continue;
    EXPECT_EQ(why(pace, state, 2), Outcome::kTaken);
    pace.took(state, 2);
    EXPECT_EQ(pace.spared(state, 2, 0, kNoTime).pool, 2);
    EXPECT_EQ(pace.spared(state, 1, 0, kNoTime).pool, 0);
    EXPECT_EQ(pace.memory(state).element, (Column<Id>{0, 0, 0, 2, 2}));
  }
}

TEST(Pace, NoVictimWithoutAny) {
  const ClusterState state = nested();
  PaceSettings set;
  set.most_victims = {-1, -1, 0};
  Pace pace(set, state, {});
  pace.begin(state);
  const Spared found = pace.spared(state, 2, 0, kNoTime);
  EXPECT_EQ(found.why, Outcome::kPoolVictimsPerHour);
  EXPECT_EQ(found.at, kNoTime);
  EXPECT_EQ(pace.due(), kNoTime);
  EXPECT_EQ(why(pace, state, 1), Outcome::kTaken);
}

TEST(Pace, BeyondTheCapsOfAnyPoolAbove) {
  const ClusterState state = nested();
  PaceSettings set;
  set.most_victims = {3, -1, 1};
  Pace pace(set, state, {{0}, {kNow - 1}});
  pace.begin(state);
  std::vector<std::pair<Id, Spared>> beyond;
  const Column<Id> operations{2, 2, 0, 1, 0};
  pace.beyond_caps(state, operations, beyond);
  ASSERT_EQ(beyond.size(), 3u);
  EXPECT_EQ(beyond[0].first, 1);  // the second of pool 2; it counts for no pool
  EXPECT_EQ(beyond[0].second.pool, 2);
  EXPECT_EQ(beyond[1].first, 3);
  EXPECT_EQ(beyond[1].second.pool, 0);
  EXPECT_EQ(beyond[2].first, 4);
}

TEST(Pace, HoursBeginAndEndOnTheClock) {
  struct Case {
    Time from, to, ahead, at;  // in hours; at: in microseconds
    bool immune;
  };
  const Time h = kHour;
  for (const Case& c : {Case{9, 18, 0, 9 * h - 1, false}, Case{9, 18, 0, 9 * h, true},
                        Case{9, 18, 0, 18 * h - 1, true}, Case{9, 18, 0, 18 * h, false},
                        Case{22, 6, 0, 22 * h - 1, false}, Case{22, 6, 0, 22 * h, true},
                        Case{22, 6, 0, 24 * h, true}, Case{22, 6, 0, 30 * h - 1, true},
                        Case{22, 6, 0, 30 * h, false}, Case{0, 24, 0, 24 * h - 1, true},
                        Case{0, 24, 0, 0, true}, Case{9, 18, 2, 7 * h, true},
                        Case{9, 18, 2, 7 * h - 1, false}, Case{9, 18, -3, 12 * h, true},
                        Case{9, 18, -3, 12 * h - 1, false}, Case{1, 2, 0, -23 * h, true}}) {
    ClusterState state = nested(-1e6);
    state.advance(c.at);
    Pace pace(daily(c.from, c.to, c.ahead * h), state, {});
    pace.begin(state);
    EXPECT_EQ(why(pace, state, 2) == Outcome::kPoolImmune, c.immune) << c.at;
    EXPECT_GT(pace.due(), c.at);
    EXPECT_LE(pace.due(), c.at + kDay);
  }
}

TEST(Pace, ImmunityIsInheritedAndFollowsTheClock) {
  ClusterState state = nested(0);
  Pace pace(daily(1, 2, 0, 1), state, {});
  for (const auto& [at, immune] : {std::pair{kHour - 1, false},
                                   {kHour, true},
                                   {2 * kHour - 1, true},
                                   {2 * kHour, false},
                                   {kDay + kHour, true}}) {
    state.advance(at);
    pace.begin(state);
    EXPECT_EQ(why(pace, state, 0), Outcome::kTaken);
    EXPECT_EQ(why(pace, state, 1) == Outcome::kPoolImmune, immune) << at;
    EXPECT_EQ(pace.spared(state, 2, 0, kNoTime).pool, immune ? 1 : kNoId);
    if (immune) {
      EXPECT_EQ(pace.spared(state, 2, 0, kNoTime).at, at / kDay * kDay + 2 * kHour);
    }
    EXPECT_EQ(pace.due(), immune ? at / kDay * kDay + 2 * kHour
                                 : at / kDay * kDay + (at < kHour ? kHour : kDay + kHour));
  }
}

// Clocks that go on by an hour at hour 10, and back at hour 34.
TEST(Pace, HoursAreThoseOfTheWall) {
  PaceSettings set = daily(10, 12);
  set.zones[0].since = {0, 10 * kHour, 34 * kHour};
  set.zones[0].ahead = {0, kHour, 0};
  ClusterState state = nested(0);
  Pace pace(set, state, {});
  for (const auto& [at, immune] : {std::pair{10 * kHour - 1, false},
                                   {10 * kHour, true},
                                   {11 * kHour - 1, true},
                                   {11 * kHour, false},
                                   {33 * kHour - 1, false},
                                   {33 * kHour, true},
                                   {34 * kHour, true},
                                   {36 * kHour - 1, true},
                                   {36 * kHour, false}}) {
    state.advance(at);
    pace.begin(state);
    EXPECT_EQ(why(pace, state, 0) == Outcome::kPoolImmune, immune) << at;
  }
  state = nested(0);
  state.advance(9 * kHour);
  pace.begin(state);
  EXPECT_EQ(why(pace, state, 0), Outcome::kTaken);
  EXPECT_EQ(pace.due(), 10 * kHour);
}

TEST(Pace, MemoryKeepsWhatStillCounts) {
  ClusterState state = nested();
  PaceSettings set;
  set.victim_cooldown = 10 * kSecond;
  set.most_victims = {-1, 5, -1};
  Pace pace(set, state, {{4, 1, 3, 2}, {kNow - 10 * kSecond, kNow - kHour, kNow - 1, kNow - 1}});
  pace.begin(state);
  pace.took(state, 2);
  const VictimTimes kept = pace.memory(state);
  EXPECT_EQ(kept.element, (Column<Id>{1, 3, 5}));
  EXPECT_EQ(kept.time, (Column<Time>{kNow, kNow - 1, kNow}));
  Pace next(set, state, kept);
  next.begin(state);
  EXPECT_EQ(why(next, state, 2), Outcome::kVictimCooldown);
  EXPECT_EQ(next.memory(state).time, kept.time);
}

TEST(Pace, WhatLaterChoicesProveIsNotCounted) {
  const ClusterState state = nested();
  PaceSettings set;
  set.most_victims = {1, -1, -1};
  Pace pace(set, state, {});
  pace.begin(state);
  WithinCaps caps(pace);
  SelectionProof proof;
  proof.cost = proof.lower_bound = proof.root_bound = 2;
  proof.proved = proof.first = true;
  proof.branches = 7;
  EXPECT_EQ(caps.left(10), 10);
  EXPECT_TRUE(caps.again(state, Column<Id>{4, 8}, Column<Id>{0, 1}, proof));
  ASSERT_NE(caps.left_out(8), nullptr);
  EXPECT_EQ(caps.left_out(4), nullptr);
  EXPECT_EQ(caps.left(10), 3);
  EXPECT_EQ(caps.left(7), 1);
  proof.cost = proof.lower_bound = 9;
  EXPECT_FALSE(caps.again(state, Column<Id>{6}, Column<Id>{0}, proof));
  EXPECT_EQ(caps.proof().cost, 9);
  EXPECT_EQ(caps.proof().lower_bound, 2);
  EXPECT_FALSE(caps.proof().proved);
  EXPECT_FALSE(caps.proof().first);
  EXPECT_EQ(caps.proof().branches, 14);

  WithinCaps equal(pace);
  proof.cost = proof.lower_bound = 2;
  EXPECT_TRUE(equal.again(state, Column<Id>{4, 8}, Column<Id>{0, 1}, proof));
  EXPECT_FALSE(equal.again(state, Column<Id>{5}, Column<Id>{1}, proof));
  EXPECT_TRUE(equal.proof().proved);  // no set at all costs less
  EXPECT_FALSE(equal.proof().first);
}

}  // namespace
}  // namespace evenhand::pace_test
