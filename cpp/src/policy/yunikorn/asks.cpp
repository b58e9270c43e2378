#include "asks.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>

#include "evenhand/policy/yunikorn/parts.h"

namespace evenhand::yunikorn {

Asks::Asks(const ClusterState& state, Partition& partition, const Inputs& inputs, AskMemory& asks,
           Pace& pace, Recorder* recorder, Run* before)
    : Run(state, partition, inputs, asks, pace, recorder),
      more_used_(at(state.operations().rows()) * state.width(), 0),
      tried_(pending_.size(), 0),
      kept_back_(pending_.size(), 0),
      waiting_(partition.pending) {
  if (before != nullptr) continue_from(*before);
  world_ = std::make_unique<World>(make_world());
  search_ = std::make_unique<Search>(*world_, set_.switches, set_.reservation_timeout);
  if (recorder_ != nullptr) put_held();
  if (before == nullptr) read_reservations();
  fair_max_.resize(at(part_.queues()));
  for (const Id q : queue_of_row_) {
    const Resource most = given(part_.most.row(q, width_), part_.limited[q]);
    fair_max_[q] = part_.parent[q] == kNoId ? most : fair_max(fair_max_[part_.parent[q]], most);
  }
}

Queues Asks::world_queues() {
  queue_of_row_ = {0};
  for (Size i = 0; i < queue_of_row_.size(); ++i) {
    const Id q = queue_of_row_[i];
    for (const Id c : slice(part_.children_of, part_.children[q], part_.children[q + 1]))
      queue_of_row_.push_back(c);
  }
  world_row_.assign(at(part_.queues()), kNoId);
  Queues out;
  for (const Id q : queue_of_row_) {
    const Id up = part_.parent[q], pool = part_.pool_of[q];
    const bool own = q >= state_.pools().size();  // of the pool's own operations
    world_row_[q] = out.rows();
    out.parent.push_back(up == kNoId ? kNoId : world_row_[up]);
    out.leaf.push_back(part_.children[q] == part_.children[q + 1] ? 1 : 0);
    out.policy.push_back(at_or(rows_.policy, pool, QueuePolicy::kDefault));
    out.priority_fence.push_back(own ? std::uint8_t{0}
                                     : at_or(rows_.priority_fence, pool, std::uint8_t{0}));
    out.offset.push_back(own ? 0 : at_or(rows_.offset, pool, std::int64_t{0}));
    const std::string_view name = own ? "*" : state_.pools().names.text[pool];
    out.path.push_back(up == kNoId ? "root"
                       : name.starts_with("root.")
                           ? std::string(name)
                           : out.path[at(world_row_[up])] + "." + std::string(name));
    out.max.push_back(given(part_.most.row(q, width_), part_.limited[q]));
    out.guaranteed.push_back(given(part_.owed.row(q, width_), part_.owes[q]));
    out.preempting.push_back(of_row(leaving_.row(q, width_)));
    out.allocated.push_back(add(of_row(usage_.row(q, width_)), out.preempting.back()));
  }
  return out;
}

World Asks::make_world() {
  Queues queues = world_queues();
  for (Id s = 0; s < state_.slots(); ++s) {
    if (!state_.running(s) || state_.node_of(s) == kNoId) continue;
    const Amount* own = state_.amounts(s);
    if (rows_.held_zeros.empty() && std::any_of(own, own + width_, std::identity())) continue;
    const Resource has = with_zeros(of_row(own), rows_.held_zeros[s]);
    // The sums have these types, too.
    for (const Id q : part_.path(part_.leaf_of_pool[state_.pool_of(state_.operation_of(s))]))
      queues.allocated[world_row_[q]].types |= has.types;
  }
  const Rooms unreserved(state_, false);
  NodeRooms nodes{width_, {}, {}, {}, state_.nodes().in_order()};
  const Size count = at(state_.nodes().rows());
  nodes.schedulable.reserve(count);
  nodes.capacity.reserve(count * width_);
  nodes.free.reserve(count * width_);
  for (Id n = 0; n < state_.nodes().rows(); ++n) {
    const bool there = state_.nodes().present(n);
    nodes.schedulable.push_back(there && state_.schedulable(n) ? 1 : 0);
    for (Size r = 0; r < width_; ++r) {
      const bool shared = state_.tables().resources.scope[r] == ResourceScope::kCluster;
      nodes.capacity.push_back(!there ? 0 : shared ? part_.total[r] : state_.node_capacity(n)[r]);
      nodes.free.push_back(there ? unreserved.at(n, r) : 0);
    }
  }
  return {std::move(queues), std::move(nodes)};
}

// What runs, once it is looked at.
void Asks::put_held() {
  if (std::exchange(held_, true)) return;
  const LiveTable<AllocationColumns>& all = state_.allocations();
  list_victims();
  place_of_row_.resize(part_.slot.size());
  std::iota(place_of_row_.begin(), place_of_row_.end(), Id{0});
  std::ranges::sort(place_of_row_, {}, [&](Id p) { return state_.rank(part_.slot[p]); });
  Held held;
  for (const Id p : place_of_row_) {
    const Id s = part_.slot[p];
    held.queue.push_back(world_row_[part_.queue[p]]);
    held.node.push_back(part_.node[p]);
    held.priority.push_back(part_.priority[p]);
    held.created.push_back(all.get(&AllocationColumns::start_time, s, state_.last_start(s)));
    held.allows.push_back(all.get(&AllocationColumns::preemptible, s, std::uint8_t{1}));
    held.originator.push_back(all.get(&AllocationColumns::originator, s));
    const bool spared = pace_.on() && pace_.spared(state_, s).why != Outcome::kTaken;
    held.barred.push_back(
        spared || all.get(&AllocationColumns::required_node, s, kNoId) != kNoId ? 1 : 0);
    held.preempted.push_back(taken_[p]);
    held.resources.push_back(with_zeros(of_row(part_.amounts.row(p, width_)), rows_.held_zeros[s]));
  }
  world_->put(std::move(held), !set_.switches.newest_before_lowest_priority);
}

double Asks::priority_of(Id queue) const {
  double highest = static_cast<double>(kNothingWaits);
  for (Index i = part_.asks_from[queue]; i < part_.asks_from[queue + 1]; ++i)
    if (waits(part_.asks[i])) {
      highest = std::max(highest, part_.ask_priority[part_.asks[i]]);
      break;  // the first is the most important
    }
  for (const Id c : slice(part_.children_of, part_.children[queue], part_.children[queue + 1]))
    highest = std::max(highest, priority_of(c));
  const Queues& queues = world_->queues();
  const Id row = world_row_[queue];
  return static_cast<double>(queue_priority(static_cast<std::int64_t>(highest), queues.offset[row],
                                            queues.priority_fence[row] != 0));
}

void Asks::order_leaves(Id queue, Column<Id>& out) const {
  const auto below = slice(part_.children_of, part_.children[queue], part_.children[queue + 1]);
  if (below.empty()) {
    out.push_back(queue);
    return;
  }
  std::vector<OrderedQueue> siblings;
  Column<Id> of;
  for (const Id c : below) {
    if (!anything_waits(c)) continue;
    const double priority = priority_of(c);
    const Queues& queues = world_->queues();
    const Id row = world_row_[c];
    siblings.push_back({queues.allocated[row], queues.guaranteed[row],
                        of_row(waiting_.row(c, width_)), fair_max_[c], priority});
    of.push_back(c);
  }
  const bool first = at_or(rows_.priority_first, part_.pool_of[queue], std::uint8_t{1}) != 0;
  for (const Size place : queue_order(siblings, true, first, set_.switches.fair_max_by_position))
    order_leaves(of[place], out);
}

bool Asks::anything_waits(Id queue) const {
  const auto asks = slice(part_.asks, part_.asks_from[queue], part_.asks_from[queue + 1]);
  if (std::ranges::any_of(asks, [&](Id request) { return waits(request); })) return true;
  const auto below = slice(part_.children_of, part_.children[queue], part_.children[queue + 1]);
  return std::ranges::any_of(below, [&](Id c) { return anything_waits(c); });
}

// Applications in their order, the asks of each by priority and age. Also those that have a node
// reserved or have been tried: they still wait, and count for the priority of their application.
Column<Id> Asks::asks_in_order(Id leaf) const {
  const Id pool = part_.pool_of[leaf];
  const bool fair = at_or(rows_.fair, pool, std::uint8_t{0}) != 0;
  const bool priority_first = at_or(rows_.priority_first, pool, std::uint8_t{1}) != 0;
  struct Waits {
    Index rank;  // of the application
    Id request;
    double priority;  // its highest
    Time since;
  };
  std::vector<Waits> all;
  for (const Id request : slice(part_.asks, part_.asks_from[leaf], part_.asks_from[leaf + 1])) {
    if (!waits(request)) continue;
    const Id of = state_.operation_of_request(request);
    all.push_back({state_.operations().keys().rank(of), request, part_.ask_priority[request],
                   state_.operations().get(&OperationColumns::start_time, of)});
  }
  std::ranges::stable_sort(all, {}, &Waits::rank);
  for (Size i = 1; i < all.size(); ++i)  // the first is the most important
    if (all[i].rank == all[i - 1].rank) all[i].priority = all[i - 1].priority;
  Column<Id> out;
  out.reserve(all.size());
  if (!fair) {
    std::ranges::stable_sort(all, {}, [&](const Waits& one) {
      return std::tuple(priority_first ? -one.priority : 0, one.since, -one.priority);
    });
    for (const Waits& one : all) out.push_back(one.request);
    return out;
  }
  std::vector<OrderedApplication> applications;
  Column<Size> from;
  for (Size i = 0; i < all.size(); ++i) {
    if (i > 0 && all[i].rank == all[i - 1].rank) continue;
    from.push_back(i);
    applications.push_back(
        {used_by(state_.operation_of_request(all[i].request)), all[i].since, all[i].priority});
  }
  from.push_back(all.size());
  for (const Size place :
       app_order(applications, world_->queues().guaranteed[world_row_[leaf]], fair, priority_first))
    for (Size i = from[place]; i < from[place + 1]; ++i) out.push_back(all[i].request);
  return out;
}

// What an application has, with what starts and what leaves.
Resource Asks::used_by(Id operation) const {
  Column<Amount> used(state_.operation_usage(operation),
                      state_.operation_usage(operation) + width_);
  for (Size r = 0; r < width_; ++r) used[r] += more_used_[at(operation) * width_ + r];
  return of_row(used.data());
}

// Until nothing more is decided; each pass begins anew after its first result.
void Asks::passes() {
  while (start_reserved() || pass()) ++tally.rounds;
  say_what_waits();
}

bool Asks::pass() {
  looked_.clear();
  Column<Id> leaves;
  order_leaves(0, leaves);
  for (const Id leaf : leaves) {
    Index attempts = set_.attempts;
    for (const Id request : asks_in_order(leaf)) {
      if (serve_reserved(request, attempts)) return true;
      if (pending_[request] > 0 && tried_[request] == 0 && serve(request, attempts)) return true;
    }
  }
  return false;
}

bool Asks::serve(Id request, Index& attempts) {
  ++tally.asks;
  const Id required = state_.requests().get(&RequestColumns::required_node, request, kNoId);
  why_ = Outcome::kNoFreeRoom;
  if (!has_headroom(request)) {
    why_ = barred_everywhere(request);
    if (why_ == Outcome::kStarted) why_ = Outcome::kLimitsOfOperationOrPool;
    if (required == kNoId && try_to_preempt(request, false, attempts)) return true;
  } else if (required != kNoId) {
    if (on_required_node(request, required)) return true;
  } else if (const Id node = free_node(request); node != kNoId) {
    place(request, node, Reason::kFitsFreeRoom);
    return true;
  } else if (const Id other = node_to_reserve(request); other != kNoId) {
    keep_node(request, other, false, kNew);
    return true;
  } else if (try_to_preempt(request, true, attempts)) {
    return true;
  }
  tried_[request] = 1;
  failed(request);
  return false;
}

void Asks::failed(Id request) {
  fail(request, why_);
  if (Facts* facts = last_fact(request, kNoId)) {
    if (why_ == Outcome::kMayNotPreemptYet) add_wait(*facts, request);
    if (why_ == Outcome::kNotBelowGuarantee) add_owed(*facts, request, false);
  }
}

bool Asks::try_to_preempt(Id request, bool nodes_tried, Index& attempts, Size kept) {
  if (!set_.enabled) return false;
  looked_.push_back(request);
  if (attempts <= 0) return false;
  const Time now = state_.now();
  const Time last = asks_.last_attempt[request];
  const Waiting waiting{rows_.may_preempt[request] != 0,
                        set_.asks_once && asks_.triggered[request] != 0, needs_node(request),
                        now - state_.requests().get(&RequestColumns::submit_time, request),
                        last == kNoTime ? kNoTime : now - last};
  if (!may_try(waiting, delay_of(leaf_of(request)), set_.retry)) {
    why_ = Outcome::kMayNotPreemptYet;
    return false;
  }
  --attempts;
  ++tally.attempts;
  asks_.last_attempt.set(request, now);
  if (recorder_ == nullptr && looks_in_vain(request)) {
    why_ = Outcome::kNotBelowGuarantee;
    return false;
  }
  put_held();
  begin_search(request);
  // Nodes where it may not stand are no place for it, whatever leaves.
  struct Tags final : Predicates {
    Asks& run;
    Id request;
    Tags(Asks& of, Id row) : run(of), request(row) {}
    bool fits(Id node) const override { return run.may_stand(request, node); }
    Index fits_after(Id node, std::span<const Id>, Index start) const override {
      return fits(node) ? start : -1;
    }
  };
  const Tags tags(*this, request);
  const bool anywhere = this->anywhere(request);
  const Attempt found = search_->attempt(nodes_tried, anywhere ? nullptr : &tags);
  for (const auto& [node, of] : found.cancelled)  // whether or not it helped
    for (Size i = kept_.size(); i-- > 0;)
      if (kept_[i].node == node && kept_[i].request == of && !kept_[i].triggered) {
        drop(i, true);
        break;
      }
  if (const Id slot = watched(); slot != kNoId && slot < part_.place_of.rows()) {
    const auto row = std::ranges::find(place_of_row_, part_.place_of[slot]);
    const Id held = static_cast<Id>(row - place_of_row_.begin());
    if (row != place_of_row_.end() && taken_[*row] == 0) {
      const bool candidate = search_->candidate(held);
      const bool leaves = std::ranges::find(found.victims, held) != found.victims.end();
      if (!found.success() || !leaves)
        record_slot(request,
                    !candidate        ? why_no_candidate(held, request)
                    : found.success() ? Outcome::kNotChosen
                                      : Outcome::kNoStartInStage,
                    spared_by_pace(held));
      if (Facts* facts = last_fact(request, slot)) {
        if (candidate) add_place(*facts, held, found.victims);
        if (!candidate) add_no_candidate(*facts, held, request);
        if (found.success()) facts->hosts.emplace_back("placed_on", found.node);
      }
    }
  }
  if (!found.success()) {
    if (found.failure == Failure::kQueueGuarantee)
      why_ = Outcome::kNotBelowGuarantee;
    else if (why_ == Outcome::kNoFreeRoom)  // else something bars it from all nodes, or a maximum
      why_ = Outcome::kNoRoomEvenWithVictims;
    return false;
  }
  for (const Id row : found.victims) {
    preempt(place_of_row_[row], request, found.node, Stage::kPreemptionCycle,
            Reason::kBelowGuarantee);
    if (Facts* facts = last_fact(request, part_.slot[place_of_row_[row]])) {
      add_priorities(*facts, place_of_row_[row], request);
      add_place(*facts, row, found.victims);
      add_owed(*facts, request, true);
      add_own_owed(*facts, row);
    }
    world_->preempt(row);
  }
  if (set_.asks_once && waiting_only(request) <= 1) asks_.triggered.set(request, 1);
  keep_node(request, found.node, true, kept);
  asks_.last_attempt.set(request, waiting_only(request) > 0 ? last : now);
  return true;
}

void Asks::begin_search(Id request) {
  search_->begin(
      {request, world_row_[leaf_of(request)], asked(request), part_.ask_priority[request]});
}

// How many of an ask have looked for no victims that leave.
Index Asks::waiting_only(Id request) const {
  return pending_[request] + std::ranges::count_if(kept_, [&](const Kept& one) {
           return one.request == request && !one.triggered;
         });
}

void Asks::place(Id request, Id node, Reason reason) {
  start(request, node, Stage::kAllocationCycle, {}, reason);
  world_->start(world_row_[leaf_of(request)], node, of_row(need(request)));
  for (const Id q : part_.path(leaf_of(request)))
    for (Size r = 0; r < width_; ++r) part_.row(waiting_, q)[r] -= need(request)[r];
  const Id operation = state_.operation_of_request(request);
  for (Size r = 0; r < width_; ++r) more_used_[at(operation) * width_ + r] += need(request)[r];
}

// Reservations there of asks that may run elsewhere are cancelled, and the node is reserved for
// this one. Nothing leaves a node where it may not start.
bool Asks::on_required_node(Id request, Id node) {
  why_ = barred_everywhere(request);
  const Amount* capacity = state_.node_capacity(node);
  for (Size r = 0; r < width_ && why_ == Outcome::kStarted; ++r)
    if (state_.tables().resources.scope[r] != ResourceScope::kCluster &&
        need(request)[r] > capacity[r])
      why_ = Outcome::kNoFreeRoom;  // also of an empty one
  if (why_ != Outcome::kStarted) return false;
  cancel_for_required(node);
  if (blocked_[node] == 0 && rooms_.fits(need(request), node)) {
    place(request, node, Reason::kFitsFreeRoom);
    return true;
  }
  keep_node(request, node, take_victims_there(request, node), kNew);
  return true;
}

// Why it may stand on no node, whatever is free there; kStarted: on one it may.
Outcome Asks::barred_everywhere(Id request) {
  if (const Id node = state_.requests().get(&RequestColumns::required_node, request, kNoId);
      node != kNoId) {
    const Outcome why = barred(request, node);
    return why == Outcome::kStarted && !state_.schedulable(node) ? Outcome::kNodeNotSchedulable
                                                                 : why;
  }
  if (anywhere(request)) return Outcome::kStarted;
  Outcome found = Outcome::kNodeNotSchedulable;
  for (const Id node : part_.nodes) {
    const Outcome why = barred(request, node);
    if (why == Outcome::kStarted) return why;
    if (found != Outcome::kWrongTags) found = why;
  }
  return found;
}

// Makes room for one of an ask on the node that it needs, once. Returns whether anything leaves
// for it, or did.
bool Asks::take_victims_there(Id request, Id node) {
  if (asks_.triggered[request] != 0) return true;
  put_held();
  Held here;
  Column<Id> rows;
  for (const Id row : world_->on_node(node)) {
    const Held& all = world_->held();
    rows.push_back(row);
    here.queue.push_back(all.queue[row]);
    here.priority.push_back(all.priority[row]);
    here.created.push_back(all.created[row]);
    here.allows.push_back(all.allows[row]);
    here.originator.push_back(all.originator[row]);
    here.preempted.push_back(all.preempted[row]);
    here.resources.push_back(all.resources[row]);
  }
  Column<std::uint8_t> needs, released(rows.size(), 0);
  for (const Id row : rows) needs.push_back(world_->held().barred[row]);
  Column<Amount> free(width_);
  for (Size r = 0; r < width_; ++r) free[r] = world_->nodes().free.row(node, width_)[r];
  const RequiredNodeAnswer found =
      required_node_victims(here, free.data(), width_, asked(request), part_.ask_priority[request],
                            !set_.switches.required_node_ignores_free_room, needs, released);
  if (watched() != kNoId) watch_there(request, rows, found);
  if (found.victims.empty()) return false;
  for (const Id i : found.victims) {
    preempt(place_of_row_[rows[i]], request, node, Stage::kPreemptionCycle,
            Reason::kForRequiredNode);
    const Id place = place_of_row_[rows[i]];
    if (Facts* facts = last_fact(request, part_.slot[place]))
      add_priorities(*facts, place, request);
    world_->preempt(rows[i]);
  }
  if (waiting_only(request) <= 1) asks_.triggered.set(request, 1);
  return true;
}

void Asks::quotas(const Column<Time>& since) { quota_of(0, since); }

// A queue that gives is not descended into.
void Asks::quota_of(Id queue, const Column<Time>& since) {
  const Id pool = part_.pool_of[queue], row = world_row_[queue];
  const Time delay = at_or(rows_.quota_delay, pool, Time{0});
  const bool configured = queue != 0 && queue < state_.pools().size() &&
                          at_or(rows_.managed, pool, std::uint8_t{1}) != 0 && delay > 0;
  const Time start = configured && since[pool] != kNoTime ? since[pool] + delay : kNoTime;
  const Queues& queues = world_->queues();
  if (queues.max[row].any() && quota_may_begin(queues.max[row], queues.allocated[row], configured,
                                               false, start, state_.now())) {
    put_held();
    for (const Id victim : quota_victims(*world_, row, set_.switches).victims) {
      preempt(place_of_row_[victim], kNoId, kNoId, Stage::kQuotaEnforcement, Reason::kAboveQuota);
      if (Facts* facts = last_fact(kNoId, part_.slot[place_of_row_[victim]])) {
        add_maximum(*facts, queue, used_before(queue, place_of_row_[victim]).data(), nullptr);
        facts->times.emplace_back("since", since[pool]);
        facts->times.emplace_back("delay", delay);
      }
      world_->preempt(victim);
    }
    ++steps_;
    return;
  }
  for (const Id c : slice(part_.children_of, part_.children[queue], part_.children[queue + 1]))
    quota_of(c, since);
}

}  // namespace evenhand::yunikorn
