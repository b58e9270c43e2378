#include <algorithm>
#include <tuple>

#include "run.h"

namespace evenhand::backendai {

std::vector<Unit> Run::waiting_units(Id operation) const {
  const Tables& t = state_.tables();
  const Grouping& g = t.requests_by_operation;
  std::vector<Unit> units;
  for (Index i = g.offsets[at(operation)]; i < g.offsets[at(operation) + 1]; ++i) {
    const Id q = g.items[static_cast<Size>(i)];
    if (state_.pending(q) == 0) continue;
    Unit unit;
    unit.request = q;
    unit.count = state_.pending(q);
    unit.need = t.requests.resources.data() + at(q) * width_;
    units.push_back(unit);
  }
  return units;
}

// A kept container goes on where it is and keeps what it has; a fresh one may run anywhere.
std::vector<Unit> Run::suspended_units(Id operation) {
  const std::vector<Id>& required = state_.tables().allocations.required_node;
  std::vector<Unit> units;
  for (const Id slot : slots_.of(operation)) {
    if (!state_.away(slot)) continue;
    if (needs_.empty()) needs_.resize(at(static_cast<Id>(state_.slots())) * width_);
    Amount* need = needs_.data() + at(slot) * width_;
    const Amount *all = state_.amounts(slot), *held = state_.kept(slot);
    const bool stays = set_.keep_containers && state_.node_of(slot) != kNoId;
    for (Size r = 0; r < width_; ++r) need[r] = all[r] - (stays && held != nullptr ? held[r] : 0);
    Unit unit;
    unit.slot = slot;
    unit.only_node = stays ? state_.node_of(slot) : cell_of(state_, required, slot, kNoId);
    unit.need = need;
    units.push_back(unit);
  }
  return units;
}

void Run::build_queue() {
  const Tables& t = state_.tables();
  for (Id o = 0; o < static_cast<Id>(t.operations.size()); ++o) {
    Entry entry;
    entry.operation = o;
    entry.missing.assign(width_, 0);
    entry.units = suspended_units(o);
    entry.suspended = true;
    if (!entry.units.empty()) queue.push_back(entry);
    if (rows_.refused[at(o)] != 0) continue;
    entry.units = waiting_units(o);
    entry.suspended = false;
    if (!entry.units.empty()) queue.push_back(std::move(entry));
  }
  const auto submitted = [&](const Entry& e) {
    if (e.suspended) return t.operations.start_time[at(e.operation)];
    Time first = kNoTime;
    for (const Unit& u : e.units) {
      const Time time = t.requests.submit_time[at(u.request)];
      if (first == kNoTime || time < first) first = time;
    }
    return first;
  };
  std::ranges::stable_sort(queue, [&](const Entry& x, const Entry& y) {
    const auto key = [&](const Entry& e) {
      return std::tuple(-rows_.priority[at(e.operation)], !e.suspended,
                        rows_.sequence[at(e.operation)], submitted(e));
    };
    return key(x) < key(y);
  });
}

}  // namespace evenhand::backendai
