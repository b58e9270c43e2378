#include "cycles.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <tuple>

namespace evenhand::yunikorn {
namespace {

constexpr std::int64_t kLongestWait = std::int64_t{1} << 20;

}  // namespace

Column<Id> Cycles::find_asks(Index count, For what) {
  struct Next {
    double share;
    Id queue;
    bool operator<(const Next& other) const noexcept {
      return std::tie(other.share, other.queue) < std::tie(share, queue);
    }
  };
  std::priority_queue<Next> queues;
  Column<Amount> used = usage_;
  if (what == For::kAllocation)
    for (Size i = 0; i < used.size(); ++i) used[i] += leaving_[i];
  Column<Index> at_ask(at(part_.queues())), of_ask(at(part_.queues()), 0);
  // The next ask of a queue that may be looked at; kNoId: none.
  const auto next = [&](Id queue) {
    for (Index& i = at_ask[queue]; i < part_.asks_from[queue + 1]; ++i, of_ask[queue] = 0) {
      const Id request = part_.asks[i];
      if (of_ask[queue] < pending_[request] && masked_[request] == 0 &&
          (what != For::kAllocation || asks_.wait[request] == 0) &&
          entitled(queue, request, part_.row(used, queue), what))
        return request;
    }
    return kNoId;
  };
  for (Id q = 0; q < part_.queues(); ++q) {
    at_ask[q] = part_.asks_from[q];
    if (next(q) != kNoId) queues.push({part_.dominant_share(q, part_.row(used, q)), q});
  }
  Column<Id> out;
  while (!queues.empty() && out.rows() < count) {
    const Id queue = queues.top().queue;
    queues.pop();
    const Id request = next(queue);
    if (request == kNoId) continue;
    out.push_back(request);
    ++of_ask[queue];
    Amount* here = part_.row(used, queue);
    for (Size r = 0; r < width_; ++r) here[r] += need(request)[r];
    if (next(queue) != kNoId) queues.push({part_.dominant_share(queue, here), queue});
  }
  return out;
}

// May a queue that uses so much ask others for this?
bool Cycles::entitled(Id queue, Id request, const Amount* used, For what) const {
  const Amount* share = part_.ideal.row(queue, width_);
  if (what == For::kAllocation) return true;
  if (what == For::kIntraQueue) {
    for (Size r = 0; r < width_; ++r)
      if (used[r] > share[r]) return false;
    return true;
  }
  for (Size r = 0; r < width_; ++r)
    if (need(request)[r] > 0 && used[r] < share[r]) return true;
  return false;
}

Outcome Cycles::eligible(Id place, Id request, For what) const {
  const Id queue = part_.queue[place];
  const bool own = queue == leaf_of(request);
  if (taken_[place] != 0) return Outcome::kTaken;
  if (what == For::kInterQueue && own) return Outcome::kSameQueue;
  if (what == For::kIntraQueue) {
    if (!own) return Outcome::kOtherQueue;
    if (part_.operation[place] == state_.operation_of_request(request))
      return Outcome::kSameOperation;
    if (part_.priority[place] >= part_.ask_priority[request]) return Outcome::kNotLowerPriority;
  }
  if (within_ != kNoId && std::ranges::find(part_.path(queue), within_) == part_.path(queue).end())
    return Outcome::kOtherQueue;
  return Outcome::kNotChosen;
}

// Do its queue, and those above it that the asker is not in, keep their guarantee and ideal share?
bool Cycles::may_give(Id place, Id request, For what) const {
  const Amount* gives = part_.amounts.row(place, width_);
  if (what == For::kIntraQueue) {  // the queue has the ask in its place
    for (const Id q : part_.path(part_.queue[place]))
      for (Size r = 0; r < width_; ++r) {
        const Size cell = at(q) * width_ + r;
        if (gives[r] > 0 &&
            usage_[cell] - gives[r] + need(request)[r] < std::min(usage_[cell], part_.owed[cell]))
          return false;
      }
    return true;
  }
  for (const Id q : part_.path(part_.queue[place])) {
    if (asking_[q] != 0) return true;
    for (Size r = 0; r < width_; ++r) {
      const Size cell = at(q) * width_ + r;
      if (gives[r] > 0 && usage_[cell] - gives[r] < part_.keeps(q, r)) return false;
      if (set_.dead_zone > 0 && gives[r] > 0 &&
          static_cast<double>(usage_[cell]) <=
              static_cast<double>(part_.keeps(q, r)) * (1 + set_.dead_zone))
        return false;
    }
  }
  return true;
}

bool Cycles::give(Id place, Id request, For what) {
  if (!may_give(place, request, what)) return false;
  add_usage(part_.queue[place], part_.amounts.row(place, width_), -1);
  return true;
}

void Cycles::watch(Id request, For what) {
  const Id slot = watched();
  if (slot == kNoId || slot >= part_.place_of.rows() || part_.place_of[slot] == kNoId) return;
  const Id place = part_.place_of[slot];
  Outcome why = eligible(place, request, what);
  if (why == Outcome::kTaken) return;
  Spared spared;
  if (why == Outcome::kNotChosen && pace_.on()) {
    spared = pace_.spared(state_, slot);
    if (spared.why != Outcome::kTaken) why = spared.why;
  }
  if (why == Outcome::kNotChosen && !may_give(place, request, what)) why = Outcome::kQueueKeepsIt;
  record_slot(request, why, spared);
}

// Places one ask, with or without preemption.
bool Cycles::try_allocate(Id request, For what) {
  ++tally.asks;
  const Stage stage = what == For::kAllocation ? Stage::kAllocationCycle : Stage::kPreemptionCycle;
  credit(request, 1);
  const bool headroom = has_headroom(request);
  const Id node = headroom ? free_node(request) : kNoId;
  const Outcome why = headroom ? why_ : Outcome::kLimitsOfOperationOrPool;
  if (node != kNoId) {
    credit(request, -1);
    start(request, node, stage, {}, Reason::kFitsFreeRoom);
    may_give_now(leaf_of(request));
    return true;
  }
  std::optional<Found> found;
  if (what != For::kAllocation &&
      (why == Outcome::kNoFreeRoom || why == Outcome::kLimitsOfOperationOrPool)) {
    found = victims_for(request, what);
    if (watched() != kNoId) watch(request, what);
  }
  credit(request, -1);
  if (!found) {
    fail(request, what != For::kAllocation && why == Outcome::kNoFreeRoom
                      ? Outcome::kNoRoomEvenWithVictims
                      : why);
    return false;
  }
  for (const Id place : found->victims)
    preempt(place, request, found->node, stage,
            what == For::kInterQueue ? Reason::kBelowIdealShare : Reason::kHigherPriorityInQueue);
  start(request, found->node, stage, found->victims, Reason::kFitsAfterPreemption);
  may_give_now(leaf_of(request));
  return true;
}

void Cycles::missed(Id request) {
  ++asks_.missed[request];
  std::int64_t wait = 2;
  for (std::int64_t i = 1; i < asks_.missed[request] && wait < kLongestWait; ++i) wait *= 2;
  asks_.wait[request] = wait;
}

void Cycles::allocation() {
  masked_.assign(pending_.size(), 0);
  for (Id q = 0; q < pending_.rows(); ++q)
    if (asks_.wait[q] > 0) {
      --asks_.wait[q];
      masked_[q] = 1;
      outcome_[q] = Outcome::kMissedOpportunity;
      if (pending_[q] > 0) record(q, Outcome::kMissedOpportunity);
    }
  Index rest = set_.n_alloc;
  while (rest > 0) {
    const Column<Id> asks = find_asks(rest, For::kAllocation);
    if (asks.empty()) break;
    ++tally.rounds;
    Index done = 0;
    for (const Id request : asks) {
      if (masked_[request] != 0) continue;
      if (try_allocate(request, For::kAllocation)) {
        ++done;
        asks_.forget(request);
      } else {
        masked_[request] = 1;
        missed(request);
      }
    }
    rest -= done;
    if (done == 0) break;
  }
}

bool Cycles::at_limit(const Column<Amount>& total) const {
  for (Size r = 0; r < width_; ++r) {
    if (set_.limit.empty()) {
      if (part_.total[r] > 0 &&
          static_cast<double>(total[r]) >= set_.limit_share * static_cast<double>(part_.total[r]))
        return true;
    } else if (set_.limit[r] != kNoLimit && total[r] >= set_.limit[r]) {
      return true;
    }
  }
  return false;
}

void Cycles::preemption() {
  for (const PolicyKind policy : set_.policies) {
    const For what = policy == PolicyKind::kInterQueue ? For::kInterQueue : For::kIntraQueue;
    masked_.assign(pending_.size(), 0);
    Column<std::uint8_t> failed(pending_.size(), 0);
    Column<Amount> total(width_, 0);
    bool full = at_limit(total);
    while (!full) {
      const Column<Id> asks = find_asks(set_.ask_candidates, what);
      if (asks.empty()) break;
      ++tally.rounds;
      relist_ = true;
      for (const Id request : asks) {
        if (masked_[request] != 0) continue;
        if (full = at_limit(total); full) break;
        if (!entitled(leaf_of(request), request, part_.row(usage_, leaf_of(request)), what)) {
          masked_[request] = 1;
          continue;
        }
        if (try_allocate(request, what)) {
          for (Size r = 0; r < width_; ++r) total[r] += need(request)[r];
          asks_.forget(request);
        } else {
          masked_[request] = 1;
          failed[request] = 1;
        }
      }
      full = full || at_limit(total);
    }
    for (const Id request : part_.asks) {
      if (pending_[request] <= 0) continue;
      if (failed[request] != 0)
        missed(request);
      else if (masked_[request] == 0 && outcome_[request] == Outcome::kCycleFull &&
               !entitled(leaf_of(request), request, part_.row(usage_, leaf_of(request)), what)) {
        outcome_[request] = Outcome::kQueueHasItsShare;
        record(request, Outcome::kQueueHasItsShare);
      }
    }
  }
}

// Victims by what queues have too much of, as much as others claim; nobody asks and nothing starts.
void Cycles::shotgun() {
  Column<Amount> claimed(width_, 0), total(width_, 0);
  for (Id q = 0; q < part_.queues(); ++q)
    if (part_.asks_from[q] < part_.asks_from[q + 1])
      for (Size r = 0; r < width_; ++r)
        claimed[r] +=
            std::max<Amount>(part_.ideal[at(q) * width_ + r] - usage_[at(q) * width_ + r], 0);
  asking_.assign(at(part_.queues()), 0);
  asking_[0] = 1;
  for (Id place = 0; place < part_.slot.rows() && !at_limit(total); ++place) {
    const Amount* gives = part_.amounts.row(place, width_);
    bool useful = false;
    for (Size r = 0; r < width_; ++r) useful = useful || (gives[r] > 0 && claimed[r] > 0);
    if (!useful || !may_give(place, kNoId, For::kInterQueue)) continue;
    if (pace_.on() && pace_.spared(state_, part_.slot[place]).why != Outcome::kTaken) continue;
    preempt(place, kNoId, kNoId, Stage::kPreemptionCycle, Reason::kSurplusOfQueue);
    ++steps_;
    for (Size r = 0; r < width_; ++r) {
      claimed[r] -= gives[r];
      total[r] += gives[r];
    }
  }
}

}  // namespace evenhand::yunikorn
