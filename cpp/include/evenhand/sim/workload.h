// What comes to a cluster: rows of operations and requests with their times, and what happens to
// nodes. Plain data.
#pragma once

#include "evenhand/model/snapshot.h"

namespace evenhand::sim {

enum class NodeEvent : std::uint8_t { kUp, kDown, kDrain, kCapacity };

struct Workload {
  Snapshot rows;          // its operations and requests; submit times are when they come
  Column<Id> pool, node;  // of its operations and of its nodes: rows of the start snapshot
  Column<Id> heartbeats;  // nodes in the order of their heartbeats; empty: as they stand
  // By request.
  Column<Time> run_time;          // of each of its count; kNoTime: for ever
  Column<Time> checkpoint_every;  // kNoTime: never
  Column<std::uint8_t> cut_off;   // its source ended before it did
  Column<std::uint8_t> replica;   // comes back when it is lost
  Column<std::uint8_t> whole;     // all of its allocations are interrupted with one of them
  // What happens to nodes, in order of time.
  Column<Time> event_time;
  Column<Id> event_node;  // of the start snapshot
  Column<NodeEvent> event;
  Column<Amount> event_capacity;  // events x R
};

}  // namespace evenhand::sim
