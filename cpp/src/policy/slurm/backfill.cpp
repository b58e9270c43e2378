#include <limits>

#include "run_work.h"

namespace evenhand::slurm {

// Would more room help?
bool may_wait_for_room(Outcome rule) {
  return rule == Outcome::kBehindFirstWaiting || rule == Outcome::kPreemptionDisabled ||
         rule == Outcome::kNobodyMayGo || rule == Outcome::kNoRoomEvenWithVictims ||
         rule == Outcome::kDryRunNamesNobody || rule == Outcome::kPreemptionBackoff;
}

// Jobs behind one that waits start if they end before it could start, or elsewhere. One that
// others leave for keeps its nodes at once, and starts when they have gone.
// Source: Slurm, backfill scheduling: nodes are kept whole from the time at which a job
// that waits could start there; nobody is preempted.
void Run::backfill(const std::vector<Turn>& queue) {
  constexpr Time kNever = std::numeric_limits<Time>::max();
  std::vector<Time> kept(blocked_.size(), kNever);  // from when on, of each node
  for (const Held& held : held_)
    for (const Spot& spot : held.spots)
      if (spot.node != kNoId) kept[at(spot.node)] = desk.state.now();
  const Timeline ends = timeline();
  std::vector<Waiting> still;
  stage_ = Stage::kBackfill;
  for (const Turn& turn : queue) {
    const auto found = std::ranges::find_if(waiting_, [&](const Waiting& w) {
      return w.turn.job == turn.job && w.turn.partition == turn.partition;
    });
    if (found == waiting_.end()) continue;
    stand_in(turn);
    if (!served_[at(turn.job)] && may_wait_for_room(found->rule)) {
      add_reserved(desk.room, turn.job, 1);
      if (backfill_one(turn.job, kept, ends)) continue;
      add_reserved(desk.room, turn.job, -1);
    }
    still.push_back(*found);
  }
  waiting_ = std::move(still);
  stage_ = Stage::kSchedulingRun;
}

// Starts a job, or keeps nodes for it; false: it waits.
bool Run::backfill_one(Id job, std::vector<Time>& kept, const Timeline& ends) {
  constexpr Time kNever = std::numeric_limits<Time>::max();
  const Time now = desk.state.now(), lasts = longest(job);
  std::vector<std::uint8_t> barred(blocked_.size(), 0);
  for (Size n = 0; n < barred.size(); ++n)
    barred[n] = kept[n] <= now || (kept[n] != kNever && (lasts == kNever || now + lasts > kept[n]));
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
Time Run::longest(Id job) const {
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
Timeline Run::timeline() const {
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
void Run::end_of(Room& room, Id slot, Id job) const {
  if (const Leaving* l = desk.state.leaving_at(slot);
      l != nullptr && l->beneficiary.operation == job)
    return;
  const Id operation = desk.state.operation_of(slot);
  if (gone_for_[at(operation)] != kNoId) return;  // its room is for another, or counted
  room.rooms.give(desk.state.amounts(slot), desk.state.node_of(slot));
  if (desk.state.node_of(slot) == kNoId) return;
  --room.occupants[at(desk.state.node_of(slot))];
  room.exclusives[at(desk.state.node_of(slot))] -= jobs().exclusive[at(operation)];
}

}  // namespace evenhand::slurm
