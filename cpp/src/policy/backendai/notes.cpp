// What a run says of one request or one allocation: what became of it, and what was compared.
#include <algorithm>
#include <cmath>

#include "run.h"

namespace evenhand::backendai {
namespace {

template <class T>
void put(Facts& facts, const char* name, T number) {
  facts.numbers.emplace_back(name, static_cast<double>(number));
}

}  // namespace

void Run::report_taken(Recorder& recorder) const {
  for (const Decision& d : decisions.rows()) {
    if (d.action != Action::kPreempt) continue;
    recorder.slot = d.slot;
    for (const Attempt& a : attempts)
      if (a.verdict[d.operation] == Outcome::kTaken) report_running(recorder, d.operation, a);
  }
  recorder.slot = kNoId;
}

void Run::report(Recorder& recorder) const {
  if (recorder.all_taken) return report_taken(recorder);
  const auto [request, slot] = std::pair(recorder.request, recorder.slot);
  const Id operation =
      request != kNoId ? state_.operation_of_request(request) : state_.operation_of(slot);
  const bool suspended = slot != kNoId && state_.away(slot);
  const bool waits = slot == kNoId || suspended;
  for (const Attempt& a : attempts)
    if (!waits)
      report_running(recorder, operation, a);
    else if (a.operation == operation)
      recorder.stands(a.verdict);
  for (const Entry& e : queue)
    if (waits && e.operation == operation && e.suspended == suspended)
      report_waiting(recorder, e, outcome(e, request));
}

void Run::report_waiting(Recorder& recorder, const Entry& e, Outcome outcome) const {
  Event event{
      kNoId,   Stage::kSchedulingRun, outcome, e.operation, recorder.request, recorder.slot, {},
      e.spared};
  event.missing.assign(width_, 0);
  if (e.failed == recorder.request) event.missing = e.missing;
  Facts& facts = event.facts;
  facts.operations.emplace_back("asks", e.operation);
  put(facts, "rank", rank_[e.operation]);
  put(facts, "priority", priority_[e.operation]);
  put(facts, "names_owner", scope_of(e.operation) >= 0);
  // Else what runs of it counts among what it may not preempt.
  put(facts, "runs_nothing", state_.allocations_of(e.operation).empty());
  note_until(facts, e.spared);
  const auto stood = [&](Outcome code) { return recorder.stood[static_cast<std::uint8_t>(code)]; };
  switch (outcome) {
    case Outcome::kBehindFirstWaiting:
      if (e.ahead != kNoId) {
        facts.operations.emplace_back("reserved_before", e.ahead);
      } else if (blocker_ != kNone) {
        const Id behind = queue[blocker_].operation;
        facts.operations.emplace_back("behind", behind);
        put(facts, "behind_itself", behind == e.operation);
        put(facts, "priority_of_behind", priority_[behind]);
        note_tie(facts, queue[blocker_], e);
      }
      break;
    case Outcome::kNotFirstInQueue:
      facts.operations.emplace_back("front", queue.front().operation);
      break;
    case Outcome::kOtherRequestWaits:
      if (e.failed != kNoId) facts.requests.emplace_back("other", e.failed);
      break;
    case Outcome::kWaitsForVictims: {
      Column<Id> victims;
      for (const Decision& d : decisions.rows())
        if (d.action == Action::kPreempt && d.beneficiary.operation == e.operation)
          victims.push_back(d.slot);
      put(facts, "leaving", victims.rows());
      if (!victims.empty()) facts.slots.emplace_back("victims", std::move(victims));
      break;
    }
    case Outcome::kNoRoomEvenWithVictims:
      // Where a pool gave as many as it may, these are not all that were looked at.
      if (stood(Outcome::kNoStartInStage) > 0 && stood(Outcome::kPoolVictimsPerHour) == 0)
        put(facts, "candidates", stood(Outcome::kNoStartInStage));
      break;
    default:
      break;
  }
  recorder.events.push_back(std::move(event));
}

void Run::report_running(Recorder& recorder, Id operation, const Attempt& a) const {
  const Id slot = recorder.slot, asks = a.operation;
  const Outcome outcome = a.verdict[operation];
  Event event{state_.node_of(slot), Stage::kSchedulingRun, outcome, operation, a.request, slot, {}};
  event.missing.assign(width_, 0);
  if (!a.spared.empty()) event.spared = a.spared[operation];
  Facts& facts = event.facts;
  facts.operations.emplace_back("asks", asks);
  facts.operations.emplace_back("front", queue.front().operation);
  put(facts, "asks_itself", asks == operation);
  put(facts, "rank", rank_[operation]);
  put(facts, "rank_of_asks", rank_[asks]);
  put(facts, "priority", priority_[operation]);
  put(facts, "any_never_ran",
      std::ranges::any_of(operations_, [&](Id o) { return !rows_.started[o]; }));
  if (!a.place.empty() && a.place[operation] > 0) {
    put(facts, "place", a.place[operation]);
    put(facts, "candidates", a.among[operation]);
  }
  if (!a.nodes.empty()) facts.nodes.emplace_back("placed_on", a.nodes);
  note_until(facts, event.spared);
  note_state(facts, slot, outcome);
  if (outcome == Outcome::kTaken) {
    // The least with which no session is preempted for it.
    const double above = set_.rank_is_priority ? set_.threshold + 1 : rank_[asks];
    put(facts, "spared_from", std::min(rank_[asks], above));
    put(facts, "by_threshold", above < rank_[asks]);
    note_lack(facts, slot);
  }
  recorder.events.push_back(std::move(event));
}

// Of two of equal priority: what put one before the other in the queue; as `build_queue`.
void Run::note_tie(Facts& facts, const Entry& before, const Entry& entry) const {
  if (priority_[before.operation] != priority_[entry.operation]) return;
  put(facts, "both_suspended", before.suspended && entry.suspended);
  put(facts, "suspended_first", before.suspended != entry.suspended);
  put(facts, "sequence_decides", before.sequence != entry.sequence);
  put(facts, "part_of_before", before.sequence);
  put(facts, "part_of_own", entry.sequence);
  put(facts, "time_decides", before.since != entry.since);
  const bool latest = set_.sequencer == Sequencer::kLifo && before.sequence != entry.sequence;
  const auto time = [&](const Entry& e) {
    return latest ? static_cast<Time>(-e.sequence) : e.since;
  };
  facts.times.emplace_back("before_time", time(before));
  facts.times.emplace_back("own_time", time(entry));
}

// Until when the pace spares it.
void Run::note_until(Facts& facts, const Spared& spared) const {
  if (spared.why == Outcome::kVictimCooldown)
    facts.times.emplace_back("until", spared.at + set_.pace.victim_cooldown);
  if (spared.why == Outcome::kSparedRunTime)
    facts.times.emplace_back("until", spared.at + set_.pace.spare_if_ran_less_than);
}

// What of its session an allocation is spared by, and since when it runs.
void Run::note_state(Facts& facts, Id slot, Outcome outcome) const {
  const Id operation = state_.operation_of(slot);
  Time began = kNoTime;
  Id stopped = kNoId, marked = kNoId;
  for (const Id s : slots(operation)) {
    if (!state_.running(s)) {
      if (stopped == kNoId && (state_.holds(s) || state_.away(s))) stopped = s;
      continue;
    }
    const LiveTable<AllocationColumns>& rows = state_.allocations();
    const Time start = rows.get(&AllocationColumns::start_time, s, state_.last_start(s));
    began = began == kNoTime ? start : std::min(began, start);
    const bool willing = rows.get(&AllocationColumns::preemptible, s, std::uint8_t{1}) != 0;
    if (!willing && (marked == kNoId || s == slot)) marked = s;
  }
  if (began != kNoTime) facts.times.emplace_back("began", began);
  if (outcome == Outcome::kRanTooShort && began != kNoTime) {
    facts.times.emplace_back("seconds", state_.now() - began);
    facts.times.emplace_back("until", began + set_.min_runtime);
  }
  if (outcome == Outcome::kNotRunning && stopped != kNoId && state_.running(slot))
    facts.allocations.emplace_back("stopped", stopped);
  if (outcome == Outcome::kNotPreemptibleFlag && marked != kNoId) {
    facts.allocations.emplace_back("marked", marked);
    put(facts, "marked_itself", marked == slot);
  }
}

// What lacks on the node of a victim, and of what the cluster shares.
void Run::note_lack(Facts& facts, Id slot) const {
  const auto& rows = decisions.rows();
  const auto taken = std::ranges::find(rows, slot, &Decision::slot);
  if (taken == rows.end()) return;
  const auto first = static_cast<Size>(taken - rows.begin()) * width_;
  const Column<Amount> free = decisions.amounts(1), needed = decisions.amounts(2);
  Column<Amount> there(width_, kUnsaid), in_all(width_, kUnsaid);
  bool lacks_there = false, lacks_in_all = false, uses_node = false;
  for (Size r = 0; r < width_; ++r) {
    const Amount need = needed[first + r], lack = need - free[first + r];
    uses_node |= !is_wide(r) && need > 0;
    if (lack <= 0) continue;
    (is_wide(r) ? in_all : there)[r] = lack;
    (is_wide(r) ? lacks_in_all : lacks_there) = true;
  }
  if (lacks_there) facts.amounts.emplace_back("lacks_there", std::move(there));
  if (lacks_in_all) facts.amounts.emplace_back("lacks_in_all", std::move(in_all));
  if (taken->node != kNoId) put(facts, "uses_node", uses_node);
}

}  // namespace evenhand::backendai
