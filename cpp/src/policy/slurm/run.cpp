#include "evenhand/policy/slurm/run.h"

#include <algorithm>
#include <array>
#include <limits>

#include "evenhand/place/timeline.h"

namespace evenhand::slurm {
namespace {

using Size = std::size_t;
using Row = std::array<Amount, kMaxResources>;

constexpr Size at(Id id) noexcept { return static_cast<Size>(id); }

struct Waiting {
  Id job;
  Outcome rule;
};

class Run {
 public:
  Run(const RunInputs& inputs, Recorder* recorder)
      : desk(inputs),
        decisions(desk.state.width()),
        recorder_(recorder),
        blocked_(static_cast<Size>(desk.state.tables().nodes.size()), 0),
        gone_for_(static_cast<Size>(desk.state.tables().operations.size()), kNoId),
        resumed_(desk.stopped.size(), 0) {}

  void all() {
    const std::vector<Id> queue = queue_order(desk);
    for (const Id job : queue) {
      resume(job);
      one(job);
    }
    resume(kNoId);
    if (desk.inputs.settings.backfill) backfill(queue);
    tell_refusals();
  }

  Desk desk;
  Decisions decisions;
  Counts counts;
  Refusals refusals;
  Time next_due = kNoTime;

 private:
  const Tables& tables() const { return desk.state.tables(); }
  const JobColumns& jobs() const { return desk.inputs.jobs; }

  // --- what is decided

  void one(Id job) {
    const Time now = desk.state.now();
    if (const Time eligible = jobs().eligible[at(job)]; eligible != kNoTime && eligible > now) {
      due(eligible);
      return refuse(job, Outcome::kNotEligibleYet);
    }
    Wish wish = desk.wish(job, blocked_);
    for (const Wish::Part& part : wish.parts())
      if (part.takes_node && std::ranges::find(part.allowed, 1) == part.allowed.end())
        return refuse(job, barred_everywhere(job, part.request));
    const bool reclaims = desk.inputs.settings.reclaim_licenses;
    if (!wish.licences_fit(desk.room) && !reclaims)
      return refuse(job, Outcome::kLicensesMissing);
    std::vector<Spot> spots;
    if (wish.place(desk.room, spots)) {
      start(job, spots, Reason::kFitsFreeRoom, step_++);
      return;
    }
    if (const Outcome waits = preempt(job, wish); waits != Outcome::kStarted) {
      refuse(job, waits);
      block(job);
    }
  }

  // kStarted: it did; else why it waits.
  Outcome preempt(Id job, Wish& wish) {
    const Settings& set = desk.inputs.settings;
    Room base = desk.room;
    std::vector<Spot> spots;
    if (desk.add_leaving(base, job) && wish.place(base, spots)) return Outcome::kWaitsForVictims;
    const Time last = desk.memory.last_preempt[at(job)];
    if (last != kNoTime && last > desk.state.now() - set.backoff) {
      due(last + set.backoff);
      return Outcome::kPreemptionBackoff;
    }
    const std::vector<Index> candidates = candidates_of(job, wish);
    if (candidates.empty()) return Outcome::kNoFreeRoom;
    const bool gang = set.gang && set.type == PreemptType::kPartitionPrio;
    if (gang && set.selection != Selection::kTestOnly) {
      Room shadow = base;
      for (const Index i : candidates)
        if (desk.mode(of(i)) == PreemptMode::kSuspend) desk.give(shadow, of(i), 1);
      if (wish.place(shadow, spots)) {
        suspend(job, wish, candidates, under(wish, candidates, spots), spots);
        return Outcome::kStarted;
      }
      base = std::move(shadow);
    }
    Choice choice = choose(desk, wish, base, candidates, false);
    if (choice.fits) {
      note(job, wish, candidates, choice.considered, choice.victims);
      end(job, wish, choice);
      return Outcome::kWaitsForVictims;
    }
    if (set.gang && set.type == PreemptType::kQos && set.selection != Selection::kTestOnly) {
      choice = choose(desk, wish, base, candidates, true);
      if (choice.fits) {
        count(choice.proof);
        suspend(job, wish, candidates, choice.victims, choice.spots);
        return Outcome::kStarted;
      }
    }
    note(job, wish, candidates, {}, {});
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
        event(first_node(other), standing, wish.parts().front().request, {});
    }
    return desk.candidates(job);
  }

