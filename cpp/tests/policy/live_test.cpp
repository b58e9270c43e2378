// Laws of planners that follow a living cluster whose rows come and go.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "evenhand/policy/live_cluster.h"
#include "said.h"
#include "systems.h"

namespace evenhand::testing::live_test {
namespace {

constexpr unsigned kHistories = 300;
constexpr Time kSecond = kMicrosecondsPerSecond;

// A cluster with a history: rows of a second snapshot come to the first.
template <class System>
struct Living {
  explicit Living(unsigned seed)
      : random(seed),
        first(random),
        second(random, &first, "x"),
        later(second.snapshot()),
        cluster(ClusterState(first.snapshot())) {
    const Snapshot& base = cluster.state().snapshot();
    set = System::settings(random, base.tables());
    const auto count = [](const Snapshot& s) {
      return static_cast<std::size_t>(s.tables().operations.size());
    };
    rows = {System::rows(random, count(base)), System::rows(random, count(later))};
    for (Id o = 0; o < static_cast<Id>(count(base)); ++o) origin.emplace_back(0, o);
    planner = System::live(System::inputs(base, set, rows[0]), cluster.shared());
    cluster.attach(planner);
  }

  const ClusterState& state() const { return cluster.state(); }
  template <class Keep>
  Id any(Id rows_, Keep keep) {
    std::vector<Id> found;
    for (Id row = 0; row < rows_; ++row)
      if (keep(row)) found.push_back(row);
    return found.empty()
               ? kNoId
               : found[static_cast<std::size_t>(random.below(static_cast<int>(found.size())))];
  }
  Id any_operation() {
    return any(state().operations().rows(), [&](Id o) { return state().operations().present(o); });
  }
  Id any_node() {
    return any(state().nodes().rows(), [&](Id n) { return state().nodes().present(n); });
  }
  Id any_slot() {
    return any(static_cast<Id>(state().slots()), [&](Id s) { return state().holds(s); });
  }
  // The next row of the second snapshot; kNoId: all have come.
  static Id next(Id& counter, Index rows_) { return counter < rows_ ? counter++ : kNoId; }

  void step() {
    const Tables& t = later.tables();
    using Kind = Delta::Kind;
    const auto put = [&](Kind kind, Id old, auto&& act) {
      return cluster.change({.kind = kind, .row = old}, act);
    };
    switch (random.below(14)) {
      case 0:
      case 1: {
        const Id row = next(operations_came, t.operations.size());
        if (row == kNoId) return;
        const Id made = put(Kind::kPutOperation, kNoId, [&](ClusterState& s) {
          return s.put_operation(t.operations, row, 0, kNoId);
        });
        origin.resize(std::max(origin.size(), static_cast<std::size_t>(made) + 1));
        origin[static_cast<std::size_t>(made)] = {1, row};
        const std::vector<Id> came{made};
        planner->rows_came(came, System::gathered({&rows[0], &rows[1]}, {{1, row}}));
        return;
      }
      case 2:
      case 3: {
        const Id row = next(requests_came, t.requests.size());
        if (row == kNoId) return;
        const Id of = any_operation(), node = random.chance(20) ? any_node() : kNoId;
        put(Kind::kPutRequest, kNoId,
            [&](ClusterState& s) { return s.put_request(t.requests, row, of, node, kNoId); });
        return;
      }
      case 4:
      case 5: {
        const Id row = next(allocations_came, t.allocations.size());
        if (row == kNoId) return;
        const Id of = any_operation(), node = any_node();
        put(Kind::kStartRow, kNoId, [&](ClusterState& s) {
          const Time start = s.now() - random.below(60) * kSecond;
          return s.start_row(t.allocations, row, of, node, kNoId, start, start, kNoId);
        });
        return;
      }
      case 6: {
        const Id row = next(nodes_came, t.nodes.size());
        if (row == kNoId) return;
        put(Kind::kPutNode, kNoId,
            [&](ClusterState& s) { return s.put_node(t.nodes, row, kNoId); });
        return;
      }
      case 7: {
        const Id row = next(reservations_came, t.reservations.size());
        const Id of =
            any(state().requests().rows(), [&](Id q) { return state().requests().present(q); });
        if (row == kNoId || of == kNoId) return;
        const Id node = any_node();
        put(Kind::kReserve, kNoId, [&](ClusterState& s) {
          return s.reserve(t.reservations, row, of, kNoId, node, kNoId);
        });
        return;
      }
      case 8: {
        const Id q =
            any(state().requests().rows(), [&](Id r) { return state().requests().present(r); });
        if (q == kNoId) return;
        if (random.chance(50)) {
          cluster.on({.kind = Kind::kPending, .row = q, .count = random.below(3)});
        } else {
          put(Kind::kRemoveRequest, q, [&](ClusterState& s) {
            s.remove_request(q);
            return q;
          });
        }
        return;
      }
      case 9: {  // an operation or a node that nothing refers to
        const Id o = any(state().operations().rows(), [&](Id row) {
          return state().operations().present(row) && state().allocations_of(row).empty() &&
                 state().requests_of(row).empty();
        });
        if (o == kNoId) return;
        put(Kind::kRemoveOperation, o, [&](ClusterState& s) {
          s.remove_operation(o);
          return o;
        });
        return;
      }
      case 10: {
        const Id slot = any_slot();
        if (slot == kNoId) return;
        cluster.on({.kind = Kind::kPreempt, .row = slot});
        const Id of = any_operation();
        put(Kind::kCells, slot, [&](ClusterState& s) {
          const Time start =
              s.allocations().get(&AllocationColumns::start_time, slot, s.last_start(slot));
          s.set_departure(slot, {start,
                                 random.chance(50) ? kNoTime : s.now() + random.below(60) * kSecond,
                                 s.operations().keys().name(of),
                                 {}});
          return slot;
        });
        return;
      }
      case 11: {
        const Id slot = any_slot();
        if (slot != kNoId) cluster.on({.kind = Kind::kEnd, .row = slot});
        return;
      }
      case 12: {
        const Id node = any_node();
        std::vector<Amount> size(state().node_capacity(node),
                                 state().node_capacity(node) + state().width());
        size[0] += 1;
        cluster.on({.kind = Kind::kCapacity, .row = node, .amounts = size});
        return;
      }
      default: {
        cluster.change({.kind = Kind::kAdvance}, [&](ClusterState& s) {
          s.advance(s.now() + random.below(30) * kSecond);
          return kNoId;
        });
        if (random.chance(70)) planner->update(state().now(), true);
        if (random.chance(70)) planner->decide({});
      }
    }
  }

