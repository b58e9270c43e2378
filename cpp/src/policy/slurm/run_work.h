// One scheduling run as it goes: what is free, what is decided, what is said.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>

#include "evenhand/place/timeline.h"
#include "evenhand/policy/slurm/run.h"

namespace evenhand::slurm {

using Size = std::size_t;
using Row = std::array<Amount, kMaxResources>;

constexpr Size at(Id id) noexcept { return static_cast<Size>(id); }

struct Waiting {
  Turn turn;
  Outcome rule;
};

// Where a job is to start once those who leave for it have gone.
struct Held {
  Id job;
  std::vector<Spot> spots;
};

bool may_wait_for_room(Outcome rule);

class Run {
 public:
  Run(RunInputs inputs, Recorder* recorder)
      : inputs_(std::move(inputs)),
        desk(inputs_),
        decisions(desk.state.width()),
        recorder_(recorder),
        blocked_(static_cast<Size>(desk.state.tables().nodes.size()), 0),
        gone_for_(static_cast<Size>(desk.state.tables().operations.size()), kNoId),
        served_(gone_for_.size(), 0),
        resumed_(desk.stopped.size(), 0) {}

  void all() {
    const std::vector<Turn> queue = queue_order(desk);
    for (const Turn& turn : queue) {
      if (served_[at(turn.job)]) continue;  // in another of its partitions
      stand_in(turn);
      resume(turn.job);
      add_reserved(desk.room, turn.job, 1);
      if (!one(turn.job)) add_reserved(desk.room, turn.job, -1);
    }
    resume(kNoId);
    if (desk.inputs.settings.backfill) backfill(queue);
    tell_refusals();
  }

 private:
  RunInputs inputs_;  // of a job with several partitions: as of the one whose turn it is

 public:
  Desk desk;
  Decisions decisions;
  Counts counts;
  Refusals refusals;
  Time next_due = kNoTime;

 private:
  const Tables& tables() const { return desk.state.tables(); }
  const JobColumns& jobs() const { return desk.inputs.jobs; }

  void stand_in(const Turn& turn) {
    turn_ = turn;
    JobColumns& j = inputs_.jobs;
    j.partition[at(turn.job)] = turn.partition;
    j.tier[at(turn.job)] = turn.tier;
    j.priority[at(turn.job)] = turn.priority;
    j.exclusive[at(turn.job)] = turn.exclusive;
  }

  // --- what is decided

  // Whether it starts.
  bool one(Id job) {
    const Time now = desk.state.now();
    if (const Time eligible = jobs().eligible[at(job)]; eligible != kNoTime && eligible > now) {
      due(eligible);
      return refuse(job, Outcome::kNotEligibleYet);
    }
    if (jobs().partition_down[at(jobs().partition[at(job)])])
      return refuse(job, Outcome::kPartitionDown);
    Wish wish = desk.wish(job, blocked_);
    for (const Wish::Part& part : wish.parts())
      if (part.takes_node && std::ranges::find(part.allowed, 1) == part.allowed.end())
        return refuse(job, barred_everywhere(job, part.request));
    if (!wish.licences_fit(desk.room) && !licences_come_free(job, wish))
      return refuse(job, Outcome::kLicensesMissing);
    std::vector<Spot> spots;
    if (wish.place(desk.room, spots)) {
      start(job, spots, Reason::kFitsFreeRoom, step_++);
      return true;
    }
    if (const Outcome never = beyond_nodes(wish); never != Outcome::kStarted)
      return refuse(job, never);
    const Outcome waits = preempt(job, wish);
    if (waits == Outcome::kStarted) return true;
    block(job);
    return refuse(job, waits);
  }

  // Whether the licences that a job lacks would be there once all have gone that may go for it.
  bool licences_come_free(Id job, const Wish& wish) {
    if (!desk.inputs.settings.reclaim_licenses) return false;
    Room all = desk.room;
    desk.add_leaving(all, job);
    const std::vector<Index> candidates = desk.candidates(job);
    for (const Index i : candidates) desk.give(all, of(i), 1);
    if (wish.licences_fit(all)) return true;
    note(wish, candidates_of(job, wish), nullptr);
    return false;
  }

