// What may be a victim at all, of which session, and in which order.
#include <algorithm>
#include <tuple>

#include "run.h"

namespace evenhand::backendai {

// Sessions of kinds that a person or a client waits on cannot simply resume later.
Mode Run::mode_of(Id operation) const {
  if (set_.mode == PreemptionMode::kTerminate) return Mode::kTerminate;
  if (set_.mode == PreemptionMode::kReschedule) return Mode::kRequeue;
  return kind(operation) == OperationKind::kBatch ? Mode::kSuspend : Mode::kTerminate;
}

const Amount* Run::freed(Id slot) const {
  return freed_.empty() ? state_.amounts(slot) : freed_.row(slot, width_);
}

const Amount* Run::kept(Id slot) const { return kept_.empty() ? nullptr : kept_.row(slot, width_); }

double Run::units_of(const Amount* amounts) const {
  double sum = 0;
  for (Size r = 0; r < width_; ++r) sum += static_cast<double>(amounts[r]) * resources().quantum[r];
  return sum;
}

void Run::build_candidates() {
  const LiveTable<AllocationColumns>& rows = state_.allocations();
  if (set_.mode == PreemptionMode::kSuspend && set_.keep_containers) {
    for (Id slot = 0; slot < static_cast<Id>(state_.slots()); ++slot)
      freed_.insert(freed_.end(), state_.amounts(slot), state_.amounts(slot) + width_);
    kept_ = freed_;
    for (Id slot = 0; slot < static_cast<Id>(state_.slots()); ++slot)
      for (Size r = 0; r < width_; ++r) {
        const bool stays = mode_of(state_.operation_of(slot)) == Mode::kSuspend &&
                           !resources().available_after_preemption[r];
        (stays ? freed_ : kept_)[at(slot) * width_ + r] = 0;
      }
  }
  no_candidate_.assign(admitted_.size(), Outcome::kNotRunning);
  for (const Id o : operations_) {
    Candidate c;
    c.operation = o;
    const bool by_kind = set_.inference_preemptible || kind(o) != OperationKind::kInference;
    const std::uint8_t own = rows_.preemptible[o];
    bool leaves = false, stopped = false,
         willing = own == RowSettings::kByKind ? by_kind : own != 0;
    for (const Id slot : slots(o)) {
      leaves |= state_.leaving(slot);
      stopped |= state_.holds(slot) && !state_.running(slot);
      if (!state_.running(slot)) continue;
      willing &= rows.get(&AllocationColumns::preemptible, slot, std::uint8_t{1}) != 0;
      const Time began = rows.get(&AllocationColumns::start_time, slot, state_.last_start(slot));
      c.start = c.slots.empty() ? began : std::min(c.start, began);
      const Time end = rows.get(&AllocationColumns::planned_end, slot, kNoTime);
      c.end =
          c.slots.empty() || (end != kNoTime && c.end != kNoTime) ? std::max(c.end, end) : kNoTime;
      c.key += units_of(state_.amounts(slot));
      c.slots.push_back(slot);
    }
    Outcome& why = no_candidate_[o];
    const bool unsuited = set_.mode == PreemptionMode::kSuspend && kind(o) != OperationKind::kBatch;
    if (c.slots.empty() || stopped)
      why = c.slots.empty() && leaves ? Outcome::kAlreadyPreempting : Outcome::kNotRunning;
    else if (kind(o) == OperationKind::kSystem)
      why = Outcome::kSystemWork;
    else if (!willing)
      why = Outcome::kNotPreemptibleFlag;
    else if (priority_[o] > set_.threshold)
      why = Outcome::kAboveThreshold;
    else if (unsuited && !set_.unsuited_are_terminated)
      why = Outcome::kNotSuspendable;
    else if (set_.min_runtime > 0 &&
             (!rows_.started[o] || c.start > state_.now() - set_.min_runtime))
      why = Outcome::kRanTooShort;
    else
      why = Outcome::kTaken;
    if (why == Outcome::kRanTooShort && rows_.started[at(o)]) due(c.start + set_.min_runtime);
    if (why == Outcome::kTaken) candidates_.push_back(std::move(c));
  }
}

Outcome Run::verdict(const Candidate& c, Id operation) const {
  if (c.claimed) return Outcome::kAlreadyPreempting;
  if (scope_of(c.operation) != scope_of(operation)) return Outcome::kOtherScope;
  if (rank_[c.operation] >= rank_[operation]) return Outcome::kNotLowerPriority;
  return Outcome::kTaken;
}

Column<Candidate*> Run::candidates_for(Id operation, Attempt* attempt) {
  Column<Candidate*> found;
  for (Candidate& c : candidates_) {
    Outcome why = verdict(c, operation);
    if (why == Outcome::kTaken && pace_.on()) {
      const Spared spared = pace_.spared(state_, c.operation, c.start, c.end);
      why = spared.why;
      if (attempt != nullptr) attempt->spared[c.operation] = spared;
    }
    if (attempt != nullptr) attempt->verdict[c.operation] = why;
    if (why == Outcome::kTaken) found.push_back(&c);
  }
  return found;
}

// Notes victims, in the order in which they are wanted. False: some are beyond the caps of pools.
bool Run::within_caps(WithinCaps& caps, const Column<Candidate*>& victims,
                      const SelectionProof& proof, Attempt* attempt) const {
  Column<Id> operations;
  if (pace_.has_caps())
    for (const Candidate* c : victims) operations.push_back(c->operation);
  if (!caps.again(state_, operations, operations, proof)) return true;
  if (attempt != nullptr)
    for (const auto& [operation, why] : caps.left_out()) attempt->spared[operation] = why;
  return false;
}

// Would it fit if nothing were spared by the pace?
Outcome Run::unless_spared(Entry& entry, Outcome otherwise) {
  if (!pace_.on()) return otherwise;
  Column<const Candidate*> all;
  const Candidate* first = nullptr;
  for (const Candidate& c : candidates_) {
    if (verdict(c, entry.operation) != Outcome::kTaken) continue;
    all.push_back(&c);
    const Spared spared = pace_.spared(state_, c.operation, c.start, c.end);
    if (spared.why == Outcome::kTaken) continue;
    if (first == nullptr || rank(c.operation) < rank(first->operation)) {
      first = &c;
      entry.spared = spared;
    }
  }
  // None by itself: then a pool would give more than it may.
  if (first == nullptr && pace_.has_caps()) entry.spared.why = Outcome::kPoolVictimsPerHour;
  for (const Candidate* c : all) give(*c, 1);
  const bool fits = entry.spared.why != Outcome::kTaken && place(entry);
  if (fits) unplace(entry);
  for (const Candidate* c : all) give(*c, -1);
  if (fits) return Outcome::kVictimsSpared;
  entry.spared = {};
  return otherwise;
}

// Lowest priority first, then those that never ran, then by the order.
void Run::sort(Column<Candidate*>& candidates) const {
  const bool by_size =
      set_.order == VictimOrder::kFewestSessions || set_.order == VictimOrder::kSmallestResources;
  const auto key = [&](const Candidate* c) {
    const Time start = set_.order == VictimOrder::kNewest ? -c->start : c->start;
    return std::tuple(rank_[c->operation], rows_.started[c->operation] != 0, by_size ? c->key : 0.0,
                      start, rank(c->operation));
  };
  std::ranges::sort(candidates,
                    [&](const Candidate* x, const Candidate* y) { return key(x) < key(y); });
}

void Run::note_places(Attempt* attempt, const Column<Candidate*>& sorted) {
  if (attempt == nullptr) return;
  attempt->place.assign(attempt->verdict.size(), 0);
  attempt->among.assign(attempt->verdict.size(), sorted.rows());
  Index place = 0;
  for (const Candidate* c : sorted) attempt->place[c->operation] = ++place;
}

void Run::give(const Candidate& c, Amount sign) {
  for (const Id slot : c.slots) rooms_.add(freed(slot), state_.node_of(slot), sign);
}

void Run::mark_spared(Attempt* attempt, const Column<Candidate*>& candidates,
                      const VictimSet& set) const {
  if (attempt == nullptr) return;
  for (Size i = 0; i < candidates.size(); ++i)
    attempt->verdict[candidates[i]->operation] =
        std::ranges::binary_search(set.taken, static_cast<Id>(i)) ? Outcome::kTaken
        : set.taken.empty()                                       ? Outcome::kNoStartInStage
        : i < set.considered && set_.selection != VictimSelection::kMinimum
            ? Outcome::kGivenBack  // of the fewest none is: they are found otherwise
            : Outcome::kSparedFitsWithout;
}

}  // namespace evenhand::backendai
