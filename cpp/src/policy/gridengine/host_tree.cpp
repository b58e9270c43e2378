#include "host_tree.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace evenhand::gridengine {

Index HostTree::running(Id node) const {
  return std::ranges::count_if(tasks_, [&](const Task& t) {
    return status_[t.operation] == TaskStatus::kRuns && queues_.level(node, t.queue) >= 0;
  });
}

// On the deepest (shallowest) level that has any, of the queue with the highest (lowest) seq_no
// there, the one with the shortest or longest run time, as the queue's action says, or the
// opposite. Of equal start times the last job in canonical order; where queues of one seq_no differ
// in their action, the first queue of the tree decides: Grid Engine goes through them from the last
// to the first, and compares each with the best of its own kind only.
template <class May>
const Task* HostTree::extreme(Id node, bool stop, May may) const {
  const auto rung = [&](const Task& t) {
    const std::pair key(queues_.level(node, t.queue), queues_.seq[t.queue]);
    return stop ? std::pair(-key.first, -key.second) : key;
  };
  std::vector<const Task*> found;
  for (const Task& t : tasks_) {
    if (queues_.level(node, t.queue) <= 0 || !may(t)) continue;
    if (!found.empty() && rung(t) != rung(*found[0])) {
      if (rung(t) > rung(*found[0])) continue;
      found.clear();
    }
    found.push_back(&t);
  }
  std::ranges::sort(found, [&](const Task* a, const Task* b) {
    return std::tuple(-queues_.place[a->queue], -a->rank) <
           std::tuple(-queues_.place[b->queue], -b->rank);
  });
  const Task* best = nullptr;
  Time oldest = std::numeric_limits<Time>::max(), youngest = std::numeric_limits<Time>::min();
  for (const Task* t : found) {
    Time& limit = (queues_.longest[t->queue] != 0) == stop ? oldest : youngest;
    if (best != nullptr && (&limit == &oldest ? t->start >= oldest : t->start <= youngest))
      continue;
    limit = t->start;
    best = t;
  }
  return best;
}

const Task* HostTree::next_to_stop(Id node) const {
  return extreme(node, true,
                 [&](const Task& t) { return status_[t.operation] == TaskStatus::kRuns; });
}

// No threshold between it and the root is exceeded when it runs again.
const Task* HostTree::next_to_resume(Id root) const {
  Column<Index> counts(queues_.parent.size(), 0);
  for (const Task& t : tasks_)
    if (status_[t.operation] == TaskStatus::kRuns)
      for (Id q = t.queue; q != kNoId; q = queues_.parent[q]) ++counts[q];
  return extreme(root, false, [&](const Task& t) {
    if (status_[t.operation] != TaskStatus::kStopped) return false;
    for (Id q = queues_.parent[t.queue]; q != root; q = queues_.parent[q])
      if (queues_.most[q] > 0 && counts[q] >= queues_.most[q]) return false;
    return true;
  });
}

}  // namespace evenhand::gridengine
