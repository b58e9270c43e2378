// Laws of rows that come, change and go.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "evenhand/model/cluster_state.h"
#include "random_input.h"
#include "scene.h"

namespace evenhand::cluster_rows_test {
namespace {

using testing::Scene;

Snapshot drawn(unsigned seed) {
  testing::RandomInput random(seed);
  return Snapshot(testing::built(random.input()));
}

// How many rows refer to each node.
std::vector<Index> references(const ClusterState& state) {
  std::vector<Index> counts;
  for (Id n = 0; n < state.nodes().rows(); ++n) counts.push_back(state.referring(n));
  return counts;
}

std::string frozen(const ClusterState& state) { return fingerprint(state.frozen(true)); }

// Takes rows out that the rest does not need, and puts them back as they were.
class Churn {
 public:
  Churn(const Snapshot& snapshot, ClusterState& state, unsigned seed)
      : t_(snapshot.tables()), state_(state), random_(seed) {}

  void take_out() {
    for (Id v = 0; v < static_cast<Id>(t_.reservations.size()); ++v)
      if (chance()) out(reservations_, v, [&] { state_.release(row(state_.reservations(), v)); });
    for (Id q = 0; q < static_cast<Id>(t_.requests.size()); ++q)
      if (!reserved(t_.reservations.request, q) && chance())
        out(requests_, q, [&] { state_.remove_request(row(state_.requests(), q)); });
    for (Id a = 0; a < static_cast<Id>(t_.allocations.size()); ++a)
      if (!reserved(t_.reservations.allocation, a) && chance())
        out(allocations_, a, [&] { state_.end(row(state_.allocations(), a)); });
    for (Id o = 0; o < static_cast<Id>(t_.operations.size()); ++o) {
      const Id now = operation(o);
      if (state_.allocations_of(now).empty() && state_.requests_of(now).empty() &&
          !state_.stated(now) && chance())
        out(operations_, o, [&] { state_.remove_operation(now); });
    }
  }

  void put_back() {
    each(operations_,
         [&](Id o) { state_.put_operation(t_.operations, o, t_.operations.pool[at(o)], -2); });
    each(allocations_, [&](Id a) {
      const AllocationColumns& c = t_.allocations;
      const Time start = c.start_time[at(a)];
      state_.start_row(c, a, operation(c.operation[at(a)]), c.node[at(a)],
                       at_or(c.required_node, a, kNoId), start,
                       at_or(c.last_job_start_time, a, start), -2, c.state[at(a)]);
    });
    each(requests_, [&](Id q) {
      state_.put_request(t_.requests, q, operation(t_.requests.operation[at(q)]),
                         at_or(t_.requests.required_node, q, kNoId), -2);
    });
    each(reservations_, [&](Id v) {
      const ReservationColumns& c = t_.reservations;
      const Id request = c.request[at(v)], allocation = c.allocation[at(v)];
      state_.reserve(c, v, request == kNoId ? kNoId : row(state_.requests(), request),
                     allocation == kNoId ? kNoId : row(state_.allocations(), allocation),
                     c.node[at(v)], -2);
    });
  }

 private:
  static std::size_t at(Id i) { return static_cast<std::size_t>(i); }
  bool chance() { return random_() % 3 != 0; }
  template <class Columns>
  Id row(const LiveTable<Columns>& rows, Id before) const {
    return rows.find(names(static_cast<const Columns*>(nullptr)).text[before]);
  }
  const NameColumn& names(const OperationColumns*) const { return t_.operations.names; }
  const NameColumn& names(const AllocationColumns*) const { return t_.allocations.names; }
  const NameColumn& names(const RequestColumns*) const { return t_.requests.names; }
  const NameColumn& names(const ReservationColumns*) const { return t_.reservations.names; }
  Id operation(Id before) const { return row(state_.operations(), before); }
  bool reserved(const std::vector<Id>& column, Id row) const {
    for (std::size_t v = 0; v < column.size(); ++v)
      if (column[v] == row && !std::ranges::count(reservations_, static_cast<Id>(v))) return true;
    return false;
  }
  template <class Act>
  void out(std::vector<Id>& list, Id row, Act&& act) {
    list.push_back(row);
    act();
  }
  template <class Put>
  void each(std::vector<Id>& list, Put&& put) {
    std::ranges::shuffle(list, random_);
    for (const Id row : list) put(row);
    list.clear();
  }

  const Tables& t_;
  ClusterState& state_;
  std::mt19937 random_;
  std::vector<Id> operations_, requests_, allocations_, reservations_;
};

TEST(ClusterRows, ThawedAndFrozenIsTheSame) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Snapshot snapshot = drawn(seed);
    EXPECT_EQ(frozen(ClusterState(snapshot)), fingerprint(snapshot.tables())) << seed;
  }
}

