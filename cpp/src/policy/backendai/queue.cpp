#include <algorithm>
#include <tuple>

#include "run.h"

namespace evenhand::backendai {

std::vector<Unit> Run::waiting_units(Id operation) const {
  std::vector<Unit> units;
  for (const Id q : in_order(state_.requests(), state_.requests_of(operation))) {
    if (state_.pending(q) == 0) continue;
    Unit unit;
    unit.request = q;
    unit.count = state_.pending(q);
    unit.need = state_.requests().get_row(&RequestColumns::resources, q);
    units.push_back(unit);
  }
  return units;
}

// A kept container resumes where it is and keeps what it has; a fresh one may run anywhere.
std::vector<Unit> Run::suspended_units(Id operation) {
  std::vector<Unit> units;
  for (const Id slot : slots(operation)) {
    if (!state_.away(slot)) continue;
    if (needs_.empty()) needs_.resize(at(static_cast<Id>(state_.slots())) * width_);
    Amount* need = needs_.row(slot, width_);
    const Amount *all = state_.amounts(slot), *held = state_.kept(slot);
    const bool stays = set_.keep_containers && state_.node_of(slot) != kNoId;
    for (Size r = 0; r < width_; ++r) need[r] = all[r] - (stays && held != nullptr ? held[r] : 0);
    const Id required = state_.allocations().get(&AllocationColumns::required_node, slot, kNoId);
    Unit unit;
    unit.slot = slot;
    unit.only_node = stays ? state_.node_of(slot) : required;
    unit.need = need;
    units.push_back(unit);
  }
  return units;
}

// Which owner victims may have: the same as the session. One that names none is alone.
Id Run::scope_of(Id operation) const {
  Id found = kNoId;
  switch (set_.scope) {
    case Scope::kGroup:
      return 0;
    case Scope::kDomain:
      found = rows_.domain[operation];
      break;
    case Scope::kUser:
      found = state_.operations().code(&OperationColumns::user, operation);
      break;
    case Scope::kProject:
      found = state_.operations().code(&OperationColumns::project, operation);
      break;
  }
  return found == kNoId ? -1 - operation : found;
}

// A machine and the nodes that are cut from it are counted once, unless the total is stated.
Column<Amount> Run::total() const {
  Column<Amount> total = state_.total(), derived = resources().capacity;
  if (in_parts_.empty()) return total;
  for (const Id node : nodes_)
    for (Size r = 0; state_.schedulable(node) && r < width_; ++r)
      derived[r] += state_.node_capacity(node)[r];
  if (derived != total) return total;
  for (const Id node : nodes_)
    for (Size r = 0; state_.schedulable(node) && r < width_; ++r)
      total[r] -= in_parts_.row(node, width_)[r];
  return total;
}

Column<double> Run::sequence() const {
  const LiveTable<OperationColumns>& rows = state_.operations();
  Column<double> out(admitted_.size(), 0.0);
  if (set_.sequencer == Sequencer::kLifo)
    for (const Id o : operations_) out[o] = -static_cast<double>(submitted(o));
  if (set_.sequencer != Sequencer::kDominantShare) return out;
  Column<Amount> held;  // users x R, those without one first
  const auto user = [&](Id o) { return at(rows.code(&OperationColumns::user, o) + 1) * width_; };
  for (const Id o : operations_) {
    if (held.size() < user(o) + width_) held.resize(user(o) + width_, 0);
    for (Size r = 0; r < width_; ++r) held[user(o) + r] += state_.operation_usage(o)[r];
  }
  const Column<Amount> total = this->total();
  for (const Id o : operations_)
    for (Size r = 0; r < width_; ++r)
      if (total[r] > 0)
        out[o] = std::max(out[o],
                          static_cast<double>(held[user(o) + r]) / static_cast<double>(total[r]));
  return out;
}

// The first of what it waits for, else the session itself.
Time Run::submitted(Id operation) const {
  Time first = kNoTime;
  for (const Id q : state_.requests_of(operation))
    if (const Time time = state_.requests().get(&RequestColumns::submit_time, q, Time{0});
        state_.pending(q) > 0 && (first == kNoTime || time < first))
      first = time;
  return first != kNoTime ? first
                          : state_.operations().get(&OperationColumns::start_time, operation);
}

void Run::build_queue() {
  const Column<double> sequence = this->sequence();
  Column<Time> waits_since(admitted_.size(), kNoTime);
  for (const Id o : operations_) waits_since[o] = submitted(o);
  for (const Id o : operations_) {
    Entry entry;
    entry.operation = o;
    entry.sequence = sequence[o];
    entry.since = state_.operations().get(&OperationColumns::start_time, o);
    entry.missing.assign(width_, 0);
    entry.units = suspended_units(o);
    entry.suspended = true;
    if (!entry.units.empty()) queue.push_back(entry);
    if (rows_.refused[o] != 0) continue;
    entry.units = waiting_units(o);
    entry.suspended = false;
    entry.since = waits_since[o];
    if (!entry.units.empty()) queue.push_back(std::move(entry));
  }
  std::ranges::stable_sort(queue, [&](const Entry& x, const Entry& y) {
    const auto key = [&](const Entry& e) {
      return std::tuple(-priority_[e.operation], !e.suspended, e.sequence, e.since);
    };
    return key(x) < key(y);
  });
}

}  // namespace evenhand::backendai
