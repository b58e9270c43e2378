#include "evenhand/core/times.h"
#include "run_work.h"

namespace evenhand::slurm {

Outcome Run::select(Id job, JobRequest& job_request, const std::uint8_t* open) {
  if (any_ending_)
    for (Size n = 0; n < start_.size(); ++n)
      start_[n] = (open == nullptr || open[n]) && ending_[n] == kNoId;
  job_request.look_at(any_ending_ ? start_.data() : open);
  if (job_request.place(workspace.room, spots_)) {
    start(job, spots_, Reason::kFitsFreeRoom, step_++);
    return Outcome::kStarted;
  }
  if (const Outcome never = beyond_nodes(job_request); never != Outcome::kStarted) return never;
  return preempt(job, job_request, open);
}

bool Run::holds(Id job) const { return std::ranges::find(held_, job, &Held::job) != held_.end(); }

// When others may be preempted for a job again; kNoTime: at any time. The system counts whole
// seconds, of then and of now.
Time Run::backs_off_until(Id job) const {
  const Time last = memory_.last_preempt[job];
  return last == kNoTime ? kNoTime
                         : floor_to(last, kMicrosecondsPerSecond) + workspace.settings.backoff;
}

// kStarted: it did; else why it waits.
Outcome Run::preempt(Id job, JobRequest& job_request, const std::uint8_t* open) {
  const Settings& set = workspace.settings;
  const bool leaving = workspace.leaves_for(job);
  const auto room_then = [&] {
    Occupancy room = workspace.room;
    if (leaving) workspace.add_leaving(room, job);
    return room;
  };
  job_request.look_at(open);
  if (leaving && job_request.place(room_then(), spots_)) {
    if (!holds(job)) held_.push_back({job, spots_});
    count_use(job);
    note_leaving(job, job_request.parts().front().request, spots_);
    return Outcome::kWaitsForVictims;
  }
  if (const Time until = backs_off_until(job); until > workspace.state.now()) {
    due(until);
    return Outcome::kPreemptionBackoff;
  }
  if (set.type == PreemptType::kNone && recorder_ == nullptr) return Outcome::kPreemptionDisabled;
  // A node on which something ends for others takes no job in this run.
  if (any_ending_)
    for (Size n = 0; n < choose_.size(); ++n)
      choose_[n] = (open == nullptr || open[n]) && (ending_[n] == kNoId || ending_[n] == job);
  job_request.look_at(any_ending_ ? choose_.data() : open);
  const Column<Index> candidates = candidates_of(job, job_request);
  if (set.type == PreemptType::kNone) return Outcome::kPreemptionDisabled;
  const Occupancy base = room_then();
  MinimumQuestion question;
  const Way found = candidates.empty()
                        ? Way{}
                        : way_within_caps(job, job_request, base, candidates,
                                          decisions.certifies() ? &question : nullptr);
  const Choice& choice = found.choice;
  switch (found.how) {
    case Way::How::kNone:
      hold_by_pace(job, job_request, base);
      if (candidates.empty()) return Outcome::kNoEligibleVictims;
      note(job_request, candidates, nullptr);
      return Outcome::kNoRoomEvenWithVictims;
    case Way::How::kUnsaid:
      note(job_request, candidates, nullptr, true);
      return Outcome::kDryRunOmitsVictims;
    case Way::How::kOver:
      note_sharing(job_request, candidates, choice.victims, choice.spots);
      return preempt_candidates(job, job_request, choice.victims, choice.spots, leaving);
    case Way::How::kEnds:
      if (std::ranges::all_of(choice.victims, [this](Index i) { return of(i).leaves; }))
        return wait_for_others(job);
      note(job_request, candidates, &choice);
      count(choice, std::move(question));
      end(job, job_request, choice.victims, choice.spots);
      return Outcome::kWaitsForVictims;
    case Way::How::kSuspends:
      break;
  }
  note(job_request, candidates, &choice);
  count(choice, std::move(question));
  return preempt_candidates(job, job_request, choice.victims, choice.spots, leaving);
}

Way Run::way(Id job, JobRequest& job_request, Occupancy base, const Column<Index>& candidates,
             Index budget, MinimumQuestion* written) const {
  const Settings& set = workspace.settings;
  const bool gang = set.gang && set.type == PreemptType::kPartitionPrio;
  const bool dry = set.selection == Selection::kTestOnly;
  Column<Index> sharing;
  if (gang) {
    std::ranges::copy_if(candidates, std::back_inserter(sharing),
                         [this](Index i) { return jobs().suspendable[of(i).operation] != 0; });
    std::vector<Spot> spots;
    if (over(job_request, base, sharing, spots)) {
      if (dry) return {Way::How::kUnsaid};
      Way found{Way::How::kOver};
      found.choice.victims = under(job, base, sharing, spots);
      found.choice.spots = std::move(spots);
      return found;
    }
  }
  const bool covers = gang && !dry;
  const Occupancy before = base;
  for (const Index i : sharing)
    if (covers && workspace.mode(of(i)) == PreemptMode::kSuspend) workspace.give(base, of(i), 1);
  const bool by_qos = set.gang && set.type == PreemptType::kQos && !dry;
  const bool only_suspends = by_qos && set.rules.first_candidate_says_how &&
                             workspace.mode(of(candidates.front())) == PreemptMode::kSuspend;
  if (!only_suspends) {
    Way found{Way::How::kEnds,
              choose(workspace, job_request, base, candidates, false, budget, written)};
    if (found.choice.fits) {
      if (covers) add_those_sharing(job, before, sharing, found.choice);
      return found;
    }
  }
  if (only_suspends || (by_qos && !set.rules.first_candidate_says_how)) {
    Way found{Way::How::kSuspends,
              choose(workspace, job_request, base, candidates, true, budget, written)};
    if (found.choice.fits) return found;
  }
  return {};
}

// Victims that are too many for the caps of their pools, the last wanted ones, are left out until
// what remains makes room within the caps, or none does.
Way Run::way_within_caps(Id job, JobRequest& job_request, const Occupancy& base,
                         Column<Index> candidates, MinimumQuestion* written) {
  WithinCaps caps(workspace.pace);
  Column<Id> victims;
  for (;;) {
    // The bounds of the first choice count, whatever the caps of pools make of it.
    Way found =
        way(job, job_request, base, candidates, caps.left(workspace.settings.minimum_budget),
            caps.left_out().empty() ? written : nullptr);
    if (written != nullptr) written->within_caps = !caps.left_out().empty();
    if (found.how == Way::How::kNone || found.how == Way::How::kUnsaid) return found;
    victims.clear();
    if (workspace.pace.has_caps())
      for (const Index i : found.choice.victims)
        if (!of(i).leaves) victims.push_back(of(i).operation);
    const bool again = caps.again(workspace.state, victims, victims, found.choice.proof);
    found.choice.proof = caps.proof();
    if (!again) return found;
    for (const Index i : candidates)
      if (const Spared* why = caps.left_out(of(i).operation); why != nullptr && follows(of(i))) {
        event(first_node(of(i)), why->why, job, job_request.parts().front().request, {});
        recorder_->events.back().spared = *why;
      }
    std::erase_if(candidates, [&](Index i) { return caps.left_out(of(i).operation) != nullptr; });
  }
}

// Whether it would fit if nothing were spared by the pace, and why the first of that is.
void Run::hold_by_pace(Id job, const JobRequest& job_request, Occupancy base) {
  if (!workspace.pace.on()) return;
  Spared first;
  for (const RunningJob& other : workspace.running) {
    if (other.gone || other.leaves || workspace.standing(job, other) != Outcome::kTaken) continue;
    workspace.give(base, other, 1);
    if (first.why == Outcome::kTaken) first = workspace.spared(other);
  }
  // All of them may be left: then a pool would give more than it may.
  if (first.why == Outcome::kTaken && workspace.pace.has_caps())
    first.why = Outcome::kPoolVictimsPerHour;
  std::vector<Spot> spots;
  if (first.why != Outcome::kTaken && job_request.place(base, spots)) held_by_pace_[job] = first;
}

Column<Index> Run::candidates_of(Id job, const JobRequest& job_request) {
  for (const RunningJob& other : workspace.running) {
    if (other.gone || other.leaves) continue;
    if (follows(other)) note_standing(job, job_request.parts().front().request, other);
  }
  return candidate_set(job)->jobs;
}

// Only what suspended jobs give back is there at once: kStarted, or it waits for the rest.
Outcome Run::preempt_candidates(Id job, const JobRequest& job_request, const Column<Index>& victims,
                                const std::vector<Spot>& spots, bool leaving) {
  if (leaving || !std::ranges::all_of(victims, [this](Index i) {
        return workspace.mode(of(i)) == PreemptMode::kSuspend;
      })) {
    end(job, job_request, victims, spots);
    return Outcome::kWaitsForVictims;
  }
  const Id step = step_++;
  for (const Index i : victims) take(job, job_request, i, spots, step);
  start(job, spots, Reason::kFitsOverSuspended, step);
  memory_.last_preempt.set(job, workspace.state.now());
  return Outcome::kStarted;
}

void Run::end(Id job, const JobRequest& job_request, const Column<Index>& victims,
              const std::vector<Spot>& spots) {
  const Id step = step_++;
  mark(job).has_victims = true;
  count_use(job);
  held_.push_back({job, spots});
  Time gone = workspace.state.now();
  for (const Index i : victims)
    gone = std::max(
        gone, of(i).leaves ? workspace.gone_by(of(i)) : take(job, job_request, i, spots, step));
  for (const Spot& spot : spots) {
    if (spot.node == kNoId) continue;  // licences are not held
    const Amount* needed = workspace.amounts(spot.request);
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
  memory_.last_preempt.set(job, workspace.state.now());
}

// All that it would preempt leaves already, for others: nothing more leaves, and it is not looked
// for again before long.
Outcome Run::wait_for_others(Id job) {
  Mark& mark = this->mark(job);
  mark.served = mark.waits_for_others = true;
  memory_.last_preempt.set(job, workspace.state.now());
  return Outcome::kWaitsForNextPass;
}

void Run::count(const Choice& choice, MinimumQuestion question) {
  const SelectionProof& proof = choice.proof;
  if (workspace.settings.selection == Selection::kMinimum) {
    decisions.prove(step_, proof);
    for (Size k = 0; k < choice.searched && decisions.certifies(); ++k)
      question.taken.push_back(of(choice.victims[k]).operation);
    decisions.asked(step_, std::move(question));
  }
  tally.proof.proved = (tally.jobs == 0 || tally.proof.proved) && proof.proved;
  ++tally.jobs;
  tally.proof.cost += proof.cost;
  tally.proof.lower_bound += proof.lower_bound;
  tally.proof.branches += proof.branches;
}

// All of a job leaves; returns when it has.
Time Run::take(Id job, const JobRequest& job_request, Index victim, const std::vector<Spot>& spots,
               Id step) {
  RunningJob& other = workspace.running[victim];
  const Size v = at(other.operation);
  const PreemptMode mode = workspace.mode(other);
  const Time now = workspace.state.now();
  Decision d{.action = Action::kPreempt,
             .stage = stage_,
             .reason = workspace.reason(job, other),
             .operation = other.operation,
             .step = step,
             .at = now,
             .until = now};
  d.mode = mode == PreemptMode::kSuspend                        ? Mode::kSuspend
           : mode == PreemptMode::kRequeue && jobs().requeue[v] ? Mode::kRequeue
                                                                : Mode::kTerminate;
  if (d.mode != Mode::kSuspend) d.grace = jobs().grace[v];
  Time left = now;
  for (const Id slot : workspace.slots(other)) {
    const Time ends = planned_end(slot);
    d.until = now + d.grace;
    if (ends != kNoTime && ends >= now) d.until = std::min(d.until, ends);
    left = std::max(left, d.until);
    d.slot = slot;
    d.node = workspace.state.node_of(slot);
    d.beneficiary = {job, job_request.parts().front().request};
    const Amount* needed = nullptr;
    for (const Spot& spot : spots)
      if (spot.node == d.node) {
        d.beneficiary.request = spot.request;
        needed = workspace.amounts(spot.request);
      }
    Row freed{}, kept{};
    workspace.split(other, slot, freed.data(), kept.data());
    const Row free = free_on(d.node);
    decisions.add(d, {freed.data(), free.data(), needed,
                      workspace.state.operation_usage(other.operation), kept.data()});
    ++tally.victims;
  }
  other.gone = true;
  other.leaves = d.mode != Mode::kSuspend && d.grace > 0;
  other.leaves_for = job;
  workspace.pace.took(workspace.state, other.operation);
  mark(other.operation).gone_for = job;
  ++tally.victim_jobs;
  candidate_sets_.clear();
  if (d.mode != Mode::kSuspend) gone_.push_back(victim);
  if (d.mode != Mode::kSuspend && d.grace == 0)
    for (const Id node : workspace.nodes(other)) mark_ending(node, job);
  if (d.mode != Mode::kSuspend && d.grace > 0 && has_ends_)
    add_end({std::min(now + d.grace, end_of(other)), other.operation, End::Of::kVictim, victim});
  // What a suspended job gives back is taken at once; the room of the others is not free
  // until they have gone.
  if (d.mode == Mode::kSuspend) {
    workspace.give(workspace.room, other, 1);
    for (const Id node : workspace.nodes(other)) workspace.touch(node);
  }
  return left;
}

void Run::start(Id job, const std::vector<Spot>& spots, Reason reason, Id step) {
  Mark& mark = this->mark(job);
  mark.served = mark.started = true;
  count_use(job);
  const bool shortened = stage_ == Stage::kBackfill && !set().rules.starts_with_its_whole_limit;
  const Time end = workspace.state.now() + lasts(job, shortened);
  begun_.push_back({end, job, begun_spots_.size(), spots.size()});
  begun_spots_.insert(begun_spots_.end(), spots.begin(), spots.end());
  if (has_ends_) add_end({end, job, End::Of::kBegun, static_cast<Index>(begun_.size()) - 1});
  for (const Spot& spot : spots) {
    const Amount* needed = workspace.amounts(spot.request);
    const Row free = free_on(spot.node);
    decisions.add({.action = Action::kStart,
                   .stage = stage_,
                   .reason = reason,
                   .request = spot.request,
                   .operation = job,
                   .node = spot.node,
                   .step = step,
                   .beneficiary = {job, spot.request},
                   .at = workspace.state.now()},
                  {nullptr, free.data(), needed, nullptr, nullptr});
    occupy(workspace.room, job, spot.node, needed);
    workspace.touch(spot.node);
    ++tally.starts;
    if (follows_request(spot.request)) event(spot.node, Outcome::kStarted, job, spot.request, {});
  }
}

void Run::mark_ending(Id node, Id beneficiary) {
  any_ending_ = true;
  Id& here = ending_[node];
  here = here == kNoId || here == beneficiary ? beneficiary : kSeveral;
}

void Run::occupy(Occupancy& room, Id job, Id node, const Amount* amounts) const {
  room.rooms.take(amounts, node);
  if (node == kNoId) return;
  ++room.occupants[node];
  room.exclusives[node] += takes_whole_nodes(job) ? 1 : 0;
}

}  // namespace evenhand::slurm
