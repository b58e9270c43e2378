#include <algorithm>

#include "cycles.h"

namespace evenhand::yunikorn {

// Victims by what queues have too much of, as much as others claim; nobody asks and nothing starts.
void Cycles::shotgun() {
  std::ranges::fill(noted_, 0);
  if (std::ranges::find(set_.policies, PolicyKind::kInterQueue) == set_.policies.end()) return;
  begin(For::kInterQueue);
  see_victims();
  Column<std::uint8_t> asks(at(part_.queues()), 0);
  for (const Id request : part_.asks) {
    const Id leaf = leaf_of(request);
    if (may_preempt(request) && fence_[leaf] == 0) asks[leaf] = 1;
  }
  Column<Amount> claimed = shares_.claimed(part_, usage_, asks), total(width_, 0);
  const Column<Amount> nothing(width_, 0);
  asking_[0] = 1;
  Id place = 0;
  for (; place < part_.slot.rows() && !at_limit(total); ++place) {
    const Amount* gives = part_.amounts.row(place, width_);
    Spared spared;
    if (const Outcome why = claimable(place, claimed, nothing, spared);
        why != Outcome::kNotChosen) {
      if (watched() == part_.slot[place]) not_claimed(place, why, spared, claimed, nothing);
      continue;
    }
    preempt(place, kNoId, kNoId, Stage::kPreemptionCycle, Reason::kSurplusOfQueue);
    if (Facts* facts = last_fact(kNoId, part_.slot[place])) add_surplus(*facts, place);
    ++steps_;
    for (const Id q : part_.path(part_.queue[place]))
      if (q != 0) read_queue(q);
    for (Size r = 0; r < width_; ++r) {
      claimed[r] -= gives[r];
      total[r] += gives[r];
    }
  }
  const Id slot = watched();
  if (slot == kNoId || slot >= part_.place_of.rows()) return;
  if (const Id at = part_.place_of[slot]; at != kNoId && at >= place)
    not_claimed(at, Outcome::kCycleFull, {}, claimed, nothing);
  if (Facts* facts = last_fact(kNoId, slot);
      facts != nullptr && recorder_->events.back().outcome == Outcome::kCycleFull)
    add_end(*facts, total);
}

// May it leave for what queues claim still? Why not; kNotChosen: it may.
Outcome Cycles::claimable(Id place, const Column<Amount>& claimed, const Column<Amount>& nothing,
                          Spared& spared) const {
  const Amount* gives = part_.amounts.row(place, width_);
  bool useful = false;
  for (Size r = 0; r < width_; ++r) useful = useful || (gives[r] > 0 && claimed[r] > 0);
  if (!useful) return Outcome::kFreesNothingUseful;
  if (part_.must_stay[place] != 0 || closed_[part_.queue[place]] != 0)
    return Outcome::kNotACandidate;
  if (!may_give(part_.queue[place], gives, nothing.data())) return Outcome::kQueueKeepsIt;
  if (pace_.on()) spared = pace_.spared(state_, part_.slot[place]);
  return spared.why == Outcome::kTaken ? Outcome::kNotChosen : spared.why;
}

}  // namespace evenhand::yunikorn
