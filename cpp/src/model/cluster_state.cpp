#include "evenhand/model/cluster_state.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace evenhand {
namespace {

// A name that is no row any more: nobody has it.
constexpr Id kGone = -2;

// Rows of the names in a text column, one a distinct value.
std::vector<Id> rows_of(const NameColumn& names, const TextColumn& column) {
  std::vector<Id> rows(static_cast<std::size_t>(column.values.size()), kGone);
  if (rows.empty()) return rows;
  std::unordered_map<std::string_view, Id> row_of;
  for (Index i = 0; i < names.text.size(); ++i) row_of.emplace(names.text[i], static_cast<Id>(i));
  for (std::size_t v = 0; v < rows.size(); ++v)
    if (const auto found = row_of.find(column.values[static_cast<Index>(v)]); found != row_of.end())
      rows[v] = found->second;
  return rows;
}

Id decoded(const std::vector<Id>& rows, const TextColumn& column, Id row) {
  const Id code = at_or(column.codes, row, kNoId);
  return code == kNoId ? kNoId : rows[static_cast<std::size_t>(code)];
}

}  // namespace

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
      pending_(tables().requests.count) {
  const Tables& t = tables();
  const AllocationColumns& a = t.allocations;
  const auto nodes = static_cast<std::size_t>(t.nodes.size());
  const auto operations = static_cast<std::size_t>(t.operations.size());
  const auto pools = static_cast<std::size_t>(t.pools.size());
  node_used_.assign(nodes * width_, 0);
  node_left_.assign(nodes * width_, 0);
  all_left_.assign(width_, 0);
  leaving_on_.assign(nodes, 0);
  operation_dirty_.assign(operations, 0);
  node_dirty_.assign(nodes, 0);

  phase_.resize(operation_.size());
  lists_.resize(nodes);
  list_items_ = t.allocations_by_node.items;
  for (std::size_t n = 0; n < nodes; ++n) {
    lists_[n].begin = t.allocations_by_node.offsets[n];
    lists_[n].size = lists_[n].capacity = static_cast<std::int32_t>(
        t.allocations_by_node.offsets[n + 1] - t.allocations_by_node.offsets[n]);
  }
  std::vector<Id> in_flight, away;
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
          const Amount* amount = a.resources.data() + i * width_;
          for (std::size_t r = 0; r < width_; ++r) used[r] += amount[r];
        }
    }
  }
  for (const Id slot : away)
    if (node_[at(slot)] != kNoId) {
      take_off_node(node_[at(slot)], slot);
      if (const Amount* held = kept(slot))
        for (std::size_t r = 0; r < width_; ++r) row(node_used_, node_[at(slot)])[r] += held[r];
    }

  usage_ = t.operations.usage;
  pool_usage_.assign(pools * width_, 0);
  for (std::size_t o = 0; o < operations; ++o)
    for (std::size_t r = 0; r < width_; ++r)
      row(pool_usage_, t.operations.pool[o])[r] += usage_[o * width_ + r];
  for (auto p = t.pools.top_down.rbegin(); p != t.pools.top_down.rend(); ++p)
    if (const Id parent = t.pools.parent[at(*p)]; parent != kNoId)
      for (std::size_t r = 0; r < width_; ++r)
        row(pool_usage_, parent)[r] += row(pool_usage_, *p)[r];

  const std::vector<Id> operation_rows = rows_of(t.operations.names, a.beneficiary_operation);
  const std::vector<Id> request_rows = rows_of(t.requests.names, a.beneficiary_request);
  for (const Id slot : in_flight) {
    Leaving l;
    l.slot = slot;
    l.beneficiary = {decoded(operation_rows, a.beneficiary_operation, slot),
                     decoded(request_rows, a.beneficiary_request, slot)};
    if (l.beneficiary.operation == kNoId && l.beneficiary.request >= 0)
      l.beneficiary.operation = t.requests.operation[at(l.beneficiary.request)];
    std::copy_n(amounts(slot), width_, l.left.begin());
    for (const TakenRoom& room : taken)
      if (room.allocation == slot)
        for (std::size_t r = 0; r < width_; ++r)
          l.left[r] -= std::clamp(room.amounts[r], Amount{0}, l.left[r]);
    leave(l);
  }

  wanted_besides_ = t.operations.demand;
  const std::vector<Amount> accounted = demand();
  for (std::size_t i = 0; i < wanted_besides_.size(); ++i)
    wanted_besides_[i] -= accounted[i] - wanted_besides_[i];
}