  // Whatever runs below the chosen nodes and may be suspended, where they are too full.
  std::vector<Index> under(const Wish& wish, const std::vector<Index>& candidates,
                           const std::vector<Spot>& spots) const {
    std::vector<std::uint8_t> full(blocked_.size(), 0);
    for (const Spot& spot : spots) {
      if (spot.node == kNoId) continue;
      for (const Wish::Part& part : wish.parts())
        if (part.request == spot.request && !wish.fits(part, desk.room, spot.node))
          full[at(spot.node)] = 1;
    }
    std::vector<Index> out;
    for (const Index i : candidates)
      if (desk.mode(of(i)) == PreemptMode::kSuspend &&
          std::ranges::any_of(desk.nodes(of(i)), [&](Id node) { return full[at(node)] != 0; }))
        out.push_back(i);
    return out;
  }

  void suspend(Id job, const Wish& wish, const std::vector<Index>& candidates,
               const std::vector<Index>& victims, const std::vector<Spot>& spots) {
    note(job, wish, candidates, victims, victims);
    const Id step = step_++;
    for (const Index i : victims) take(job, wish, i, spots, step);
    start(job, spots, Reason::kFitsOverSuspended, step);
    desk.memory.last_preempt[at(job)] = desk.state.now();
  }

  void end(Id job, const Wish& wish, const Choice& choice) {
    const Id step = step_++;
    Time gone = desk.state.now();
    for (const Index i : choice.victims)
      gone = std::max(gone, take(job, wish, i, choice.spots, step));
    for (const Spot& spot : choice.spots) {
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
    count(choice.proof);
  }

  void count(const SelectionProof& proof) {
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
    d.mode = mode == PreemptMode::kSuspend ? Mode::kSuspend
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
      occupy(job, spot.node, needed);
      desk.state.set_pending(spot.request, desk.state.pending(spot.request) - 1);
      ++counts.starts;
      if (follows_request(spot.request)) event(spot.node, Outcome::kStarted, spot.request, {});
    }
  }

  void occupy(Id job, Id node, const Amount* amounts) {
    desk.room.rooms.take(amounts, std::max(node, Id{0}));
    if (node == kNoId) return;
    ++desk.room.occupants[at(node)];
    desk.room.exclusives[at(node)] +=
        desk.inputs.settings.whole_nodes || jobs().exclusive[at(job)] ? 1 : 0;
  }

  // Jobs behind one that waits start if they end before it could start, or elsewhere.
  // Source: Slurm, backfill scheduling: nodes are kept whole from the time at which a job
  // that waits could start there; nobody is preempted.
  void backfill(const std::vector<Id>& queue) {
    constexpr Time kNever = std::numeric_limits<Time>::max();
    std::vector<Time> kept(blocked_.size(), kNever);  // from when on, of each node
    const Timeline ends = timeline();
    std::vector<Waiting> still;
    stage_ = Stage::kBackfill;
    for (const Id job : queue) {
      const auto found = std::ranges::find(waiting_, job, &Waiting::job);
      if (found == waiting_.end()) continue;
      if (!may_wait_for_room(found->rule) || !backfill_one(job, kept, ends)) still.push_back(*found);
    }
    waiting_ = std::move(still);
    stage_ = Stage::kSchedulingRun;
  }

  static bool may_wait_for_room(Outcome rule) {
    return rule == Outcome::kBehindFirstWaiting || rule == Outcome::kWaitsForVictims ||
           rule == Outcome::kNoFreeRoom || rule == Outcome::kNoRoomEvenWithVictims ||
           rule == Outcome::kPreemptionBackoff;
  }

  // Starts a job, or keeps nodes for it; false: it waits.
  bool backfill_one(Id job, std::vector<Time>& kept, const Timeline& ends) {
    constexpr Time kNever = std::numeric_limits<Time>::max();
    const Time now = desk.state.now();
    std::vector<std::uint8_t> barred(blocked_.size(), 0);
    for (Size n = 0; n < barred.size(); ++n)
      barred[n] = kept[n] != kNever && (longest(job) == kNever || now + longest(job) > kept[n]);
    const Wish wish = desk.wish(job, barred);
    std::vector<Spot> spots;
    if (wish.place(desk.room, spots)) {
      start(job, spots, Reason::kFitsFreeRoom, step_++);
      ++counts.backfilled;
      return true;
    }
    // The first instant at which it would fit, on nodes that are kept for nobody.
    for (Size n = 0; n < barred.size(); ++n) barred[n] = kept[n] != kNever;
    const Wish later = desk.wish(job, barred);
    Room room = desk.room;
    desk.add_leaving(room, job);
    for (const RunningJob& other : desk.running)
      if (other.gone && gone_for_[at(other.operation)] == job) desk.give(room, other, 1);
    Time from = now;
    bool fits = later.place(room, spots);
    for (Size first = 0; !fits && first < ends.events().size();) {
      const auto instant = ends.instant(first);
      for (const Timeline::Event& event : instant) end_of(room, event.row, job);
      first += instant.size();
      from = instant.front().at;
      fits = later.place(room, spots);
    }
    if (fits)
      for (const Spot& spot : spots)
        if (spot.node != kNoId) kept[at(spot.node)] = std::min(kept[at(spot.node)], from);
    return false;
  }

