#include "run.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace evenhand::backendai {
Run::Run(const Inputs& inputs, const ClusterState& state, Pace& pace, bool record)
    : decisions(state.width()),
      pace_(pace),
      set_(inputs.settings),
      rows_(inputs.rows),
      record_(record),
      state_(state),
      width_(state_.width()),
      nodes_(state_.nodes().in_order()),
      operations_(state_.operations().in_order()),
      place_(at(state_.nodes().rows()), 0),
      rooms_(state_),
      containers_(place_.size(), 0),
      admitted_(at(state_.operations().rows()), 0),
      selector_(width_),
      scratch_(width_),
      needed_(width_) {
  tally.proof.proved = true;
  pace_.begin(state_);
  read_priorities();
  read_nodes();
  read_reservations();
  build_queue();
  build_candidates();
}

void Run::read_priorities() {
  const LiveTable<OperationColumns>& rows = state_.operations();
  priority_ = rows_.priority.column(at(state_.operations().rows()));
  rank_ = rows_.rank.column(at(state_.operations().rows()));
  for (const Id o : operations_)
    if (std::isnan(priority_[o]))
      priority_[o] = rows.get(&OperationColumns::priority_given, o) != 0
                         ? rows.get(&OperationColumns::priority, o)
                         : set_.default_priority;
  if (set_.rank_is_priority) rank_ = priority_;
}

// Machines have what their logical nodes leave.
void Run::read_nodes() {
  const LiveTable<NodeColumns>& rows = state_.nodes();
  for (Size i = 0; i < nodes_.size(); ++i) {
    const Id node = nodes_[i];
    place_[node] = i;
    containers_[node] = static_cast<Index>(state_.on_node(node).size());
    const std::string_view name = rows.text(&NodeColumns::physical, node);
    const Id machine = name.empty() ? kNoId : rows.find(name);
    if (machine == kNoId || machine == node) continue;
    in_parts_.resize(place_.size() * width_, 0);
    for (Size r = 0; r < width_; ++r)
      in_parts_[at(machine) * width_ + r] += state_.node_capacity(node)[r];
  }
  for (Size i = 0; !in_parts_.empty() && i < nodes_.size(); ++i)
    rooms_.take(in_parts_.row(nodes_[i], width_), nodes_[i]);
}

void Run::read_reservations() {
  const LiveTable<ReservationColumns>& rows = state_.reservations();
  for (Id i = 0; i < rows.rows(); ++i)
    if (rows.present(i))
      for (const auto edge : {&ReservationColumns::from, &ReservationColumns::until})
        if (const Time instant = rows.get(edge, i, kNoTime); instant != kNoTime) due(instant);
}

void Run::go() {
  if (set_.reserve_room) admit_reserved();
  for (Size i = 0; i < queue.size(); ++i) {
    Entry& entry = queue[i];
    if (!entry.suspended && admitted_[entry.operation]) continue;
    if (!entry.suspended) credit_reserved(entry.operation, 1);
    if (place(entry, &entry)) {
      for (const Placement& p : placed_) rooms_.give(entry.units[p.unit].need, p.node);
      start(entry, Reason::kFitsFreeRoom);
      continue;
    }
    if (!entry.suspended) credit_reserved(entry.operation, -1);
    entry.outcome = barred(entry);
    if (entry.outcome == Outcome::kStarted) {
      entry.outcome = preempt(entry, may_preempt(entry, i == 0));
      if (entry.nodes == 0 && entry.outcome != Outcome::kWaitsForVictims)
        entry.outcome = Outcome::kMaxContainers;
    } else if (set_.only_lack_blocks) {
      continue;
    }
    if (entry.outcome == Outcome::kWaitsForVictims && set_.every_session_preempts) continue;
    blocker_ = i;
    return;  // what stands behind stays behind
  }
}