TEST(ClusterRows, WhatGoesAndComesBackWasNeverAway) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Snapshot snapshot = drawn(seed);
    const std::string before = fingerprint(snapshot.tables());
    ClusterState state(snapshot);
    Churn churn(snapshot, state, seed);
    const std::vector<Amount> asked = state.asked(), reserved = state.reserved();
    const std::vector<Index> referring = references(state);
    for (int round = 0; round < 4; ++round) {
      const ClusterState::Mark mark = state.mark();
      churn.take_out();
      const std::string fewer = frozen(state);
      churn.put_back();
      EXPECT_EQ(frozen(state), before) << seed;
      EXPECT_EQ(state.asked(), asked) << seed;
      EXPECT_EQ(state.reserved(), reserved) << seed;
      EXPECT_EQ(references(state), referring) << seed;
      if (round == 1) {  // and again, from where they were
        state.undo(mark);
        EXPECT_EQ(frozen(state), before) << seed;
        EXPECT_EQ(state.asked(), asked) << seed;
        EXPECT_EQ(state.reserved(), reserved) << seed;
        EXPECT_EQ(references(state), referring) << seed;
      }
      state.forget();
      state.reclaim();
      static_cast<void>(fewer);
    }
  }
}

TEST(ClusterRows, WhatRefersToANodeIsCountedAsItComesAndGoes) {
  Scene scene;
  const Id first = scene.node({8}), second = scene.node({8});
  scene.operation();
  const Id a = scene.allocation(0, first, {5}, 0);
  const Snapshot snapshot = scene.snapshot();
  ClusterState state(snapshot);
  EXPECT_EQ(references(state), (std::vector<Index>{1, 0}));
  const ClusterState::Mark mark = state.mark();
  state.suspend(a, std::vector<Amount>{0});
  EXPECT_EQ(references(state), (std::vector<Index>{1, 0}));
  state.resume(a, second, 0);
  EXPECT_EQ(references(state), (std::vector<Index>{0, 1}));
  state.end(a);
  EXPECT_EQ(references(state), (std::vector<Index>{0, 0}));
  EXPECT_EQ(references(ClusterState(Snapshot(state.frozen(true)))), references(state));
  state.undo(mark);
  EXPECT_EQ(references(state), (std::vector<Index>{1, 0}));
}

TEST(ClusterRows, UndoneIsNeverDoneWhileRowsAreAway) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Snapshot snapshot = drawn(seed);
    ClusterState state(snapshot);
    Churn churn(snapshot, state, seed);
    churn.take_out();
    state.reclaim();
    const std::string before = frozen(state);
    const ClusterState::Mark mark = state.mark();
    churn.put_back();
    state.undo(mark);
    EXPECT_EQ(frozen(state), before) << seed;
  }
}

TEST(ClusterRows, NumbersAreUsedAgainOnlyOnceReclaimed) {
  Scene scene;
  scene.operation();
  const Snapshot other = [] {
    Scene more;
    more.operation();
    more.request(0, {2}, 3);
    return more.snapshot();
  }();
  ClusterState state(scene.snapshot());
  const RequestColumns& cells = other.tables().requests;
  const Id first = state.put_request(cells, 0, 0, kNoId, 7);
  EXPECT_EQ(first, 0);
  EXPECT_EQ(state.requests().note(first), 7);
  EXPECT_EQ(state.pending(first), 3);
  EXPECT_EQ(state.demand()[0], 6);
  state.remove_request(first);
  EXPECT_EQ(state.demand()[0], 0);
  EXPECT_EQ(state.put_request(cells, 0, 0, kNoId, 7), 1);
  state.remove_request(1);
  state.mark();
  state.reclaim();  // nothing while there is a way back
  EXPECT_EQ(state.put_request(cells, 0, 0, kNoId, 7), 2);
  state.forget();
  state.remove_request(2);
  state.reclaim();
  EXPECT_LT(state.put_request(cells, 0, 0, kNoId, 7), 3);
  EXPECT_EQ(state.requests().rows(), 3);
}

TEST(ClusterRows, WhatLeavesIsForTheRowOfThatName) {
  Scene scene;
  scene.node({8});
  scene.operation();
  const Id a = scene.allocation(0, 0, {5}, 0);
  scene.request(0, {2});
  const Snapshot snapshot = scene.snapshot();
  ClusterState state(snapshot);
  const ClusterState::Mark mark = state.mark();
  state.preempt(a, {});
  state.set_departure(a, {0, 5, "", "r1000"});
  EXPECT_EQ(state.leaving_at(a)->beneficiary, (Beneficiary{0, 0}));
  EXPECT_EQ(state.allocations().get(&AllocationColumns::deadline, a, kNoTime), 5);
  state.remove_request(0);
  EXPECT_EQ(state.leaving_at(a)->beneficiary, (Beneficiary{kNoId, -2}));
  const Id again = state.put_request(snapshot.tables().requests, 0, 0, kNoId, -2);
  EXPECT_EQ(state.leaving_at(a)->beneficiary, (Beneficiary{0, again}));
  EXPECT_EQ(fingerprint(ClusterState(Snapshot(state.frozen(false))).frozen(false)), frozen(state));
  state.undo(mark);
  EXPECT_EQ(frozen(state), fingerprint(snapshot.tables()));
}