  // The longest of a job's durations; never, if one is unknown.
  Time longest(Id job) const {
    Time most = 0;
    const Grouping& by = tables().requests_by_operation;
    for (Index i = by.offsets[at(job)]; i < by.offsets[at(job) + 1]; ++i) {
      const Id request = by.items[static_cast<Size>(i)];
      const Time one = at_or(tables().requests.duration, request, kNoTime);
      if (desk.state.pending(request) <= 0) continue;
      if (one == kNoTime) return std::numeric_limits<Time>::max();
      most = std::max(most, one);
    }
    return most;
  }

  // Allocations of the snapshot by their ends; of jobs that go in this run, too.
  Timeline timeline() const {
    Timeline ends;
    const AllocationColumns& a = tables().allocations;
    for (Id slot = 0; slot < static_cast<Id>(a.size()); ++slot) {
      const Time end = at_or(desk.state.leaving(slot) ? a.deadline : a.planned_end, slot, kNoTime);
      if (end != kNoTime && !desk.state.gone(slot)) ends.add(std::max(end, desk.state.now()), slot);
    }
    ends.sort();
    return ends;
  }

  // An allocation has ended: its room is free, unless that was counted already.
  void end_of(Room& room, Id slot, Id job) const {
    if (const Leaving* l = desk.state.leaving_at(slot);
        l != nullptr && l->beneficiary.operation == job)
      return;
    const Id operation = desk.state.operation_of(slot);
    if (gone_for_[at(operation)] != kNoId) return;  // its room is for another, or counted
    room.rooms.give(desk.state.amounts(slot), std::max(desk.state.node_of(slot), Id{0}));
    if (desk.state.node_of(slot) == kNoId) return;
    --room.occupants[at(desk.state.node_of(slot))];
    room.exclusives[at(desk.state.node_of(slot))] -= jobs().exclusive[at(operation)];
  }

  // Suspended jobs go on where they are, before a pending one that may not preempt them.
  void resume(Id before) {
    for (Size i = 0; i < desk.stopped.size(); ++i) {
      const RunningJob& job = desk.stopped[i];
      if (resumed_[i]) continue;
      if (before != kNoId && desk.standing(before, job) == Outcome::kTaken) continue;
      const std::span<const Id> slots = desk.slots(job);
      const Room was = desk.room;
      bool fits = true;
      for (const Id slot : slots) {
        const Id node = std::max(desk.state.node_of(slot), Id{0});
        const Row more = back(slot);
        fits &= desk.room.rooms.fits(more.data(), node);
        desk.room.rooms.take(more.data(), node);
      }
      desk.room = was;
      if (!fits) continue;
      resumed_[i] = 1;
      const Id step = step_++;
      for (const Id slot : slots) {
        const Row more = back(slot), free = free_on(desk.state.node_of(slot));
        decisions.add({.action = Action::kResume,
                       .stage = stage_,
                       .reason = Reason::kGoesOn,
                       .slot = slot,
                       .operation = job.operation,
                       .node = desk.state.node_of(slot),
                       .step = step,
                       .at = desk.state.now()},
                      {nullptr, free.data(), more.data(), nullptr, nullptr});
        occupy(job.operation, desk.state.node_of(slot), more.data());
        ++counts.resumes;
      }
    }
  }

  // What a suspended allocation takes when it goes on.
  Row back(Id slot) const {
    Row more{};
    const Size width = desk.state.width();
    const std::vector<Amount>& held = tables().allocations.held;
    for (Size r = 0; r < width; ++r)
      more[r] = desk.state.amounts(slot)[r] - (held.empty() ? 0 : held[at(slot) * width + r]);
    return more;
  }

  // --- what is said

  const Amount* request_amounts(Id request) const {
    return tables().requests.resources.data() + at(request) * desk.state.width();
  }

  Row free_on(Id node) const {
    Row free{};
    for (Size r = 0; r < desk.state.width(); ++r)
      free[r] = desk.room.rooms.at(std::max(node, Id{0}), r);
    return free;
  }

  void block(Id job) {
    const Size count = blocked_.size(), row = at(jobs().partition[at(job)]) * count;
    for (Size n = 0; n < count; ++n) blocked_[n] |= jobs().node_of_partition[row + n];
  }

  Outcome barred_everywhere(Id job, Id request) const {
    Outcome found = Outcome::kNodeOutsidePartition;
    const Size row = at(jobs().partition[at(job)]) * blocked_.size();
    for (Size n = 0; n < blocked_.size(); ++n) {
      if (!jobs().node_of_partition[row + n]) continue;
      const Outcome here = desk.barred(request, static_cast<Id>(n));
      if (here == Outcome::kStarted) return Outcome::kBehindFirstWaiting;
      found = here;
    }
    return found;
  }

