#include "cycles.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace evenhand::yunikorn {
namespace {

// The largest part of its guarantee that a queue uses; of the partition where it has none.
struct DominantShare {
  Amount used = 0, of = 1;
  bool operator<(const DominantShare& other) const noexcept {
    return Wide{used} * other.of < Wide{other.used} * of;
  }
};

// A product with a decimal number; what is off a whole number by an error of rounding alone is one.
double product(double share, Amount amount) {
  const double exact = share * static_cast<double>(amount), whole = std::round(exact);
  return std::abs(exact - whole) <= 1e-12 * whole ? whole : exact;
}

}  // namespace

Cycles::Cycles(const ClusterState& state, Partition& partition, const Inputs& inputs,
               AskMemory& asks, Pace& pace, Recorder* recorder)
    : Run(state, partition, inputs, asks, pace, recorder) {
  const Size queues = at(partition.queues());
  noted_.assign(pending_.size(), 0);
  tried_.assign(pending_.size(), 0);
  closed_.assign(queues, 0);
  ranked_.resize(queues);
  unranked_.assign(queues, 1);
  fence_.assign(queues, 0);
  for (Id q = 1; q < partition.queues(); ++q) {
    closed_[q] = policy_of(q) == QueuePolicy::kDisabled ? 1 : 0;
    for (const Id up : partition.path(q)) {
      const bool own = up >= state.pools().size();  // of the pool's own operations
      if (up != 0 && (own || policy_of(up) != QueuePolicy::kFence)) continue;
      fence_[q] = up;
      break;
    }
  }
  asking_.assign(queues, 0);
  cut_off_.assign(pending_.size(), 0);
  given_.assign(queues * width_, 0);
  bound_ = set_.limit;
  if (bound_.empty())
    for (const Amount all : partition.total)
      bound_.push_back(all > 0 ? static_cast<Amount>(std::ceil(product(set_.limit_share, all)))
                               : kNoLimit);
}

// What a policy goes by: shares as things are when it begins, and asks that may be looked at.
void Cycles::begin(For what) {
  unordered_.assign(at(part_.queues()), 1);
  masked_.assign(pending_.size(), 0);
  count_waiting();
  if (what == For::kAllocation) return;
  share();
  seen_ = false;
  lives_.clear();
  own_.reset();
  if (recorder_ != nullptr) see_victims();
}

// Asks that may still be looked at.
void Cycles::count_waiting() {
  waiting_.assign(at(part_.queues()), 0);
  for (Id leaf = 0; leaf < part_.queues(); ++leaf) {
    Index count = 0;
    for (const Id request : slice(part_.asks, part_.asks_from[leaf], part_.asks_from[leaf + 1]))
      count += pending_[request] > 0 && masked_[request] == 0 ? 1 : 0;
    if (count > 0)
      for (const Id q : part_.path(leaf)) waiting_[q] += count;
  }
}

// What queues keep, by their ideal shares.
void Cycles::share() {
  if (std::exchange(shared_at_, steps_) == steps_) return;  // each start is a step
  asks_may_.assign(at(part_.queues()), -1);
  Column<Amount> pending = part_.pending;
  for (const Id request : part_.asks)  // but for what has started since
    if (const Index count = pending_[request] - state_.pending(request); count != 0)
      for (const Id q : part_.path(leaf_of(request)))
        for (Size r = 0; r < width_; ++r) part_.row(pending, q)[r] += count * need(request)[r];
  shares_ = ideal_shares(part_, usage_, pending);
  keeps_ = part_.owed;
  dead_.assign(keeps_.size(), -1);
  for (Size cell = 0; cell < keeps_.size(); ++cell) {
    keeps_[cell] = std::max(keeps_[cell], shares_.most[cell]);
    if (set_.dead_zone > 0)
      dead_[cell] = static_cast<Amount>(std::floor(product(1 + set_.dead_zone, part_.owed[cell])));
  }
}

Column<Id> Cycles::find_asks(Index count, For what) {
  Column<Id> out;
  look_in(0, count, what, [&](Id request, Index copies) {
    const Index most = std::min(copies, count - out.rows());
    out.insert(out.end(), at(most), request);
    return count - out.rows();
  });
  return out;
}

