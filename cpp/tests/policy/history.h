// A living cluster to which things happen, drawn at random; names say which row is which.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "evenhand/policy/live_cluster.h"
#include "random_cluster.h"

namespace evenhand::testing {

// Hears which rows came, to hand over their settings.
struct Came {
  std::vector<Id> operations, nodes, allocations;
};

class History {
 public:
  History(Random& random, const Snapshot& snapshot, LiveCluster& cluster)
      : random_(random), donor_(snapshot.tables()), cluster_(cluster) {}

  // One event that is right now; `came` gets its rows.
  void step(Came& came) {
    cluster_.settle();  // rows are drawn from those that there are without decisions
    const ClusterState& s = state();
    const Id slot = pick(running()), away = pick(suspended());
    switch (random_.below(18)) {
      case 0:
        came.operations.push_back(put_operation());
        return;
      case 1:
        if (const Id o = pick(s.operations().in_order()); o != kNoId && random_.chance(40))
          remove_operation(o);
        return;
      case 2:
      case 3:
        put_request(pick(s.operations().in_order()));
        return;
      case 4:
        if (const Id q = pick(s.requests().in_order()); q != kNoId && random_.chance(50))
          remove(Delta::Kind::kRemoveRequest, q, &ClusterState::remove_request);
        return;
      case 5:
      case 6:
      case 7:
        start(pick(s.operations().in_order()), came);
        return;
      case 8:
      case 9:
        if (slot != kNoId) on({.kind = Delta::Kind::kEnd, .row = slot});
        return;
      case 10:
        if (slot != kNoId) {
          const std::vector<Amount> nothing(s.width(), 0);
          on({.kind = Delta::Kind::kSuspend, .row = slot, .amounts = nothing});
        }
        return;
      case 11:
        if (away != kNoId && s.node_of(away) != kNoId && s.nodes().present(s.node_of(away)))
          on({.kind = Delta::Kind::kResume, .row = away, .node = s.node_of(away), .time = s.now()});
        return;
      case 12:
        if (slot != kNoId) {
          const std::vector<Amount> size = small();
          on({.kind = Delta::Kind::kResize, .row = slot, .amounts = size});
        }
        return;
      case 13:
        if (slot != kNoId) leave(slot);
        return;
      case 14:
        if (const Id q = pick(s.requests().in_order()); q != kNoId)
          on({.kind = Delta::Kind::kPending, .row = q, .count = random_.below(3)});
        return;
      case 15:
        if (slot != kNoId && random_.chance(50))
          on({.kind = Delta::Kind::kTouch, .row = slot, .time = s.now(), .progress = s.now()});
        else if (slot != kNoId)
          cluster_.change({.kind = Delta::Kind::kCells, .row = slot}, [&](ClusterState& state) {
            state.set_preemptible(slot, random_.chance(50));
            return slot;
          });
        return;
      case 16:
        change_node(came);
        return;
      default:
        if (random_.chance(30)) {
          cluster_.settle();
          cluster_.shared()->reclaim();
        }
    }
  }
  void advance(Time by) {
    cluster_.change({.kind = Delta::Kind::kAdvance}, [&](ClusterState& state) {
      state.advance(state.now() + by);
      return kNoId;
    });
  }

 private:
  static std::size_t at(Id id) { return static_cast<std::size_t>(id); }
  const ClusterState& state() const { return cluster_.state(); }
  void on(const Delta& delta) { cluster_.on(delta); }
  Id pick(const std::vector<Id>& rows) {
    return rows.empty() ? kNoId : rows[at(random_.below(static_cast<int>(rows.size())))];
  }
  template <class Keep>
  std::vector<Id> slots(Keep&& keep) const {
    return state().allocations().in_order(
        [&](Id slot) { return state().allocations().present(slot) && keep(slot); });
  }
  std::vector<Id> running() const {
    return slots([&](Id slot) { return state().running(slot); });
  }
  std::vector<Id> suspended() const {
    return slots([&](Id slot) { return state().away(slot); });
  }
  std::vector<Amount> small() {
    std::vector<Amount> out(state().width());
    for (Amount& amount : out) amount = random_.below(4);
    out[0] += 1;
    return out;
  }
  // A row of the donor under a name that stands anywhere among the others.
  template <class Columns>
  Id donated(Columns& columns, const char* letter) {
    const Id row = random_.below(static_cast<int>(columns.size()));
    columns.names = {};
    if constexpr (requires { columns.order; })
      columns.order.assign(random_.chance(30) ? static_cast<std::size_t>(columns.size()) : 0,
                           random_.below(4));
    for (Id i = 0; i < row; ++i) columns.names.text.push_back("");
    columns.names.text.push_back(letter + std::to_string(1000 + random_.below(12)) + "-" +
                                 std::to_string(next_++));
    return row;
  }