  void refuse(Id job, Outcome rule) { waiting_.push_back({job, rule}); }

  void tell_refusals() {
    const std::vector<std::uint8_t> none(blocked_.size(), 0);
    for (const auto& [job, rule] : waiting_) {
      const bool placed = rule != Outcome::kNotEligibleYet;
      const Wish wish = desk.wish(job, none);
      tell_refusal(job, rule, placed ? &wish : nullptr);
    }
  }

  // Of all its requests; with what lacks on the best of the nodes.
  void tell_refusal(Id job, Outcome rule, const Wish* wish) {
    const Grouping& by = tables().requests_by_operation;
    const Size width = desk.state.width();
    for (Index i = by.offsets[at(job)]; i < by.offsets[at(job) + 1]; ++i) {
      const Id request = by.items[static_cast<Size>(i)];
      if (desk.state.pending(request) <= 0) continue;
      refusals.request.push_back(request);
      refusals.rule.push_back(rule);
      Index nodes = 0;
      Row best{};
      double least = 0;
      const Wish::Part* part = nullptr;
      if (wish != nullptr)
        for (const Wish::Part& p : wish->parts())
          if (p.request == request) part = &p;
      if (part != nullptr && part->takes_node)
        for (Id node = 0; node < static_cast<Id>(blocked_.size()); ++node) {
          if (!part->allowed[at(node)]) continue;
          Row lacks{};
          desk.room.rooms.lacks(part->amounts, node, lacks.data());
          double worst = 0;
          for (Size r = 0; r < width; ++r)
            if (lacks[r] > 0)
              worst = std::max(worst, static_cast<double>(lacks[r]) /
                                          static_cast<double>(part->amounts[r]));
          if (nodes++ == 0 || worst < least) {
            least = worst;
            best = lacks;
          }
          if (follows_request(request))
            event(node, worst > 0 ? Outcome::kNoFreeRoom : rule, request, lacks);
        }
      refusals.nodes.push_back(nodes);
      refusals.missing.insert(refusals.missing.end(), best.begin(),
                              best.begin() + static_cast<std::ptrdiff_t>(width));
      if (follows_request(request)) event(kNoId, rule, request, best);
    }
  }

  // What became of the followed allocation among the candidates of a job.
  void note(Id job, const Wish& wish, const std::vector<Index>& candidates,
            const std::vector<Index>& considered, const std::vector<Index>& victims) {
    (void)job;
    if (recorder_ == nullptr || recorder_->slot == kNoId) return;
    const auto has = [](const std::vector<Index>& in, Index i) {
      return std::ranges::find(in, i) != in.end();
    };
    for (const Index i : candidates) {
      if (!follows(of(i))) continue;
      const Outcome outcome = has(victims, i)      ? Outcome::kTaken
                              : has(considered, i) ? Outcome::kOffChosenNodes
                              : victims.empty()    ? Outcome::kNoStartInStage
                                                   : Outcome::kSparedFitsWithout;
      event(first_node(of(i)), outcome, wish.parts().front().request, {});
    }
  }

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
  void event(Id node, Outcome outcome, Id request, const Row& missing) {
    recorder_->events.push_back({node,
                                 stage_,
                                 outcome,
                                 tables().requests.operation[at(request)],
                                 request,
                                 recorder_->slot,
                                 {missing.begin(), missing.begin() + static_cast<std::ptrdiff_t>(
                                                                         desk.state.width())}});
  }
  void due(Time instant) {
    if (next_due == kNoTime || instant < next_due) next_due = instant;
  }

  Recorder* recorder_;
  std::vector<std::uint8_t> blocked_;  // nodes that waiting jobs keep from those behind
  std::vector<Id> gone_for_;           // O: for whom it was preempted in this run
  std::vector<std::uint8_t> resumed_;
  std::vector<Waiting> waiting_;
  Stage stage_ = Stage::kSchedulingRun;
  Id step_ = 0;
};

}  // namespace

Plan::Plan(RunInputs inputs)
    : inputs_(std::move(inputs)),
      width_(static_cast<Size>(inputs_.snapshot.tables().resource_count())) {
  Run run(inputs_, nullptr);
  run.all();
  decisions_ = std::move(run.decisions);
  counts_ = run.counts;
  refusals_ = std::move(run.refusals);
  memory_ = std::move(run.desk.memory);
  next_due_ = decisions_.rows().empty() ? run.next_due : inputs_.snapshot.tables().now;
}

std::vector<Event> Plan::trace(Id request, Id slot) const {
  Recorder recorder{request, slot, {}};
  Run(inputs_, &recorder).all();
  return std::move(recorder.events);
}

}  // namespace evenhand::slurm