  // kStarted: it did; else why it waits.
  Outcome preempt(Id job, Wish& wish) {
    const Settings& set = desk.inputs.settings;
    Room base = desk.room;
    std::vector<Spot> spots;
    const bool leaving = desk.add_leaving(base, job);
    if (leaving && wish.place(base, spots)) {
      held_.push_back({job, spots});
      return Outcome::kWaitsForVictims;
    }
    const Time last = desk.memory.last_preempt[at(job)];
    if (last != kNoTime && last > desk.state.now() - set.backoff) {
      due(last + set.backoff);
      return Outcome::kPreemptionBackoff;
    }
    const std::vector<Index> candidates = candidates_of(job, wish);
    if (set.type == PreemptType::kNone) return Outcome::kPreemptionDisabled;
    if (candidates.empty()) return Outcome::kNobodyMayGo;
    const bool gang = set.gang && set.type == PreemptType::kPartitionPrio;
    std::vector<Index> sharing;
    if (gang) {
      std::ranges::copy_if(candidates, std::back_inserter(sharing), [this](Index i) {
        return jobs().suspendable[at(of(i).operation)] != 0;
      });
      if (over(wish, base, sharing, spots)) {
        if (set.selection == Selection::kTestOnly) {  // it fits; who has to wait is not said
          note(wish, candidates, nullptr);
          return Outcome::kDryRunNamesNobody;
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

  const RunningJob& of(Index i) const { return desk.running[static_cast<Size>(i)]; }

  std::vector<Index> candidates_of(Id job, const Wish& wish) {
    for (const RunningJob& other : desk.running) {
      const Time spared = other.start + jobs().exempt[at(other.operation)];
      const bool young = spared > desk.state.now();
      if (other.gone || !(young || follows(other))) continue;
      const Outcome standing = desk.standing(job, other);
      if (standing == Outcome::kRanTooShort) due(spared);
      if (standing != Outcome::kTaken && follows(other))
        event(first_node(other), standing, job, wish.parts().front().request, {});
    }
    return desk.candidates(job);
  }

  // Only what suspended jobs give back is there at once: kStarted, or it waits for the rest.
  Outcome go_under(Id job, const Wish& wish, const std::vector<Index>& victims,
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
    desk.memory.last_preempt[at(job)] = desk.state.now();
    return Outcome::kStarted;
  }

  void end(Id job, const Wish& wish, const std::vector<Index>& victims,
           const std::vector<Spot>& spots) {
    const Id step = step_++;
    held_.push_back({job, spots});
    Time gone = desk.state.now();
    for (const Index i : victims) gone = std::max(gone, take(job, wish, i, spots, step));
    for (const Spot& spot : spots) {
      if (spot.node == kNoId) continue;  // licences are not held
      const Amount* needed = request_amounts(spot.request);
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
      ++counts.reservations;
    }
    desk.memory.last_preempt[at(job)] = desk.state.now();
  }

  void count(const SelectionProof& proof, Id step) {
    if (desk.inputs.settings.selection == Selection::kMinimum) decisions.prove(step, proof);
    counts.proof.proved = (counts.jobs == 0 || counts.proof.proved) && proof.proved;
    ++counts.jobs;
    counts.proof.cost += proof.cost;
    counts.proof.lower_bound += proof.lower_bound;
    counts.proof.branches += proof.branches;
  }

  // All of a job leaves; returns when it has.
  Time take(Id job, const Wish& wish, Index victim, const std::vector<Spot>& spots, Id step) {
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
      const Time ends = at_or(tables().allocations.planned_end, slot, kNoTime);
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
          needed = request_amounts(spot.request);
        }
      Row freed{}, kept{};
      desk.split(other, slot, freed.data(), kept.data());
      const Row free = free_on(d.node);
      decisions.add(d, {freed.data(), free.data(), needed,
                        desk.state.operation_usage(other.operation), kept.data()});
      ++counts.victims;
    }
    other.gone = true;
    gone_for_[v] = job;
    ++counts.victim_jobs;
    // What a suspended job gives back is taken at once; the room of the others is nobody's
    // until they have gone.
    if (d.mode == Mode::kSuspend) desk.give(desk.room, other, 1);
    return left;
  }

  void start(Id job, const std::vector<Spot>& spots, Reason reason, Id step) {
    served_[at(job)] = 1;
    for (const Spot& spot : spots) {
      const Amount* needed = request_amounts(spot.request);
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
      desk.state.set_pending(spot.request, desk.state.pending(spot.request) - 1);
      ++counts.starts;
      if (follows_request(spot.request)) event(spot.node, Outcome::kStarted, job, spot.request, {});
    }
  }

  bool takes_whole_nodes(Id job) const {
    return desk.inputs.settings.whole_nodes || jobs().exclusive[at(job)] != 0;
  }

  void occupy(Room& room, Id job, Id node, const Amount* amounts) const {
    room.rooms.take(amounts, node);
    if (node == kNoId) return;
    ++room.occupants[at(node)];
    room.exclusives[at(node)] += takes_whole_nodes(job) ? 1 : 0;
  }

  // --- what is said

  const Amount* request_amounts(Id request) const {
    return tables().requests.resources.data() + at(request) * desk.state.width();
  }

  Row free_on(Id node) const {
    Row free{};
    for (Size r = 0; r < desk.state.width(); ++r)
      if (node != kNoId || tables().resources.scope[r] == ResourceScope::kCluster)
        free[r] = desk.room.rooms.at(node, r);
    return free;
  }

  void block(Id job) {
    const Size count = blocked_.size(), row = at(jobs().partition[at(job)]) * count;
    for (Size n = 0; n < count; ++n) blocked_[n] |= jobs().node_of_partition[row + n];
  }

  bool refuse(Id job, Outcome rule) {
    waiting_.push_back({turn_, rule});
    served_[at(job)] |= rule == Outcome::kWaitsForVictims;
    return false;
  }

  // What hard reservations keep for a job is its own.
  void add_reserved(Room& to, Id job, Amount sign) const {
    evenhand::add_reserved(to.rooms, desk.state, sign, [job](Id owner) { return owner == job; });
  }

  // --- gang.cpp

  bool over(const Wish& wish, Room base, const std::vector<Index>& candidates,
            std::vector<Spot>& spots) const;
  std::vector<Index> under(Id job, Room room, const std::vector<Index>& candidates,
                           const std::vector<Spot>& spots) const;
  void under_too(Id job, Room room, std::vector<Index> sharing, Choice& choice) const;

  // --- resume.cpp

  void resume(Id before);
  Outcome goes_on(const RunningJob& job, Room& in, Id& where, Row& missing) const;
  Room afterwards() const;
  Row back(Id slot) const;

  // --- backfill.cpp

  void backfill(const std::vector<Turn>& queue);
  bool backfill_one(Id job, std::vector<Time>& kept, const Timeline& ends);
  Time longest(Id job) const;
  Timeline timeline() const;
  void end_of(Room& room, Id slot, Id job) const;

  // --- told.cpp

  Outcome barred_everywhere(Id job, Id request) const;
  Outcome beyond_nodes(const Wish& wish) const;
  Outcome on_node(const Wish::Part& part, Id node, bool licences_lack, bool lack,
                  Outcome rule) const;
  bool lacks(const Room& room, const Amount* need, Id node, bool whole, Row& missing) const;
  Room without_reservations(Id job) const;
  bool may_help(const Wish& wish, const RunningJob& other) const;
  void tell_refusals();
  void tell_refusal(Id job, Outcome rule, const Wish* wish);
  void note(const Wish& wish, const std::vector<Index>& candidates, const Choice* choice);
  void note_sharing(const Wish& wish, const std::vector<Index>& candidates,
                    const std::vector<Index>& victims, const std::vector<Spot>& spots);

  bool follows(const RunningJob& job) const {
    return recorder_ != nullptr && recorder_->slot != kNoId &&
           desk.state.operation_of(recorder_->slot) == job.operation;
  }
  bool follows_request(Id request) const {
    return recorder_ != nullptr && recorder_->request == request;
  }
  Id first_node(const RunningJob& job) const {
    return recorder_->slot == kNoId ? desk.nodes(job).front() : desk.state.node_of(recorder_->slot);
  }
  void event(Id node, Outcome outcome, Id operation, Id request, const Row& missing) {
    recorder_->events.push_back(
        {node,
         stage_,
         outcome,
         operation,
         request,
         recorder_->slot,
         {missing.begin(), missing.begin() + static_cast<std::ptrdiff_t>(desk.state.width())}});
  }
  void due(Time instant) {
    if (next_due == kNoTime || instant < next_due) next_due = instant;
  }

  Recorder* recorder_;
  std::vector<std::uint8_t> blocked_;  // nodes that waiting jobs keep from those behind
  std::vector<Id> gone_for_;           // O: for whom it was preempted in this run
  std::vector<std::uint8_t> served_;   // O: it started, or others leave for it
  std::vector<std::uint8_t> resumed_;
  std::vector<Waiting> waiting_;
  Turn turn_;
  std::vector<Held> held_;
  Stage stage_ = Stage::kSchedulingRun;
  Id step_ = 0;
};

}  // namespace evenhand::slurm
