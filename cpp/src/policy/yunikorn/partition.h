// What a round of cycles looks at, as of one update: queues with their shares, what runs in the
// order in which it is wanted as victim, and what waits.
//
// It follows the cluster: an update costs O(nodes and queues), and for each ask that came or went
// O(log asks) comparisons, unless nodes, or what makes queues, have changed. Victims are listed
// when they are first asked for.
#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "evenhand/model/delta.h"
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

  Partition(const ClusterState& state, const Settings& settings);

  // What a change makes different.
  void before(const ClusterState& state, const Delta& delta);
  void after(const ClusterState& state, const Delta& delta, Id row);
  // As things are now.
  void follow(const ClusterState& state, const Settings& settings);
  // Time has passed, and nothing has changed.
  void grow_older() noexcept { listed_ = false; }
  // What may be a victim, with what it costs now. O(n log n) for each column of the cost, once.
  void list(const ClusterState& state, const Settings& settings, const RowSettings& rows) {
    if (!std::exchange(listed_, true)) list_victims(state, settings, rows);
  }

  Index queues() const noexcept { return parent.rows(); }
  std::span<const Id> path(Id q) const noexcept {  // the queue first
    return slice(ways, way[q], way[q + 1]);
  }
  Column<Id> top_down() const;  // every queue before those below it
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

  // No running allocation of a queue has a lower priority; Q.
  Column<double> lowest;

  // What may be a victim, the cheapest first. From `list` on.
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
  void read(const ClusterState& state, const Settings& settings);
  void read_queues(const ClusterState& state);
  void infer_owed();
  void limit_root(const ClusterState& state);
  void read_usage(const ClusterState& state);
  void read_asks(const ClusterState& state);
  void read_ask(const ClusterState& state, Id request);
  void follow_asks(const ClusterState& state);
  void count_asks();
  void see(const ClusterState& state, Id allocation);
  void ask_changed(Id request);
  void list_victims(const ClusterState& state, const Settings& settings, const RowSettings& rows);
  void read_near();

  bool anew_ = false, listed_ = false;
  Column<std::uint8_t> has_children_;                // of pools
  Column<Index> direct_;                             // operations of pools, without those below
  Column<Id> ask_leaf_;                              // by request that waits
  Column<Id> changed_;                               // requests
  Column<std::uint8_t> has_changed_;                 // likewise, by request
  std::unordered_map<std::string, Id> known_needs_;  // by amounts
};

// Of an allocation: its own, or that of its operation.
double priority_of(const ClusterState& state, Id allocation);

}  // namespace evenhand::yunikorn
