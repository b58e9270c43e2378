#include "run.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace evenhand::yunikorn {

Run::Run(const ClusterState& state, Partition& partition, const Inputs& inputs, AskMemory& asks,
         Pace& pace, Recorder* recorder)
    : decisions(state.width()),
      state_(state),
      part_(partition),
      set_(inputs.settings),
      rows_(inputs.rows),
      asks_(asks),
      pace_(pace),
      recorder_(recorder),
      width_(state.width()),
      usage_(partition.usage),
      leaving_(partition.leaving),
      rooms_(partition.rooms),
      outcome_(at(state.requests().rows()), Outcome::kCycleFull),
      missing_(at(state.requests().rows()) * width_, 0),
      places_(at(state.requests().rows()), -1),
      scratch_(width_, 0),
      handed_of_(state.leaving().size(), kNoId),
      first_(at(partition.needs), 0),
      nearest_(at(partition.needs), kNoId),
      nearest_at_(at(partition.needs), 0),
      taken_at_(at(state.nodes().rows()), -1) {
  for (Id q = 0; q < state.requests().rows(); ++q)
    pending_.push_back(state.requests().present(q) ? state.pending(q) : 0);
  for (const Leaving& one : state.leaving()) {
    left_.insert(left_.end(), one.left.begin(),
                 one.left.begin() + static_cast<std::ptrdiff_t>(width_));
    leaving_for_.push_back({one.beneficiary.operation, state.rank(one.slot), leaving_for_.size()});
  }
  std::ranges::sort(leaving_for_);
  const LiveTable<ReservationColumns>& rows = state.reservations();
  for (const Id i : rows.in_order())
    if (const Id request = rows.get(&ReservationColumns::request, i, kNoId);
        request != kNoId && keeps_room(state, i))
      reservations_.push_back(
          {request, i, rows.get(&ReservationColumns::node, i, kNoId), reservations_.size()});
  std::ranges::stable_sort(reservations_, {}, &Reservation::request);
  most_free_.assign(width_, 0);
  see_rooms();
}

void Run::continue_from(Run& before) {
  decisions = std::move(before.decisions);
  tally = before.tally;
  handed = std::move(before.handed);
  usage_ = std::move(before.usage_);
  leaving_ = std::move(before.leaving_);
  taken_ = std::move(before.taken_);
  pending_ = std::move(before.pending_);
  outcome_ = std::move(before.outcome_);
  missing_ = std::move(before.missing_);
  places_ = std::move(before.places_);
  steps_ = before.steps_;
}

void Run::see_rooms() {
  roomy_.clear();
  blank_.clear();
  for (Size i = 0; i < part_.nodes.size(); ++i) {
    bool any = false;
    for (Size r = 0; r < width_; ++r) {
      const Amount room = rooms_.at(part_.nodes[i], r);
      most_free_[r] = std::max(most_free_[r], room);
      any = any || room > 0;
    }
    (any ? roomy_ : blank_).push_back(i);
  }
}

void Run::give_back(Reservation& one) {
  one.used = true;
  rooms_.give(kept(one), one.node);
  room_grew();
}

void Run::room_grew() {
  see_rooms();
  std::ranges::fill(first_, 0);
  std::ranges::fill(nearest_, kNoId);
}

std::span<Run::Reservation> Run::reserved_of(Id request) {
  const auto from = std::ranges::lower_bound(reservations_, request, {}, &Reservation::request);
  const auto until = std::ranges::upper_bound(reservations_, request, {}, &Reservation::request);
  return {from, until};
}

Id Run::without_headroom(Id request) const {
  const Amount* wants = need(request);
  for (const Id q : part_.path(leaf_of(request))) {
    const Size cell = at(q) * width_;
    for (ResourceMask types = part_.limited[q]; types != 0; types &= types - 1) {
      const auto r = static_cast<Size>(std::countr_zero(types));
      if (wants[r] > 0 && usage_[cell + r] + leaving_[cell + r] + wants[r] > part_.most[cell + r])
        return q;
    }
  }
  return kNoId;
}

