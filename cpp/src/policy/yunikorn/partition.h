// What a round of cycles looks at, as of one update: queues with their shares, what runs in the
// order in which it is wanted as victim, and what waits.
#pragma once

#include <span>
#include <vector>

#include "evenhand/place/rooms.h"
#include "evenhand/place/where.h"
#include "evenhand/policy/yunikorn/planner.h"

namespace evenhand::yunikorn {

struct Partition {
  using Size = std::size_t;

  Partition(const ClusterState& state, const Settings& settings, const RowSettings& rows);

  Index queues() const noexcept { return parent.rows(); }
  std::span<const Id> path(Id q) const noexcept {  // the queue first
    return slice(ways, way[q], way[q + 1]);
  }
  template <class T>
  T* row(Column<T>& matrix, Id q) const noexcept {
    return matrix.row(q, width);
  }
  // The larger of what a queue is owed and what its share is: what it keeps.
  Amount keeps(Id q, Size r) const noexcept {
    const Size cell = at(q) * width + r;
    return std::max(owed[cell], ideal[cell]);
  }
  // The largest part of its guarantee that a queue uses; of the partition where it has none.
  double dominant_share(Id q, const Amount* used) const noexcept;

  Size width;
  // Pools; then one each for operations that stand in a pool which has children.
  Column<Id> parent, leaf_of_pool, children_of, pool_of;
  Column<Index> way, children;  // offsets
  Column<Id> ways;
  Column<double> weight;
  Column<Amount> owed, most;  // Q x R
  Column<ResourceMask> owes, limited;
  Column<Amount> usage, leaving, pending, ideal;  // Q x R
  Column<Amount> total;                           // R

  // What may be a victim, the cheapest first.
  Column<Id> slot, node, queue, operation;
  Column<double> priority;
  Column<Amount> amounts;      // n x R
  Column<Index> on_node_from;  // N + 1
  Column<Id> on_node;          // places, the cheapest first
  Column<Id> place_of;         // S: place of a slot; kNoId: none

  // Asks by queue: the highest priority first, then the longest waiting.
  Column<Index> asks_from;
  Column<Id> asks;
  Column<double> ask_priority;  // by request

  Rooms rooms;
  Column<Id> nodes;  // schedulable, in canonical order

 private:
  void read_queues(const ClusterState& state);
  void read_usage(const ClusterState& state);
  void read_victims(const ClusterState& state, const Settings& settings, const RowSettings& rows);
  void read_asks(const ClusterState& state);
  void share();
  void share_among(Id q);
};

}  // namespace evenhand::yunikorn
