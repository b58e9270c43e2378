// Nodes that asks have reserved: one of an ask that fits nowhere waits on a node, alone there, for
// victims that leave for it or only for room.
//
// Source: YuniKorn core, application.go (tryReservedAllocate, tryNodes, tryRequiredNode), 1.9.
#include <algorithm>
#include <limits>

#include "asks.h"

namespace evenhand::yunikorn {

// Reservations that are in force, in canonical order. What leaves for an ask was taken for it.
void Asks::read_reservations() {
  for (const Leaving& one : state_.leaving())
    for (Size r = 0; r < width_; ++r)
      more_used_[at(state_.operation_of(one.slot)) * width_ + r] += state_.amounts(one.slot)[r];
  blocked_.assign(at(state_.nodes().rows()), 0);
  idle_.assign(blocked_.size() * width_, 0);
  std::vector<Reservation*> in_order;
  for (Reservation& one : reservations_) in_order.push_back(&one);
  std::ranges::sort(in_order, {}, &Reservation::place);
  for (Reservation* one : in_order) give_back(*one);  // all, before any node is closed
  for (const Reservation* one : in_order) {
    const Id request = one->request;
    if (pending_[request] <= 0) continue;
    bool triggered = asks_.triggered[request] != 0;
    each_leaving_for(request, [&](Size) { triggered = true; });
    const Time from = state_.reservations().get(&ReservationColumns::from, one->row, kNoTime);
    kept_.push_back(
        {request, one->node, from == kNoTime ? 0 : state_.now() - from, triggered, false});
    --pending_[request];
    ++kept_back_[request];
    block(one->node);
  }
  tell_world();
}

// As what looks for victims sees them.
void Asks::tell_world() {
  Reserved& out = world_->reserved();
  out = {};
  for (const Kept& one : kept_) {
    out.node.push_back(one.node);
    out.ask.push_back(one.request);
    out.priority.push_back(part_.ask_priority[one.request]);
    out.age.push_back(one.age);
    out.triggered.push_back(one.triggered ? 1 : 0);
    out.required.push_back(needs_node(one.request) ? 1 : 0);
  }
}

// Nobody else may stand there.
void Asks::block(Id node) {
  if (blocked_[node]++ > 0) return;
  Amount* idle = idle_.row(node, width_);
  for (Size r = 0; r < width_; ++r) {
    const bool shared = state_.tables().resources.scope[r] == ResourceScope::kCluster;
    idle[r] = shared ? 0 : std::max<Amount>(rooms_.at(node, r), 0);
  }
  take_room(idle, node);
}

void Asks::unblock(Id node) {
  if (--blocked_[node] > 0) return;
  Amount* idle = idle_.row(node, width_);
  rooms_.give(idle, node);
  std::fill_n(idle, width_, 0);
  room_grew();
}

// Queues in their order, applications and what they have reserved in canonical order; the first
// that starts ends it.
bool Asks::start_reserved() {
  if (kept_.empty()) return false;
  Column<Id> leaves;
  order_leaves(0, leaves);
  for (const Id leaf : leaves) {
    Column<Id> operations;
    for (const Kept& one : kept_)
      if (leaf_of(one.request) == leaf)
        operations.push_back(state_.operation_of_request(one.request));
    const auto rank = [&](Id o) { return state_.operations().keys().rank(o); };
    std::ranges::sort(operations, {}, rank);
    operations.erase(std::ranges::unique(operations).begin(), operations.end());
    for (const Id operation : operations)
      if (start_reserved_of(operation)) return true;
  }
  return false;
}

// On the nodes that are reserved, then on others. A reservation for which maxima leave no room is
// cancelled after a while.
bool Asks::start_reserved_of(Id operation) {
  const auto mine = [&](Size i) {
    return state_.operation_of_request(kept_[i].request) == operation;
  };
  for (Size i = 0; i < kept_.size(); ++i) {
    if (!mine(i)) continue;
    const Id request = kept_[i].request, node = kept_[i].node;
    const bool required = needs_node(request);
    if (!has_headroom(request)) {
      if (required || !outdated(kept_[i].age, set_.reservation_timeout)) continue;
      drop(i--, true);
      continue;
    }
    const Amount *wants = need(request), *idle = idle_.row(node, width_);
    bool fits = state_.schedulable(node);
    for (Size r = 0; r < width_; ++r)
      fits = fits && (wants[r] <= 0 || wants[r] <= rooms_.at(node, r) + idle[r]);
    if (fits) {
      start_kept(i, node);
      return true;
    }
    if (required && !kept_[i].triggered && !kept_[i].tried && state_.schedulable(node)) {
      kept_[i].tried = true;
      kept_[i].triggered = take_victims_there(request, node);
    }
  }
  for (Size i = 0; i < kept_.size(); ++i) {
    if (!mine(i) || needs_node(kept_[i].request) || !has_headroom(kept_[i].request)) continue;
    if (const Id node = free_node(kept_[i].request); node != kNoId) {
      start_kept(i, node);
      return true;
    }
  }
  return false;
}

void Asks::start_kept(Size i, Id node) {
  const Kept one = kept_[i];
  const Amount* wants = need(one.request);
  kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(i));
  unblock(one.node);
  if (node == one.node && blocked_[node] > 0) {  // others wait for that node, too
    Amount* idle = idle_.row(node, width_);
    for (Size r = 0; r < width_; ++r) idle[r] -= std::min(idle[r], wants[r]);
    Column<Amount> gives(wants, wants + width_);
    for (Size r = 0; r < width_; ++r)
      if (state_.tables().resources.scope[r] == ResourceScope::kCluster) gives[r] = 0;
    rooms_.give(gives.data(), node);
  }
  --kept_back_[one.request];
  ++pending_[one.request];
  place(one.request, node, node == one.node ? Reason::kReservationDue : Reason::kFitsFreeRoom);
  if (node != one.node && !one.fresh && waits(one.request))
    release(one.request, one.node, Stage::kAllocationCycle);  // others of it wait still
  tell_world();
}

