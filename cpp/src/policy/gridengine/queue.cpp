#include <algorithm>
#include <tuple>

#include "run.h"

namespace evenhand::gridengine {

// What runs is taken to end when it is planned to, and DURATION_OFFSET later; what should have
// ended is taken to end so long from now on. What leaves has gone at its deadline.
Time Run::ends(Id slot) const {
  const LiveTable<AllocationColumns>& rows = state_.allocations();
  const Time soon = after(state_.now(), std::max(set_.offset, kMicrosecondsPerSecond));
  if (state_.leaving(slot)) {
    const Time deadline = rows.get(&AllocationColumns::deadline, slot, kNoTime);
    return deadline != kNoTime && deadline > state_.now() ? deadline : soon;
  }
  Time end = rows.get(&AllocationColumns::planned_end, slot, kNoTime);
  if (end == kNoTime && set_.default_duration == kForever) return kForever;
  if (end == kNoTime)
    end = after(rows.get(&AllocationColumns::start_time, slot, state_.last_start(slot)),
                set_.default_duration);
  end = after(end, set_.offset);
  return end > state_.now() ? end : soon;
}

void Run::build_calendar() {
  struct Ending {
    Time at;
    Id node, slot;
  };
  const Rooms now(state_, false);
  for (Id n = 0; n < calendar_.shared(); ++n) calendar_.set(n, now.of_nodes() + at(n) * width_);
  calendar_.set(calendar_.shared(), now.of_nodes() + at(calendar_.shared()) * width_);
  // Where room only grows, what fits now fits until it ends.
  only_grows_ = !looks_ahead_ && state_.reservations().rows() == 0 && state_.leaving().empty();
  if (only_grows_) return;
  std::vector<Ending> endings;
  for (Id slot = 0; slot < static_cast<Id>(state_.slots()); ++slot) {
    // What is stopped on subordinate ends as if it ran.
    if (state_.gone(slot) && !(state_.away(slot) && subordination_.stopped_slot(slot))) continue;
    const Time end = ends(slot);
    if (looks_ahead_ && !state_.leaving(slot)) due(end);
    if (end != kForever) endings.push_back({end, state_.node_of(slot), slot});
  }
  // Later ones first: each changes one step, the last.
  std::ranges::sort(endings, {}, [](const Ending& e) { return std::tuple(e.at, e.slot); });
  for (const Ending& e : endings) {
    const Leaving* leaving = state_.leaving_at(e.slot);
    calendar_.give(e.node, leaving != nullptr ? leaving->left.data() : state_.amounts(e.slot), e.at,
                   kForever);
    if (const Amount* kept = leaving != nullptr ? state_.kept(e.slot) : nullptr)
      calendar_.take(e.node, kept, e.at, kForever);
  }
  load_reservations();
}

// Hard reservations of room, also those that are not in force yet.
void Run::load_reservations() {
  using V = ReservationColumns;
  const LiveTable<V>& rows = state_.reservations();
  for (Id i = 0; i < rows.rows(); ++i) {
    if (!rows.present(i)) continue;
    const Time from = rows.get(&V::from, i, kNoTime), until = rows.get(&V::until, i, kNoTime);
    due(from == kNoTime ? kForever : from);
    due(until == kNoTime ? kForever : until);
    const Id node = rows.get(&V::node, i, kNoId), slot = rows.get(&V::allocation, i, kNoId);
    if (node == kNoId || rows.get(&V::soft, i) != 0) continue;
    if (slot != kNoId && state_.gone(slot) && !state_.away(slot)) continue;
    calendar_.take(node, rows.get_row(&V::resources, i), from == kNoTime ? state_.now() : from,
                   until == kNoTime ? kForever : until);
  }
}

// The first of what it waits for, else the job itself.
Time Run::submitted(Id operation) const {
  Time first = kNoTime;
  for (const Id q : state_.requests_of(operation))
    if (const Time time = state_.requests().get(&RequestColumns::submit_time, q, Time{0});
        state_.pending(q) > 0 && (first == kNoTime || time < first))
      first = time;
  return first;
}

void Run::build_queue() {
  bool any_away = false;
  for (Id slot = 0; slot < static_cast<Id>(state_.slots()); ++slot) any_away |= state_.away(slot);
  if (any_away) needs_.resize(at(static_cast<Id>(state_.slots())) * width_);
  for (const Id o : operations_) {
    Entry entry;
    entry.operation = o;
    entry.priority = priority(o);
    if (any_away) {
      for (const Id slot : in_order(state_.allocations(), state_.allocations_of(o))) {
        if (!state_.away(slot) || subordination_.stopped(o)) continue;
        Amount* need = needs_.row(slot, width_);
        const Amount *all = state_.amounts(slot), *held = state_.kept(slot);
        for (Size r = 0; r < width_; ++r) need[r] = all[r] - (held != nullptr ? held[r] : 0);
        entry.units.push_back({.slot = slot, .need = need, .only_node = state_.node_of(slot)});
      }
      if (!entry.units.empty()) {
        entry.preemptee = true;
        entry.since = state_.operations().get(&OperationColumns::start_time, o);
        queue.push_back(entry);
        entry.units.clear();
        entry.preemptee = false;
      }
    }
    Time longest = 0;
    for (const Id q : in_order(state_.requests(), state_.requests_of(o))) {
      if (state_.pending(q) == 0) continue;
      const Time own = state_.requests().get(&RequestColumns::duration, q, kNoTime);
      longest = std::max(longest, own == kNoTime ? set_.default_duration : own);
      entry.reserve |= state_.requests().get(&RequestColumns::reserve, q) != 0;
      entry.units.push_back({.request = q,
                             .count = state_.pending(q),
                             .need = state_.requests().get_row(&RequestColumns::resources, q)});
    }
    if (entry.units.empty()) continue;
    entry.since = submitted(o);
    entry.duration = after(longest, set_.offset);
    queue.push_back(std::move(entry));
  }
  for (Size i = 0; i < queue.size(); ++i) order_.push_back(i);
  stand_behind_preemptors();
  const auto whole = [&](Size i) {
    const Entry& e = queue[i];
    const Entry& lead = e.behind == kNoId ? e : queue[at(e.behind)];
    return std::tuple(key(e), rank(lead.operation), e.behind != kNoId, -e.priority, e.since,
                      rank(e.operation));
  };
  std::ranges::sort(order_, [&](Size a, Size b) { return whole(a) < whole(b); });
}

// Preemptees that come before all others leave the room that they gave to the job that they gave
// it to, until that has started: they are next behind it.
void Run::stand_behind_preemptors() {
  if (!set_.prioritize) return;
  Column<Id> waits(at(state_.operations().rows()), kNoId), preemptor(waits.size(), kNoId);
  for (Id i = 0; i < static_cast<Id>(queue.size()); ++i)
    if (!queue[at(i)].preemptee) waits[queue[at(i)].operation] = i;
  const Memory::Named& known = before_.preempted_for;
  for (Size i = 0; i < known.of.size(); ++i) preemptor[known.of[i]] = job_of(known.names[i]);
  for (Entry& e : queue) {
    if (!e.preemptee) continue;
    if (const Id of = preemptor[e.operation]; of != kNoId) e.behind = waits[of];
    e.first = e.behind == kNoId;
  }
}

// Of those that are preempted or leave, as long as their preemptors wait.
void Run::remember_preemptors() {
  Column<std::uint8_t> waits(at(state_.operations().rows()), 0);
  for (const Entry& e : queue)
    waits[e.operation] |=
        !e.preemptee && e.outcome != Outcome::kStarted && e.outcome != Outcome::kAvailableNow;
  Memory::Named left;
  const Size known = before_.preempted_for.of.size();
  for (Size i = 0; i < memory.preempted_for.of.size(); ++i) {
    const Id o = memory.preempted_for.of[i], preemptor = job_of(memory.preempted_for.names[i]);
    if (preemptor == kNoId || waits[preemptor] == 0 || !state_.operations().present(o) ||
        becomes_[o] == static_cast<std::uint8_t>(JobState::kRuns))
      continue;
    const bool gone = i >= known || std::ranges::any_of(state_.allocations_of(o), [&](Id slot) {
                        return state_.away(slot) || state_.leaving(slot);
                      });
    if (gone) left.add(std::move(memory.preempted_for.names[i]), o);
  }
  memory.preempted_for = std::move(left);
}

// How jobs were preempted, or are to be, as long as anything of them is there.
void Run::remember_states() {
  for (const Id o : operations_) {
    const auto state = static_cast<JobState>(becomes_[o]);
    if (state == JobState::kPreempted || state == JobState::kEnhancedSuspended ||
        state == JobState::kSuspended)
      memory.state.set(o, becomes_[o]);
    const bool there = std::ranges::any_of(state_.allocations_of(o), [&](Id slot) {
      return state_.away(slot) || state_.running(slot) || state_.leaving(slot);
    });
    if (!there) memory.state.set(o, 0);
  }
}

}  // namespace evenhand::gridengine