const Amount* ClusterState::amounts(Id slot) const noexcept {
  if (owns_amounts_) return amounts_.data() + at(slot) * width_;
  const auto first = static_cast<std::size_t>(first_new_);
  return at(slot) < first ? tables().allocations.resources.data() + at(slot) * width_
                          : amounts_.data() + (at(slot) - first) * width_;
}

std::span<const Id> ClusterState::on_node(Id node) const noexcept {
  const NodeList& list = lists_[at(node)];
  return {list_items_.data() + list.begin, static_cast<std::size_t>(list.size)};
}

std::vector<Amount> ClusterState::demand() const {
  const Tables& t = tables();
  std::vector<Amount> out = wanted_besides_;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] += usage_[i];
  for (std::size_t q = 0; q < pending_.size(); ++q)
    for (std::size_t r = 0; r < width_; ++r)
      out[at(t.requests.operation[q]) * width_ + r] +=
          t.requests.resources[q * width_ + r] * pending_[q];
  return out;
}

void ClusterState::soil(Id operation, Id node) {
  if (operation != kNoId && !operation_dirty_[at(operation)]) {
    operation_dirty_[at(operation)] = 1;
    dirty_operations_.push_back(operation);
  }
  if (node != kNoId && !node_dirty_[at(node)]) {
    node_dirty_[at(node)] = 1;
    dirty_nodes_.push_back(node);
  }
}

const Amount* ClusterState::kept(Id slot) const noexcept {
  if (owns_held_) return held_.data() + at(slot) * width_;
  const std::vector<Amount>& held = tables().allocations.held;
  return held.empty() ? nullptr : held.data() + at(slot) * width_;
}

void ClusterState::add_usage(Id slot, const Amount* amount, Amount sign) {
  const Id operation = operation_[at(slot)], node = node_[at(slot)];
  Amount* used = row(usage_, operation);
  for (std::size_t r = 0; r < width_; ++r) used[r] += sign * amount[r];
  for (Id pool = tables().operations.pool[at(operation)]; pool != kNoId;
       pool = tables().pools.parent[at(pool)]) {
    Amount* below = row(pool_usage_, pool);
    for (std::size_t r = 0; r < width_; ++r) below[r] += sign * amount[r];
  }
  if (node != kNoId) {
    Amount* here = row(node_used_, node);
    for (std::size_t r = 0; r < width_; ++r) here[r] += sign * amount[r];
  }
  soil(operation, node);
}

void ClusterState::put_on_node(Id node, Id slot) {
  NodeList& list = lists_[at(node)];
  if (list.size == list.capacity) {  // moves to the end of the store, with room to grow
    const auto begin = static_cast<Index>(list_items_.size());
    const std::int32_t capacity = std::max(8, 2 * list.capacity);
    list_items_.resize(list_items_.size() + static_cast<std::size_t>(capacity), kNoId);
    std::copy_n(list_items_.begin() + list.begin, list.size, list_items_.begin() + begin);
    list.begin = begin;
    list.capacity = capacity;
  }
  list_items_[static_cast<std::size_t>(list.begin + list.size++)] = slot;
}

void ClusterState::take_off_node(Id node, Id slot) {
  NodeList& list = lists_[at(node)];
  Id* items = list_items_.data() + list.begin;
  Id* found = std::find(items, items + list.size, slot);
  *found = items[--list.size];
}

void ClusterState::add_left(Id slot, const Amount* amounts, Amount sign) {
  const Id node = node_[at(slot)];
  for (std::size_t r = 0; r < width_; ++r) {
    if (node != kNoId) row(node_left_, node)[r] += sign * amounts[r];
    all_left_[r] += sign * amounts[r];
  }
}