template <class Take>
Index Cycles::look_in(Id queue, Index count, For what, Take&& take) {
  const auto below = slice(part_.children_of, part_.children[queue], part_.children[queue + 1]);
  if (waiting_[queue] <= 0) return count;
  if (below.empty()) {
    if (unordered_[queue] != 0) order(queue);
    Column<Id>& asks = order_[at(queue)];
    Size kept = 0, i = 0;
    for (; i < asks.size() && count > 0; ++i) {
      const Id request = asks[i];
      if (pending_[request] <= 0 || masked_[request] != 0) continue;
      asks[kept++] = request;
      if (!entitled(queue, request, what)) continue;
      count = take(request, pending_[request]);
    }
    asks.erase(asks.begin() + static_cast<std::ptrdiff_t>(kept),
               asks.begin() + static_cast<std::ptrdiff_t>(i));
    return count;
  }
  std::vector<std::pair<DominantShare, Id>> children;
  for (const Id c : below) {
    if (waiting_[c] <= 0) continue;
    DominantShare share;
    for (Size r = 0; r < width_; ++r) {
      const Size cell = at(c) * width_ + r;
      const Amount used = usage_[cell] + (what == For::kAllocation ? leaving_[cell] : 0);
      const Amount of = part_.owed[cell] > 0 ? part_.owed[cell] : part_.total[r];
      if (used <= 0) continue;
      const DominantShare one = of > 0 ? DominantShare{used, of} : DominantShare{1, 1};
      if (share < one) share = one;
    }
    if (part_.pool_of[c] == part_.pool_of[queue]) share = {-1, 1};  // its own asks come first
    children.emplace_back(share, c);
  }
  std::ranges::stable_sort(
      children, [](const auto& left, const auto& right) { return left.first < right.first; });
  for (const auto& [share, c] : children) {
    if (count <= 0) break;
    count = look_in(c, count, what, take);
  }
  return count;
}

std::vector<Rounds::Ask> Cycles::in_vain() {
  std::vector<Rounds::Ask> out;
  const auto waits = [this](Id request) { return pending_[request] > 0; };
  const auto tried = [this](Id request) {
    return pending_[request] <= 0 || (tried_[request] != 0 && noted_[request] != 0);
  };
  if (std::ranges::all_of(part_.asks, tried)) {  // no cycle of theirs comes: no order counts
    for (const Id request : part_.asks)
      if (waits(request))
        out.push_back(
            {request, pending_[request], false, true, asks_.missed[request], asks_.wait[request]});
    return out;
  }
  begin(For::kAllocation);
  look_in(0, 1, For::kAllocation, [&](Id request, Index copies) {
    bool starts = tried_[request] == 0;
    if (starts) {
      credit(request, 1);
      starts = has_headroom(request) && free_node(request) != kNoId;
      credit(request, -1);
    }
    out.push_back({request, copies, starts, noted_[request] != 0, asks_.missed[request],
                   asks_.wait[request]});
    return Index{1};
  });
  return out;
}

// Applications by their highest priority, then by submission; the asks of each likewise.
void Cycles::order(Id leaf) {
  unordered_[leaf] = 0;
  order_.resize(at(part_.queues()));
  Column<Id>& ranked = ranked_[at(leaf)];
  if (unranked_[leaf] != 0) {
    unranked_[leaf] = 0;
    const auto asks = slice(part_.asks, part_.asks_from[leaf], part_.asks_from[leaf + 1]);
    highest_.resize(at(state_.operations().rows()));
    for (Size i = asks.size(); i-- > 0;)  // the first of an application is its most important
      if (pending_[asks[i]] > 0)
        highest_[state_.operation_of_request(asks[i])] = part_.ask_priority[asks[i]];
    struct Place {
      double below;
      Time since;
      Index rank;
      Id request;
    };
    std::vector<Place> places;
    places.reserve(asks.size());
    for (const Id request : asks) {
      if (pending_[request] <= 0) continue;
      const Id of = state_.operation_of_request(request);
      places.push_back({-highest_[of], state_.operations().get(&OperationColumns::start_time, of),
                        state_.operations().keys().rank(of), request});
    }
    std::ranges::stable_sort(places, {},
                             [](const Place& p) { return std::tuple(p.below, p.since, p.rank); });
    ranked.clear();
    for (const Place& place : places) ranked.push_back(place.request);
  }
  order_[at(leaf)] = ranked;
}