// What has reserved a node, and is not known to have victims: it may look for them, once.
bool Asks::serve_reserved(Id request, Index& attempts) {
  if (kept_back_[request] == 0 || needs_node(request)) return false;
  for (Size i = 0; i < kept_.size(); ++i) {
    if (kept_[i].request != request || kept_[i].triggered || kept_[i].tried) continue;
    kept_[i].tried = true;
    const bool headroom = has_headroom(request);
    why_ = headroom ? Outcome::kNoFreeRoom : Outcome::kLimitsOfOperationOrPool;
    if (try_to_preempt(request, headroom, attempts, i)) return true;
    if (pending_[request] <= 0) failed(request);
    return false;
  }
  return false;
}

// Where one that fits nowhere waits, after a while: of the nodes that no ask waits for, that whose
// free room is least beyond what it asks for.
Id Asks::node_to_reserve(Id request) {
  const Time since = state_.requests().get(&RequestColumns::submit_time, request);
  if (state_.now() - since <= set_.reservation_delay) return kNoId;
  const Amount* wants = need(request);
  double least = std::numeric_limits<double>::infinity();
  Id found = kNoId;
  for (const Id node : part_.nodes) {
    if (blocked_[node] > 0) continue;
    const Amount *free = world_->nodes().free.row(node, width_),
                 *capacity = world_->nodes().capacity.row(node, width_);
    bool ever = true;
    double score = 0;
    for (Size r = 0; r < width_; ++r) {
      ever = ever && wants[r] <= capacity[r];
      if (free[r] > 0 && free[r] > wants[r])
        score += static_cast<double>(free[r] - wants[r]) / static_cast<double>(free[r]);
    }
    if (!ever || score >= least) continue;
    least = score;
    found = node;
  }
  return found != kNoId && may_stand(request, found) ? found : kNoId;
}

// `of`: what has reserved a node before, and waits on this one from now on.
void Asks::keep_node(Id request, Id node, bool triggered, Size of) {
  if (of == kNew) {
    of = kept_.size();
    kept_.push_back({request, node, 0, triggered, true});
    --pending_[request];
    ++kept_back_[request];
  } else {
    Kept& one = kept_[of];
    unblock(one.node);
    if (!one.fresh && one.node != node) release(request, one.node, Stage::kPreemptionCycle);
    one.fresh = one.fresh || one.node != node;
    if (one.node != node) one.age = 0;
    one.node = node;
    one.triggered = triggered;
  }
  block(node);
  Kept& one = kept_[of];
  if (triggered && one.fresh) {
    reserve(request, node, Stage::kPreemptionCycle);
    one.drawn = true;
  }
  tell_world();
}

// It asks again, for any node.
void Asks::drop(Size i, bool say) {
  const Kept one = kept_[i];
  kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(i));
  unblock(one.node);
  --kept_back_[one.request];
  ++pending_[one.request];
  tried_[one.request] = 0;
  if (say && (!one.fresh || one.drawn)) release(one.request, one.node, Stage::kAllocationCycle);
  tell_world();
}

void Asks::cancel_for_required(Id node) {
  for (Size i = kept_.size(); i-- > 0;)
    if (kept_[i].node == node && !needs_node(kept_[i].request)) drop(i, true);
}

// What only waits on a node from now on; and why those wait still that have reserved one before.
void Asks::say_what_waits() {
  for (Kept& one : kept_) {
    if (one.fresh) {
      if (!one.drawn) reserve(one.request, one.node, Stage::kAllocationCycle);
      one.drawn = true;
      continue;
    }
    if (pending_[one.request] <= 0 &&
        (one.triggered || outcome_[one.request] == Outcome::kCycleFull)) {
      why_ = one.triggered               ? Outcome::kWaitsForVictims
             : has_headroom(one.request) ? Outcome::kNoFreeRoom
                                         : Outcome::kLimitsOfOperationOrPool;
      failed(one.request);
    }
    ++pending_[one.request];
    --kept_back_[one.request];
  }
}

}  // namespace evenhand::yunikorn