void ClusterState::leave(const Leaving& leaving) {
  add_left(leaving.slot, leaving.left.data(), 1);
  if (const Id node = node_[at(leaving.slot)]; node != kNoId) ++leaving_on_[at(node)];
  if (leaving_place_.size() <= at(leaving.slot)) leaving_place_.resize(operation_.size(), kNoId);
  leaving_place_[at(leaving.slot)] = static_cast<Id>(leaving_.size());
  leaving_.push_back(leaving);
}

Leaving* ClusterState::leaving_of(Id slot) noexcept {
  return leaving_place_.size() <= at(slot) || leaving_place_[at(slot)] == kNoId
             ? nullptr
             : &leaving_[at(leaving_place_[at(slot)])];
}

Leaving ClusterState::drop_leaving(Id slot) {
  Leaving* found = leaving_of(slot);
  if (found == nullptr) return {};
  const Leaving dropped = *found;
  *found = leaving_.back();
  leaving_place_[at(found->slot)] = static_cast<Id>(found - leaving_.data());
  leaving_.pop_back();
  leaving_place_[at(slot)] = kNoId;
  add_left(slot, dropped.left.data(), -1);
  if (const Id node = node_[at(slot)]; node != kNoId) --leaving_on_[at(node)];
  return dropped;
}

void ClusterState::advance(Time now) {
  record([&] { return Change{Change::Kind::kNow, kNoId, now_, 0, {}, {}}; });
  now_ = now;
}

Id ClusterState::start(Id operation, Id node, std::span<const Amount> amounts, Time time) {
  const Id slot = static_cast<Id>(operation_.size());
  operation_.push_back(operation);
  node_.push_back(node);
  phase_.push_back(Phase::kRuns);
  last_start_.push_back(time);
  if (!last_progress_.empty()) last_progress_.push_back(kNoTime);
  amounts_.insert(amounts_.end(), amounts.begin(), amounts.end());
  if (owns_held_) held_.resize(held_.size() + width_, 0);
  if (node != kNoId) put_on_node(node, slot);
  add_usage(slot, 1);
  record([&] { return Change{Change::Kind::kStart, slot, 0, 0, {}, {}}; });
  return slot;
}

Id ClusterState::start_request(Id request, Id node) {
  set_pending(request, pending(request) - 1);
  const RequestColumns& q = tables().requests;
  return start(q.operation[at(request)], node,
               std::span<const Amount>(q.resources).subspan(at(request) * width_, width_), now_);
}

void ClusterState::end(Id slot) {
  Change change{Change::Kind::kEnd, slot, static_cast<std::int64_t>(phase_[at(slot)]), 0, {}, {}};
  if (holds(slot)) add_usage(slot, -1);
  if (leaving(slot)) {
    change.leaving = drop_leaving(slot);
    soil(operation_[at(slot)], node_[at(slot)]);
  }
  if (!away(slot)) {
    if (node_[at(slot)] != kNoId) take_off_node(node_[at(slot)], slot);
  } else if (const Amount* held = kept(slot)) {
    add_usage(slot, held, -1);
  }
  phase_[at(slot)] = Phase::kGone;
  record([&] { return std::move(change); });
}

void ClusterState::preempt(Id slot, Beneficiary beneficiary) {
  const auto before = static_cast<std::int64_t>(phase_[at(slot)]);
  add_usage(slot, -1);
  phase_[at(slot)] = Phase::kLeaves;
  Leaving leaving{slot, beneficiary, {}};
  std::copy_n(amounts(slot), width_, leaving.left.begin());
  leave(leaving);
  record([&] { return Change{Change::Kind::kPreempt, slot, before, 0, {}, {}}; });
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
  Change change{Change::Kind::kSuspend, slot, static_cast<std::int64_t>(phase_[at(slot)]), 0,
                {kept, kept + width_},  {}};
  if (holds(slot))
    add_usage(slot, -1);
  else
    change.leaving = drop_leaving(slot);
  if (node_[at(slot)] != kNoId) take_off_node(node_[at(slot)], slot);
  phase_[at(slot)] = Phase::kAway;
  std::ranges::copy(held, kept);
  add_usage(slot, kept, 1);
  record([&] { return std::move(change); });
}