Outcome Run::barred(Id request, Id node) {
  switch (where_.why_not(state_, request, node)) {
    case Place::kTagMissing:
      return Outcome::kWrongTags;
    case Place::kOtherNode:
      return Outcome::kWrongNode;
    case Place::kAllowed:
      break;
  }
  const Id of = at_or(rows_.predicate_of, request, kNoId);
  if (of == kNoId) return Outcome::kStarted;
  const Size nodes = at(state_.nodes().snapshot_rows());  // a later one is of no predicate
  return at(node) >= nodes || rows_.predicates[at(of) * nodes + at(node)] != 0
             ? Outcome::kStarted
             : Outcome::kBarredByPredicate;
}

Id Run::free_node(Id request) {
  const Amount* wants = need(request);
  const bool anywhere = this->anywhere(request);
  Size* same = anywhere && !credited_ ? &first_[part_.need_of[request]] : nullptr;
  why_ = !part_.nodes.empty()                ? Outcome::kNoFreeRoom
         : state_.nodes().in_order().empty() ? Outcome::kNoNodes
                                             : Outcome::kNodeNotSchedulable;
  if (same != nullptr)
    for (Size r = 0; r < width_; ++r)
      if (wants[r] > most_free_[r]) return kNoId;
  bool allowed = anywhere;
  Outcome found_barred = Outcome::kNodeNotSchedulable;
  for (Size i = same != nullptr ? *same : 0; i < part_.nodes.size(); ++i) {
    const Id node = part_.nodes[i];
    if (!anywhere) {
      if (const Outcome why = barred(request, node); why != Outcome::kStarted) {
        if (found_barred != Outcome::kWrongTags) found_barred = why;
        continue;
      }
      allowed = true;
    }
    if (rooms_.fits(wants, node)) {
      if (same != nullptr) *same = i;
      return node;
    }
  }
  if (same != nullptr) *same = part_.nodes.size();
  if (!allowed && !part_.nodes.empty()) why_ = found_barred;
  return kNoId;
}

void Run::add_usage(Id queue, const Amount* by, Amount sign) {
  for (const Id q : part_.path(queue)) {
    Amount* here = part_.row(usage_, q);
    for (Size r = 0; r < width_; ++r) here[r] += sign * by[r];
  }
}

bool Run::credit(Id request, Amount sign) {
  credited_ = false;
  for (const Reservation& one : reserved_of(request)) {
    if (one.used) continue;
    credited_ = sign > 0;
    rooms_.add(kept(one), one.node, sign);
  }
  each_leaving_for(request, [&](Size i) {
    credited_ = sign > 0;
    const Id slot = state_.leaving()[i].slot;
    const Amount* left = left_.row(i, width_);
    rooms_.add(left, state_.node_of(slot), sign);
    for (const Id q : part_.path(part_.leaf_of_pool[state_.pool_of(state_.operation_of(slot))]))
      for (Size r = 0; r < width_; ++r) leaving_[at(q) * width_ + r] -= sign * left[r];
  });
  return credited_;
}

void Run::room_at(Id node) {
  for (Size r = 0; r < width_; ++r) scratch_[r] = rooms_.at(node, r);
}

// Gives a start room of what leaves for it first, then of its victims, as far as it wants any; a
// victim's room beyond that is nobody's.
void Run::hand_over(Id request, Id node, std::span<const Id> victims, Amount* wants) {
  const auto hand = [&](Id slot, Amount* left, Id* known) {
    ClusterState::TakenRoom took{slot, Column<Amount>(width_, 0)};
    bool any = false;
    for (Size r = 0; r < width_; ++r) {
      took.amounts[r] = std::min(wants[r], left[r]);
      wants[r] -= took.amounts[r];
      left[r] -= took.amounts[r];
      any = any || took.amounts[r] > 0;
    }
    if (!any) return;
    if (known != nullptr && *known != kNoId) {
      for (Size r = 0; r < width_; ++r) handed[at(*known)].amounts[r] += took.amounts[r];
      return;
    }
    if (known != nullptr) *known = static_cast<Id>(handed.size());
    handed.push_back(std::move(took));
  };
  each_leaving_for(request, [&](Size i) {
    const Id slot = state_.leaving()[i].slot;
    if (state_.node_of(slot) == node) hand(slot, left_.row(i, width_), &handed_of_[i]);
  });
  Column<Amount> gives(width_);
  for (const Id place : victims) {
    if (part_.node[place] != node) continue;
    std::copy_n(part_.amounts.row(place, width_), width_, gives.begin());
    hand(part_.slot[place], gives.data(), nullptr);
  }
}

