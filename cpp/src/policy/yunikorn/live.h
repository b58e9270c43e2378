// What of each node's allocations may leave for askers below a queue, and how few of them might do.
//
// Most nodes are never searched: columns of nodes give, for an ask, the fewest victims that each
// needs at least, and the place of the last of as many. They are as of an instant; a node in which
// something has left since is listed again when it is searched. What a search of a node gave is
// known until something there changes: its room, its allocations, or what their queues may give.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "partition.h"

namespace evenhand::yunikorn {

using Tick = std::int64_t;

struct Live {
  static constexpr std::size_t kPlaces = 12;
  static constexpr Id kNone = std::numeric_limits<Id>::max();

  struct Known {  // of a node, for asks of the same amounts
    Tick at = -1;
    Index victims = 0;  // 0: it cannot be
    Id dearest = kNoId;
  };

  Id above = 0;                 // what this queue and those above it keep is not looked at
  double below_priority = 0;    // within a queue: of what may leave
  bool within = false;          // the queue itself gives
  Column<std::uint8_t> asking;  // Q: `above` and what is above it
  Column<std::uint8_t> closed;  // Q: leaf queues of which nothing may leave, as of the listing

  Column<Index> count;     // N: how many of a node are live
  Column<Id> of;           // places in `on_node`, from where those of the node begin there
  Column<float> one, all;  // R x N: a part of the largest, and of all, no more than it is
  Column<Id> nth;          // kPlaces x N: of the n-th cheapest; kNone: there are fewer
  // Nodes by that, each as what it was when they were sorted and its number; empty: not yet.
  std::array<std::vector<std::uint64_t>, kPlaces> order;
  Column<Tick> listed;  // N
  std::unordered_map<std::int64_t, Column<Known>> known;
};

}  // namespace evenhand::yunikorn