void ClusterState::resume(Id slot, Id node, Time time) {
  own_held();
  Amount* kept = row(held_, slot);
  Change change{Change::Kind::kResume, slot, node_[at(slot)], last_start_[at(slot)],
                {kept, kept + width_}, {}};
  add_usage(slot, kept, -1);
  std::fill_n(kept, width_, Amount{0});
  node_[at(slot)] = node;
  phase_[at(slot)] = Phase::kRuns;
  last_start_[at(slot)] = time;
  if (node != kNoId) put_on_node(node, slot);
  add_usage(slot, 1);
  record([&] { return std::move(change); });
}

void ClusterState::take_room(Id slot, std::span<const Amount> taken) {
  Leaving* l = leaving_of(slot);
  for (std::size_t r = 0; r < width_; ++r) l->left[r] -= taken[r];
  add_left(slot, taken.data(), -1);
  record([&] {
    return Change{Change::Kind::kTakeRoom, slot, 0, 0, {taken.begin(), taken.end()}, {}};
  });
}

void ClusterState::touch(Id slot, Time last_start, Time last_progress) {
  if (last_progress_.empty() && last_progress != kNoTime)
    last_progress_.assign(operation_.size(), kNoTime);
  record([&] {
    return Change{Change::Kind::kTouch,      slot, last_start_[at(slot)],
                  this->last_progress(slot), {},   {}};
  });
  last_start_[at(slot)] = last_start;
  if (!last_progress_.empty()) last_progress_[at(slot)] = last_progress;
  soil(operation_[at(slot)], node_[at(slot)]);
}

// Sizes of the snapshot's rows are read from the snapshot until one changes.
void ClusterState::own_amounts() {
  if (owns_amounts_) return;
  const std::vector<Amount>& rows = tables().allocations.resources;
  amounts_.insert(amounts_.begin(), rows.begin(), rows.end());
  owns_amounts_ = true;
}

void ClusterState::resize(Id slot, std::span<const Amount> size) {
  own_amounts();
  record([&] {
    return Change{Change::Kind::kResize, slot, 0, 0, {amounts(slot), amounts(slot) + width_}, {}};
  });
  add_usage(slot, -1);
  std::ranges::copy(size, row(amounts_, slot));
  add_usage(slot, 1);
}

void ClusterState::set_pending(Id request, Index count) {
  record([&] { return Change{Change::Kind::kPending, request, pending(request), 0, {}, {}}; });
  pending_[at(request)] = count;
  soil(tables().requests.operation[at(request)], kNoId);
}

void ClusterState::set_capacity(Id node, std::span<const Amount> amounts) {
  record([&] {
    return Change{Change::Kind::kCapacity,
                  node,
                  0,
                  0,
                  {node_capacity(node), node_capacity(node) + width_},
                  {}};
  });
  std::ranges::copy(amounts, row(capacity_, node));
  soil(kNoId, node);
}

void ClusterState::set_schedulable(Id node, bool schedulable) {
  record(
      [&] { return Change{Change::Kind::kSchedulable, node, schedulable_[at(node)], 0, {}, {}}; });
  schedulable_[at(node)] = schedulable;
  soil(kNoId, node);
}

ClusterState::Dirty ClusterState::take_dirty() {
  Dirty dirty{std::exchange(dirty_operations_, {}), std::exchange(dirty_nodes_, {})};
  for (const Id o : dirty.operations) operation_dirty_[at(o)] = 0;
  for (const Id n : dirty.nodes) node_dirty_[at(n)] = 0;
  std::ranges::sort(dirty.operations);
  std::ranges::sort(dirty.nodes);
  return dirty;
}

std::size_t ClusterState::memory_bytes() const noexcept {
  const auto bytes = [](const auto& v) { return v.capacity() * sizeof(v[0]); };
  return bytes(operation_) + bytes(node_) + bytes(phase_) + bytes(last_start_) +
         bytes(last_progress_) + bytes(amounts_) + bytes(held_) + bytes(node_used_) +
         bytes(node_left_) + bytes(capacity_) + bytes(usage_) + bytes(pool_usage_) +
         bytes(schedulable_) + bytes(pending_) + bytes(wanted_besides_) + bytes(lists_) +
         bytes(list_items_);
}

}  // namespace evenhand