TEST(ClusterRows, ChangedCellsOfAnAllocationAreItsOwn) {
  Scene scene;
  scene.operation();
  const Id a = scene.allocation(0, kNoId, {5}, 0), b = scene.allocation(0, kNoId, {5}, 0);
  const Snapshot snapshot = scene.snapshot();
  ClusterState state(snapshot);
  const ClusterState::Mark mark = state.mark();
  state.set_priority(a, 4.0, true);
  state.set_preemptible(a, false);
  using C = AllocationColumns;
  EXPECT_EQ(state.allocations().get(&C::priority, a, 0.0), 4.0);
  EXPECT_EQ(state.allocations().get(&C::preemptible, a, std::uint8_t{1}), 0);
  EXPECT_EQ(state.allocations().get(&C::priority, b, 0.0), 0.0);
  EXPECT_EQ(state.allocations().get(&C::preemptible, b, std::uint8_t{1}), 1);
  EXPECT_EQ(state.frozen(true).allocations.priority, (std::vector<double>{4.0, 0.0}));
  state.undo(mark);
  EXPECT_EQ(frozen(state), fingerprint(snapshot.tables()));
}

TEST(ClusterRows, NodesComeChangeAndGo) {
  Scene scene;
  scene.operation();
  scene.node({8});
  const Snapshot snapshot = scene.snapshot();
  Tables other = snapshot.tables();
  other.nodes.names.text = {};
  other.nodes.names.text.push_back("n0");
  other.nodes.capacity = {3};
  ClusterState state(snapshot);
  state.follow_total();
  EXPECT_EQ(state.total(), std::vector<Amount>{8});
  const ClusterState::Mark mark = state.mark();
  const Id came = state.put_node(other.nodes, 0, 5);
  EXPECT_EQ(came, 1);
  EXPECT_EQ(state.nodes().note(came), 5);
  EXPECT_EQ(*state.node_capacity(came), 3);
  EXPECT_TRUE(state.schedulable(came));
  EXPECT_EQ(state.total(), std::vector<Amount>{11});
  EXPECT_EQ(state.nodes().in_order(), (std::vector<Id>{1, 0}));
  EXPECT_EQ(state.frozen(false).nodes.capacity, (std::vector<Amount>{3, 8}));
  EXPECT_EQ(state.frozen(false).total, state.total());
  const Id slot = state.start(0, came, std::vector<Amount>{2}, 0);
  EXPECT_EQ(*state.node_used(came), 2);
  state.end(slot);
  other.nodes.capacity = {4};
  other.nodes.schedulable = {0};
  EXPECT_EQ(state.put_node(other.nodes, 0, 6, came), came);
  EXPECT_EQ(state.total(), std::vector<Amount>{8});
  EXPECT_EQ(*state.node_capacity(came), 4);
  state.remove_node(0);
  EXPECT_EQ(state.nodes().in_order(), std::vector<Id>{1});
  EXPECT_EQ(state.total(), std::vector<Amount>{0});
  EXPECT_EQ(state.nodes().find("n1000"), kNoId);
  state.undo(mark);
  EXPECT_EQ(state.total(), std::vector<Amount>{8});
  EXPECT_EQ(frozen(state), fingerprint(snapshot.tables()));
}

TEST(ClusterRows, ReservationsGoWithWhatTheyAreFor) {
  Scene scene;
  scene.operation();
  scene.node({8});
  const Id a = scene.allocation(0, 0, {1}, 0);
  const Id q = scene.request(0, {2}), other = scene.request(0, {2});
  const Snapshot snapshot = scene.snapshot();
  ClusterState state(snapshot);
  ReservationColumns cells;
  cells.names.text.push_back("v");
  cells.request = cells.allocation = cells.node = {kNoId};
  cells.resources = {2};
  const auto named = [&](const char* name) {
    cells.names.text = {};
    cells.names.text.push_back(name);
  };
  const ClusterState::Mark mark = state.mark();
  const Id first = state.reserve(cells, 0, q, kNoId, 0, 9);
  named("w");
  const Id second = state.reserve(cells, 0, other, kNoId, 0, 9);
  named("x");
  const Id third = state.reserve(cells, 0, q, kNoId, 0, 9);
  EXPECT_EQ(state.reservations().note(first), 9);
  EXPECT_EQ(state.reservations().get(&ReservationColumns::request, third, kNoId), q);
  state.remove_request(q);
  EXPECT_FALSE(state.reservations().present(first));
  EXPECT_TRUE(state.reservations().present(second));
  EXPECT_FALSE(state.reservations().present(third));
  state.release(second);
  EXPECT_FALSE(state.reservations().present(second));
  named("y");
  static_cast<void>(state.reserve(cells, 0, kNoId, a, 0, 9));
  EXPECT_EQ(state.frozen(true).reservations.allocation, std::vector<Id>{a});
  state.undo(mark);
  EXPECT_EQ(frozen(state), fingerprint(snapshot.tables()));
}