  Id put_operation() {
    const Id row = donated(donor_.operations, "o");
    const Id made = cluster_.change({.kind = Delta::Kind::kPutOperation}, [&](ClusterState& state) {
      return state.put_operation(donor_.operations, row,
                                 random_.below(static_cast<int>(state.pools().size())), -2);
    });
    if (random_.chance(70)) put_request(made);
    return made;
  }
  void remove_operation(Id operation) {
    const auto requests = state().requests_of(operation), runs = state().allocations_of(operation);
    for (const Id q : std::vector<Id>(requests.begin(), requests.end()))
      remove(Delta::Kind::kRemoveRequest, q, &ClusterState::remove_request);
    for (const Id slot : std::vector<Id>(runs.begin(), runs.end()))
      on({.kind = Delta::Kind::kEnd, .row = slot});
    remove(Delta::Kind::kRemoveOperation, operation, &ClusterState::remove_operation);
  }
  void put_request(Id operation) {
    if (operation == kNoId) return;
    const Id row = donated(donor_.requests, "r");
    const Id old = random_.chance(20) ? pick(state().requests().in_order()) : kNoId;
    if (old != kNoId) {
      operation = state().operation_of_request(old);
      donor_.requests.order.assign(donor_.requests.count.size(),
                                   state().requests().keys().order(old));
    }
    donor_.requests.count[at(row)] = 1 + random_.below(2);
    cluster_.change({.kind = Delta::Kind::kPutRequest, .row = old}, [&](ClusterState& state) {
      return state.put_request(donor_.requests, row, operation, kNoId, -2, old);
    });
  }
  void start(Id operation, Came& came) {
    const Id node = pick(state().nodes().in_order());
    if (operation == kNoId || node == kNoId || donor_.allocations.size() == 0) return;
    const Id row = donated(donor_.allocations, "a");
    std::ranges::copy(small(), donor_.allocations.resources.begin() +
                                   static_cast<std::ptrdiff_t>(at(row) * state().width()));
    donor_.allocations.held = {};
    donor_.allocations.required_node = {};
    const Time time = state().now() - random_.below(100) * kMicrosecondsPerSecond;
    came.allocations.push_back(
        cluster_.change({.kind = Delta::Kind::kStartRow}, [&](ClusterState& state) {
          return state.start_row(donor_.allocations, row, operation, node, kNoId, time, time, -2);
        }));
  }
  void leave(Id slot) {
    const Id request = pick(state().requests().in_order());
    std::vector<Amount> half;
    if (random_.chance(50))
      for (std::size_t r = 0; r < state().width(); ++r)
        half.push_back(state().amounts(slot)[r] / 2);
    on({.kind = Delta::Kind::kPreempt, .row = slot, .amounts = half});
    cluster_.change({.kind = Delta::Kind::kCells, .row = slot}, [&](ClusterState& state) {
      const std::string_view name =
          request == kNoId ? std::string_view() : state.requests().keys().name(request);
      state.set_departure(
          slot, {state.allocations().get(&AllocationColumns::start_time, slot), kNoTime, {}, name});
      return slot;
    });
  }
  void change_node(Came& came) {
    const Id node = pick(state().nodes().in_order());
    if (node == kNoId || random_.chance(30)) {
      const Id row = donated(donor_.nodes, "n");
      came.nodes.push_back(cluster_.change(
          {.kind = Delta::Kind::kPutNode},
          [&](ClusterState& state) { return state.put_node(donor_.nodes, row, -2); }));
    } else if (random_.chance(30)) {
      on({.kind = Delta::Kind::kSchedulable,
          .row = node,
          .schedulable = !state().schedulable(node)});
    } else if (random_.chance(60)) {
      std::vector<Amount> size(state().node_capacity(node),
                               state().node_capacity(node) + state().width());
      size[0] += random_.below(3);
      on({.kind = Delta::Kind::kCapacity, .row = node, .amounts = size});
    } else if (empty(node)) {
      remove(Delta::Kind::kRemoveNode, node, &ClusterState::remove_node);
    }
  }
  // No row refers to it.
  bool empty(Id node) const {
    return slots([&](Id slot) {
             return (!state().gone(slot) || state().away(slot)) && state().node_of(slot) == node;
           }).empty() &&
           std::ranges::none_of(state().requests().in_order(),
                                [&](Id q) {
                                  return state().requests().get(&RequestColumns::required_node, q,
                                                                kNoId) == node;
                                }) &&
           std::ranges::none_of(state().reservations().in_order(), [&](Id v) {
             return state().reservations().get(&ReservationColumns::node, v, kNoId) == node;
           });
  }
  void remove(Delta::Kind kind, Id row, void (ClusterState::*act)(Id)) {
    cluster_.change({.kind = kind, .row = row}, [&](ClusterState& state) {
      (state.*act)(row);
      return row;
    });
  }

  Random& random_;
  Tables donor_;
  LiveCluster& cluster_;
  int next_ = 0;
};

}  // namespace evenhand::testing
