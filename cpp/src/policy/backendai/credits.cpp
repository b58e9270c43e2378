// Room that is one session's alone: what leaves for it, and what is reserved for it.
#include <algorithm>
#include <utility>

#include "run.h"

namespace evenhand::backendai {

// What it leaves, without what it will keep.
void Run::add_leaving(Rooms& to, const Leaving& l, Amount sign) const {
  to.add(l.left.data(), state_.node_of(l.slot), sign);
  if (const Amount* held = state_.kept(l.slot)) to.add(held, state_.node_of(l.slot), -sign);
}

void Run::credit_leaving(Id operation, Amount sign) {
  for (const Leaving& l : state_.leaving())
    if (l.beneficiary.operation == operation) add_leaving(rooms_, l, sign);
}

void Run::credit_reserved(Id operation, Amount sign) {
  add_reserved(rooms_, state_, sign, [operation](Id owner) { return owner == operation; });
}

// Does it hold all of a unit, where that may run?
bool Run::serves(Id i, const Unit& unit) const {
  const Amount* has = state_.reservations().get_row(&ReservationColumns::resources, i);
  for (Size r = 0; r < width_; ++r)
    if (unit.need[r] > has[r]) return false;
  return may_run(unit, state_.reservations().get(&ReservationColumns::node, i, kNoId));
}

// A session whose whole room is reserved.
struct Run::Due {
  Time from = kNoTime;
  Entry* entry = nullptr;
  std::vector<Placement> places;
};

bool Run::reserved_places(const Entry& entry, const Column<Column<Id>>& of_request,
                          Due& due) const {
  const LiveTable<ReservationColumns>& rows = state_.reservations();
  for (Size u = 0; u < entry.units.size(); ++u) {
    const Unit& unit = entry.units[u];
    Index missing = unit.count;
    for (const Id i : of_request[unit.request]) {
      if (!serves(i, unit)) continue;
      if (missing > 0) due.places.push_back({u, rows.get(&ReservationColumns::node, i, kNoId)});
      --missing;
      const Time from = rows.get(&ReservationColumns::from, i, kNoTime);
      if (from != kNoTime && (due.from == kNoTime || from < due.from)) due.from = from;
    }
    if (missing > 0) return false;
  }
  return true;
}

// Sessions all of whose requests have reservations start there, once it is free of work:
// first reserved first, one that waits for what leaves holds up later ones on its nodes.
// One that would not fit even then is planned like any other.
void Run::admit_reserved() {
  const LiveTable<ReservationColumns>& rows = state_.reservations();
  const Column<Id> reservations = rows.in_order();
  if (reservations.empty()) return;
  Column<Column<Id>> of_request(at(state_.requests().rows()));
  for (const Id i : reservations)
    if (const Id request = rows.get(&ReservationColumns::request, i, kNoId);
        request != kNoId && keeps_room(state_, i))
      of_request[request].push_back(i);
  std::vector<Due> sessions;
  Column<std::uint8_t> is_due(admitted_.size(), 0);
  for (Entry& e : queue) {
    Due due{.from = kNoTime, .entry = &e, .places = {}};
    if (e.suspended || !reserved_places(e, of_request, due)) continue;
    is_due[e.operation] = 1;
    sessions.push_back(std::move(due));
  }
  std::ranges::sort(sessions, {},
                    [&](const Due& d) { return std::pair(d.from, rank(d.entry->operation)); });

  Rooms now(state_, false);  // of these sessions the first has it, of others each has its own
  for (const Id node : nodes_)
    if (!in_parts_.empty()) now.take(in_parts_.row(node, width_), node);
  add_reserved(now, state_, -1, [&](Id owner) { return owner == kNoId || !is_due[owner]; });
  Rooms later = now;
  for (const Leaving& l : state_.leaving()) add_leaving(later, l, 1);
  Column<Id> blocked(place_.size(), kNoId);  // by the first session that waits there
  for (Due& due : sessions) {
    Entry& entry = *due.entry;
    bool allowed = true, behind = false, fits = true, will_fit = true;
    for (const Placement& p : due.places) {
      const Amount* need = entry.units[p.unit].need;
      allowed &= takes_one_more(p.node);
      if (blocked[p.node] != kNoId && !behind) entry.ahead = blocked[p.node];
      behind |= blocked[p.node] != kNoId;
      fits &= now.fits(need, p.node);
      will_fit &= later.fits(need, p.node);
      now.take(need, p.node);
      later.take(need, p.node);
      ++containers_[p.node];
    }
    admitted_[entry.operation] = allowed && will_fit;
    if (allowed && fits && !behind) {
      placed_ = due.places;
      credit_reserved(entry.operation, 1);
      start(entry, Reason::kReservationDue);
      continue;
    }
    for (const Placement& p : due.places) {
      now.give(entry.units[p.unit].need, p.node);
      later.give(entry.units[p.unit].need, p.node);
      --containers_[p.node];
      if (admitted_[entry.operation] && blocked[p.node] == kNoId) blocked[p.node] = entry.operation;
    }
    if (admitted_[entry.operation])
      entry.outcome = behind ? Outcome::kBehindFirstWaiting : Outcome::kWaitsForVictims;
  }
}

}  // namespace evenhand::backendai
