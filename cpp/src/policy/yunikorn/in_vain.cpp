// What can decide nothing: preemption cycles, without a search for each ask, and passes of asks.
#include <algorithm>
#include <utility>

#include "asks.h"
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

// Guarantees alone say that an attempt fails, whatever runs.
bool Asks::looks_in_vain(Id request) {
  const auto guaranteed = [this](Id q) { return world_->queues().guaranteed[world_row_[q]].any(); };
  if (std::ranges::none_of(part_.path(leaf_of(request)), guaranteed)) return true;
  begin_search(request);
  return search_->in_vain();
}

Time Asks::due(Attempts& attempts) {
  const Time now = state_.now();
  Time out = kNoTime;
  const auto earlier = [&](Time instant) {
    if (instant != kNoTime && instant > now && (out == kNoTime || instant < out)) out = instant;
  };
  const auto since = [&](Id request) {
    return state_.requests().get(&RequestColumns::submit_time, request);
  };
  for (const Id request : part_.asks) earlier(since(request) + set_.reservation_delay + 1);
  const LiveTable<ReservationColumns>& reserved = state_.reservations();
  for (Id i = 0; i < reserved.rows(); ++i) {
    if (!reserved.present(i)) continue;
    const Time from = reserved.get(&ReservationColumns::from, i, kNoTime);
    earlier(from);
    earlier(reserved.get(&ReservationColumns::until, i, kNoTime));
    if (from != kNoTime) earlier(from + lasts(set_.reservation_timeout) + 1);
  }
  std::vector<Attempts::Ask> in_vain;
  for (Size i = 0; i < looked_.size(); ++i) {
    const Id request = looked_[i];
    if (i > 0 && looked_[i - 1] == request) continue;  // waits, and has a node reserved
    if (rows_.may_preempt[request] == 0 || needs_node(request) ||
        (set_.asks_once && asks_.triggered[request] != 0))
      continue;
    const Id leaf = leaf_of(request);
    const Time ready = since(request) + delay_of(leaf), last = asks_.last_attempt[request];
    if (looks_in_vain(request)) {
      in_vain.push_back({request, leaf, ready, last});
      continue;
    }
    const Time next = last == kNoTime ? ready : std::max(ready, last + set_.retry);
    if (next <= now) return now;  // others of its queue were tried
    earlier(next);
  }
  attempts.begin(std::move(in_vain), set_.attempts, set_.retry);
  return out;
}

}  // namespace evenhand::yunikorn
