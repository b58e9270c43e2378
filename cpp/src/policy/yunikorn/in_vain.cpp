// Preemption cycles in which nothing can be decided, without a look at each ask.
#include <algorithm>
#include <utility>

#include "cycles.h"

namespace evenhand::yunikorn {

// Whether no ask that waits would find room, or anything that might leave for it, as far as amounts
// and queues alone say. O(asks), and O(nodes) for each kind of them.
bool Cycles::preempts_in_vain() {
  if (recorder_ != nullptr || tells || !state_.leaving().empty() || !reservations_.empty())
    return false;
  share();
  const auto inter =
      std::ranges::find(set_.policies, PolicyKind::kInterQueue) != set_.policies.end();
  const auto intra =
      std::ranges::find(set_.policies, PolicyKind::kIntraQueue) != set_.policies.end();
  fits_nowhere_.assign(at(part_.needs), 0);
  for (Id leaf = 0; leaf < part_.queues(); ++leaf) {
    const auto asks = slice(part_.asks, part_.asks_from[leaf], part_.asks_from[leaf + 1]);
    bool looked = false;
    for (const Id request : asks) {
      if (pending_[request] <= 0) continue;
      if (!std::exchange(looked, true))  // the most important
        if ((inter && might_give(request, For::kInterQueue)) ||
            (intra && might_give(request, For::kIntraQueue)))
          return false;
      if (!anywhere(request)) return false;
      std::uint8_t& known = fits_nowhere_[part_.need_of[request]];
      if (known == 0 && free_node(request) != kNoId) return false;
      known = 1;
    }
  }
  return true;
}

// Each that may ask others does so in vain.
void Cycles::miss_all() {
  if (at_limit(Column<Amount>(width_, 0)) || set_.ask_candidates <= 0) return;
  for (const PolicyKind policy : set_.policies) {
    const For what = policy == PolicyKind::kInterQueue ? For::kInterQueue : For::kIntraQueue;
    for (const Id request : part_.asks)
      if (pending_[request] > 0 && noted_[request] == 0 &&
          entitled(leaf_of(request), request, what))
        missed(request);
  }
}

}  // namespace evenhand::yunikorn
