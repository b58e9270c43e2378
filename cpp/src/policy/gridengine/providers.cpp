// What may be preempted, how, and what that gives back.
#include <algorithm>

#include "run.h"

namespace evenhand::gridengine {

void Run::find_providers() {
  if (have_providers_) return;
  have_providers_ = true;
  const LiveTable<AllocationColumns>& rows = state_.allocations();
  provider_of_.assign(at(state_.operations().rows()), kNoId);
  for (const Id o : operations_) {
    if (state_.allocations_of(o).empty()) continue;
    Provider p;
    p.operation = o;
    p.priority = priority(o);
    bool leaves = false, stopped = false, willing = true;
    for (const Id slot : in_order(state_.allocations(), state_.allocations_of(o))) {
      leaves |= state_.leaving(slot);
      stopped |= state_.away(slot) || (state_.holds(slot) && !state_.running(slot));
      if (!state_.running(slot)) continue;
      willing &= rows.get(&AllocationColumns::preemptible, slot, std::uint8_t{1}) != 0;
      const Time began = rows.get(&AllocationColumns::start_time, slot, state_.last_start(slot));
      p.start = p.slots.empty() ? began : std::min(p.start, began);
      const Time end = rows.get(&AllocationColumns::planned_end, slot, kNoTime);
      p.end =
          p.slots.empty() || (end != kNoTime && p.end != kNoTime) ? std::max(p.end, end) : kNoTime;
      p.slots.push_back(slot);
    }
    if (leaves)
      p.why = Outcome::kAlreadyPreempting;
    else if (stopped || p.slots.empty())
      p.why = Outcome::kNotRunning;
    else if (!willing)
      p.why = Outcome::kNotPreemptibleFlag;
    provider_of_[o] = static_cast<Id>(providers_.size());
    providers_.push_back(std::move(p));
  }
}

bool Run::checkpointable(const Provider& p) const {
  return std::ranges::all_of(p.slots, [&](Id slot) {
    return state_.allocations().get(&AllocationColumns::checkpointable, slot) != 0;
  });
}

// As a job, or by the queue in which it runs.
bool Run::rerunnable(const Provider& p) const {
  return std::ranges::all_of(p.slots, [&](Id slot) {
    const Id of = cell(rows_.queue, slot, kNoId);
    return state_.allocations().get(&AllocationColumns::rerunnable, slot) != 0 ||
           (of != kNoId && set_.rerun[of] != 0);
  });
}

bool Run::is_slots(Size r) const noexcept {
  return resources().kind[r] == ResourceKind::kSlots || is_managed(r);
}

// The document's choice, in its order.
Mode Run::advised(const Provider& p, const Entry& entry) const {
  if (checkpointable(p)) return Mode::kCheckpoint;
  bool only_slots = true, released = true, swapped = true;
  for (const Unit& u : entry.units)
    for (Size r = 0; r < width_; ++r) only_slots &= u.need[r] == 0 || is_slots(r);
  bool other = false;
  for (const Id slot : p.slots) {
    const Amount* holds = state_.amounts(slot);
    double resident = 0;
    bool rest = false;
    for (Size r = 0; r < width_; ++r) {
      if (holds[r] == 0 || is_slots(r)) continue;
      other = true;
      if (resources().kind[r] == ResourceKind::kMemory)
        resident += static_cast<double>(holds[r]) * resources().quantum[r];
      else
        rest = true;
    }
    const Id of = cell(rows_.queue, slot, kNoId), node = state_.node_of(slot);
    if (rest && cell(rows_.releases, slot, std::uint8_t{0}) == 0 &&
        (of == kNoId || set_.has_method[of] == 0))
      released = false;
    const Amount swap =
        node == kNoId ? Amount{-1} : state_.nodes().get(&NodeColumns::swap_free, node, Amount{-1});
    swapped &= resident == 0 || static_cast<double>(swap) >= resident;
  }
  const Mode gentle = only_slots && !other  ? Mode::kSuspend
                      : swapped && released ? Mode::kPreempt
                                            : Mode::kEnhancedSuspend;
  if (frees_enough(p, entry, gentle)) return gentle;
  return rerunnable(p) ? Mode::kRequeue : Mode::kTerminate;
}

// Nothing that is wanted and missing stays with it.
bool Run::frees_enough(const Provider& p, const Entry& entry, Mode mode) const {
  for (const Id slot : p.slots) {
    const Id node = state_.node_of(slot);
    const Amount* holds = state_.amounts(slot);
    for (Size r = 0; r < width_; ++r) {
      const bool free = frees(mode, held_kind(resources().kind[r], is_managed(r)),
                              resources().available_after_preemption[r] != 0);
      if (holds[r] == 0 || free) continue;
      for (const Unit& u : entry.units)
        if (u.need[r] > 0 && node != kNoId && u.need[r] > rooms_.at(node, r)) return false;
    }
  }
  return true;
}

// By what the configuration says, where nobody named an action; nothing: it may not be taken so.
std::optional<Mode> Run::configured(const Provider& p, const Entry& entry) const {
  Asked action = set_.action;
  for (const Id slot : p.slots)
    if (const Id of = cell(rows_.queue, slot, kNoId);
        of != kNoId && set_.queue_action[of] != Asked::kNothing)
      action = set_.queue_action[of];
  if (action == Asked::kConfigured) return advised(p, entry);
  const Mode mode = mode_of(action);
  if (mode == Mode::kCheckpoint && !checkpointable(p)) return std::nullopt;
  if (mode == Mode::kRequeue && !rerunnable(p)) return std::nullopt;
  return mode;
}

void Run::effect(const Provider& p, Id slot) const {
  split(p.mode, resources(), set_.managed, state_.amounts(slot), nullptr, freed_.data(),
        kept_.data());
}

// As if it had been preempted (1); or not any more (-1).
void Run::give(const Provider& p, Amount sign) {
  for (const Id slot : p.slots) {
    effect(p, slot);
    const Id node = state_.node_of(slot);
    const Time end = ends(slot);
    rooms_.add(freed_.data(), node, sign);
    calendar_.add(node, freed_.data(), state_.now(), end, sign);
    if (stops(p.mode)) calendar_.add(node, kept_.data(), end, kForever, -sign);
  }
}

}  // namespace evenhand::gridengine