Outcome Run::may_preempt(const Entry& entry, bool front) const {
  if (entry.suspended) return Outcome::kNoFreeRoom;
  if (!set_.enabled) return Outcome::kPreemptionDisabled;
  if (kind(entry.operation) == OperationKind::kSystem) return Outcome::kSystemDoesNotPreempt;
  return front || set_.every_session_preempts ? Outcome::kStarted : Outcome::kNotFirstInQueue;
}

Outcome Run::preempt(Entry& entry, Outcome may) {
  if (entry.suspended) return may;
  credit_reserved(entry.operation, 1);
  credit_leaving(entry.operation, 1);
  Outcome outcome = may;
  if (place(entry)) {  // enough leaves for it already
    outcome = Outcome::kWaitsForVictims;
    if (set_.every_session_preempts) then_ = rooms_;
    for (const Placement& p : placed_) rooms_.give(entry.units[p.unit].need, p.node);
  } else {
    Attempt attempt;
    if (record_) {
      attempt.operation = entry.operation;
      attempt.request = entry.units.front().request;
      attempt.verdict = no_candidate_;
      if (pace_.on()) attempt.spared.resize(no_candidate_.size());
    }
    Attempt* seen = record_ ? &attempt : nullptr;
    if (may == Outcome::kStarted)
      outcome = set_.per_agent ? preempt_per_agent(entry, seen) : preempt_group_wide(entry, seen);
    else if (record_) {
      const Pace before = pace_;  // nothing is decided that may differ later
      for (const Candidate* c : candidates_for(entry.operation, seen))
        attempt.verdict[c->operation] = may;
      pace_ = before;
    }
    if (record_) attempts.push_back(std::move(attempt));
  }
  credit_leaving(entry.operation, -1);
  credit_reserved(entry.operation, -1);
  if (then_) rooms_.keep_least(*std::exchange(then_, std::nullopt));
  if (outcome == Outcome::kWaitsForVictims) std::ranges::fill(entry.missing, 0);
  return outcome;
}

void Run::room_at(Id node) {
  for (Size r = 0; r < width_; ++r)
    scratch_[r] = node == kNoId && !is_wide(r) ? 0 : rooms_.at(node, r);
}

// What is counted for the cluster serves from any node, if it is freed at all.
const Amount* Run::needed_at(const Entry& entry, Id node, const Amount* freed) {
  std::ranges::fill(needed_, 0);
  bool any = false;
  for (const Placement& p : placed_) {
    any |= p.node == node;
    for (Size r = 0; r < width_; ++r) {
      const bool serves = is_wide(r) ? freed[r] > 0 : p.node == node;
      if (serves) needed_[r] += entry.units[p.unit].need[r];
    }
  }
  return any || std::ranges::any_of(needed_, [](Amount a) { return a > 0; }) ? needed_.data()
                                                                             : nullptr;
}

void Run::add(Decision d, const DecisionAmounts& amounts) {
  d.stage = Stage::kSchedulingRun;
  d.at = state_.now();
  decisions.add(d, amounts);
}

// Where placed_ says, and takes the room there.
void Run::start(Entry& entry, Reason reason) {
  const Id step = steps_++;
  for (const Placement& p : placed_) {  // the next one finds what this leaves
    const Unit& unit = entry.units[p.unit];
    Decision d{.action = Action::kStart, .stage = Stage::kSchedulingRun, .reason = reason};
    d.step = step;
    d.operation = entry.operation;
    d.node = p.node;
    d.beneficiary = {entry.operation, unit.request};
    d.request = unit.request;
    if (entry.suspended) {
      d.action = Action::kResume;
      d.reason = Reason::kResumes;
      d.slot = unit.slot;
      d.mode = Mode::kSuspend;
      ++tally.resumes;
    } else {
      ++tally.starts;
    }
    room_at(p.node);
    const Amount* held = entry.suspended ? state_.kept(unit.slot) : nullptr;
    add(d, {nullptr, scratch_.data(), unit.need, state_.operation_usage(entry.operation), held});
    rooms_.take(unit.need, p.node);
  }
  entry.outcome = Outcome::kStarted;
}

