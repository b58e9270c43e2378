// Which queues are subordinate to which: what their subordinate_list settings say.
//
// Source: Grid Engine 8.1.9, queue_conf(5), subordinate_list: slot-wise ("slots=4(low.q:0:sr)") and
// queue-wise ("low.q=4") suspension. Queue instances of one host form the same trees on each host.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "evenhand/core/column.h"

namespace evenhand::gridengine {

struct Subordinates {
  // By queue, slot-wise. `place`: in the order of the trees, each queue before its subordinate
  // ones.
  Column<Id> parent;             // the queue whose list names it; kNoId: none
  Column<Index> most;            // slots=: jobs that may run in it and below it; 0: it has no list
  Column<Index> seq;             // seq_no in its parent's list
  Column<std::uint8_t> longest;  // lr: the longest run time stops first
  Column<Index> place;
  // Queue-wise pairs: the queue instance `below` is suspended while so many slots of `above` are in
  // use.
  Column<Id> above, below;
  Column<Index> used;
  Column<Id> queue_of_pool;        // P: the queue of that name; kNoId: none
  std::vector<std::string> names;  // by queue

  bool any() const noexcept {
    return !above.empty() || std::ranges::any_of(most, [](Index m) { return m > 0; });
  }
  // How far below a queue another is: 0 for itself; -1: it is not below it.
  Index level(Id above_it, Id queue) const noexcept {
    Index depth = 0;
    for (Id q = queue; q != kNoId; q = parent[q], ++depth)
      if (q == above_it) return depth;
    return -1;
  }
  Id root(Id queue) const noexcept {
    while (parent[queue] != kNoId) queue = parent[queue];
    return queue;
  }
  Index depth(Id queue) const noexcept { return level(root(queue), queue); }
};

}  // namespace evenhand::gridengine
