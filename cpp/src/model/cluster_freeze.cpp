// A mutable cluster as frozen tables again: rows in canonical order, what deltas changed
// in the place of the cells, and what follows from the rows.
#include <algorithm>
#include <utility>

#include "evenhand/model/building.h"
#include "evenhand/model/cluster_state.h"
#include "evenhand/model/columns.h"

namespace evenhand {
namespace {

// The place of every row among those that there are.
Column<Id> places(const Column<Id>& rows, Index count) {
  Column<Id> result(at(count), kNoId);
  for (Id i = 0; i < rows.rows(); ++i) result[rows[i]] = i;
  return result;
}

void follow(Column<Id>& column, const Column<Id>& places) {
  for (Id& row : column)
    if (row != kNoId) row = places[row];
}

}  // namespace

Tables ClusterState::frozen(bool total_stated, Sources* sources) const {
  Sources rows;
  rows.operations = operations_.in_order();
  rows.nodes = nodes_.in_order();
  rows.requests = requests_.in_order();
  rows.allocations = allocations_.in_order([&](Id slot) { return !gone(slot) || away(slot); });
  const Column<Id> operations = places(rows.operations, operations_.rows());
  const Column<Id> nodes = places(rows.nodes, nodes_.rows());
  const Column<Id> requests = places(rows.requests, requests_.rows());
  const Column<Id> allocations = places(rows.allocations, slots());
  // A reservation goes with what it is for.
  rows.reservations = reservations_.in_order([&](Id row) {
    if (!reservations_.present(row)) return false;
    const Id request = reservations_.get(&ReservationColumns::request, row, kNoId);
    const Id allocation = reservations_.get(&ReservationColumns::allocation, row, kNoId);
    return (request == kNoId || requests[request] != kNoId) &&
           (allocation == kNoId || allocations[allocation] != kNoId);
  });

  const Tables& before = tables();
  Tables t;
  t.now = now_;
  t.previous_update = before.previous_update;
  t.resources = before.resources;
  t.pools = before.pools;

  const auto each = [&](const Column<Id>& of, auto&& amounts) {
    Column<Amount> cells(of.size() * width_, 0);
    for (std::size_t i = 0; i < of.size(); ++i)
      if (const Amount* its = amounts(of[i])) std::copy_n(its, width_, cells.row(i, width_));
    return cells;
  };
  const Column<Amount> wanted = demand();
  t.operations = operations_.gather(rows.operations);
  t.operations.usage = each(rows.operations, [&](Id o) { return operation_usage(o); });
  t.operations.demand = each(rows.operations, [&](Id o) { return row(wanted, o); });

  t.nodes = nodes_.gather(rows.nodes);
  t.nodes.capacity = each(rows.nodes, [&](Id n) { return node_capacity(n); });
  for (std::size_t i = 0; i < rows.nodes.size(); ++i)
    t.nodes.schedulable[i] = schedulable_[rows.nodes[i]];

  AllocationColumns& a = t.allocations = allocations_.gather(rows.allocations);
  a.resources = each(rows.allocations, [&](Id slot) { return amounts(slot); });
  a.held = unless_all(each(rows.allocations, [&](Id slot) { return kept(slot); }), Amount{0});
  a.last_job_start_time.resize(rows.allocations.size());
  a.last_progress_time.assign(rows.allocations.size(), kNoTime);
  for (std::size_t i = 0; i < rows.allocations.size(); ++i) {
    const Id slot = rows.allocations[i];
    a.operation[i] = operation_[slot];
    a.node[i] = node_[slot];
    a.last_job_start_time[i] = last_start_[slot];
    a.last_progress_time[i] = last_progress(slot);
    a.state[i] = running(slot)   ? AllocationState::kRunning
                 : holds(slot)   ? AllocationState::kSuspended
                 : leaving(slot) ? AllocationState::kPreempting
                                 : AllocationState::kPreempted;
  }
  if (a.last_job_start_time == a.start_time) a.last_job_start_time = {};
  a.last_progress_time = unless_all(std::move(a.last_progress_time), kNoTime);
  follow(a.operation, operations);
  follow(a.node, nodes);
  follow(a.required_node, nodes);

  t.requests = requests_.gather(rows.requests);
  for (std::size_t i = 0; i < rows.requests.size(); ++i)
    t.requests.count[i] = pending_[rows.requests[i]];
  follow(t.requests.operation, operations);
  follow(t.requests.required_node, nodes);

  t.reservations = reservations_.gather(rows.reservations);
  follow(t.reservations.request, requests);
  follow(t.reservations.allocation, allocations);
  follow(t.reservations.node, nodes);

  order_tree(t);
  group_rows(t);
  t.total = total_stated ? before.total : derived_total(t);
  if (sources != nullptr) *sources = std::move(rows);
  return t;
}

}  // namespace evenhand
