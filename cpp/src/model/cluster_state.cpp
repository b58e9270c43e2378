#include "evenhand/model/cluster_state.h"

#include <algorithm>
#include <utility>

namespace evenhand {
ClusterState::ClusterState(Snapshot snapshot, std::span<const TakenRoom> taken)
    : snapshot_(std::move(snapshot)),
      width_(static_cast<std::size_t>(tables().resource_count())),
      now_(tables().now),
      first_new_(tables().allocations.size()),
      operation_(tables().allocations.operation),
      node_(tables().allocations.node),
      last_start_(tables().allocations.last_job_start_time.empty()
                      ? tables().allocations.start_time
                      : tables().allocations.last_job_start_time),
      last_progress_(tables().allocations.last_progress_time),
      capacity_(tables().nodes.capacity),
      schedulable_(tables().nodes.schedulable),
      pending_(tables().requests.count),
      pool_(tables().operations.pool),
      asking_(tables().requests.operation),
      on_node_(tables().allocations_by_node),
      operation_allocations_(tables().allocations_by_operation),
      operation_requests_(tables().requests_by_operation),
      operations_(tables().operations, width_),
      nodes_(tables().nodes, width_),
      allocations_(tables().allocations, width_),
      requests_(tables().requests, width_),
      reservations_(tables().reservations, width_) {
  const Tables& t = tables();
  const AllocationColumns& a = t.allocations;
  const auto nodes = static_cast<std::size_t>(t.nodes.size());
  const auto operations = static_cast<std::size_t>(t.operations.size());
  const auto pools = static_cast<std::size_t>(t.pools.size());
  node_used_.assign(nodes * width_, 0);
  node_left_.assign(nodes * width_, 0);
  all_left_.assign(width_, 0);
  leaving_on_.assign(nodes, 0);

  phase_.resize(operation_.size());
  Column<Id> in_flight, away;
  for (std::size_t i = 0; i < operation_.size(); ++i) {
    switch (a.state[i]) {
      case AllocationState::kPreempting:
        phase_[i] = Phase::kLeaves;
        in_flight.push_back(static_cast<Id>(i));
        break;
      case AllocationState::kPreempted:  // what it keeps is no work that could leave
        phase_[i] = Phase::kAway;
        away.push_back(static_cast<Id>(i));
        break;
      default:
        phase_[i] = a.state[i] == AllocationState::kRunning ? Phase::kRuns : Phase::kStopped;
        if (node_[i] != kNoId) {
          Amount* used = row(node_used_, node_[i]);
          const Amount* amount = a.resources.row(i, width_);
          for (std::size_t r = 0; r < width_; ++r) used[r] += amount[r];
        }
    }
  }
  for (const Id slot : away)
    if (node_[slot] != kNoId) {
      on_node_.remove(node_[slot], slot);
      if (const Amount* held = kept(slot))
        for (std::size_t r = 0; r < width_; ++r) row(node_used_, node_[slot])[r] += held[r];
    }

  usage_ = t.operations.usage;
  pool_usage_.assign(pools * width_, 0);
  for (std::size_t o = 0; o < operations; ++o)
    for (std::size_t r = 0; r < width_; ++r)
      row(pool_usage_, t.operations.pool[o])[r] += usage_[o * width_ + r];
  for (auto p = t.pools.top_down.rbegin(); p != t.pools.top_down.rend(); ++p)
    if (const Id parent = t.pools.parent[*p]; parent != kNoId)
      for (std::size_t r = 0; r < width_; ++r)
        row(pool_usage_, parent)[r] += row(pool_usage_, *p)[r];

  for (const Id slot : in_flight) {
    Leaving l;
    l.slot = slot;
    l.beneficiary = beneficiary_of(slot);
    std::copy_n(amounts(slot), width_, l.left.begin());
    for (const TakenRoom& room : taken)
      if (room.allocation == slot)
        for (std::size_t r = 0; r < width_; ++r)
          l.left[r] -= std::clamp(room.amounts[r], Amount{0}, l.left[r]);
    leave(l);
  }

  wanted_besides_ = t.operations.demand;
  const Column<Amount> accounted = demand();
  for (std::size_t i = 0; i < wanted_besides_.size(); ++i)
    wanted_besides_[i] -= accounted[i] - wanted_besides_[i];
}

const Amount* ClusterState::amounts(Id slot) const noexcept {
  if (owns_amounts_) return amounts_.row(slot, width_);
  return slot < first_new_ ? tables().allocations.resources.row(slot, width_)
                           : amounts_.row(slot - first_new_, width_);
}

Column<Amount> ClusterState::demand() const {
  Column<Amount> out(wanted_besides_.size());
  for (Id o = 0; o < operations_.rows(); ++o) demand(o, out.row(o, width_));
  return out;
}

void ClusterState::demand(Id operation, Amount* sum) const {
  const Amount *more = row(wanted_besides_, operation), *used = operation_usage(operation);
  for (std::size_t r = 0; r < width_; ++r) sum[r] = more[r] + used[r];
  for (const Id q : requests_of(operation))
    if (const Amount* each = requests_.get_row(&RequestColumns::resources, q))
      for (std::size_t r = 0; r < width_; ++r) sum[r] += each[r] * pending(q);
}

void ClusterState::count_total(Id node, Index times) noexcept {
  if (schedulable(node)) count(total_, node_capacity(node), times);
}

void ClusterState::follow_total() {
  if (!total_.empty()) return;
  total_ = tables().resources.capacity;
  for (Id n = 0; n < nodes_.rows(); ++n) count_total(n, 1);
}

// What is listed of an allocation that has not ended.
void ClusterState::list(Id slot, bool present) {
  if (present)
    operation_allocations_.add(operation_[slot], slot);
  else
    operation_allocations_.remove(operation_[slot], slot);
  count(asked_, amounts(slot), present ? 1 : -1);
  refer(node_[slot], present ? 1 : -1);
  refer(allocations_.get(&AllocationColumns::required_node, slot, kNoId), present ? 1 : -1);
}

void ClusterState::count(Column<Amount>& sums, const Amount* amounts, Index times) const noexcept {
  if (sums.empty() || amounts == nullptr) return;
  for (std::size_t r = 0; r < width_; ++r) sums[r] += amounts[r] * times;
}

const Column<Amount>& ClusterState::offered() const {
  if (!offered_.empty()) return offered_;
  offered_.assign(width_, 0);
  for (Id n = 0; n < nodes_.rows(); ++n) count(offered_, node_capacity(n), 1);
  return offered_;
}

const Column<Amount>& ClusterState::asked() const {
  if (!asked_.empty()) return asked_;
  asked_.assign(width_, 0);
  for (Id slot = 0; slot < slots(); ++slot)
    if (!gone(slot) || away(slot)) count(asked_, amounts(slot), 1);
  for (Id q = 0; q < requests_.rows(); ++q)
    count(asked_, requests_.get_row(&RequestColumns::resources, q), pending(q));
  for (Id o = 0; o < operations_.rows(); ++o)
    if (stated(o)) {
      count(asked_, operation_usage(o), 1);
      count(asked_, row(wanted_besides_, o), 1);
    }
  return asked_;
}

bool ClusterState::stated(Id operation) const noexcept {
  if (!allocations_of(operation).empty() || !requests_of(operation).empty()) return false;
  const Amount *used = operation_usage(operation), *more = row(wanted_besides_, operation);
  return std::any_of(used, used + width_, [](Amount a) { return a != 0; }) ||
         std::any_of(more, more + width_, [](Amount a) { return a != 0; });
}

const Amount* ClusterState::kept(Id slot) const noexcept {
  if (owns_held_) return held_.row(slot, width_);
  const Column<Amount>& held = tables().allocations.held;
  return held.empty() || slot >= first_new_ ? nullptr : held.row(slot, width_);
}

void ClusterState::add_to_pools(Id operation, const Amount* amount, Amount sign) {
  for (Id pool = pool_[operation]; pool != kNoId; pool = tables().pools.parent[pool]) {
    Amount* below = row(pool_usage_, pool);
    for (std::size_t r = 0; r < width_; ++r) below[r] += sign * amount[r];
  }
}

void ClusterState::add_usage(Id slot, const Amount* amount, Amount sign) {
  const Id operation = operation_[slot], node = node_[slot];
  Amount* used = row(usage_, operation);
  for (std::size_t r = 0; r < width_; ++r) used[r] += sign * amount[r];
  add_to_pools(operation, amount, sign);
  if (node != kNoId) {
    Amount* here = row(node_used_, node);
    for (std::size_t r = 0; r < width_; ++r) here[r] += sign * amount[r];
  }
}

void ClusterState::add_left(Id slot, const Amount* amounts, Amount sign) {
  const Id node = node_[slot];
  for (std::size_t r = 0; r < width_; ++r) {
    if (node != kNoId) row(node_left_, node)[r] += sign * amounts[r];
    all_left_[r] += sign * amounts[r];
  }
}

void ClusterState::leave(const Leaving& leaving) {
  add_left(leaving.slot, leaving.left.data(), 1);
  if (const Id node = node_[leaving.slot]; node != kNoId) ++leaving_on_[node];
  if (leaving_place_.rows() <= leaving.slot) leaving_place_.resize(operation_.size(), kNoId);
  leaving_place_[leaving.slot] = leaving_.rows();
  leaving_.push_back(leaving);
}

Leaving* ClusterState::leaving_of(Id slot) noexcept {
  return leaving_place_.rows() <= slot || leaving_place_[slot] == kNoId
             ? nullptr
             : &leaving_[leaving_place_[slot]];
}

Leaving ClusterState::drop_leaving(Id slot) {
  Leaving* found = leaving_of(slot);
  if (found == nullptr) return {};
  const Leaving dropped = *found;
  *found = leaving_.back();
  leaving_place_[found->slot] = static_cast<Id>(found - leaving_.data());
  leaving_.pop_back();
  leaving_place_[slot] = kNoId;
  add_left(slot, dropped.left.data(), -1);
  if (const Id node = node_[slot]; node != kNoId) --leaving_on_[node];
  return dropped;
}

void ClusterState::advance(Time now) {
  if (now == now_) return;
  record({Change::Kind::kNow, kNoId, now_});
  now_ = now;
}

Id ClusterState::new_slot(Id operation, Id node, const Amount* size, Time time, Phase phase) {
  bool again = false;
  const Id slot = allocations_.new_row(again);
  if (!again) {
    operation_.push_back(operation);
    node_.push_back(node);
    phase_.push_back(phase);
    last_start_.push_back(time);
    if (!last_progress_.empty()) last_progress_.push_back(kNoTime);
    amounts_.insert(amounts_.end(), size, size + width_);
    if (owns_held_) held_.resize(held_.size() + width_, 0);
  } else {
    operation_[slot] = operation;
    node_[slot] = node;
    phase_[slot] = phase;
    last_start_[slot] = time;
    if (!last_progress_.empty()) last_progress_[slot] = kNoTime;
    const Index first = owns_amounts_ ? 0 : first_new_;
    std::copy_n(size, width_, row(amounts_, static_cast<Id>(slot - first)));
    if (owns_held_) std::fill_n(row(held_, slot), width_, Amount{0});
  }
  if (node != kNoId) on_node_.add(node, slot);
  list(slot, true);
  add_usage(slot, 1);
  record({Change::Kind::kStart, slot, again});
  return slot;
}

Id ClusterState::start(Id operation, Id node, std::span<const Amount> amounts, Time time) {
  return new_slot(operation, node, amounts.data(), time);
}

Id ClusterState::start_request(Id request, Id node) {
  set_pending(request, pending(request) - 1);
  std::array<Amount, kMaxResources> size{};
  if (const Amount* each = requests_.get_row(&RequestColumns::resources, request))
    std::copy_n(each, width_, size.begin());
  return new_slot(asking_[request], node, size.data(), now_);
}

// What ends holds nothing and is listed nowhere.
void ClusterState::stop(Id slot) {
  if (holds(slot)) add_usage(slot, -1);
  if (!away(slot)) {
    if (node_[slot] != kNoId) on_node_.remove(node_[slot], slot);
  } else if (const Amount* held = kept(slot)) {
    add_usage(slot, held, -1);
  }
  list(slot, false);
  phase_[slot] = Phase::kGone;
}

void ClusterState::end(Id slot) {
  if (slot >= first_new_) remove_cells(slot);
  const Change change{Change::Kind::kEnd, slot, static_cast<std::int64_t>(phase_[slot])};
  if (leaving(slot)) {
    const Leaving dropped = drop_leaving(slot);
    record(change, {}, &dropped);
  } else {
    record(change);
  }
  stop(slot);
}

void ClusterState::preempt(Id slot, Beneficiary beneficiary, std::span<const Amount> held) {
  const auto before = static_cast<std::int64_t>(phase_[slot]);
  add_usage(slot, -1);
  phase_[slot] = Phase::kLeaves;
  Leaving leaving{slot, beneficiary, {}};
  std::copy_n(amounts(slot), width_, leaving.left.begin());
  leave(leaving);
  const Change change{Change::Kind::kPreempt, slot, before, held.empty() ? 0 : 1};
  if (held.empty()) return record(change);
  own_held();
  Amount* kept = row(held_, slot);
  record(change, {kept});
  std::ranges::copy(held, kept);
}

// What the snapshot's rows keep is read from the snapshot until one is suspended.
void ClusterState::own_held() {
  if (owns_held_) return;
  held_ = tables().allocations.held;
  held_.resize(operation_.size() * width_, 0);
  owns_held_ = true;
}

void ClusterState::suspend(Id slot, std::span<const Amount> held) {
  own_held();
  Amount* kept = row(held_, slot);
  const Change change{Change::Kind::kSuspend, slot, static_cast<std::int64_t>(phase_[slot])};
  if (holds(slot)) {
    record(change, {kept});
    add_usage(slot, -1);
  } else {
    const Leaving dropped = drop_leaving(slot);
    record(change, {kept}, &dropped);
  }
  if (node_[slot] != kNoId) on_node_.remove(node_[slot], slot);
  phase_[slot] = Phase::kAway;
  std::ranges::copy(held, kept);
  add_usage(slot, kept, 1);
}

void ClusterState::resume(Id slot, Id node, Time time) {
  own_held();
  Amount* kept = row(held_, slot);
  record({Change::Kind::kResume, slot, node_[slot], last_start_[slot]}, {kept});
  add_usage(slot, kept, -1);
  std::fill_n(kept, width_, Amount{0});
  refer(node_[slot], -1);
  refer(node, 1);
  node_[slot] = node;
  phase_[slot] = Phase::kRuns;
  last_start_[slot] = time;
  if (node != kNoId) on_node_.add(node, slot);
  add_usage(slot, 1);
}

void ClusterState::take_room(Id slot, std::span<const Amount> taken) {
  Leaving* l = leaving_of(slot);
  for (std::size_t r = 0; r < width_; ++r) l->left[r] -= taken[r];
  add_left(slot, taken.data(), -1);
  record({Change::Kind::kTakeRoom, slot}, {taken.data()});
}

void ClusterState::set_taken(Id slot, std::span<const Amount> amounts) {
  const Leaving* l = leaving_of(slot);
  if (l == nullptr) return;
  std::array<Amount, kMaxResources> more{};
  for (std::size_t r = 0; r < width_; ++r) {
    const Amount all = this->amounts(slot)[r];
    more[r] = l->left[r] - (all - std::clamp(amounts[r], Amount{0}, all));
  }
  take_room(slot, {more.data(), width_});
}

void ClusterState::touch(Id slot, Time last_start, Time last_progress) {
  if (last_progress_.empty() && last_progress != kNoTime)
    last_progress_.assign(operation_.size(), kNoTime);
  record({Change::Kind::kTouch, slot, last_start_[slot], this->last_progress(slot)});
  last_start_[slot] = last_start;
  if (!last_progress_.empty()) last_progress_[slot] = last_progress;
}

// Sizes of the snapshot's rows are read from the snapshot until one changes.
void ClusterState::own_amounts() {
  if (owns_amounts_) return;
  const Column<Amount>& rows = tables().allocations.resources;
  amounts_.insert(amounts_.begin(), rows.begin(), rows.end());
  owns_amounts_ = true;
}

void ClusterState::resize(Id slot, std::span<const Amount> size) {
  own_amounts();
  record({Change::Kind::kResize, slot}, {amounts(slot)});
  add_usage(slot, -1);
  count(asked_, amounts(slot), -1);
  std::ranges::copy(size, row(amounts_, slot));
  count(asked_, amounts(slot), 1);
  add_usage(slot, 1);
}

void ClusterState::set_pending(Id request, Index count) {
  record({Change::Kind::kPending, request, pending(request)});
  this->count(asked_, requests_.get_row(&RequestColumns::resources, request),
              count - pending(request));
  pending_[request] = count;
}

void ClusterState::set_capacity(Id node, std::span<const Amount> amounts) {
  record({Change::Kind::kCapacity, node}, {node_capacity(node)});
  count(offered_, node_capacity(node), -1);
  count_total(node, -1);
  std::ranges::copy(amounts, row(capacity_, node));
  count(offered_, node_capacity(node), 1);
  count_total(node, 1);
}

void ClusterState::set_schedulable(Id node, bool schedulable) {
  record({Change::Kind::kSchedulable, node, schedulable_[node]});
  count_total(node, -1);
  schedulable_[node] = schedulable;
  count_total(node, 1);
}

std::size_t ClusterState::memory_bytes() const noexcept {
  const auto bytes = [](const auto& v) { return v.capacity() * sizeof(v[0]); };
  return bytes(operation_) + bytes(node_) + bytes(phase_) + bytes(last_start_) +
         bytes(last_progress_) + bytes(amounts_) + bytes(held_) + bytes(node_used_) +
         bytes(node_left_) + bytes(capacity_) + bytes(usage_) + bytes(pool_usage_) +
         bytes(schedulable_) + bytes(pending_) + bytes(wanted_besides_) + bytes(pool_) +
         bytes(asking_) + on_node_.memory_bytes() + operation_allocations_.memory_bytes() +
         operation_requests_.memory_bytes() + operations_.memory_bytes() + nodes_.memory_bytes() +
         allocations_.memory_bytes() + requests_.memory_bytes() + reservations_.memory_bytes();
}

}  // namespace evenhand