TEST(ClusterRows, ReservationsOfARequestAreInCanonicalOrder) {
  Scene scene;
  scene.operation();
  scene.node({8});
  const Id q = scene.request(0, {2}), other = scene.request(0, {2});
  ClusterState state(scene.snapshot());
  ReservationColumns cells;
  cells.request = cells.allocation = cells.node = {kNoId};
  cells.resources = {2};
  const auto reserve = [&](const char* name, Id request) {
    cells.names.text = {};
    cells.names.text.push_back(name);
    return state.reserve(cells, 0, request, kNoId, 0, 9);
  };
  const Id last = reserve("w", q), its = reserve("v", other);
  EXPECT_EQ(state.reserved_for(q), std::vector<Id>{last});
  const ClusterState::Mark mark = state.mark();
  const Id first = reserve("u", q);
  EXPECT_EQ(state.reserved_for(q), (std::vector<Id>{first, last}));
  state.release(last);
  EXPECT_EQ(state.reserved_for(q), std::vector<Id>{first});
  EXPECT_EQ(state.reserved_for(other), std::vector<Id>{its});
  state.release(its);
  EXPECT_EQ(state.reserved_for(other), std::vector<Id>{});
  state.undo(mark);
  EXPECT_EQ(state.reserved_for(q), std::vector<Id>{last});
  EXPECT_EQ(state.reserved_for(other), std::vector<Id>{its});
}

TEST(ClusterRows, ATrialIsTakenBackWithinAJournal) {
  Scene scene;
  scene.operation();
  scene.node({8});
  const Id a = scene.allocation(0, 0, {3}, 0);
  ClusterState state(scene.snapshot());
  const std::vector<Amount> before = testing::essence(state);
  const ClusterState::Mark mark = state.mark();
  state.resize(a, std::vector<Amount>{4});
  const std::vector<Amount> resized = testing::essence(state);
  const ClusterState::Mark trial = state.mark();
  state.end(a);
  state.take_back(trial);
  EXPECT_EQ(testing::essence(state), resized);
  state.undo(mark);  // the journal was the owner's
  EXPECT_EQ(testing::essence(state), before);
  state.forget();
  const ClusterState::Mark alone = state.mark();
  state.end(a);
  state.take_back(alone);
  EXPECT_EQ(testing::essence(state), before);
  state.end(a);  // recorded no more
  EXPECT_TRUE(state.mark().first);
}

TEST(ClusterRows, RanksAreTheCanonicalOrder) {
  // Names between two of the snapshot's, so many that the numbers between them run out.
  Scene scene;
  scene.operation();
  for (int a = 0; a < 3; ++a) scene.allocation(0, kNoId, {1}, 0);
  ClusterState state(scene.snapshot());
  Tables other = scene.snapshot().tables();
  std::mt19937 random(1);
  std::vector<std::pair<std::string, Id>> slots;
  for (Id slot = 0; slot < 3; ++slot) slots.emplace_back("a100" + std::to_string(slot), slot);
  std::string name = "a1001";
  for (int i = 0; i < 200; ++i) {
    if (i < 100)
      name += 'm';  // each behind the one before, close to it
    else
      name = "a100" + std::to_string(random() % 3) + std::to_string(random() % 1000) + "x" +
             std::to_string(i);
    if (i == 60) name = "a1001";  // and each before all others: halves of halves
    const std::string its =
        i >= 60 && i < 100
            ? "a1001" + std::string(1, 'a') + std::string(static_cast<std::size_t>(100 - i), 'b')
            : name;
    other.allocations.names.text = {};
    other.allocations.names.text.push_back(its);
    slots.emplace_back(its, state.start_row(other.allocations, 0, 0, kNoId, kNoId, 0, 0, -2));
  }
  const Id unnamed = state.start(0, kNoId, std::vector<Amount>{1}, 0);
  std::ranges::sort(slots);
  for (std::size_t i = 1; i < slots.size(); ++i)
    EXPECT_LT(state.rank(slots[i - 1].second), state.rank(slots[i].second)) << slots[i].first;
  EXPECT_LT(state.rank(slots.back().second), state.rank(unnamed));
}

}  // namespace
}  // namespace evenhand::cluster_rows_test
