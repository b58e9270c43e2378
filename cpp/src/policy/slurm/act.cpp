#include "run_work.h"

namespace evenhand::slurm {

Outcome Run::select(Id job, Wish& wish, const std::uint8_t* open) {
  for (Size n = 0; n < start_.size(); ++n) start_[n] = open[n] && ending_[n] == kNoId;
  wish.look_at(start_.data());
  std::vector<Spot> spots;
  if (wish.place(desk.room, spots)) {
    start(job, spots, Reason::kFitsFreeRoom, step_++);
    return Outcome::kStarted;
  }
  if (const Outcome never = beyond_nodes(wish); never != Outcome::kStarted) return never;
  return preempt(job, wish, open);
}

bool Run::holds(Id job) const { return std::ranges::find(held_, job, &Held::job) != held_.end(); }

// kStarted: it did; else why it waits.
Outcome Run::preempt(Id job, Wish& wish, const std::uint8_t* open) {
  const Settings& set = desk.settings;
  Room base = desk.room;
  std::vector<Spot> spots;
  const bool leaving = desk.add_leaving(base, job);
  wish.look_at(open);
  if (leaving && wish.place(base, spots)) {
    if (!holds(job)) held_.push_back({job, spots});
    return Outcome::kWaitsForVictims;
  }
  // A node on which something ends for others takes no job in this run.
  for (Size n = 0; n < choose_.size(); ++n)
    choose_[n] = open[n] && (ending_[n] == kNoId || ending_[n] == job);
  wish.look_at(choose_.data());
  const Time last = memory_.last_preempt[at(job)];
  if (last != kNoTime && last > desk.state.now() - set.backoff) {
    due(last + set.backoff);
    return Outcome::kPreemptionBackoff;
  }
  const std::vector<Index> candidates = candidates_of(job, wish);
  if (set.type == PreemptType::kNone) return Outcome::kPreemptionDisabled;
  if (candidates.empty()) return Outcome::kNoEligibleVictims;
  const bool gang = set.gang && set.type == PreemptType::kPartitionPrio;
  std::vector<Index> sharing;
  if (gang) {
    std::ranges::copy_if(candidates, std::back_inserter(sharing),
                         [this](Index i) { return jobs().suspendable[at(of(i).operation)] != 0; });
    if (over(wish, base, sharing, spots)) {
      if (set.selection == Selection::kTestOnly) {  // it fits; who has to wait is not said
        note(wish, candidates, nullptr);
        return Outcome::kDryRunOmitsVictims;
      }
      const std::vector<Index> victims = under(job, base, sharing, spots);
      note_sharing(wish, candidates, victims, spots);
      return go_under(job, wish, victims, spots, leaving);
    }
  }
  const bool covers = gang && set.selection != Selection::kTestOnly;
  const Room before = base;
  for (const Index i : sharing)
    if (covers && desk.mode(of(i)) == PreemptMode::kSuspend) desk.give(base, of(i), 1);
  Choice choice = choose(desk, wish, base, candidates, false);
  if (choice.fits) {
    if (covers) under_too(job, before, sharing, choice);
    note(wish, candidates, &choice);
    count(choice.proof, step_);
    end(job, wish, choice.victims, choice.spots);
    return Outcome::kWaitsForVictims;
  }
  if (set.gang && set.type == PreemptType::kQos && set.selection != Selection::kTestOnly) {
    choice = choose(desk, wish, base, candidates, true);
    if (choice.fits) {
      note(wish, candidates, &choice);
      count(choice.proof, step_);
      return go_under(job, wish, choice.victims, choice.spots, leaving);
    }
  }
  note(wish, candidates, nullptr);
  return Outcome::kNoRoomEvenWithVictims;
}

std::vector<Index> Run::candidates_of(Id job, const Wish& wish) {
  for (const RunningJob& other : desk.running) {
    const Time spared = other.start + jobs().exempt[at(other.operation)];
    const bool young = spared > desk.state.now();
    if (other.gone || !(young || follows(other))) continue;
    const Outcome standing = desk.standing(job, other);
    if (standing == Outcome::kRanTooShort) due(spared);
    if (standing != Outcome::kTaken && follows(other))
      event(first_node(other), standing, job, wish.parts().front().request, {});
  }
  return candidate_set(job)->jobs;
}

// Only what suspended jobs give back is there at once: kStarted, or it waits for the rest.
Outcome Run::go_under(Id job, const Wish& wish, const std::vector<Index>& victims,
                      const std::vector<Spot>& spots, bool leaving) {
  if (leaving || !std::ranges::all_of(victims, [this](Index i) {
        return desk.mode(of(i)) == PreemptMode::kSuspend;
      })) {
    end(job, wish, victims, spots);
    return Outcome::kWaitsForVictims;
  }
  const Id step = step_++;
  for (const Index i : victims) take(job, wish, i, spots, step);
  start(job, spots, Reason::kFitsOverSuspended, step);
  memory_.last_preempt[at(job)] = desk.state.now();
  return Outcome::kStarted;
}

void Run::end(Id job, const Wish& wish, const std::vector<Index>& victims,
              const std::vector<Spot>& spots) {
  const Id step = step_++;
  told_[at(job)] = 1;
  held_.push_back({job, spots});
  Time gone = desk.state.now();
  for (const Index i : victims) gone = std::max(gone, take(job, wish, i, spots, step));
  for (const Spot& spot : spots) {
    if (spot.node == kNoId) continue;  // licences are not held
    const Amount* needed = desk.amounts(spot.request);
    const Row free = free_on(spot.node);
    decisions.add({.action = Action::kReserve,
                   .stage = stage_,
                   .reason = Reason::kRoomReserved,
                   .request = spot.request,
                   .operation = job,
                   .node = spot.node,
                   .step = step,
                   .beneficiary = {job, spot.request},
                   .at = gone,
                   .soft = true},
                  {nullptr, free.data(), needed, nullptr, nullptr});
    ++tally.reservations;
  }
  memory_.last_preempt[at(job)] = desk.state.now();
}

void Run::count(const SelectionProof& proof, Id step) {
  if (desk.settings.selection == Selection::kMinimum) decisions.prove(step, proof);
  tally.proof.proved = (tally.jobs == 0 || tally.proof.proved) && proof.proved;
  ++tally.jobs;
  tally.proof.cost += proof.cost;
  tally.proof.lower_bound += proof.lower_bound;
  tally.proof.branches += proof.branches;
}

// All of a job leaves; returns when it has.
Time Run::take(Id job, const Wish& wish, Index victim, const std::vector<Spot>& spots, Id step) {
  RunningJob& other = desk.running[static_cast<Size>(victim)];
  const Size v = at(other.operation);
  const PreemptMode mode = desk.mode(other);
  const Time now = desk.state.now();
  Decision d{.action = Action::kPreempt,
             .stage = stage_,
             .reason = desk.reason(job, other),
             .operation = other.operation,
             .step = step,
             .at = now,
             .until = now};
  d.mode = mode == PreemptMode::kSuspend                        ? Mode::kSuspend
           : mode == PreemptMode::kRequeue && jobs().requeue[v] ? Mode::kRequeue
                                                                : Mode::kTerminate;
  if (d.mode != Mode::kSuspend) d.grace = jobs().grace[v];
  Time left = now;
  for (const Id slot : desk.slots(other)) {
    const Time ends = planned_end(slot);
    d.until = now + d.grace;
    if (ends != kNoTime && ends >= now) d.until = std::min(d.until, ends);
    left = std::max(left, d.until);
    d.slot = slot;
    d.node = desk.state.node_of(slot);
    d.beneficiary = {job, wish.parts().front().request};
    const Amount* needed = nullptr;
    for (const Spot& spot : spots)
      if (spot.node == d.node) {
        d.beneficiary.request = spot.request;
        needed = desk.amounts(spot.request);
      }
    Row freed{}, kept{};
    desk.split(other, slot, freed.data(), kept.data());
    const Row free = free_on(d.node);
    decisions.add(d, {freed.data(), free.data(), needed,
                      desk.state.operation_usage(other.operation), kept.data()});
    ++tally.victims;
  }
  other.gone = true;
  gone_for_[v] = job;
  ++tally.victim_jobs;
  candidate_sets_.clear();
  if (d.mode != Mode::kSuspend) gone_.push_back(victim);
  if (d.mode != Mode::kSuspend && d.grace == 0)
    for (const Id node : desk.nodes(other)) mark_ending(node, job);
  if (d.mode != Mode::kSuspend && d.grace > 0 && has_ends_)
    add_end({std::min(now + d.grace, end_of(other)), other.operation, End::Of::kVictim, victim});
  // What a suspended job gives back is taken at once; the room of the others is nobody's
  // until they have gone.
  if (d.mode == Mode::kSuspend) desk.give(desk.room, other, 1);
  return left;
}

void Run::start(Id job, const std::vector<Spot>& spots, Reason reason, Id step) {
  served_[at(job)] = started_[at(job)] = 1;
  const Time end = desk.state.now() + lasts(job, stage_ == Stage::kBackfill);
  begun_.push_back({end, job, spots});
  if (has_ends_) add_end({end, job, End::Of::kBegun, static_cast<Index>(begun_.size()) - 1});
  for (const Spot& spot : spots) {
    const Amount* needed = desk.amounts(spot.request);
    const Row free = free_on(spot.node);
    decisions.add({.action = Action::kStart,
                   .stage = stage_,
                   .reason = reason,
                   .request = spot.request,
                   .operation = job,
                   .node = spot.node,
                   .step = step,
                   .beneficiary = {job, spot.request},
                   .at = desk.state.now()},
                  {nullptr, free.data(), needed, nullptr, nullptr});
    occupy(desk.room, job, spot.node, needed);
    ++tally.starts;
    if (follows_request(spot.request)) event(spot.node, Outcome::kStarted, job, spot.request, {});
  }
}

void Run::mark_ending(Id node, Id whom) {
  Id& here = ending_[at(node)];
  here = here == kNoId || here == whom ? whom : kSeveral;
}

void Run::occupy(Room& room, Id job, Id node, const Amount* amounts) const {
  room.rooms.take(amounts, node);
  if (node == kNoId) return;
  ++room.occupants[at(node)];
  room.exclusives[at(node)] += takes_whole_nodes(job) ? 1 : 0;
}

}  // namespace evenhand::slurm
