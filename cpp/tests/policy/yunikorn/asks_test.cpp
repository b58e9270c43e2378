// What is remembered of asks.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <variant>

#include "../random_cluster.h"
#include "evenhand/policy/live_cluster.h"
#include "evenhand/policy/yunikorn/planner.h"

namespace evenhand::yunikorn::asks_test {
namespace {

std::int64_t missed(const Planner& planner, Id request) {
  const Columns memory = planner.memory();
  const auto found = std::ranges::find_if(
      memory, [](const NamedColumn& column) { return std::string_view(column.name) == "missed"; });
  return std::get<Column<std::int64_t>>(found->values)[request];
}

// As in a simulation: a request keeps its row while all that it asks for runs, and waits again when
// some of that is requeued.
TEST(Asks, OfOneOfWhichNoneWaitsNothingIsRemembered) {
  evenhand::testing::Random random(1);
  evenhand::testing::RandomCluster rows(random);
  Inputs inputs{rows.snapshot(), {}, {}};
  ASSERT_GT(inputs.snapshot.tables().requests.size(), 0);
  inputs.asks.missed.set(0, 3);
  LiveCluster cluster{ClusterState(inputs.snapshot)};
  const auto planner = std::make_shared<Planner>(std::move(inputs), cluster.shared(), true);
  cluster.attach(planner);
  cluster.on({.kind = Delta::Kind::kPending, .row = 0, .count = 1});
  EXPECT_EQ(missed(*planner, 0), 3);
  cluster.on({.kind = Delta::Kind::kPending, .row = 0, .count = 0});
  cluster.on({.kind = Delta::Kind::kPending, .row = 0, .count = 1});
  EXPECT_EQ(missed(*planner, 0), 0);
}

}  // namespace
}  // namespace evenhand::yunikorn::asks_test