// Per ask, what leaves has its room until it has gone, whatever it leaves for.
void Run::start(Id request, Id node, Stage stage, std::span<const Id> victims, Reason reason) {
  const Id operation = state_.operation_of_request(request);
  const Amount* wants = need(request);
  if (!set_.per_ask) credit(request, 1);
  room_at(node);
  Decision d{.action = Action::kStart, .stage = stage, .reason = reason};
  d.step = steps_++;
  d.operation = operation;
  d.node = node;
  d.beneficiary = {operation, request};
  d.request = request;
  d.at = state_.now();
  decisions.add(d, {nullptr, scratch_.data(), wants, state_.operation_usage(operation)});
  ++tally.starts;
  if (!set_.per_ask) credit(request, -1);

  Column<Amount> rest(wants, wants + width_);
  if (!set_.per_ask) hand_over(request, node, victims, rest.data());
  for (Reservation& one : reserved_of(request))
    if (!one.used && one.node == node) {  // it is what the room was kept for
      give_back(one);
      break;
    }
  take_room(rest.data(), node);
  add_usage(leaf_of(request), wants, 1);
  --pending_[request];
  record(request, Outcome::kStarted, node);
}

void Run::preempt(Id place, Id request, Id node, Stage stage, Reason reason) {
  const Id slot = part_.slot[place];
  const Amount* gives = part_.amounts.row(place, width_);
  taken_[place] = 1;
  pace_.took(state_, part_.operation[place]);
  const Id on = part_.node[place];
  room_at(on);
  Decision d{
      .action = Action::kPreempt, .stage = stage, .reason = reason, .mode = Mode::kTerminate};
  d.slot = slot;
  d.operation = part_.operation[place];
  d.node = on;
  d.step = steps_;
  d.grace = set_.grace;
  d.at = state_.now();
  if (d.grace > 0) d.until = d.at + d.grace;
  if (request != kNoId) d.beneficiary = {state_.operation_of_request(request), request};
  decisions.add(d,
                {gives, scratch_.data(), request != kNoId && on == node ? need(request) : nullptr,
                 state_.operation_usage(d.operation)});
  ++tally.victims;
  add_usage(part_.queue[place], gives, -1);
  for (const Id q : part_.path(part_.queue[place]))
    for (Size r = 0; r < width_; ++r) leaving_[at(q) * width_ + r] += gives[r];
  if (records_taken(slot)) record_slot(slot, request, Outcome::kTaken, {});
}

// The node waits for its victims to go; nothing else is placed there.
void Run::reserve(Id request, Id node, Stage stage) {
  const Id operation = state_.operation_of_request(request);
  room_at(node);
  Decision d{.action = Action::kReserve, .stage = stage, .reason = Reason::kRoomReserved};
  d.request = request;
  d.operation = operation;
  d.node = node;
  d.step = steps_++;
  d.beneficiary = {operation, request};
  d.at = state_.now();
  decisions.add(d, {nullptr, scratch_.data(), need(request), state_.operation_usage(operation)});
}

// The node waits for it no more, which asks again.
void Run::release(Id request, Id node, Stage stage) {
  const Id operation = state_.operation_of_request(request);
  room_at(node);
  Decision d{.action = Action::kRelease, .stage = stage, .reason = Reason::kReservationCancelled};
  d.request = request;
  d.operation = operation;
  d.node = node;
  d.step = steps_++;
  d.at = state_.now();
  decisions.add(d, {nullptr, scratch_.data(), nullptr, state_.operation_usage(operation)});
}