void Run::take_victims(const Entry& entry, std::span<Candidate* const> victims,
                       std::span<const Size> units) {
  const Id step = steps_++;
  tally.sessions += static_cast<Index>(victims.size());
  for (Size i = 0; i < victims.size(); ++i) {
    Candidate* c = victims[i];
    c->claimed = true;
    pace_.took(state_, c->operation);
    for (const Id slot : c->slots) {
      const Id node = state_.node_of(slot);
      // The request that will take its place, if one will stand there.
      const auto found = std::ranges::find(placed_, node, &Placement::node);
      const Unit& unit = entry.units[!units.empty()           ? units[i]
                                     : found == placed_.end() ? 0
                                                              : found->unit];
      Decision d{.action = Action::kPreempt,
                 .stage = Stage::kSchedulingRun,
                 .reason = Reason::kLowerPriority};
      d.mode = mode_of(c->operation);
      d.slot = slot;
      d.operation = c->operation;
      d.node = node;
      d.step = step;
      d.beneficiary = {entry.operation, unit.request};
      d.grace = kNoTime;
      room_at(node);
      // On other nodes it goes with the rest of its session only.
      add(d, {freed(slot), scratch_.data(), needed_at(entry, node, freed(slot)),
              state_.operation_usage(c->operation), kept(slot)});
      ++tally.victims;
    }
  }
  if (set_.reserve_room) {
    for (const Placement& p : placed_) {  // the next one finds what this leaves
      Decision d{.action = Action::kReserve,
                 .stage = Stage::kSchedulingRun,
                 .reason = Reason::kRoomReserved};
      d.request = entry.units[p.unit].request;
      d.operation = entry.operation;
      d.node = p.node;
      d.step = step;
      d.beneficiary = {entry.operation, d.request};
      room_at(p.node);
      add(d, {nullptr, scratch_.data(), entry.units[p.unit].need,
              state_.operation_usage(entry.operation)});
      rooms_.take(entry.units[p.unit].need, p.node);
      ++tally.reservations;
    }
  } else if (set_.every_session_preempts) {  // what it needs beside its victims' room
    then_ = rooms_;
    for (const Candidate* c : victims)
      for (const Id slot : c->slots) then_->give(freed(slot), state_.node_of(slot));
    for (const Placement& p : placed_) then_->take(entry.units[p.unit].need, p.node);
  }
}

// What is missing is reported for the request that found no place; the others start with it.
Outcome Run::outcome(const Entry& entry, Id request) const noexcept {
  switch (entry.outcome) {
    case Outcome::kNoFreeRoom:
    case Outcome::kNoRoomEvenWithVictims:
    case Outcome::kMaxContainers:
    case Outcome::kWrongNode:
    case Outcome::kWrongTags:
    case Outcome::kNodeNotSchedulable:
      return request == entry.failed ? entry.outcome : Outcome::kOtherRequestWaits;
    default:
      return entry.outcome;
  }
}

Refusals Run::refusals() const {
  Column<const Entry*> of(admitted_.size(), nullptr);
  for (const Entry& e : queue)
    if (!e.suspended) of[e.operation] = &e;
  Refusals out;
  for (const Id q : state_.requests().in_order()) {
    const Id o = state_.operation_of_request(q);
    const Entry* e = of[o];
    if (state_.pending(q) == 0 || (e != nullptr && e->outcome == Outcome::kStarted)) continue;
    out.request.push_back(q);
    out.rule.push_back(e != nullptr ? outcome(*e, q) : static_cast<Outcome>(rows_.refused[o]));
    const bool failed = e != nullptr && e->failed == q;
    out.nodes.push_back(failed ? e->nodes : 0);
    if (failed)
      out.missing.insert(out.missing.end(), e->missing.begin(), e->missing.end());
    else
      out.missing.insert(out.missing.end(), width_, 0);
  }
  return out;
}

}  // namespace evenhand::backendai
