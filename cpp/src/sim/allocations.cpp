// An allocation from its start to its end.
#include <algorithm>
#include <string>

#include "evenhand/sim/engine.h"

namespace evenhand::sim {

void Engine::hold(Id slot, const Amount* amounts, Amount sign) {
  const Id node = state_->node_of(slot);
  if (node == kNoId) return;
  Amount* held = held_.row(node, width_);
  for (std::size_t r = 0; r < width_; ++r) held[r] += sign * amounts[r];
}

// It is there from now on. `request` kNoId: it was there at the start.
void Engine::track(Id slot, Id request, Id node) {
  if (slot >= running_.rows()) running_.resize(at(slot) + 1);
  Running& r = running_[slot];
  const std::uint32_t token = r.token + 1;
  r = {};
  r.token = token;
  r.request = request;
  AllocationLog& log = log_.allocations;
  r.log = log.request.rows();
  const Id owner = owners_[state_->operation_of(slot)].source;
  log.request.push_back(request == kNoId ? kNoId : asked_[request].source);
  log.operation.push_back(owner);
  log.node.push_back(node);
  log.start.push_back(now_);
  log.end.push_back(kNoTime);
  log.began.push_back(kNoTime);
  log.outcome.push_back(Outcome::kRunning);
  log.requeued.push_back(0);
  log.kept.push_back(0);
  log.lost.push_back(0);
  log.decision.push_back(kNoId);
  log.resumed_from.push_back(kNoId);
  ++running_count_;
  Time& first = log_.operations.first_start[owner];
  if (first == kNoTime) first = now_;
}

// It starts from what an earlier run of its request has saved, if one waits again.
void Engine::take_saved(Id slot) {
  Running& r = running_[slot];
  std::vector<Kept>& kept = asked_[r.request].kept;
  if (kept.empty()) return;
  r.done = r.saved = log_.allocations.kept[r.log] = kept.front().progress;
  log_.allocations.resumed_from[r.log] = kept.front().log;
  kept.erase(kept.begin());
}

Time Engine::progress(Id slot) const noexcept {
  const Running& r = running_[slot];
  return r.done + (r.began == kNoTime ? 0 : now_ - r.began);
}

// Work that no progress brings nearer to its end.
bool Engine::endless(Id request) const noexcept {
  return request != kNoId && asked_[request].run_time == kNoTime;
}

Time Engine::planned_end(Id slot) const noexcept {
  const Running& r = running_[slot];
  if (r.request == kNoId || r.began == kNoTime) return kNoTime;
  const Time limit = asked_[r.request].duration;
  return limit == kNoTime ? kNoTime : r.began + limit;
}

// Its room is there: its work begins.
void Engine::begin_work(Id slot) {
  Running& r = running_[slot];
  r.began = now_;
  log_.allocations.began[r.log] = now_;
  hold(slot, state_->amounts(slot), 1);
  if (r.request == kNoId) return;
  const Asked& asked = asked_[r.request];
  if (asked.run_time != kNoTime)
    push(now_ + std::max<Time>(asked.run_time - r.done, 0), Phase::kEnd, slot, r.token);
  if (options_.saved_progress && asked.checkpoint_every != kNoTime)
    push(now_ + asked.checkpoint_every - r.done % asked.checkpoint_every, Phase::kSaved, slot,
         r.token);
}

// What waits on a node begins as it came, as far as there is room.
void Engine::begin_waiting(Id node) {
  Column<Id>& waiting = waiting_[node];
  if (waiting.empty()) return;
  const bool leaves = state_->has_leaving(node);
  const Amount *held = held_.row(node, width_), *capacity = state_->node_capacity(node);
  const ResourceSpace& resources = state_->tables().resources;
  std::size_t kept = 0;
  for (const Id slot : waiting) {
    bool fits = true;
    const Amount* more = state_->amounts(slot);
    for (std::size_t r = 0; r < width_; ++r)
      fits &= resources.scope[r] == ResourceScope::kCluster || more[r] == 0 ||
              held[r] + more[r] <= capacity[r];
    if (fits || !leaves)
      begin_work(slot);
    else
      waiting[kept++] = slot;
  }
  waiting.resize(kept);
}

// What is left of its work if it stops now.
Time Engine::kept_of(Id slot) const noexcept {
  const Running& r = running_[slot];
  const Time every = r.request == kNoId ? kNoTime : asked_[r.request].checkpoint_every;
  if (every == kNoTime) return r.saved;
  return std::max(r.saved, progress(slot) / every * every);
}

void Engine::saved(Id slot) {
  const Running& r = running_[slot];
  on({.kind = Delta::Kind::kTouch,
      .row = slot,
      .time = state_->last_start(slot),
      .progress = now_});
  push(now_ + asked_[r.request].checkpoint_every, Phase::kSaved, slot, r.token);
  changed(state_->node_of(slot));
}

ClusterState Engine::named() const {
  ClusterState state = *state_;
  std::string name;
  for (Id slot = 0; slot < state.slots(); ++slot) {
    if (state.gone(slot) && !state.away(slot)) continue;
    const Running& r = running_[slot];
    // As its row has it, where it says when it ends: what was only stopped has not started anew.
    using A = AllocationColumns;
    const bool by_row = options_.planned_ends;
    const Time last = state.last_start(slot);
    const Time began = by_row ? state.allocations().get(&A::start_time, slot, last) : last;
    if (r.request != kNoId) {
      const Time end =
          by_row ? state.allocations().get(&A::planned_end, slot, kNoTime) : planned_end(slot);
      state.set_started(slot, r.request, end, began);
      name.assign(state.requests().keys().name(r.request));
      state.set_name(slot, name.append("/").append(std::to_string(r.log)));
    }
    const Leaving* leaving = state.leaving_at(slot);
    if (leaving == nullptr) continue;
    Departure departure{began, r.leaves, {}, {}};
    const Beneficiary served = leaving->beneficiary;
    if (served.operation >= 0 && state.operations().present(served.operation))
      departure.operation = state.operations().keys().name(served.operation);
    if (served.request >= 0 && state.requests().present(served.request))
      departure.request = state.requests().keys().name(served.request);
    state.set_departure(slot, departure);
  }
  return state;
}

// An allocation has gone, or its work is done.
void Engine::end(Id slot, Outcome outcome) {
  Running& r = running_[slot];
  const Id node = state_->node_of(slot), request = r.request, row = r.log;
  const bool done = outcome == Outcome::kCompleted, away = state_->away(slot);
  const Fate fate = done ? Fate::kGone : outcome == Outcome::kLostNode ? Fate::kWaitsAgain : r.fate;
  bool again = false;
  if (request != kNoId && !done) again = fate != Fate::kGone || asked_[request].replica;
  const Time all = progress(slot);
  const Time kept = done ? all : fate == Fate::kSaved ? all : kept_of(slot);
  AllocationLog& log = log_.allocations;
  OperationLog& sums = log_.operations;
  const Id owner = log.operation[row];
  if (!away) {
    log.end[row] = now_;
    log.outcome[row] = outcome;
    if (r.began != kNoTime) sums.run[owner] += now_ - r.began;
  }
  log.requeued[row] = again;
  log.kept[row] = kept;
  log.lost[row] = all - kept;
  if (r.decision != kNoId && !done) log.decision[row] = r.decision;
  sums.lost[owner] += all - kept;
  if (done || !again || (kept > r.saved && !endless(request)))
    turns_.progressed();
  else
    turns_.lost(owner, now_);
  if (outcome == Outcome::kPreempted || outcome == Outcome::kAborted) ++sums.preempted[owner];
  if (r.began != kNoTime)
    hold(slot, state_->amounts(slot), -1);
  else if (node != kNoId && !away)
    std::erase(waiting_[node], slot);
  else if (const Amount* holds = state_->kept(slot); away && holds != nullptr)
    hold(slot, holds, -1);
  --(away ? away_count_ : running_count_);
  ++r.token;
  const Id operation = state_->operation_of(slot);
  on({.kind = Delta::Kind::kEnd, .row = slot});
  if (node != kNoId) begin_waiting(node);
  if (again) {
    asked_[request].kept.push_back({kept, row});
    wait_again(request);
  } else {
    ++(done ? sums.completed : sums.lost_count)[owner];
    --sums.unfinished[owner];
    if (request != kNoId && --asked_[request].open == 0)
      finish(request);
    else if (request == kNoId && owners_[operation].open == 0 &&
             state_->allocations_of(operation).empty())
      sums.end[owner] = now_;
  }
  if ((outcome == Outcome::kPreempted || outcome == Outcome::kAborted) && request != kNoId &&
      asked_[request].whole)
    end_parts_of(request, operation, fate, log.decision[row]);
  state_->reclaim();
  changed(node);
}

// What is left of a request that is of use only as a whole is interrupted with a part of it.
void Engine::end_parts_of(Id request, Id operation, Fate fate, Id decision) {
  Column<Id> parts;
  for (const Id slot : state_->allocations_of(operation))
    if (running_[slot].request == request && !state_->away(slot)) parts.push_back(slot);
  std::ranges::sort(parts, {}, [&](Id slot) { return running_[slot].log; });
  for (const Id slot : parts) {
    running_[slot].fate = fate;
    running_[slot].decision = decision;
    end(slot, Outcome::kLostPart);
  }
}

// It has been asked to leave by an instant; if that is now, it has left.
void Engine::leave(Id slot, Fate fate, Time time, Id decision) {
  Running& r = running_[slot];
  r.fate = fate;
  r.decision = decision;
  r.leaves = time;
  if (time > now_ && r.began != kNoTime)
    push(time, Phase::kGrace, slot, r.token);
  else
    end(slot, Outcome::kPreempted);
}

// A node is down: all that was on it has gone.
void Engine::lose(Id node) {
  const std::span<const Id> here = state_->on_node(node);
  Column<Id> gone(here.begin(), here.end());
  for (Id slot = 0; away_count_ > 0 && slot < state_->slots(); ++slot)
    if (state_->away(slot) && state_->node_of(slot) == node) gone.push_back(slot);
  Column<Id> rest;
  for (const Id slot : gone) {
    const Id request = running_[slot].request;
    const bool whole = request != kNoId && asked_[request].whole;
    if (!whole && !options_.whole_operations) continue;
    for (const Id other : state_->allocations_of(state_->operation_of(slot)))
      if (!whole || running_[other].request == request) rest.push_back(other);
  }
  gone.insert(gone.end(), rest.begin(), rest.end());
  std::ranges::sort(gone, {}, [&](Id slot) { return running_[slot].log; });
  gone.erase(std::unique(gone.begin(), gone.end()), gone.end());
  for (const Id slot : gone) end(slot, Outcome::kLostNode);
}

}  // namespace evenhand::sim
