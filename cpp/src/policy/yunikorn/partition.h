// What a round of cycles looks at, as of one update: queues with their shares, what runs in the
// order in which it is wanted as victim, and what waits.
#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "evenhand/place/rooms.h"
#include "evenhand/place/where.h"
#include "evenhand/policy/yunikorn/planner.h"

namespace evenhand::yunikorn {

// Numbers no larger, and no smaller, than an amount.
inline float no_more(Amount amount) {
  const auto out = static_cast<float>(amount);
  return static_cast<double>(out) > static_cast<double>(amount)
             ? std::nextafter(out, -std::numeric_limits<float>::infinity())
             : out;
}
inline float no_less(Amount amount) {
  const auto out = static_cast<float>(amount);
  return static_cast<double>(out) < static_cast<double>(amount)
             ? std::nextafter(out, std::numeric_limits<float>::infinity())
             : out;
}

struct Partition {
  using Size = std::size_t;

  Partition(const ClusterState& state, const Settings& settings, const RowSettings& rows);

  Index queues() const noexcept { return parent.rows(); }
  std::span<const Id> path(Id q) const noexcept {  // the queue first
    return slice(ways, way[q], way[q + 1]);
  }
  Column<Id> top_down() const;  // every queue before those below it
  // Time has passed, and nothing has changed: costs that are spans of it.
  void grow_older(const ClusterState& state, const Settings& settings);
  template <class Matrix>
  auto* row(Matrix& matrix, Id q) const noexcept {
    return matrix.row(q, width);
  }
  Size width;
  // Pools; then one each for operations that stand in a pool which has children.
  Column<Id> parent, leaf_of_pool, children_of, pool_of;
  Column<Index> way, children;  // offsets
  Column<Id> ways;
  Column<double> weight;
  Column<Amount> owed, most;  // Q x R; for cycles also what children are owed, see `infer_owed`
  Column<ResourceMask> owes, limited;
  Column<Amount> usage, leaving, pending;  // Q x R
  Column<Amount> total;                    // R

  // What may be a victim, the cheapest first.
  Column<Id> slot, node, queue, operation;
  Column<double> priority;
  Column<double> cost;             // n x columns of the cost
  Column<Amount> amounts;          // n x R
  Column<std::uint8_t> must_stay;  // it needs its node
  Column<Index> on_node_from;      // N + 1
  Column<Id> on_node;              // places, the cheapest first
  Column<Id> place_of;             // S: place of a slot; kNoId: none
  Column<Index> of_queue_from;     // Q + 1
  Column<Id> of_queue;             // places of what may be a victim in a queue
  Column<Id> of_queue_node;        // and its node

  // For cycles alone. Queue and amounts of `on_node`, as they lie; the most and the least of what
  // one victim below a queue has, and no less than what all on one node have.
  Column<Id> near_queue, near_of;  // the latter: where a place lies
  Column<std::uint8_t> near_stays;
  Column<Amount> near;                      // n x R
  Column<float> near_least;                 // n x R: no more than that
  Column<Amount> largest, least, together;  // Q x R

  // Asks by queue: the highest priority first, then the longest waiting.
  Column<Index> asks_from;
  Column<Id> asks;
  Column<double> ask_priority;  // by request
  Column<Id> need_of;           // by request: the same for asks of the same amounts
  Index needs = 0;

  Rooms rooms;
  Column<Id> nodes;  // schedulable, in canonical order

 private:
  void read_queues(const ClusterState& state);
  void infer_owed();
  void limit_root(const ClusterState& state);
  void read_usage(const ClusterState& state);
  void read_victims(const ClusterState& state, const Settings& settings, const RowSettings& rows);
  void read_asks(const ClusterState& state);
  void read_near();
};

}  // namespace evenhand::yunikorn