// It is not looked at again by this policy. One that is served leaves its application with those
// behind it, whose priority may be lower.
void Cycles::left_out(Id request) {
  const Id leaf = leaf_of(request);
  for (const Id q : part_.path(leaf)) --waiting_[q];
  if (masked_[request] == 0) unordered_[leaf] = unranked_[leaf] = 1;
}

// May its queue ask others for this?
bool Cycles::entitled(Id queue, Id request, For what) const {
  if (what == For::kAllocation) return true;
  const Amount *wants = need(request), *used = part_.row(usage_, queue);
  const bool inter = what == For::kInterQueue;
  const Amount* share = (inter ? shares_.most : shares_.below).row(queue, width_);
  for (Size r = 0; r < width_; ++r)
    if (wants[r] > 0 && (inter ? used[r] < share[r] : used[r] > share[r])) return inter;
  return !inter;
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
  if (part_.must_stay[place] != 0 || no_candidate(place, request, what))
    return Outcome::kNotACandidate;
  return Outcome::kNotChosen;
}

// By `preemption.policy`: nothing of its queue may leave, or nothing beyond a fence of the ask.
std::optional<NoCandidate> Cycles::no_candidate(Id place, Id request, For what) const {
  const Id queue = part_.queue[place];
  if (closed_[queue] != 0) return NoCandidate::kQueueDisabled;
  if (what == For::kInterQueue && request != kNoId &&
      std::ranges::find(part_.path(queue), fence_[leaf_of(request)]) == part_.path(queue).end())
    return NoCandidate::kOutsideFence;
  return std::nullopt;
}

// May others be preempted for it, as far as it and its queue say?
bool Cycles::may_preempt(Id request) const {
  return rows_.may_preempt[request] != 0 &&
         (closed_[leaf_of(request)] == 0 || set_.switches.disabled_queues_preempt);
}

void Cycles::watch(Id request, For what) {
  const Id slot = watched();
  if (slot == kNoId || slot >= part_.place_of.rows() || part_.place_of[slot] == kNoId) return;
  const Id place = part_.place_of[slot];
  Outcome why = eligible(place, request, what);
  if (why == Outcome::kTaken || std::ranges::find(victims_, place) != victims_.end()) return;
  Spared spared;
  if (why == Outcome::kNotChosen && pace_.on()) {
    spared = pace_.spared(state_, slot);
    if (spared.why != Outcome::kTaken) why = spared.why;
  }
  for (const Id q : part_.path(leaf_of(request))) asking_[q] = 1;
  if (why == Outcome::kNotChosen &&
      !may_give(part_.queue[place], part_.row(part_.amounts, place), need(request)))
    why = Outcome::kQueueKeepsIt;
  if (why == Outcome::kNotChosen && victims_.empty()) why = Outcome::kNoStartInStage;
  record_slot(request, why, spared);
  if (Facts* facts = last_fact(request, slot)) {
    facts->numbers.emplace_back("within_queue", what == For::kIntraQueue ? 1 : 0);
    if (why == Outcome::kNotLowerPriority) add_priorities(*facts, place, request);
    if (why == Outcome::kQueueKeepsIt) add_keeper(*facts, place, need(request));
    if (why == Outcome::kNotACandidate) add_no_candidate(*facts, place, request, what);
    if (why == Outcome::kNotChosen || why == Outcome::kNoStartInStage) {
      add_place(*facts, place, request, what);
      if (!victims_.empty())
        facts->hosts.emplace_back(
            "placed_on",
            part_.node[std::ranges::min(victims_, {}, [&](Id v) { return part_.node[v]; })]);
    }
  }
  for (const Id q : part_.path(leaf_of(request))) asking_[q] = 0;
}

