// Laws of planners that hold for every system, on random clusters under random settings.
#include "evenhand/policy/planner.h"

#include <gtest/gtest.h>

#include <map>

#include "systems.h"

namespace evenhand::testing {
namespace {

constexpr unsigned kClusters = 400;

// All that a planner says of its last trigger; slots by the number that `slot` gives them.
template <class Slot>
std::vector<std::string> said(const Planner& planner, Slot slot) {
  std::vector<std::string> lines;
  const auto line = [&](auto... values) {
    std::string text;
    ((text += std::to_string(values) + " "), ...);
    lines.push_back(std::move(text));
  };
  const Decisions& decisions = planner.decisions();
  for (const Decision& d : decisions.rows())
    line(static_cast<int>(d.action), static_cast<int>(d.stage), static_cast<int>(d.reason),
         static_cast<int>(d.mode), static_cast<int>(d.group), d.within_fair_share,
         d.action == Action::kStart || d.slot == kNoId ? kNoId : slot(d.slot), d.request,
         d.operation, d.node, d.step, d.violated, d.beneficiary.operation, d.beneficiary.request,
         d.grace, d.at, d.until, d.soft);
  for (int which = 0; which < 5; ++which)
    for (const Amount a : decisions.amounts(which)) line(a);
  for (const auto& [name, count] : planner.counts()) lines.push_back(name + std::to_string(count));
  const Refusals refusals = planner.refusals();
  for (std::size_t i = 0; i < refusals.request.size(); ++i)
    line(refusals.request[i], static_cast<int>(refusals.rule[i]), refusals.nodes[i]);
  for (const Amount a : refusals.missing) line(a);
  for (const Id job : planner.contested().beneficiary) line(job);
  line(planner.next_due());
  return lines;
}

std::vector<std::string> said(const Planner& planner) {
  return said(planner, [](Id slot) { return slot; });
}

void decide(Planner& planner, Recorder* recorder = nullptr) {
  planner.update(planner.state().now(), false);
  planner.decide({}, recorder);
}

template <class System>
class EveryPlanner : public ::testing::Test {};

using Systems = ::testing::Types<YTsaurusSystem, SlurmSystem, BackendAISystem>;
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
    const auto numbered = [&](Id row) {
      return cluster.allocations()[static_cast<std::size_t>(row)].slot;
    };
    ASSERT_EQ(said(*live), said(*frozen, numbered)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace evenhand::testing
