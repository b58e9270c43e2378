#include "run.h"

#include <algorithm>
#include <tuple>

namespace evenhand::gridengine {

Run::Run(const Inputs& inputs, const Memory& before, const ClusterState& state, Pace& pace,
         const Recorder* recorder)
    : decisions(state.width()),
      memory(before),
      set_(inputs.settings),
      rows_(inputs.rows),
      before_(before),
      state_(state),
      pace_(pace),
      subordination_(state, set_, rows_, before.state),
      record_(recorder != nullptr),
      all_taken_(recorder != nullptr && recorder->all_taken),
      width_(state_.width()),
      nodes_(state_.nodes().in_order()),
      operations_(state_.operations().in_order()),
      rooms_(state_),
      place_of_node_(at(state_.nodes().rows()), 0),
      blocks_(nodes_.size(), state_.tables().resources.scope),
      calendar_(state_.now(), state_.nodes().rows(), state_.tables().resources.scope),
      becomes_(at(state_.operations().rows()), 0),
      scratch_(width_),
      freed_(width_),
      kept_(width_) {
  if (recorder != nullptr && recorder->slot != kNoId) {
    watched_slot_ = recorder->slot;
    watched_ = state_.operation_of(watched_slot_);
  }
  for (Size i = 0; i < nodes_.size(); ++i) {
    place_of_node_[nodes_[i]] = i;
    usable_ += state_.schedulable(nodes_[i]);
  }
  for (Size mode = 0; mode < kModes; ++mode)
    for (Size r = 0; r < width_; ++r)
      frees_.push_back(evenhand::frees(static_cast<Mode>(mode),
                                       held_kind(resources().kind[r], is_managed(r)),
                                       resources().available_after_preemption[r] != 0));
  const auto others_use = [](std::uint8_t managed) { return managed != 0; };
  looks_ahead_ =
      reserves() || set_.automatic || std::ranges::any_of(set_.managed, others_use) ||
      std::ranges::any_of(operations_, [&](Id o) { return asked(o) != Asked::kNothing; });
  for (const Id o : operations_)
    preemptees_ +=
        !subordination_.stopped(o) && std::ranges::any_of(state_.allocations_of(o), [&](Id slot) {
          return state_.away(slot) || state_.leaving(slot);
        });
}

void Run::begin() {
  pace_.begin(state_);
  build_calendar();
  build_queue();
}

void Run::go() {
  begin();
  while (left() > 0) serve_next();
  finish();
}

bool Run::next_is_before(const Run& other) const { return key(next()) < other.key(other.next()); }

void Run::serve_next() {
  Entry& entry = queue[order_[next_++]];
  if (entry.preemptee)
    resume_or_reserve(entry);
  else
    start_or_reserve(entry);
}

void Run::finish() {
  memory.drop_requests();
  remember_preemptors();
  remember_states();
  // Which preemptees are first follows from what is remembered.
  const bool forgets = memory.preempted_for.of.size() != before_.preempted_for.of.size();
  if ((looks_ahead_ || forgets) && !queue.empty()) next_due = state_.now();
  subordinate();
}

void Run::resume_or_reserve(Entry& entry) {
  entry.outcome = barred(entry);
  if (entry.outcome != Outcome::kStarted) return;
  if (place(entry, state_.now(), true, record_ ? &entry : nullptr)) return start(entry);
  entry.outcome = closed_ ? Outcome::kSubordinateQueueSuspended : Outcome::kNoFreeRoom;
  if (record_ && !closed_) {
    entry.unit_missing = missing_of_units(entry);
    if (simple(entry)) nearest(entry, entry.units[0], false);
  }
  if (!reserves()) return;
  entry.at = first_fit(entry);
  if (*entry.at == kForever) return;
  place(entry, *entry.at, false);
  reserve(entry);
}

void Run::start_or_reserve(Entry& entry) {
  entry.outcome = barred(entry);
  if (entry.outcome != Outcome::kStarted) return;
  const Asked ask = asked(entry.operation);
  const Time now = state_.now();
  credit_own(entry.operation, 1);
  if (place(entry, now, true, &entry)) {
    start(entry);
    if (ask != Asked::kNothing) entry.outcome = Outcome::kAvailableNow;
    return;
  }
  if (closed_) {  // no job that leaves would open it
    entry.outcome = Outcome::kSubordinateQueueSuspended;
    credit_own(entry.operation, -1);
    return;
  }
  entry.outcome = Outcome::kNoFreeRoom;
  if (simple(entry)) nearest(entry, entry.units[0], true);
  credit_leaving(entry.operation, 1);
  const bool leaves = !state_.leaving().empty() && place(entry, now, true);
  if (leaves) entry.outcome = Outcome::kWaitsForVictims;
  credit_leaving(entry.operation, -1);
  if (leaves) occupy(entry, now, after(now, entry.duration));
  const bool may_reserve = entry.reserve && reserved_ < set_.max_reservation;
  entry.full = entry.reserve && !may_reserve;
  if (!leaves && (may_reserve || ask != Asked::kNothing)) {
    entry.at = first_fit(entry);
    const bool far = set_.distance == 0 || between(now, *entry.at) > set_.distance;
    entry.forced = ask != Asked::kNothing && before_.forced[entry.operation] != 0;
    entry.near = !far;
    if (ask != Asked::kNothing && !far && !entry.forced)
      entry.outcome = Outcome::kWithinPreemptionDistance;
    else if (ask != Asked::kNothing)
      entry.outcome = carry_out(entry, ask);
    else if (set_.automatic && far && set_.max_preemptees > 0)
      entry.outcome = preempt(entry, {}, Asked::kConfigured, true, Reason::kAutomaticPreemption);
    if (entry.outcome != Outcome::kWaitsForVictims && may_reserve && *entry.at < kForever) {
      place(entry, *entry.at, false);
      reserve(entry);
      ++reserved_;
      if (entry.outcome == Outcome::kNoFreeRoom) entry.outcome = Outcome::kWaitsForReservation;
    }
  }
  credit_own(entry.operation, -1);
}

// What each stopped allocation lacks where it is; when recording.
Column<Amount> Run::missing_of_units(const Entry& entry) const {
  Column<Amount> missing(entry.units.size() * width_, 0);
  for (Size i = 0; i < entry.units.size(); ++i)
    if (const Unit& unit = entry.units[i]; unit.only_node != kNoId)
      rooms_.lacks(unit.need, unit.only_node, missing.row(i, width_));
  return missing;
}

void Run::room_at(Id node) {
  for (Size r = 0; r < width_; ++r) {
    const bool shared = resources().scope[r] == ResourceScope::kCluster && !nodes_.empty();
    scratch_[r] = node != kNoId ? rooms_.at(node, r) : shared ? rooms_.at(nodes_[0], r) : 0;
  }
}

void Run::add(Decision d, const DecisionAmounts& amounts) {
  d.stage = Stage::kSchedulingRun;
  if (d.at == kNoTime) d.at = state_.now();
  decisions.add(d, amounts);
}

void Run::claim(const Amount* amounts, Time from, Time until, bool now) {
  if (set_.managed.empty()) return;
  Claim one{Column<Amount>(width_, 0), from, until, now};
  bool any = false;
  for (Size r = 0; r < width_; ++r)
    if (is_managed(r) && resources().scope[r] == ResourceScope::kCluster) {
      one.amounts[r] = amounts[r];
      any |= amounts[r] != 0;
    }
  if (any) claims.push_back(std::move(one));
}

// Where placed_ says, with what it has kept beside.
void Run::start(Entry& entry) {
  const Id step = steps_++;
  const Time now = state_.now();
  const Time until = after(now, entry.duration);
  seen_nodes_ = -1;
  for (const Placement& p : placed_) {
    const Unit& unit = entry.units[p.unit];
    Decision d{.action = entry.preemptee ? Action::kResume : Action::kStart,
               .stage = Stage::kSchedulingRun,
               .reason = entry.preemptee ? Reason::kResumes : Reason::kFitsFreeRoom};
    d.step = step;
    d.operation = entry.operation;
    d.node = p.node;
    d.beneficiary = {entry.operation, unit.request};
    d.request = unit.request;
    d.slot = unit.slot;
    if (entry.preemptee) d.mode = Mode::kSuspend;
    ++(entry.preemptee ? tally.resumes : tally.starts);
    room_at(p.node);
    const Amount* held = entry.preemptee ? state_.kept(unit.slot) : nullptr;
    add(d, {nullptr, scratch_.data(), unit.need, state_.operation_usage(entry.operation), held});
    add_room(unit.need, p.node, -1);
    calendar_.take(p.node, unit.need, now, until);
    claim(unit.need, now, until, true);
    subordination_.starts(entry.operation, p.node, queue_of(entry, unit), unit.need);
  }
  becomes_[entry.operation] = static_cast<std::uint8_t>(JobState::kRuns);
  if (entry.preemptee) memory.state.set(entry.operation, 0);
  entry.outcome = Outcome::kStarted;
}

// What is planned: others may start meanwhile as long as they do not delay it; without backfilling
// none starts in its room, which it has from now on.
void Run::reserve(Entry& entry) {
  const Id step = steps_++;
  const Time since = set_.backfilling ? *entry.at : state_.now();
  const Time until = after(*entry.at, entry.duration);
  for (const Placement& p : placed_) {
    const Unit& unit = entry.units[p.unit];
    Decision d{.action = Action::kReserve,
               .stage = Stage::kSchedulingRun,
               .reason = Reason::kReservedAhead};
    d.step = step;
    d.operation = entry.operation;
    d.node = p.node;
    d.beneficiary = {entry.operation, unit.request};
    d.request = unit.request;
    d.slot = unit.slot;
    d.at = *entry.at;
    d.until = until == kForever ? kNoTime : until;
    d.soft = true;
    room_at(p.node);
    add(d, {nullptr, scratch_.data(), unit.need, state_.operation_usage(entry.operation)});
    claim(unit.need, since, until, false);
    ++tally.reservations;
    if (record_) entry.reserved_on.push_back(p.node);
  }
  occupy(entry, since, until);
}

void Run::claimed_elsewhere(const Claim& c, std::span<const Id> resource_of, Amount sign) {
  Column<Amount> amounts(width_, 0);
  for (Size r = 0; r < resource_of.size(); ++r)
    if (resource_of[r] != kNoId) amounts[resource_of[r]] = c.amounts[r];
  seen_nodes_ = -1;
  if (c.now) add_room(amounts.data(), kNoId, -sign);
  calendar_.add(kNoId, amounts.data(), c.from, c.until, -sign);
}

// What runs and leaves in another cluster has of the licences that both share.
void Run::uses_elsewhere(const Run& other, std::span<const Id> resource_of) {
  const ClusterState& state = other.state_;
  const auto uses = [&](const Amount* amounts, Time until) {
    Claim c{Column<Amount>(amounts, amounts + other.width_), state_.now(), until, true};
    for (Size r = 0; r < other.width_; ++r)
      if (!other.is_managed(r)) c.amounts[r] = 0;
    claimed_elsewhere(c, resource_of, 1);
  };
  for (Id slot = 0; slot < static_cast<Id>(state.slots()); ++slot) {
    if (state.away(slot) && state.kept(slot) != nullptr) uses(state.kept(slot), kForever);
    if (state.gone(slot)) continue;
    const Leaving* leaving = state.leaving_at(slot);
    uses(leaving != nullptr ? leaving->left.data() : state.amounts(slot), other.ends(slot));
  }
}

Refusals Run::refusals() const {
  Refusals out = commands_;
  Column<const Entry*> of(at(state_.operations().rows()), nullptr);
  for (const Entry& e : queue)
    if (!e.preemptee) of[e.operation] = &e;
  for (const Id q : state_.requests().in_order()) {
    const Entry* e = of[state_.operation_of_request(q)];
    if (state_.pending(q) == 0 || e == nullptr || e->outcome == Outcome::kStarted) continue;
    out.request.push_back(q);
    out.rule.push_back(e->outcome);
    out.command.push_back(-1);
    out.nodes.push_back(e->failed == q ? e->nodes : 0);
    if (e->failed == q && !e->missing.empty())
      out.missing.insert(out.missing.end(), e->missing.begin(), e->missing.end());
    else
      out.missing.insert(out.missing.end(), width_, 0);
  }
  return out;
}

Column<std::uint8_t> Run::states() const {
  Column<std::uint8_t> out(at(state_.operations().rows()), 0);
  const auto raise = [&](Id o, JobState to) { out[o] = static_cast<std::uint8_t>(to); };
  for (const Id o : operations_) {
    for (const Id q : state_.requests_of(o))
      if (state_.pending(q) > 0) raise(o, JobState::kWaits);
    bool away = false, stopped = false, runs = false, leaves = false;
    for (const Id slot : state_.allocations_of(o)) {
      away |= state_.away(slot);
      leaves |= state_.leaving(slot);
      runs |= state_.running(slot);
      stopped |= state_.holds(slot) && !state_.running(slot);
    }
    if (subordination_.stopped(o))
      raise(o, JobState::kSuspended);
    else if (away)
      raise(o,
            before_.state[o] != 0 ? static_cast<JobState>(before_.state[o]) : JobState::kPreempted);
    else if (stopped)
      raise(o, JobState::kStopped);
    else if (runs)
      raise(o, JobState::kRuns);
    else if (leaves)
      raise(o, JobState::kEnding);
    if (becomes_[o] != 0) out[o] = becomes_[o];
  }
  return out;
}

}  // namespace evenhand::gridengine
