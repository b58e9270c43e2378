#include "evenhand/preempt/groups.h"

#include <gtest/gtest.h>

#include <random>

#include "../model/scene.h"

namespace evenhand::groups_test {
namespace {

using testing::Scene;

struct Bounds {
  std::vector<double> fair, demand;
  std::vector<Amount> threshold;
};

void bound(GroupLists& groups, const std::vector<Bounds>& bounds, const ClusterState& state) {
  for (std::size_t o = 0; o < bounds.size(); ++o)
    groups.set_bounds(static_cast<Id>(o), bounds[o].fair.data(), bounds[o].demand.data(),
                      bounds[o].threshold.empty() ? nullptr : bounds[o].threshold.data());
  groups.refresh(state);
}

TEST(Groups, CutByThresholdOfTheFairShare) {
  Scene scene;
  scene.operation();
  scene.node({10});
  for (int i = 0; i < 5; ++i) scene.allocation(0, 0, {1}, i);
  const ClusterState state(scene.snapshot());
  // 2.5 of 10; half of it 1.25. What crosses a bound is inside it, unless it is to be beyond it.
  for (const bool beyond : {false, true}) {
    GroupLists groups(
        state, {.aggressive_threshold = 0.5, .threshold = 1.0, .on_bound_preemptible = beyond});
    bound(groups, {{{0.25}, {1.0}, {}}}, state);
    const Id first = beyond ? 1 : 2;
    EXPECT_EQ(groups.cuts(0), (std::array<Index, 2>{first, first + 1}));
    EXPECT_EQ(groups.group(first - 1), Group::kNonPreemptible);
    EXPECT_EQ(groups.group(first), Group::kAggressivelyPreemptible);
    EXPECT_EQ(groups.group(first + 1), Group::kPreemptible);
  }
}

TEST(Groups, NothingIsPreemptibleWhereTheFairShareCoversTheDemand) {
  Scene scene;
  scene.operation();
  scene.node({10});
  for (int i = 0; i < 3; ++i) scene.allocation(0, 0, {1}, i);
  const ClusterState state(scene.snapshot());
  GroupLists groups(state, {.aggressive_threshold = 0.0});
  bound(groups, {{{0.3}, {0.3}, {}}}, state);
  for (Id slot = 0; slot < 3; ++slot)
    EXPECT_EQ(groups.group(slot), Group::kAggressivelyPreemptible);
}

// Maintained through random deltas, the groups are those cut from scratch.
TEST(Groups, HistoryLeavesNoTrace) {
  for (unsigned seed = 0; seed < 120; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&](Index n) { return static_cast<Id>(random() % static_cast<unsigned>(n)); };
    const GroupLists::Options options{.aggressive_threshold = draw(4) / 4.0,
                                      .threshold = 0.5 + draw(3) / 2.0,
                                      .on_bound_preemptible = seed % 2 == 0,
                                      .saved_progress_counts = seed % 3 == 0,
                                      .usage_threshold_protects_prefix = seed % 5 < 2};
    Scene scene(2);
    for (int o = 0; o < 3; ++o) scene.operation();
    scene.node({20, 20});
    for (int a = 0; a < 14; ++a)  // equal times are common
      scene.allocation(draw(3), 0, {draw(4), draw(3)}, draw(5));
    ClusterState state(scene.snapshot());
    GroupLists groups(state, options);
    std::vector<Bounds> bounds(3);
    const auto rebound = [&] {
      for (Bounds& b : bounds) {
        b.fair = {draw(9) / 16.0, draw(9) / 16.0};
        b.demand = {draw(17) / 16.0, draw(3) ? b.fair[1] : 1.0};
        b.threshold.clear();
        if (draw(3) == 0) b.threshold = {draw(8), draw(2) ? -1 : draw(8)};
      }
      bound(groups, bounds, state);
    };
    rebound();
    for (int step = 0; step < 80; ++step) {
      const Id slot = draw(state.slots());
      const std::vector<Amount> size{draw(4), draw(4)};
      const bool running = state.running(slot);
      switch (draw(6)) {
        case 0:
        case 1:
          groups.add(state, state.start(draw(3), 0, size, draw(6) * kMicrosecondsPerSecond));
          break;
        case 2:
          if (!running) break;
          groups.remove(state, slot);
          draw(2) ? state.end(slot) : state.preempt(slot, {});
          break;
        case 3:
          if (!running) break;
          groups.remove(state, slot);
          state.touch(slot, draw(6) * kMicrosecondsPerSecond, draw(6) * kMicrosecondsPerSecond);
          groups.add(state, slot);
          break;
        case 4:
          if (!running) break;
          groups.remove(state, slot);
          state.resize(slot, size);
          groups.add(state, slot);
          break;
        default:
          if (draw(3) == 0) rebound();
      }
      if (draw(3) == 0) groups.refresh(state);
    }
    groups.refresh(state);
    GroupLists afresh(state, options);
    bound(afresh, bounds, state);
    for (Id o = 0; o < 3; ++o) {
      EXPECT_EQ(groups.in_order(o), afresh.in_order(o)) << seed;
      EXPECT_EQ(groups.cuts(o), afresh.cuts(o)) << seed;
    }
    for (Id slot = 0; slot < static_cast<Id>(state.slots()); ++slot)
      if (state.running(slot)) {
        EXPECT_EQ(groups.group(slot), afresh.group(slot)) << seed;
      }
    const std::array<double, 2> others{draw(5) / 4.0, 0.25 + draw(7) / 4.0};
    GroupLists::Options under = options;
    under.aggressive_threshold = others[0];
    under.threshold = others[1];
    GroupLists cut(state, under);
    bound(cut, bounds, state);
    for (Id o = 0; o < 3; ++o)
      EXPECT_EQ(groups.cuts_under(state, o, bounds[at(o)].fair.data(), others), cut.cuts(o))
          << seed;
    groups.set_factors(others);
    bound(groups, bounds, state);
    for (Id o = 0; o < 3; ++o) EXPECT_EQ(groups.cuts(o), cut.cuts(o)) << seed;
  }
}

TEST(Groups, SayWhatIsExposedOnce) {
  Scene scene;
  scene.operation();
  scene.node({10});
  for (int i = 0; i < 4; ++i) scene.allocation(0, 0, {1}, i);
  ClusterState state(scene.snapshot());
  GroupLists groups(state, {.aggressive_threshold = 0.5, .threshold = 1.0});
  const auto share = [&](double fair) { bound(groups, {{{fair}, {1.0}, {}}}, state); };
  share(0.6);
  EXPECT_TRUE(groups.take_exposed(state, 0));  // of a new list
  EXPECT_FALSE(groups.take_exposed(state, 0));
  share(0.7);
  EXPECT_FALSE(groups.take_exposed(state, 0));
  share(0.65);  // the cuts stay
  EXPECT_FALSE(groups.take_exposed(state, 0));
  share(0.35);
  EXPECT_TRUE(groups.take_exposed(state, 0));
  share(0.65);
  EXPECT_FALSE(groups.take_exposed(state, 0));
  const std::vector<Amount> one{1};
  groups.add(state, state.start(0, 0, one, 9 * kMicrosecondsPerSecond));
  EXPECT_TRUE(groups.take_exposed(state, 0));
  const std::vector<double> fair{0.3}, demand{1.0};
  groups.set_bounds(0, fair.data(), demand.data(), nullptr);  // and nothing cuts it before
  EXPECT_TRUE(groups.take_exposed(state, 0));
}

// As long as bounds stay on their side of the amounts that decide, cuts stay where they are.
TEST(Groups, CutsStayWhereNothingDecides) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&](Index n) { return static_cast<Id>(random() % static_cast<unsigned>(n)); };
    Scene scene;
    scene.operation();
    scene.node({20});
    for (int a = 0; a < 6; ++a) scene.allocation(0, 0, {draw(4)}, draw(5));
    const ClusterState state(scene.snapshot());
    GroupLists groups(state, {.aggressive_threshold = draw(4) / 4.0,
                              .threshold = 0.5 + draw(3) / 2.0,
                              .on_bound_preemptible = seed % 2 == 0,
                              .usage_threshold_protects_prefix = seed % 3 == 0});
    std::vector<Amount> threshold;
    if (seed % 5 < 2) threshold = {draw(12)};
    const auto cut = [&](double fair) {
      bound(groups, {{{fair}, {1.0}, threshold}}, state);
      return groups.cuts(0);
    };
    const double fair = draw(999) / 1000.0;
    const auto cuts = cut(fair);
    double low = 0, high = 0.999;  // at 1 the demand is covered
    if (!groups.for_deciding(state, 0, [&](double factor, const Amount* amounts) {
          if (factor == 0) return;
          const double decides = static_cast<double>(*amounts) / 20 / factor;
          if (decides < fair) low = std::max(low, decides + 1e-6);
          if (decides >= fair) high = std::min(high, decides - 1e-6);
        }))
      continue;
    if (low > fair || high < fair) continue;
    EXPECT_EQ(cut(low), cuts) << seed;
    EXPECT_EQ(cut(high), cuts) << seed;
    EXPECT_EQ(cut((low + high) / 2), cuts) << seed;
  }
}

}  // namespace
}  // namespace evenhand::groups_test