// Places one ask, with or without preemption.
bool Cycles::try_allocate(Id request, For what) {
  ++tally.asks;
  const Stage stage = what == For::kAllocation ? Stage::kAllocationCycle : Stage::kPreemptionCycle;
  const auto credit_nodes = [&](Amount sign) {
    if (!credit(request, sign) && sign > 0) return;
    each_leaving_for(request,
                     [&](Size i) { room_changed(state_.node_of(state_.leaving()[i].slot)); });
    for (const Reservation& one : reserved_of(request)) room_changed(one.node);
  };
  credit_nodes(1);
  const bool headroom = has_headroom(request);
  Id node = headroom ? free_node(request) : kNoId;
  const Outcome why = headroom ? why_ : Outcome::kLimitsOfOperationOrPool;
  Reason reason = Reason::kFitsFreeRoom;
  victims_.clear();
  const bool asks = node == kNoId && what != For::kAllocation &&
                    (why == Outcome::kNoFreeRoom || why == Outcome::kLimitsOfOperationOrPool);
  const bool may = may_preempt(request);
  if (asks && may) {
    if (victims_for(request, what, node)) reason = Reason::kFitsAfterPreemption;
    if (watched() != kNoId) watch(request, what);
  }
  credit_nodes(-1);
  if (node == kNoId) {
    fail(request, asks && !may ? Outcome::kMayNotPreemptYet
                  : what != For::kAllocation && why == Outcome::kNoFreeRoom
                      ? Outcome::kNoRoomEvenWithVictims
                      : why);
    if (Facts* facts = last_fact(request, kNoId); facts != nullptr && asks) {
      if (!may) add_may_not_preempt(*facts, request);
      if (may) facts->numbers.emplace_back("within_queue", what == For::kIntraQueue ? 1 : 0);
    }
    // Another policy came to its end before it: that no victims of these queues will do is not all.
    if (cut_off_[request] != 0) ended_before(request, outcome_[request]);
    return false;
  }
  for (const Id place : victims_) {
    preempt(place, request, node, stage,
            what == For::kInterQueue ? Reason::kBelowIdealShare : Reason::kHigherPriorityInQueue);
    if (Facts* facts = last_fact(request, part_.slot[place])) {
      add_priorities(*facts, place, request);
      add_place(*facts, place, request, what);
      add_surplus(*facts, place);
    }
  }
  const Column<Id> victims = std::move(victims_);
  start(request, node, stage, victims, reason);
  if (pending_[request] <= 0) left_out(request);
  room_changed(node);
  if (what == For::kAllocation) return true;
  for (const Id place : victims) has_left(place);
  uses(leaf_of(request));
  return true;
}

// Counted once in a cycle, whatever the number of policies.
void Cycles::missed(Id request) {
  tried_[request] = 1;
  if (noted_[request] != 0) return;
  noted_[request] = 1;
  asks_.missed.set(request, asks_.missed[request] + 1);
  asks_.wait.set(request, left_out_for(asks_.missed[request], set_.longest_wait));
}

void Cycles::served(Id request) {
  noted_[request] = 0;
  asks_.forget(request);
}

