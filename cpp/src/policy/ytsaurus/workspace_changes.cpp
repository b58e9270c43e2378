// What a change of the cluster changes at the workspace.
#include <algorithm>

#include "evenhand/policy/ytsaurus/workspace.h"

namespace evenhand::ytsaurus {
namespace {

using Size = std::size_t;
using Kind = Delta::Kind;
using Table = ClusterState::Table;

// A row comes in the place of another one, whose cell it gets; kNoId: of none.
template <class T>
void come(Column<T>& column, Id row, Id instead_of, T absent) {
  const bool known = instead_of != kNoId && instead_of < column.rows();
  const T value = known ? column[instead_of] : absent;
  if (row >= column.rows() && value != absent) column.resize(at(row) + 1, absent);
  if (row < column.rows()) column[row] = value;
}

bool is_of_slot(Kind kind) { return kind != Kind::kStart && kind < Kind::kPending; }

}  // namespace

void Workspace::before(const Delta& delta) {
  switch (delta.kind) {
    case Kind::kRemoveRequest:
    case Kind::kPutRequest:
      if (delta.row != kNoId) leave_request(delta.row);
      break;
    case Kind::kRemoveNode:
      return node_goes(delta.row);
    case Kind::kPutOperation:
    case Kind::kRemoveOperation:
    case Kind::kStated:
      limited_before_ =
          delta.row == kNoId || !updated_ ? kNoId : limited_above(pools() + delta.row);
      break;
    default:
      // Where a slot stands in its group's order follows from what changes here.
      if (is_of_slot(delta.kind) && state.running(delta.row)) groups.remove(state, delta.row);
  }
}

void Workspace::after(const Delta& delta, Id row) {
  switch (delta.kind) {
    case Kind::kAdvance:
    case Kind::kReserve:
    case Kind::kRelease:
      return;
    case Kind::kCells:
      return inputs_.set_stale();
    case Kind::kPending:
      return pending_changed(delta.row, state.pending(delta.row));
    case Kind::kCapacity:
    case Kind::kSchedulable:
      return inputs_.set_stale();
    case Kind::kPutNode:
      node_came(row, delta.row == kNoId);
      return inputs_.set_stale();
    case Kind::kRemoveNode:
      return inputs_.set_stale();
    case Kind::kPutOperation:
    case Kind::kRemoveOperation:
    case Kind::kStated:
      return operation_changed(row, delta.row == kNoId, delta.before);
    case Kind::kPutRequest:
      came_.push_back(row);
      return inputs_.touch(state.operation_of_request(row));
    case Kind::kRemoveRequest:
      std::erase(came_, row);
      return inputs_.touch(state.operation_of_request(row));
    default:
      break;
  }
  const Id slot = row;
  if (delta.kind == Kind::kStart || delta.kind == Kind::kStartRow)
    if (live_) rows.put(state, Table::kAllocations, {&slot, 1}, {});
  if (state.running(slot)) groups.add(state, slot);
  if (delta.kind == Kind::kTouch) {
    inputs_.touch(state.operation_of(slot));
    if (updated_) set_bounds(state.operation_of(slot));
    return;
  }
  usage_changed(state.operation_of(slot), delta.kind != Kind::kStart &&
                                              delta.kind != Kind::kStartRow &&
                                              delta.kind != Kind::kResume);
}

// It takes no part any more, as long as no update lets it.
void Workspace::leave_request(Id request) {
  pending_changed(request, 0);
  if (!joined(request)) return;
  const Id operation = state.operation_of_request(request);
  Column<Ask>& asks = asks_[operation];
  const Id place = std::exchange(ask_of_[request], kNoId), shape = asks[place].shape;
  asks.erase(asks.begin() + place);
  if (place < first_waiting_[operation]) --first_waiting_[operation];
  if (asks.empty()) only_shape_[operation] = kNoId;
  for (Id i = place; i < asks.rows(); ++i) ask_of_[asks[i].request] = i;
  Column<Id>& alike = by_shape_[shape];
  const Id last_one = alike.back();
  alike[shape_place_[request]] = last_one;
  shape_place_[last_one] = shape_place_[request];
  alike.pop_back();
}

// An operation came, has other cells or went. A new one has no share before the next update;
// what it uses counts at once.
void Workspace::operation_changed(Id operation, bool fresh, Id instead_of) {
  const bool there = state.operations().present(operation);
  const auto e = static_cast<Size>(pools() + operation);
  inputs_.touch_row(operation);
  groups.fit(static_cast<Size>(state.operations().rows()));
  if (fresh) {
    const Id other = instead_of == kNoId ? kNoId : pools() + instead_of;
    come(last.starvation.clocks.since, pools() + operation, other, kNoTime);
    come(last.starvation.clocks.starvation, pools() + operation, other, Starvation::kNonStarving);
    pace.come(operation, instead_of);
  }
  if (fresh || !there) last.starvation.others.forget(e);
  if (!updated_) return;
  if (fresh) {
    StarvationResult& found = last.starvation;
    const auto fit = [&](auto& column, auto value) {
      column.resize(std::max(column.size(), e + 1), value);
      column[e] = value;
    };
    last.shares->clear_operation(operation);
    inputs_.clear_work(operation);
    const auto pool = static_cast<Size>(state.pool_of(operation));
    EffectiveSettings& effective = found.effective;
    StarvationClocks& clocks = found.clocks;
    clocks.since.resize(std::max(clocks.since.size(), e + 1), kNoTime);
    clocks.starvation.resize(std::max(clocks.starvation.size(), e + 1), Starvation::kNonStarving);
    fit(found.status, Status::kNormal);
    fit(found.lowest_starving, kNoId);
    fit(found.lowest_aggressive, kNoId);
    fit(effective.tolerance, effective.tolerance[pool]);
    fit(effective.timeout, effective.timeout[pool]);
    fit(effective.enable_aggressive, effective.enable_aggressive[pool]);
    fit(effective.allow_aggressive, effective.allow_aggressive[pool]);
    fit(effective.has_usage_threshold, std::uint8_t{0});
    effective.usage_threshold.resize(effective.has_usage_threshold.size() * state.width(),
                                     kUnlimited);
    const auto o = static_cast<Size>(operation);
    last.priority.resize(std::max(last.priority.size(), o + 1), Priority::kNone);
    last.priority[o] = Priority::kNone;
    set_bounds(operation);
    live_satisfaction_.resize(std::max(live_satisfaction_.size(), o + 1), 0);
    fit_asks(std::max(asks_.size(), o + 1));
    exposure_.resize(std::max(exposure_.size(), o + 1), Exposure{});
    limited_from_.resize(std::max(limited_from_.size(), e + 1), kNoId);
    over_.resize(limited_from_.size(), 0);
  }
  if (there)
    exposure_[operation] = exposure_of(operation);
  else
    drop_operation(operation);
  limit_operation(operation);
  for (Id l = limited_before_; l != kNoId; l = limited_above(l)) check_over(l);
  if (there) usage_changed(operation, true);
}

// A clock that is ahead of ours says now: what is remembered is of no later instant than the plan.
Time Workspace::stated_since(Id node) const {
  return std::min(state.nodes().get(&NodeColumns::overcommitted_since, node, kNoTime), state.now());
}

// What is remembered of a node is remembered by its name, as long as no plan knows that it has
// gone.
void Workspace::node_goes(Id node) {
  const Time tried = memory.last_preemptive[node], since = memory.overcommitted_since[node];
  if (tried == kNoTime && since == kNoTime) return;
  gone_nodes_.insert_or_assign(std::string(state.nodes().keys().name(node)),
                               std::pair(tried, since));
}

// What its row says of a clock counts from the next trigger on.
void Workspace::node_came(Id node, bool fresh) {
  if (fresh) {
    const auto known = gone_nodes_.find(state.nodes().keys().name(node));
    const auto [tried, since] =
        known == gone_nodes_.end() ? std::pair(kNoTime, kNoTime) : known->second;
    memory.last_preemptive.set(node, tried);
    memory.overcommitted_since.set(node, since);
  }
  if (stated_since(node) != kNoTime) newly_stated_.push_back(node);
}

void Workspace::rows_came(Table table, std::span<const Id> of, const RowSettings& cells) {
  rows.put(state, table, of, cells);
  inputs_.set_stale();
  if (table == Table::kAllocations)
    for (const ClusterState::TakenRoom& t : cells.taken) state.set_taken(t.allocation, t.amounts);
  if (table != Table::kOperations) return;
  for (const Id o : of) {
    inputs_.touch_row(o);
    if (updated_) exposure_[o] = exposure_of(o);
  }
}

}  // namespace evenhand::ytsaurus
