// Room that is one session's alone: what leaves for it, and what is reserved for it.
#include <algorithm>
#include <tuple>

#include "run.h"

namespace evenhand::backendai {

bool Run::is_own(const Beneficiary& b, Id operation) const {
  if (b.operation != kNoId) return b.operation == operation;
  return b.request != kNoId && state_.tables().requests.operation[at(b.request)] == operation;
}

void Run::credit_leaving(Id operation, Amount sign) {
  const AllocationColumns& a = state_.tables().allocations;
  for (const Leaving& l : state_.leaving()) {
    if (!is_own(l.beneficiary, operation)) continue;
    rooms_.add(l.left.data(), state_.node_of(l.slot), sign);
    if (!a.held.empty())  // what it will keep
      rooms_.add(a.held.data() + at(l.slot) * width_, state_.node_of(l.slot), -sign);
  }
}

void Run::credit_reserved(Id operation, Amount sign) {
  add_reserved(rooms_, state_, sign, [operation](Id owner) { return owner == operation; });
}

// Sessions all of whose requests have reservations start there, once it is free of work:
// first reserved first, one that must wait holds up later ones on its nodes.
void Run::admit_reserved() {
  const Tables& t = state_.tables();
  const ReservationColumns& v = t.reservations;
  if (v.size() == 0) return;
  std::vector<std::vector<Id>> of_request(static_cast<Size>(t.requests.size()));
  for (Id i = 0; i < static_cast<Id>(v.size()); ++i)
    if (v.request[at(i)] != kNoId && v.node[at(i)] != kNoId && in_force(v, i, state_.now()))
      of_request[at(v.request[at(i)])].push_back(i);
  std::vector<std::tuple<Time, Id, Entry*>> due;
  for (Entry& e : queue) {
    if (e.suspended) continue;
    Time first = kNoTime;
    bool whole = true;
    for (const Unit& u : e.units) {
      whole &= static_cast<Index>(of_request[at(u.request)].size()) >= u.count;
      for (const Id i : of_request[at(u.request)]) {
        const Time from = at_or(v.from, i, kNoTime);
        if (from != kNoTime && (first == kNoTime || from < first)) first = from;
      }
    }
    if (whole) due.emplace_back(first, e.operation, &e);
  }
  std::ranges::sort(due);
  Rooms physical(state_, false);
  std::vector<std::uint8_t> blocked(at(rooms_.nodes()), 0);
  for (const auto& [from, operation, entry] : due) {
    admitted_[at(operation)] = 1;
    placed_.clear();
    bool fits = true;
    for (Size u = 0; u < entry->units.size(); ++u) {
      const Unit& unit = entry->units[u];
      for (Index k = 0; k < unit.count; ++k) {
        const Id node = v.node[at(of_request[at(unit.request)][static_cast<Size>(k)])];
        fits &= physical.fits(unit.need, node) && !blocked[at(node)];
        physical.take(unit.need, node);
        placed_.push_back({u, node});
      }
    }
    if (fits) {
      credit_reserved(operation, 1);
      for (const Placement& p : placed_) {
        rooms_.take(entry->units[p.unit].need, p.node);
        ++containers_[at(p.node)];
      }
      start(*entry, Reason::kReservationDue);
    } else {
      for (const Placement& p : placed_) {
        physical.give(entry->units[p.unit].need, p.node);
        blocked[at(p.node)] = 1;
      }
      entry->outcome = Outcome::kWaitsForVictims;
    }
  }
}

}  // namespace evenhand::backendai
