// Shares that move by the smallest steps across each value that decides something.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "../../model/scene.h"
#include "../random_cluster.h"
#include "evenhand/policy/ytsaurus/planner.h"

namespace evenhand::ytsaurus::calm_test {
namespace {

using evenhand::testing::Random;
using evenhand::testing::Scene;

constexpr std::int64_t kAll = 1'000'000'000;  // of the cluster: a unit is the tolerance of shares
#ifdef NDEBUG
constexpr unsigned kPairs = 3000;
#else
constexpr unsigned kPairs = 200;  // sanitizers take their time
#endif
constexpr std::int64_t kMiddle = 40;  // pending units at which a share stands on the value

// Two operations of equal weight; what the second wants moves the share of the first, unit by unit.
struct Pair {
  explicit Pair(unsigned seed) {
    Random random(seed);
    const auto one_of = [&](std::initializer_list<double> values) {
      return values.begin()[random.below(static_cast<int>(values.size()))];
    };
    StarvationSettings& starvation = settings.starvation;
    starvation.tolerance = one_of({1, 0.75, 0.5});
    starvation.absolute_tolerance = random.chance(40);
    starvation.ignore_tolerance_if_satisfied = random.chance(40);
    settings.preemption_threshold = one_of({1, 0.5, 0.25});
    settings.aggressive_preemption_threshold = one_of({0.5, 0.25, 0});
    settings.on_bound_preemptible = random.chance(50);
    settings.usage_threshold_protects_prefix = random.chance(50);
    share = 4 * (kAll / 8 + random.below(kAll / 10));
    const auto part = [&](double factor) {
      return static_cast<std::int64_t>(factor * static_cast<double>(share));
    };
    wanted = kAll / 20 + random.below(kAll / 20);
    count = 20;
    switch (random.below(7)) {
      case 0:
        runs = {part(settings.preemption_threshold)};
        break;
      case 1:
        runs = {part(settings.aggressive_preemption_threshold)};
        break;
      case 2:
        runs = {part(starvation.tolerance)};
        break;
      case 3:
        runs = {share - wanted};
        break;
      case 4:
        runs = {part(random.chance(50) ? 0.6 : 0.2)};
        wanted = share + kAll / 10'000 - runs[0];
        count = 1;
        break;
      case 5:
        runs = {share};
        wanted = kAll / 20'000;
        count = 1;
        break;
      default:
        runs = {share / 2};
        wanted = share - runs[0];
        count = 1;
    }
    if (runs[0] > 3 && random.chance(50)) {
      const std::int64_t first = random.below(4);
      runs = {first, runs[0] - first};
    }
    for (int more = random.below(4); more > 0 && count > 1; --more) {
      runs.push_back(random.chance(60) ? random.below(3) : random.below(kAll / 50));
    }
    if (random.chance(25)) starvation.usage_threshold = {runs[0] + random.below(3)};
  }

  Inputs inputs(Index pending) const {
    Scene scene;
    scene.operation();
    scene.operation();
    scene.node({kAll});
    double start = 0;
    for (const std::int64_t amount : runs) scene.allocation(0, 0, {amount}, ++start);
    scene.allocation(1, 0, {kAll - share - kMiddle}, 0);
    scene.request(0, {wanted}, count);
    scene.request(1, {1}, pending);
    return {scene.snapshot(), settings, {}, {}, {}, false, {}};
  }

  Settings settings;
  std::int64_t share, wanted, count;
  std::vector<std::int64_t> runs;  // of the first operation, in order
};

// What follows from the shares, in words; not the shares.
std::string follows(const Planner& planner) {
  std::string said;
  for (const NamedColumn& column : planner.elements())
    std::visit(
        [&](const auto& values) {
          said += column.name;
          for (const auto& value : values)
            if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>)
              said += " " + std::to_string(value);
          said += "\n";
        },
        column.values);
  for (const Group group : planner.groups()) said += std::to_string(static_cast<int>(group));
  return said;
}

TEST(CalmShares, SayWhatAFullUpdateSays) {
  std::size_t moved = 0;
  for (unsigned seed = 0; seed < kPairs; ++seed) {
    const Pair pair(seed);
    Random random(seed);
    Index pending = kMiddle;
    Planner planner(pair.inputs(pending));
    const Time now = planner.state().now();
    planner.update(now, true);
    std::string before = follows(planner);
    for (int step = 0; step < 12; ++step) {
      pending = kMiddle + random.below(7) - 3;
      if (random.chance(20)) pending = 1 + random.below(2 * kMiddle);
      planner.on({.kind = Delta::Kind::kPending, .row = 1, .count = pending});
      planner.update(now, true);
      Planner afresh(pair.inputs(pending));
      afresh.update(now, true);
      const std::string said = follows(afresh);
      ASSERT_EQ(follows(planner), said) << "seed " << seed << ", pending " << pending;
      moved += std::exchange(before, said) != said;
    }
  }
  EXPECT_GT(moved, kPairs);
}

// Runs of several tolerances, the first that of the planner; an operation in deficit starves at
// once, so that runs part where a share crosses what one of them tolerates.
SharedSettings other_tolerances(double own) {
  SharedSettings set;
  set.tolerance = {own};
  for (const double other : {1.0, 0.75, 0.5})
    if (other != own) set.tolerance.push_back(other);
  set.threshold.resize(set.tolerance.size(), 1);
  set.aggressive_threshold.resize(set.tolerance.size(), 0.5);
  set.timeout.resize(set.tolerance.size(), 0);
  set.aggressive_timeout.resize(set.tolerance.size(), 1'000'000'000);
  return set;
}

TEST(CalmShares, PartRunsWhereAFullUpdateDoes) {
  std::size_t late = 0;
  for (unsigned seed = 0; seed < kPairs; ++seed) {
    Pair pair(seed);
    Random random(seed);
    StarvationSettings& starvation = pair.settings.starvation;
    const SharedSettings runs = other_tolerances(starvation.tolerance);
    const double other = runs.tolerance[1 + random.below(static_cast<int>(runs.rows()) - 1)];
    pair.runs = {static_cast<std::int64_t>(other * static_cast<double>(pair.share))};
    pair.settings.preemption_threshold = 1;
    pair.settings.aggressive_preemption_threshold = 0.5;
    starvation.timeout = 0;
    starvation.aggressive_timeout = runs.aggressive_timeout[0];
    Planner kept(pair.inputs(kMiddle));
    ASSERT_TRUE(kept.share(runs));
    Time now = kept.state().now();
    kept.update(now, true);
    std::set<Id> apart;  // parted once, runs stay apart
    for (int step = 0; step < 12; ++step) {
      const Index pending = kMiddle + random.below(7) - 3;
      kept.on({.kind = Delta::Kind::kPending, .row = 1, .count = pending});
      Planner afresh(pair.inputs(pending));
      ASSERT_TRUE(afresh.share(runs));
      for (Planner* planner : {&kept, &afresh}) {
        planner->update(now + 1, true);  // a deficit begins
        planner->update(now + 2, true);  // and has lasted
      }
      now += 2;
      const std::size_t before = apart.size();
      const Column<Id> here = afresh.apart(), all = kept.apart();
      apart.insert(here.begin(), here.end());
      if (step == 0) apart.insert(all.begin(), all.end());  // at the middle, or here
      ASSERT_EQ(std::set<Id>(all.begin(), all.end()), apart)
          << "seed " << seed << ", pending " << pending;
      late += step > 0 && apart.size() > before;
    }
  }
  EXPECT_GT(late, kPairs / 10);
}

}  // namespace
}  // namespace evenhand::ytsaurus::calm_test
