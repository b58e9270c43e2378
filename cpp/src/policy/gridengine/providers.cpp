// What may be preempted, how, and what that gives back.
#include <algorithm>
#include <tuple>

#include "run.h"

namespace evenhand::gridengine {

void Run::find_providers() {
  if (have_providers_) return;
  have_providers_ = true;
  const LiveTable<AllocationColumns>& rows = state_.allocations();
  provider_of_.assign(at(state_.operations().rows()), kNoId);
  provider_slots_.reserve(at(static_cast<Id>(state_.slots())));  // spans into it stay
  providers_.reserve(operations_.size());
  Column<Id> own;
  for (const Id o : operations_) {
    if (state_.allocations_of(o).empty()) continue;
    Provider p;
    p.operation = o;
    p.priority = priority(o);
    bool leaves = false, stopped = false, willing = true;
    const std::span<const Id> all = state_.allocations_of(o);
    own.assign(all.begin(), all.end());
    put_in_order(rows, std::span<Id>(own));
    const Size begin = provider_slots_.size();
    for (const Id slot : own) {
      leaves |= state_.leaving(slot);
      stopped |= state_.away(slot) || (state_.holds(slot) && !state_.running(slot));
      if (!state_.running(slot)) continue;
      willing &= rows.get(&AllocationColumns::preemptible, slot, std::uint8_t{1}) != 0;
      const Time began = rows.get(&AllocationColumns::start_time, slot, state_.last_start(slot));
      const bool first = provider_slots_.size() == begin;
      p.start = first ? began : std::min(p.start, began);
      const Time end = rows.get(&AllocationColumns::planned_end, slot, kNoTime);
      p.end = first || (end != kNoTime && p.end != kNoTime) ? std::max(p.end, end) : kNoTime;
      provider_slots_.push_back(slot);
    }
    p.slots = {provider_slots_.data() + begin, provider_slots_.size() - begin};
    if (leaves)
      p.why = Outcome::kAlreadyPreempting;
    else if (stopped || p.slots.empty())
      p.why = Outcome::kNotRunning;
    else if (!willing)
      p.why = Outcome::kNotPreemptibleFlag;
    describe(p);
    if (o == watched_) note_part(p);
    provider_of_[o] = static_cast<Id>(providers_.size());
    providers_.push_back(p);
  }
  struct Key {
    double priority;
    Time later;
    Index rank;
    Id provider;
  };
  std::vector<Key> keys;
  for (Id i = 0; i < static_cast<Id>(providers_.size()); ++i) {
    const Provider& p = providers_[at(i)];
    if (p.why == Outcome::kTaken) keys.push_back({p.priority, -p.start, rank(p.operation), i});
  }
  std::ranges::sort(keys, {}, [](const Key& k) { return std::tuple(k.priority, k.later, k.rank); });
  for (const Key& k : keys) in_order_.push_back(k.provider);
}

// What an action may do with it, whoever asks.
void Run::describe(Provider& p) const {
  const LiveTable<AllocationColumns>& rows = state_.allocations();
  p.action = set_.action;
  bool other = false, released = true, swapped = true;
  for (const Id slot : p.slots) {
    const Id of = subordination_.queue_of(slot), node = state_.node_of(slot);
    p.checkpointable &= rows.get(&AllocationColumns::checkpointable, slot) != 0;
    // As a job, or by the queue in which it runs.
    p.rerunnable &=
        rows.get(&AllocationColumns::rerunnable, slot) != 0 || (of != kNoId && set_.rerun[of] != 0);
    if (of != kNoId && set_.queue_action[of] != Asked::kNothing) {
      p.action = set_.queue_action[of];
      p.action_queue = of;
    }
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
    if (rest && rows_.releases[slot] == 0 && (of == kNoId || set_.has_method[of] == 0))
      released = false;
    const Amount swap =
        node == kNoId ? Amount{-1} : state_.nodes().get(&NodeColumns::swap_free, node, Amount{-1});
    swapped &= resident == 0 || static_cast<double>(swap) >= resident;
  }
  p.for_more = swapped && released ? Mode::kPreempt : Mode::kEnhancedSuspend;
  p.for_slots = other ? p.for_more : Mode::kSuspend;
}

bool Run::is_slots(Size r) const noexcept {
  return resources().kind[r] == ResourceKind::kSlots || is_managed(r);
}

// The document's choice, in its order, of the actions that there are; nothing: none of them will
// do.
std::optional<Mode> Run::advised(const Provider& p, const Question& question) const {
  if (p.checkpointable && set_.has(Mode::kCheckpoint)) return Mode::kCheckpoint;
  const Mode gentle = question.only_slots ? p.for_slots : p.for_more;
  if (set_.has(gentle) && frees_enough(p, question, gentle)) return gentle;
  if (p.rerunnable && set_.has(Mode::kRequeue)) return Mode::kRequeue;
  return set_.has(Mode::kTerminate) ? std::optional(Mode::kTerminate) : std::nullopt;
}

// Nothing that is wanted and missing stays with it.
bool Run::frees_enough(const Provider& p, const Question& question, Mode mode) const {
  for (const Id slot : p.slots) {
    const Id node = state_.node_of(slot);
    const Amount* holds = state_.amounts(slot);
    for (Size r = 0; node != kNoId && r < width_; ++r)
      if (holds[r] != 0 && !frees(mode, r) && is_short(question, node, r)) return false;
  }
  return true;
}

// Whether a host has less of a resource than the job wants there: one part of it, and all that
// other hosts have no room for.
bool Run::is_short(const Question& question, Id node, Size r) const {
  Amount most = 0, wanted = 0;
  for (const Unit& u : question.entry->units) {
    most = std::max(most, u.need[r]);
    wanted += u.need[r] * u.count;
  }
  if (wanted > most && resources().scope[r] != ResourceScope::kCluster) {
    const Column<Amount>& room = room_for(question, r, wanted);
    wanted = std::max(most, wanted - (room.back() - room[node]));
  }
  return wanted > rooms_.at(node, r);
}

// By node, and last in all: how much of a resource the parts of a job could have there, were all
// gone that may leave for it, but none of the resource free that is not.
const Column<Amount>& Run::room_for(const Question& question, Size r, Amount wanted) const {
  Column<Amount>& room = question.room[r];
  if (!room.empty()) return room;
  room.assign(at(rooms_.nodes()) + 1, 0);
  if (question.gives.empty()) {
    question.gives.assign(at(rooms_.nodes()) * width_, 0);
    for (const Provider& p : providers_) {
      if (p.why != Outcome::kTaken || p.claimed || p.priority >= question.entry->priority) continue;
      for (const Id slot : p.slots)
        if (const Id n = state_.node_of(slot); n != kNoId)
          for (Size s = 0; s < width_; ++s)
            question.gives.row(n, width_)[s] += state_.amounts(slot)[s];
    }
  }
  for (const Id n : nodes_) {
    for (const Unit& u : question.entry->units) {
      if (u.need[r] <= 0 || !allowed(u, n)) continue;
      Amount copies = wanted / u.need[r];
      for (Size s = 0; s < width_; ++s) {
        if (u.need[s] <= 0 || resources().scope[s] == ResourceScope::kCluster) continue;
        const Amount has = rooms_.at(n, s) + (s == r ? 0 : question.gives.row(n, width_)[s]);
        copies = std::min(copies, std::max<Amount>(has, 0) / u.need[s]);
      }
      room[n] = std::max(room[n], copies * u.need[r]);
    }
    room.back() += room[n];
  }
  return room;
}

// As it is asked for, else as the configuration says; nothing: it may not be taken so.
std::optional<Mode> Run::mode_for(const Provider& p, const Question& question,
                                  NotAllowed* why) const {
  const auto no = [&](NotAllowed one) -> std::optional<Mode> {
    if (why != nullptr) *why = one;
    return std::nullopt;
  };
  const Asked ask = question.action != Asked::kConfigured ? question.action : p.action;
  if (ask == Asked::kConfigured) {
    const std::optional<Mode> found = advised(p, question);
    return found ? found : no(NotAllowed::kNoneWouldDo);
  }
  const Mode mode = mode_of(ask);
  if (!set_.has(mode)) return no(NotAllowed::kNotThere);
  if (mode == Mode::kCheckpoint && !p.checkpointable) return no(NotAllowed::kNotCheckpointable);
  if (mode == Mode::kRequeue && !p.rerunnable && !question.forced)
    return no(NotAllowed::kNotRerunnable);
  return mode;
}

// As `mode_for` and `advised` decide.
WhyMode Run::why_mode(const Provider& p, const Question& question) const {
  if (question.action != Asked::kConfigured) return WhyMode::kAsked;
  if (p.action != Asked::kConfigured)
    return p.action_queue != kNoId ? WhyMode::kQueue : WhyMode::kConfigured;
  const Mode mode = advised(p, question).value_or(Mode::kTerminate);
  if (mode == Mode::kCheckpoint) return WhyMode::kCheckpointable;
  if (mode == Mode::kRequeue) return WhyMode::kRerunnable;
  if (mode == Mode::kTerminate) return WhyMode::kNotRerunnable;
  if (mode == Mode::kSuspend) return WhyMode::kOnlySlots;
  return mode == Mode::kPreempt ? WhyMode::kSwappedAndReleased : WhyMode::kKeepsResources;
}

void Run::effect(const Provider& p, Id slot) const {
  const Amount* held = state_.amounts(slot);
  const std::uint8_t* free = frees_.row(p.mode, width_);
  for (Size r = 0; r < width_; ++r) {
    freed_[r] = free[r] != 0 ? held[r] : 0;
    kept_[r] = held[r] - freed_[r];
  }
}

// As if it had been preempted (1); or not any more (-1). `keeps`: what is stopped, what it keeps.
void Run::give(const Provider& p, Amount sign, bool keeps) {
  for (const Id slot : p.slots) {
    effect(p, slot);
    const Id node = state_.node_of(slot);
    const Time end = ends(slot);
    add_room(freed_.data(), node, sign);
    calendar_.add(node, freed_.data(), state_.now(), end, sign);
    if (keeps && stops(p.mode)) calendar_.add(node, kept_.data(), end, kForever, -sign);
  }
}

}  // namespace evenhand::gridengine