void Run::fail(Id request, Outcome why) {
  outcome_[request] = why;
  std::fill_n(missing_.row(request, width_), width_, 0);  // of an earlier attempt
  ++tally.failed;
  if (tells && (why == Outcome::kNoFreeRoom || why == Outcome::kNoRoomEvenWithVictims)) {
    // What the node that lacks least lacks.
    Amount* best = missing_.row(request, width_);
    const Amount* wants = need(request);
    const bool anywhere = this->anywhere(request);
    const Id same = part_.need_of[request], known = anywhere ? nearest_[same] : kNoId;
    if (known != kNoId && taken_at_[known] <= nearest_at_[same]) {
      rooms_.lacks(wants, known, best);
      return record(request, why, known);
    }
    if (!anywhere)
      places_[request] = static_cast<Index>(
          std::ranges::count_if(part_.nodes, [&](Id node) { return may_stand(request, node); }));
    const Id found = nearest(request, anywhere);
    if (found != kNoId) rooms_.lacks(wants, found, best);
    if (anywhere) {
      nearest_[same] = found;
      nearest_at_[same] = steps_;
    }
    return record(request, why, found);
  }
  record(request, why);
}

// The first of the nodes that lack least. Those without any room lack all of it, or more.
Id Run::nearest(Id request, bool anywhere) {
  const Amount* wants = need(request);
  const auto lacks = [&](auto&& room) {
    double sum = 0;
    for (Size r = 0; r < width_; ++r) {
      const Amount more = wants[r] > 0 ? wants[r] - room(r) : 0;
      if (more > 0)
        sum += static_cast<double>(more) / static_cast<double>(std::max<Amount>(part_.total[r], 1));
    }
    return sum;
  };
  const double all = lacks([](Size) { return Amount{0}; });
  double least = std::numeric_limits<double>::infinity();
  Size found = part_.nodes.size();
  const auto look_at = [&](Size place) {
    const Id node = part_.nodes[place];
    const double sum = lacks([&](Size r) { return rooms_.at(node, r); });
    if (sum > least || (sum == least && place > found)) return;
    if (!anywhere && !may_stand(request, node)) return;
    least = sum;
    found = place;
  };
  for (const Size place : roomy_) look_at(place);
  for (const Size place : blank_) {
    if (least < all || (least == all && found < place)) break;
    look_at(place);
  }
  return found < part_.nodes.size() ? part_.nodes[found] : kNoId;
}

void Run::record(Id request, Outcome why, Id node) {
  if (recorder_ == nullptr || recorder_->request != request) return;
  const Amount* missing = missing_.row(request, width_);
  recorder_->events.push_back({node, Stage::kPreemptionCycle, why,
                               state_.operation_of_request(request), request, kNoId,
                               Column<Amount>(missing, missing + width_)});
  if (why != Outcome::kLimitsOfOperationOrPool) return;
  if (const Id queue = without_headroom(request); queue != kNoId)
    add_maximum(recorder_->events.back().facts, queue, part_.row(usage_, queue), need(request));
}

void Run::record_slot(Id slot, Id request, Outcome why, Spared spared) {
  recorder_->events.push_back({state_.node_of(slot), Stage::kPreemptionCycle, why,
                               state_.operation_of(slot), request, slot, Column<Amount>(width_, 0),
                               spared});
  if (request == kNoId || (why != Outcome::kSameQueue && why != Outcome::kOtherQueue)) return;
  const Id own = state_.pool_of(state_.operation_of(slot));
  const Id asks = state_.pool_of(state_.operation_of_request(request));
  Facts& facts = recorder_->events.back().facts;
  facts.pools.emplace_back("own_queue", own);
  facts.pools.emplace_back("asking_queue", asks);
  facts.numbers.emplace_back("in_one_queue", own == asks ? 1 : 0);
}

Refusals Run::refusals() const {
  Refusals out;
  for (const Id q : state_.requests().in_order()) {
    if (pending_[q] <= 0) continue;
    out.request.push_back(q);
    out.rule.push_back(outcome_[q]);
    out.nodes.push_back(places_[q] < 0 ? part_.nodes.rows() : places_[q]);
    const Amount* missing = missing_.row(q, width_);
    out.missing.insert(out.missing.end(), missing, missing + width_);
  }
  return out;
}

}  // namespace evenhand::yunikorn