void Cycles::allocation() {
  begin(For::kAllocation);
  std::ranges::fill(noted_, 0);
  for (Id q = 0; q < pending_.rows(); ++q)
    if (asks_.wait[q] > 0) {
      asks_.wait.set(q, asks_.wait[q] - 1);
      masked_[q] = 1;
      outcome_[q] = Outcome::kMissedOpportunity;
      if (pending_[q] <= 0) continue;
      record(q, Outcome::kMissedOpportunity);
      if (Facts* facts = last_fact(q, kNoId)) {
        facts->numbers.emplace_back("missed", static_cast<double>(asks_.missed[q]));
        facts->numbers.emplace_back("cycles_left", static_cast<double>(asks_.wait[q]));
      }
    }
  count_waiting();
  Index rest = set_.n_alloc, looked = 0;
  while (rest > 0) {
    const Column<Id> asks = find_asks(rest, For::kAllocation);
    if (asks.empty()) break;
    ++tally.rounds;
    looked = asks.rows();
    Index done = 0;
    for (const Id request : asks) {
      if (masked_[request] != 0) continue;
      if (try_allocate(request, For::kAllocation)) {
        ++done;
        served(request);
      } else {
        masked_[request] = 1;
        left_out(request);
        missed(request);
      }
    }
    rest -= done;
    if (done == 0) break;
  }
  for (const Id request : part_.asks)
    if (pending_[request] > 0 && masked_[request] == 0 &&
        outcome_[request] == Outcome::kCycleFull) {
      record(request, Outcome::kCycleFull);
      if (Facts* facts = last_fact(request, kNoId)) {
        facts->numbers.emplace_back("placed", static_cast<double>(set_.n_alloc - rest));
        facts->numbers.emplace_back("full", rest <= 0 ? 1 : 0);
        facts->numbers.emplace_back("looked", static_cast<double>(looked));
      }
    }
}

bool Cycles::at_limit(const Column<Amount>& total) const {
  for (Size r = 0; r < width_; ++r)
    if (bound_[r] != kNoLimit && total[r] >= bound_[r]) return true;
  return false;
}

void Cycles::preemption() {
  std::ranges::fill(noted_, 0);
  const auto waits = [this](Id request) { return pending_[request] > 0; };
  if (std::ranges::none_of(part_.asks, waits) && recorder_ == nullptr) return;
  if (preempts_in_vain()) return miss_all();
  for (const PolicyKind policy : set_.policies) {
    const For what = policy == PolicyKind::kInterQueue ? For::kInterQueue : For::kIntraQueue;
    begin(what);
    Column<Amount> total(width_, 0);
    bool full = at_limit(total);
    while (!full) {
      const Column<Id> asks = find_asks(set_.ask_candidates, what);
      if (asks.empty()) break;
      ++tally.rounds;
      for (const Id request : asks) {
        if (masked_[request] != 0) continue;
        if (full = at_limit(total); full) break;
        if (!entitled(leaf_of(request), request, what)) continue;
        if (try_allocate(request, what)) {
          for (Size r = 0; r < width_; ++r) total[r] += need(request)[r];
          served(request);
        } else {
          masked_[request] = 1;
          left_out(request);
          missed(request);
        }
      }
      full = full || at_limit(total);
    }
    for (const Id request : part_.asks)
      if (pending_[request] > 0 && masked_[request] == 0) passed_over(request, what, total);
    if (full && watched() != kNoId) watch_end(what, total);
  }
}

// It waits still: either the cycle had no more room for it, or its queue may not ask others.
void Cycles::passed_over(Id request, For what, const Column<Amount>& placed) {
  Outcome& outcome = outcome_[request];
  const bool asks = entitled(leaf_of(request), request, what);
  if (asks) {
    cut_off_[request] = 1;
    ended_before(request, outcome);
  }
  if (outcome != Outcome::kCycleFull && outcome != Outcome::kQueueHasItsShare) return;
  outcome = cut_off_[request] != 0 ? Outcome::kCycleFull : Outcome::kQueueHasItsShare;
  record(request, asks ? Outcome::kCycleFull : Outcome::kQueueHasItsShare);
  Facts* facts = last_fact(request, kNoId);
  if (facts == nullptr) return;
  facts->numbers.emplace_back("within_queue", what == For::kIntraQueue ? 1 : 0);
  if (asks) add_end(*facts, placed);
  const Column<Amount>& share = what == For::kIntraQueue ? shares_.below : shares_.most;
  if (!asks) add_share(*facts, request, share.row(leaf_of(request), width_));
}

// With another limit there might have been victims for it.
void Cycles::ended_before(Id request, Outcome& outcome) {
  if (outcome != Outcome::kNoRoomEvenWithVictims) return;
  outcome = Outcome::kCycleFull;
  std::fill_n(missing_.row(request, width_), width_, 0);
}

}  // namespace evenhand::yunikorn