  // What the planner says, and what one of the frozen cluster does, in the rows of the living one.
  void compare(const std::string& when) {
    ClusterState::Sources sources;
    const Snapshot frozen(state().frozen(true, &sources));
    std::vector<std::pair<std::size_t, Id>> from;
    for (const Id o : sources.operations) from.push_back(origin[static_cast<std::size_t>(o)]);
    auto inputs = System::inputs(frozen, set, System::gathered({&rows[0], &rows[1]}, from));
    System::remember(inputs, *planner, sources.operations);
    planner->update(state().now(), true);
    planner->decide({});
    const auto other = System::live(std::move(inputs), std::make_shared<ClusterState>(frozen));
    other->update(state().now(), false);
    other->decide({});
    EXPECT_EQ(said(*planner), said(*other, Rows{sources})) << when;
  }

  Random random;
  RandomCluster first, second;
  Snapshot later;
  LiveCluster cluster;
  typename System::Settings set;
  std::vector<typename System::Rows> rows;
  std::vector<std::pair<std::size_t, Id>> origin;  // of every operation
  std::shared_ptr<typename System::Planner> planner;
  Id operations_came = 0, requests_came = 0, allocations_came = 0, nodes_came = 0,
     reservations_came = 0;
};

template <class System>
class RowsThatCome : public ::testing::Test {};

using LiveSystems = ::testing::Types<SlurmSystem, BackendAISystem>;
TYPED_TEST_SUITE(RowsThatCome, LiveSystems);

TYPED_TEST(RowsThatCome, DecidesOnRowsThatCameAsOnTheFrozenCluster) {
  std::size_t decided = 0;
  for (unsigned seed = 0; seed < kHistories; ++seed) {
    Living<TypeParam> living(seed);
    for (int i = 0; i < 40; ++i) living.step();
    living.compare("seed " + std::to_string(seed));
    decided += living.planner->decisions().rows().size();
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(decided, kHistories);  // else nothing has been tested
}

TYPED_TEST(RowsThatCome, UndoneIsAsNeverDone) {
  for (unsigned seed = 0; seed < kHistories; ++seed) {
    Living<TypeParam> living(seed);
    const auto state = living.cluster.shared();
    const auto anew = [&] {
      const auto planner =
          TypeParam::live(TypeParam::inputs(state->snapshot(), living.set, living.rows[0]), state);
      planner->update(state->now(), true);
      planner->decide({});
      return said(*planner);
    };
    const std::vector<std::string> before = anew();
    const ClusterState::Mark mark = state->mark();
    for (int i = 0; i < 25; ++i) living.step();
    living.planner->update(state->now(), true);
    living.planner->decide({});
    living.cluster.drop();
    state->undo(mark);
    state->forget();
    ASSERT_EQ(anew(), before) << "seed " << seed;
  }
}

}  // namespace
}  // namespace evenhand::testing::live_test
