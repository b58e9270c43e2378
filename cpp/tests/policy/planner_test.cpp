// Laws of planners that hold for every system, on random clusters under random settings.
#include "evenhand/policy/planner.h"

#include <gtest/gtest.h>

#include <map>

#include "said.h"
#include "systems.h"

namespace evenhand::testing::planner_test {
namespace {

constexpr unsigned kClusters = 200;

void decide(Planner& planner, Recorder* recorder = nullptr) {
  planner.update(planner.state().now(), false);
  planner.decide({}, recorder);
}

template <class System>
class EveryPlanner : public ::testing::Test {};

using Systems = ::testing::Types<YTsaurusSystem, SlurmSystem, BackendAISystem, YuniKornSystem>;
TYPED_TEST_SUITE(EveryPlanner, Systems);

TYPED_TEST(EveryPlanner, DecidesTheSameAfreshAndWhileItIsRecorded) {
  for (unsigned seed = 0; seed < kClusters; ++seed) {
    Random random(seed);
    RandomCluster cluster(random);
    const std::unique_ptr<Planner> planner = TypeParam::planner(cluster.snapshot(), seed);
    decide(*planner);
    const std::vector<std::string> expected = said(*planner);
    const Tables& t = planner->state().tables();
    const auto recorded = [&](Recorder recorder) {
      const std::unique_ptr<Planner> again = planner->afresh();
      decide(*again, &recorder);
      ASSERT_EQ(said(*again), expected) << "seed " << seed;
    };
    for (Id request = 0; request < static_cast<Id>(t.requests.size()); ++request)
      recorded({request, kNoId, {}});
    for (Id slot = 0; slot < static_cast<Id>(t.allocations.size()); ++slot)
      recorded({kNoId, slot, {}});
  }
}

// Starts fit into what is free and what leaves for them, and counts of requests hold.
TYPED_TEST(EveryPlanner, StartsNoMoreThanIsAskedFor) {
  std::size_t starts = 0, victims = 0;
  for (unsigned seed = 0; seed < kClusters; ++seed) {
    Random random(seed);
    RandomCluster cluster(random);
    const std::unique_ptr<Planner> planner = TypeParam::planner(cluster.snapshot(), seed);
    decide(*planner);
    std::map<Id, Index> started, taken;
    for (const Decision& d : planner->decisions().rows()) {
      if (d.action == Action::kStart) {
        ++starts;
        ASSERT_LE(++started[d.request], cluster.counts()[static_cast<std::size_t>(d.request)]);
        ASSERT_TRUE(d.node == kNoId || planner->state().schedulable(d.node)) << "seed " << seed;
      } else if (d.action == Action::kPreempt) {
        ++victims;
        ASSERT_EQ(++taken[d.slot], 1) << "seed " << seed;
      }
    }
  }
  EXPECT_GT(starts, kClusters / 10);  // else nothing has been tested
  EXPECT_GT(victims, kClusters / 10);
}

TYPED_TEST(EveryPlanner, DecidesOnALiveStateAsOnItsFrozenForm) {
  for (unsigned seed = 0; seed < kClusters; ++seed) {
    Random random(seed);
    RandomCluster cluster(random);
    const std::unique_ptr<Planner> live = TypeParam::planner(cluster.snapshot(), seed);
    live->update(live->state().now(), true);
    for (int i = 0; i < 12; ++i) cluster.change([&](const Delta& delta) { live->on(delta); });
    const std::unique_ptr<Planner> frozen = TypeParam::planner(cluster.snapshot(), seed);
    decide(*live);
    decide(*frozen);
    Rows numbered;
    for (const RandomCluster::Allocation& row : cluster.allocations())
      numbered.of.allocations.push_back(row.slot);
    ASSERT_EQ(said(*live), said(*frozen, numbered)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace evenhand::testing::planner_test
