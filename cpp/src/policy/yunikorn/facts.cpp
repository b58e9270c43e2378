// What a recorder is told beside an outcome: whose amounts were compared, and the order of victims.
#include <algorithm>
#include <cmath>

#include "asks.h"
#include "cycles.h"

namespace evenhand::yunikorn {

Facts* Run::last_fact(Id request, Id slot) {
  if (recorder_ == nullptr || recorder_->events.empty()) return nullptr;
  Event& last = recorder_->events.back();
  return last.request == request && last.slot == slot ? &last.facts : nullptr;
}

// Of a queue that is over its max, or would be with what an ask wants: what it uses, what still
// leaves of it, and what it may have at most.
void Run::add_maximum(Facts& facts, Id queue, const Amount* used, const Amount* wants) const {
  const Amount *leaving = part_.row(leaving_, queue), *most = part_.row(part_.most, queue);
  bool leaves = false;
  const auto over = [&](Size r) {
    const Amount more = wants == nullptr ? 0 : wants[r];
    return (part_.limited[queue] >> r & 1U) != 0 && (wants == nullptr || more > 0) &&
           used[r] + leaving[r] + more > most[r];
  };
  for (Size r = 0; r < width_; ++r) leaves |= over(r) && leaving[r] > 0;
  facts.pools.emplace_back("queue", part_.pool_of[queue]);
  add_amounts(facts, "used", used, over);
  add_amounts(facts, "max", most, over);
  if (leaves) add_amounts(facts, "leaving", leaving, over);
}

Column<Amount> Run::used_before(Id queue, Id place) const {
  const Amount *used = part_.row(usage_, queue), *own = part_.row(part_.amounts, place);
  Column<Amount> out(used, used + width_);
  for (Size r = 0; r < width_; ++r) out[r] += own[r];
  return out;
}

void Run::add_priorities(Facts& facts, Id place, Id request) const {
  facts.numbers.emplace_back("priority", part_.priority[place]);
  facts.numbers.emplace_back("asking_priority", part_.ask_priority[request]);
}

// What the queue of an ask has of what that asks for, and its share of it.
void Cycles::add_share(Facts& facts, Id request, const Amount* share) const {
  const Id queue = leaf_of(request);
  const auto asked = [&](Size r) { return need(request)[r] > 0; };
  facts.pools.emplace_back("queue", part_.pool_of[queue]);
  add_amounts(facts, "used", part_.row(usage_, queue), asked);
  add_amounts(facts, "ideal", share, asked);
}

// What a policy had come to where it ended, and at how much it ends, of what reached that.
void Cycles::add_end(Facts& facts, const Column<Amount>& came_to) const {
  const auto reached = [&](Size r) { return bound_[r] != kNoLimit && came_to[r] >= bound_[r]; };
  facts.numbers.emplace_back("limit_is_share", set_.limit.empty() ? 1 : 0);
  add_amounts(facts, "came_to", came_to.data(), reached);
  add_amounts(facts, "ends_at", bound_.data(), reached);
}

// Of what stays though an ask waits still that the policy did not come to.
void Cycles::watch_end(For what, const Column<Amount>& placed) {
  const Id slot = watched();
  if (recorder_->events.empty() || slot >= part_.place_of.rows()) return;
  const Id place = part_.place_of[slot];
  if (place == kNoId) return;
  const auto passed = std::ranges::find_if(part_.asks, [&](Id request) {
    return pending_[request] > 0 && masked_[request] == 0 &&
           entitled(leaf_of(request), request, what) &&
           eligible(place, request, what) == Outcome::kNotChosen;
  });
  if (passed == part_.asks.end()) return;
  record_slot(*passed, Outcome::kCycleFull);
  Facts& facts = recorder_->events.back().facts;
  facts.numbers.emplace_back("within_queue", what == For::kIntraQueue ? 1 : 0);
  add_end(facts, placed);
}

void Cycles::not_claimed(Id place, Outcome why, const Spared& spared, const Column<Amount>& claimed,
                         const Column<Amount>& nothing) {
  record_slot(kNoId, why, spared);
  Facts* facts = last_fact(kNoId, part_.slot[place]);
  if (facts == nullptr) return;
  if (why == Outcome::kQueueKeepsIt) add_keeper(*facts, place, nothing.data());
  if (why == Outcome::kNotACandidate) add_no_candidate(*facts, place, kNoId, For::kInterQueue);
  const auto wanted = [&](Size r) { return claimed[r] > 0; };
  if (why == Outcome::kFreesNothingUseful) add_amounts(*facts, "claimed", claimed.data(), wanted);
}

// Of a victim that has just left: what its queue used of it beyond its ideal share and guarantee.
void Cycles::add_surplus(Facts& facts, Id place) const {
  const Id queue = part_.queue[place];
  const Column<Amount> used = used_before(queue, place);
  const Amount *ideal = shares_.most.row(queue, width_), *owed = part_.row(part_.owed, queue);
  Column<Amount> keeps(width_);
  for (Size r = 0; r < width_; ++r) keeps[r] = std::max(ideal[r], owed[r]);
  const auto above = [&](Size r) {
    return part_.row(part_.amounts, place)[r] > 0 && used[r] > keeps[r];
  };
  facts.pools.emplace_back("queue", part_.pool_of[queue]);
  add_amounts(facts, "used", used.data(), above);
  add_amounts(facts, "keeps", keeps.data(), above);
}

// The queue that may not give so much, and why; as `may_give`.
void Cycles::add_keeper(Facts& facts, Id place, const Amount* wants) const {
  const Amount* gives = part_.row(part_.amounts, place);
  for (const Id q : part_.path(part_.queue[place])) {
    if (tight_[q] == 0) continue;
    for (Size r = 0; r < width_; ++r) {
      if (gives[r] <= 0) continue;
      const Amount used = part_.row(usage_, q)[r], left = used - gives[r];
      const bool shared = asking_[q] != 0;
      const Amount keeps =
          shared ? std::min(used, part_.row(part_.owed, q)[r]) : part_.row(keeps_, q)[r];
      const bool dead = !shared && used <= part_.row(dead_, q)[r];
      if (left + (shared ? wants[r] : 0) >= keeps && !dead) continue;
      const auto this_one = [r](Size other) { return other == r; };
      facts.pools.emplace_back("queue", part_.pool_of[q]);
      add_amounts(facts, "used", part_.row(usage_, q), this_one);
      add_amounts(facts, "ideal", shares_.most.row(q, width_), this_one);
      add_amounts(facts, "guaranteed", part_.row(part_.owed, q), this_one);
      facts.numbers.emplace_back("in_dead_zone", dead && left >= keeps ? 1 : 0);
      facts.numbers.emplace_back("shared", shared ? 1 : 0);
      return;
    }
  }
}

// The place of a victim among those on its node that the rules let go, the cheapest first.
void Cycles::add_place(Facts& facts, Id place, Id request, For what) const {
  Index before = 0, all = 0;
  const Id node = part_.node[place];
  for (Index i = part_.on_node_from[node]; i < part_.on_node_from[node + 1]; ++i) {
    const Id other = part_.on_node[i];
    const bool taken = std::ranges::find(victims_, other) != victims_.end();
    if (other != place && !taken && eligible(other, request, what) != Outcome::kNotChosen) continue;
    ++all;
    before += other < place ? 1 : 0;
  }
  facts.numbers.emplace_back("place", before + 1);
  facts.numbers.emplace_back("candidates", all);
}

// What keeps it from being a candidate beside shares and priorities.
void Cycles::add_no_candidate(Facts& facts, Id place, Id request, For what) const {
  const std::optional<NoCandidate> why =
      part_.must_stay[place] != 0 ? NoCandidate::kNeedsItsNode : no_candidate(place, request, what);
  if (!why) return;
  facts.numbers.emplace_back("why", static_cast<double>(*why));
  facts.pools.emplace_back("queue", part_.pool_of[part_.queue[place]]);
  if (*why == NoCandidate::kOutsideFence)
    facts.pools.emplace_back("fence", part_.pool_of[fence_[leaf_of(request)]]);
}

void Cycles::add_may_not_preempt(Facts& facts, Id request) const {
  const bool own = rows_.may_preempt[request] == 0;
  facts.numbers.emplace_back("may_preempt", own ? 0 : 1);
  facts.numbers.emplace_back("queue_disabled", own ? 0 : 1);
  facts.pools.emplace_back("queue", part_.pool_of[leaf_of(request)]);
}

void Asks::add_wait(Facts& facts, Id request) const {
  const Time submitted = state_.requests().get(&RequestColumns::submit_time, request);
  const Time last = asks_.last_attempt[request], delay = delay_of(leaf_of(request));
  facts.numbers.emplace_back("may_preempt", rows_.may_preempt[request]);
  facts.numbers.emplace_back("triggered", set_.asks_once && asks_.triggered[request] != 0 ? 1 : 0);
  facts.times.emplace_back("since", submitted);
  facts.times.emplace_back("until", submitted + delay);
  facts.times.emplace_back("delay", delay);
  facts.numbers.emplace_back("delayed", state_.now() < submitted + delay ? 1 : 0);
  if (last == kNoTime || state_.now() >= last + set_.retry) return;
  facts.times.emplace_back("last_attempt", last);
  facts.times.emplace_back("again_from", last + set_.retry);
}

// What its guarantees still owe the queue of an ask of what that asks for; or only where they do.
void Asks::add_owed(Facts& facts, Id request, bool lacking) const {
  const Resource rest = search_->remaining_guaranteed(world_row_[leaf_of(request)]);
  Column<Amount> owed(width_, 0), owes(width_, 0);
  if (!rest.nil) each_type(rest.types, [&](Size r) { owed[r] = rest.v[r]; });
  for (Size r = 0; r < width_; ++r) owes[r] = std::max<Amount>(owed[r], 0);
  const auto asked = [&](Size r) {
    return !rest.nil && (rest.types >> r & 1U) != 0 && need(request)[r] > 0 &&
           (!lacking || owed[r] > 0);
  };
  facts.pools.emplace_back("queue", part_.pool_of[leaf_of(request)]);
  facts.numbers.emplace_back("guaranteed", !rest.nil && rest.types != 0 ? 1 : 0);
  add_amounts(facts, "owed", owed.data(), asked);
  add_amounts(facts, "owes", owes.data(), asked);
}

// What the queue of a victim has beyond its guarantees.
void Asks::add_own_owed(Facts& facts, Id row) const {
  const Resource rest = search_->remaining_guaranteed(world_->held().queue[row]);
  Column<Amount> beyond(width_, 0);
  if (!rest.nil) each_type(rest.types, [&](Size r) { beyond[r] = -rest.v[r]; });
  facts.pools.emplace_back("own_queue",
                           state_.pool_of(state_.operation_of(part_.slot[place_of_row_[row]])));
  add_amounts(facts, "beyond", beyond.data(), [&](Size r) { return beyond[r] > 0; });
}

// Why an allocation is no candidate of the ask that the search began with; as `candidate`.
void Asks::add_no_candidate(Facts& facts, Id row, Id request) const {
  const Held& held = world_->held();
  const Queues& queues = world_->queues();
  const Id queue = held.queue[row], leaf = world_row_[leaf_of(request)];
  const Id slot = part_.slot[place_of_row_[row]];
  NoCandidate why = NoCandidate::kPriority;
  if (world_->barred(row))
    why = state_.allocations().get(&AllocationColumns::required_node, slot, kNoId) != kNoId
              ? NoCandidate::kNeedsItsNode
              : NoCandidate::kSpared;
  else if ((world_->types(row) & of_row(need(request)).types) == 0)
    why = NoCandidate::kHoldsNothing;
  else if (queue == leaf)
    why = NoCandidate::kSameQueue;
  else if (queues.policy[leaf] == QueuePolicy::kDisabled && !set_.switches.disabled_queues_preempt)
    why = NoCandidate::kAskerDisabled;
  else if (queues.policy[queue] == QueuePolicy::kDisabled)
    why = NoCandidate::kQueueDisabled;
  else if (!search_->below_fence(queue))
    why = NoCandidate::kOutsideFence;
  else if (const Resource rest = search_->remaining_guaranteed(queue);
           !rest.nil && !any_negative(rest, rest.types))
    why = NoCandidate::kWithinGuarantee;
  facts.numbers.emplace_back("why", static_cast<double>(why));
  facts.pools.emplace_back("queue", part_.pool_of[queue_of_row_[queue]]);
  if (why == NoCandidate::kOutsideFence)
    facts.pools.emplace_back("fence", part_.pool_of[queue_of_row_[search_->fence_root()]]);
  if (why == NoCandidate::kPriority && std::isfinite(search_->highest(queue))) {
    facts.numbers.emplace_back("priority", held.priority[row]);
    facts.numbers.emplace_back("highest", search_->highest(queue));
  }
  if (why == NoCandidate::kWithinGuarantee) {
    const Resource rest = search_->remaining_guaranteed(queue);
    Column<Amount> owed(width_, 0);
    each_type(rest.types, [&](Size r) { owed[r] = rest.v[r]; });
    add_amounts(facts, "owed", owed.data(), [&](Size r) { return owed[r] != 0; });
  }
}

Spared Asks::spared_by_pace(Id row) const {
  return pace_.on() ? pace_.spared(state_, part_.slot[place_of_row_[row]]) : Spared{};
}

// Of what stays on a node that an ask needs: why it is no victim; as `required_node_victims`.
void Asks::watch_there(Id request, const Column<Id>& rows, const RequiredNodeAnswer& found) {
  const auto at = std::ranges::find_if(
      rows, [&](Id row) { return part_.slot[place_of_row_[row]] == watched(); });
  const auto i = static_cast<Id>(at - rows.begin());
  if (at == rows.end() || taken_[place_of_row_[*at]] != 0 ||
      std::ranges::find(found.victims, i) != found.victims.end())
    return;
  const bool candidate = std::ranges::find(found.candidates, i) != found.candidates.end();
  const Held& held = world_->held();
  Outcome why = found.victims.empty() ? Outcome::kNoStartInStage : Outcome::kNotChosen;
  Spared spared;
  bool higher = false;
  if (!candidate) {
    if (held.barred[*at] != 0) spared = spared_by_pace(*at);
    higher = held.barred[*at] == 0 && held.priority[*at] > part_.ask_priority[request];
    why = spared.why != Outcome::kTaken                       ? spared.why
          : higher                                            ? Outcome::kNotLowerPriority
          : held.barred[*at] == 0 && held.preempted[*at] != 0 ? Outcome::kAlreadyPreempting
                                                              : Outcome::kNotACandidate;
  }
  record_slot(request, why, spared);
  Facts& facts = recorder_->events.back().facts;
  if (higher) add_priorities(facts, place_of_row_[*at], request);
  if (why == Outcome::kNotACandidate) {
    const auto because =
        held.barred[*at] != 0 ? NoCandidate::kNeedsItsNode : NoCandidate::kHoldsNothing;
    facts.numbers.emplace_back("why", static_cast<double>(because));
    facts.pools.emplace_back("queue", part_.pool_of[part_.queue[place_of_row_[*at]]]);
  }
  if (why == Outcome::kNotChosen) facts.hosts.emplace_back("placed_on", held.node[*at]);
}

// As one outcome, where there is one for it.
Outcome Asks::why_no_candidate(Id row, Id request) const {
  if (part_.leaf_of_pool[state_.pool_of(part_.operation[place_of_row_[row]])] == leaf_of(request))
    return Outcome::kSameQueue;
  if (world_->held().preempted[row] != 0) return Outcome::kAlreadyPreempting;
  const Spared spared = spared_by_pace(row);
  return spared.why == Outcome::kTaken ? Outcome::kNotACandidate : spared.why;
}

void Asks::add_place(Facts& facts, Id row, std::span<const Id> victims) const {
  Index before = 0, all = 0;
  bool found = false;
  for (const Id other : world_->on_node(world_->held().node[row])) {
    const bool taken = std::ranges::find(victims, other) != victims.end();
    if (other != row && !taken && !search_->candidate(other)) continue;
    ++all;
    found = found || other == row;
    before += found ? 0 : 1;
  }
  facts.numbers.emplace_back("place", before + 1);
  facts.numbers.emplace_back("candidates", all);
}

}  // namespace evenhand::yunikorn
