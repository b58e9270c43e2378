// Rows of a mutable cluster that are put, changed and removed.
//
// Every way to change the cells of a row ends in `point`: the row gets another version,
// and the journal keeps the one before. What is grouped by the row's cells (requests and
// allocations by operation, usage by pool) leaves its group before and enters one after.
#include <algorithm>
#include <utility>

#include "evenhand/model/cluster_state.h"
#include "evenhand/model/visit_columns.h"

namespace evenhand {
namespace {

// A name that is no row any more: it is not for any operation.
constexpr Id kNoRow = -2;

}  // namespace

void ClusterState::group(Table table, Id row, bool present) {
  if (table == Table::kOperations) {
    if (present) pool_[row] = operations_.get(&OperationColumns::pool, row);
    add_to_pools(row, operation_usage(row), present ? 1 : -1);
  } else if (table == Table::kRequests) {
    if (present) asking_[row] = requests_.get(&RequestColumns::operation, row);
    if (present)
      operation_requests_.add(asking_[row], row);
    else
      operation_requests_.remove(asking_[row], row);
    refer(requests_.get(&RequestColumns::required_node, row, kNoId), present ? 1 : -1);
  } else if (table == Table::kAllocations) {
    refer(allocations_.get(&AllocationColumns::required_node, row, kNoId), present ? 1 : -1);
  } else if (table == Table::kReservations) {
    refer(reservations_.get(&ReservationColumns::node, row, kNoId), present ? 1 : -1);
    count(reserved_, reservations_.get_row(&ReservationColumns::resources, row), present ? 1 : -1);
  }
  if (table == Table::kReservations && reservations_listed_) list_reservation(row, present);
}

void ClusterState::point(Table table, Id row, Id version) {
  with(table, [&]<class Rows>(Rows& rows) {
    const Id before = rows.version(row);
    if (before >= Rows::kOfSnapshot) group(table, row, false);
    rows.point(row, version);
    if (version >= Rows::kOfSnapshot) group(table, row, true);
    if (recording_)
      record({Change::Kind::kVersion, row, static_cast<std::int64_t>(table), before});
    else
      rows.free_version(before);
  });
}

template <class Columns>
Id ClusterState::new_row(Table table, LiveTable<Columns>& rows, const Columns& from, Id row) {
  bool again = false;
  const Id made = rows.new_row(again);
  double order = kNoOrder;
  if constexpr (requires { from.order; }) order = at_or(from.order, row, kNoOrder);
  rows.set_name(made, from.names.text[row], at_or(from.names.is_integer, row, std::uint8_t{0}) != 0,
                order);
  if (!again && table == Table::kOperations) {
    usage_.resize(usage_.size() + width_, 0);
    wanted_besides_.resize(wanted_besides_.size() + width_, 0);
    pool_.push_back(kNoId);
    operation_allocations_.add_group();
    operation_requests_.add_group();
  } else if (!again && table == Table::kNodes) {
    for (Column<Amount>* sums : {&node_used_, &node_left_, &capacity_})
      sums->resize(sums->size() + width_, 0);
    schedulable_.push_back(1);
    leaving_on_.push_back(0);
    if (!referring_.empty()) referring_.push_back(0);
    on_node_.add_group();
  } else if (!again && table == Table::kRequests) {
    pending_.push_back(0);
    asking_.push_back(kNoId);
  }
  record({Change::Kind::kRow, made, static_cast<std::int64_t>(table), again});
  return made;
}

void ClusterState::take_back_row(Table table, Id row, bool again) {
  with(table, [&](auto& rows) { rows.take_back_row(row, again); });
  if (again) return;
  if (table == Table::kOperations) {
    usage_.resize(usage_.size() - width_);
    wanted_besides_.resize(wanted_besides_.size() - width_);
    pool_.pop_back();
    operation_allocations_.pop_group();
    operation_requests_.pop_group();
  } else if (table == Table::kNodes) {
    for (Column<Amount>* sums : {&node_used_, &node_left_, &capacity_})
      sums->resize(sums->size() - width_);
    schedulable_.pop_back();
    leaving_on_.pop_back();
    if (!referring_.empty()) referring_.pop_back();
    on_node_.pop_group();
  } else if (table == Table::kRequests) {
    pending_.pop_back();
    asking_.pop_back();
  }
}

void ClusterState::remove(Table table, Id row) {
  gone_.emplace_back(table, row);
  with(table, [&]<class Rows>(Rows& rows) {
    const std::string name(rows.keys().name(row));
    point(table, row, Rows::kRemoved);
    follow_names(table, row, name);
  });
}

void ClusterState::reclaim() {
  if (recording_) return;
  for (const auto& gone : gone_) with(gone.first, [&](auto& rows) { rows.free_row(gone.second); });
  gone_.clear();
}

void ClusterState::set_stated(Id operation, std::span<const Amount> usage,
                              std::span<const Amount> besides) {
  Amount *used = row(usage_, operation), *more = row(wanted_besides_, operation);
  record({Change::Kind::kStated, operation}, {used, more});
  for (const Amount* before : {used, more}) count(asked_, before, -1);
  add_to_pools(operation, used, -1);
  std::ranges::copy(usage, used);
  std::ranges::copy(besides, more);
  add_to_pools(operation, used, 1);
  for (const Amount* after : {used, more}) count(asked_, after, 1);
}

Id ClusterState::put_operation(const OperationColumns& from, Id row, Id pool, Index note, Id old) {
  const Id made = old == kNoId ? new_row(Table::kOperations, operations_, from, row) : old;
  const Id version = operations_.write(from, row, note);
  operations_.set(&OperationColumns::pool, version, pool, kNoId);
  if (old != kNoId) {  // requests that said nothing of it follow
    const auto gang = operations_.get(&OperationColumns::gang, old);
    const std::uint8_t now = from.gang[row];
    if (gang != now) {
      const std::span<const Id> asking = requests_of(old);
      for (const Id q : Column<Id>(asking.begin(), asking.end()))
        if (requests_.get(&RequestColumns::gang, q) == gang) {
          const Id again = requests_.write_again(q);
          requests_.set(&RequestColumns::gang, again, now, std::uint8_t{0});
          point(Table::kRequests, q, again);
        }
    }
  }
  point(Table::kOperations, made, version);
  if (old == kNoId) follow_names(Table::kOperations, made, operations_.keys().name(made));
  return made;
}

void ClusterState::remove_operation(Id operation) {
  if (stated(operation)) {
    const Column<Amount> nothing(width_, 0);
    set_stated(operation, nothing, nothing);
  }
  remove(Table::kOperations, operation);
}

Id ClusterState::put_request(const RequestColumns& from, Id row, Id operation, Id required_node,
                             Index note, Id old) {
  if (old != kNoId) set_pending(old, 0);
  const Id asked = old == kNoId ? kNoId : asking_[old];
  const Id made = old == kNoId ? new_row(Table::kRequests, requests_, from, row) : old;
  const Id version = requests_.write(from, row, note);
  requests_.set(&RequestColumns::operation, version, operation, kNoId);
  requests_.set(&RequestColumns::required_node, version, required_node, kNoId);
  point(Table::kRequests, made, version);
  set_pending(made, from.count[row]);
  if (old == kNoId || asking_[made] != asked)
    follow_names(Table::kRequests, made, requests_.keys().name(made));
  return made;
}

void ClusterState::remove_request(Id request) {
  set_pending(request, 0);
  release_for(0, request);
  remove(Table::kRequests, request);
}

Id ClusterState::put_node(const NodeColumns& from, Id row, Index note, Id old) {
  const Id made = old == kNoId ? new_row(Table::kNodes, nodes_, from, row) : old;
  point(Table::kNodes, made, nodes_.write(from, row, note));
  set_capacity(made, {from.capacity.row(row, width_), width_});
  set_schedulable(made, from.schedulable[row] != 0);
  return made;
}

void ClusterState::remove_node(Id node) {
  set_capacity(node, Column<Amount>(width_, 0));
  remove(Table::kNodes, node);
}

Id ClusterState::start_row(const AllocationColumns& from, Id row, Id operation, Id node,
                           Id required_node, Time time, Time last_start, Index note,
                           AllocationState state) {
  const Id slot = new_slot(operation, node, from.resources.row(row, width_), last_start,
                           state == AllocationState::kSuspended ? Phase::kStopped : Phase::kRuns);
  allocations_.set_name(slot, from.names.text[row],
                        at_or(from.names.is_integer, row, std::uint8_t{0}) != 0,
                        at_or(from.order, row, kNoOrder));
  const Id version = allocations_.write(from, row, note);
  allocations_.set(&AllocationColumns::required_node, version, required_node, kNoId);
  allocations_.set(&AllocationColumns::start_time, version, time, kNoTime);
  point(Table::kAllocations, slot, version);
  if (const Time saved = at_or(from.last_progress_time, row, kNoTime); saved != kNoTime)
    touch(slot, last_start, saved);
  if (!from.held.empty()) {
    own_held();
    std::copy_n(from.held.row(row, width_), width_, this->row(held_, slot));
  }
  if (state == AllocationState::kPreempting) {
    preempt(slot, beneficiary_of(slot));
  } else if (state == AllocationState::kPreempted) {
    own_held();
    const Amount* held = this->row(held_, slot);
    suspend(slot, Column<Amount>(held, held + width_));
  }
  return slot;
}

// The cells of an allocation that came later go with it.
void ClusterState::remove_cells(Id slot) {
  if (reservations_.rows() > reservations_.snapshot_rows()) release_for(1, slot);
  gone_.emplace_back(Table::kAllocations, slot);
  point(Table::kAllocations, slot, LiveTable<AllocationColumns>::kRemoved);
}

Id ClusterState::reserve(const ReservationColumns& from, Id row, Id request, Id allocation, Id node,
                         Index note) {
  const Id made = new_row(Table::kReservations, reservations_, from, row);
  const Id version = reservations_.write(from, row, note);
  reservations_.set(&ReservationColumns::request, version, request, kNoId);
  reservations_.set(&ReservationColumns::allocation, version, allocation, kNoId);
  reservations_.set(&ReservationColumns::node, version, node, kNoId);
  point(Table::kReservations, made, version);
  return made;
}

void ClusterState::release(Id reservation) { remove(Table::kReservations, reservation); }

void ClusterState::list_reservation(Id reservation, bool present) {
  const std::array<Id, 2> owners{
      reservations_.get(&ReservationColumns::request, reservation, kNoId),
      reservations_.get(&ReservationColumns::allocation, reservation, kNoId)};
  for (std::size_t of = 0; of < owners.size(); ++of) {
    if (owners[of] == kNoId) continue;
    Column<Id>& its = reserved_for_[of][owners[of]];
    if (present)
      its.push_back(reservation);
    else
      std::erase(its, reservation);
    if (its.empty()) reserved_for_[of].erase(owners[of]);
  }
}

void ClusterState::list_reservations() {
  if (std::exchange(reservations_listed_, true)) return;
  for (Id v = 0; v < reservations_.rows(); ++v)
    if (reservations_.present(v)) list_reservation(v, true);
}

Column<Id> ClusterState::reserved_for(Id request) {
  list_reservations();
  const auto found = reserved_for_[0].find(request);
  Column<Id> its = found == reserved_for_[0].end() ? Column<Id>() : found->second;
  std::ranges::sort(its, {}, [this](Id row) { return reservations_.keys().rank(row); });
  return its;
}

// Those for a request, or for an allocation.
void ClusterState::release_for(std::size_t of, Id row) {
  list_reservations();
  const auto found = reserved_for_[of].find(row);
  if (found == reserved_for_[of].end()) return;
  const Column<Id> its = found->second;
  for (const Id reservation : its) release(reservation);
}

template <class Set>
void ClusterState::change(Id slot, Set&& set) {
  const Id version = allocations_.write_again(slot);
  set(version);
  if (allocations_.version(slot) == LiveTable<AllocationColumns>::kBare)
    allocations_.set_name(slot, {}, false, kNoOrder);
  point(Table::kAllocations, slot, version);
}

void ClusterState::set_departure(Id slot, const Departure& departure) {
  change(slot, [&](Id version) {
    using A = AllocationColumns;
    allocations_.set(&A::start_time, version, departure.start_time, Time{0});
    allocations_.set(&A::deadline, version, departure.deadline, kNoTime);
    allocations_.set_text(&A::beneficiary_operation, version, departure.operation);
    allocations_.set_text(&A::beneficiary_request, version, departure.request);
  });
  if (Leaving* l = leaving_of(slot)) set_beneficiary(*l, beneficiary_of(slot));
}

void ClusterState::set_priority(Id slot, double priority, bool given) {
  change(slot, [&](Id version) {
    allocations_.set(&AllocationColumns::priority, version, priority, 0.0);
    allocations_.set(&AllocationColumns::priority_given, version, std::uint8_t{given},
                     std::uint8_t{0});
  });
}

void ClusterState::set_preemptible(Id slot, bool preemptible) {
  change(slot, [&](Id version) {
    allocations_.set(&AllocationColumns::preemptible, version, std::uint8_t{preemptible},
                     std::uint8_t{1});
  });
}

void ClusterState::set_note(Id slot, Index note) {
  change(slot, [&](Id version) { allocations_.set_note(version, note); });
}

void ClusterState::set_planned_end(Id slot, Time planned_end) {
  change(slot, [&](Id version) {
    allocations_.set(&AllocationColumns::planned_end, version, planned_end, kNoTime);
  });
}

void ClusterState::set_started(Id slot, Id request, Time planned_end, Time start) {
  change(slot, [&](Id version) {
    using A = AllocationColumns;
    using R = RequestColumns;
    allocations_.set(&A::start_time, version, start == kNoTime ? last_start_[slot] : start,
                     Time{0});
    allocations_.set(&A::planned_end, version, planned_end, kNoTime);
    allocations_.set(&A::preemptible, version,
                     requests_.get(&R::preemptible, request, std::uint8_t{1}), std::uint8_t{1});
    allocations_.set(&A::priority, version, requests_.get(&R::priority, request, 0.0), 0.0);
    allocations_.set(&A::priority_given, version,
                     requests_.get(&R::priority_given, request, std::uint8_t{0}), std::uint8_t{0});
    allocations_.set(&A::required_node, version, requests_.get(&R::required_node, request, kNoId),
                     kNoId);
  });
}

void ClusterState::set_name(Id slot, std::string_view name) {
  const Id version = allocations_.write_again(slot);
  point(Table::kAllocations, slot, LiveTable<AllocationColumns>::kBare);
  allocations_.set_name(slot, name, false, kNoOrder);
  point(Table::kAllocations, slot, version);
}

void ClusterState::set_deadline(Id slot, Time deadline) {
  change(slot, [&](Id version) {
    allocations_.set(&AllocationColumns::deadline, version, deadline, kNoTime);
  });
}

// For which rows an allocation leaves, by the names in its row.
Beneficiary ClusterState::beneficiary_of(Id slot) const {
  const auto row_of = [](const auto& rows, std::string_view name) {
    if (name.empty()) return kNoId;
    const Id found = rows.find(name);
    return found == kNoId ? kNoRow : found;
  };
  Beneficiary found{
      row_of(operations_, allocations_.text(&AllocationColumns::beneficiary_operation, slot)),
      row_of(requests_, allocations_.text(&AllocationColumns::beneficiary_request, slot))};
  if (found.operation == kNoId && found.request >= 0) found.operation = asking_[found.request];
  return found;
}

// A row has come or gone: what leaves for one of its name leaves for it, or for none.
void ClusterState::follow_names(Table table, Id row, std::string_view name) {
  for (Leaving& l : leaving_) {
    Beneficiary found = l.beneficiary;
    switch (table) {
      case Table::kOperations:
        if (found.operation == row ||
            allocations_.text(&AllocationColumns::beneficiary_operation, l.slot) == name)
          found.operation = operations_.present(row) ? row : kNoRow;
        break;
      case Table::kRequests:
        if (found.request == row ||
            allocations_.text(&AllocationColumns::beneficiary_request, l.slot) == name) {
          found.request = requests_.present(row) ? row : kNoRow;
          if (allocations_.text(&AllocationColumns::beneficiary_request, l.slot) == name &&
              allocations_.text(&AllocationColumns::beneficiary_operation, l.slot).empty())
            found.operation = found.request >= 0 ? asking_[row] : kNoId;
        }
        break;
      default:
        return;
    }
    set_beneficiary(l, found);
  }
}

void ClusterState::set_beneficiary(Leaving& leaving, Beneficiary beneficiary) {
  if (leaving.beneficiary == beneficiary) return;
  record({Change::Kind::kBeneficiary, leaving.slot}, {}, &leaving);
  leaving.beneficiary = beneficiary;
}

const Column<Amount>& ClusterState::reserved() const {
  if (!reserved_.empty()) return reserved_;
  reserved_.assign(width_, 0);
  for (Id v = 0; v < reservations_.rows(); ++v)
    if (reservations_.present(v))
      count(reserved_, reservations_.get_row(&ReservationColumns::resources, v), 1);
  return reserved_;
}

Index ClusterState::referring(Id node) const {
  if (referring_.empty()) {
    referring_.assign(at(nodes_.rows()), 0);
    const auto refer = [&](Id its) {
      if (its != kNoId) ++referring_[its];
    };
    for (Id slot = 0; slot < slots(); ++slot) {
      if (gone(slot) && !away(slot)) continue;
      refer(node_[slot]);
      refer(allocations_.get(&AllocationColumns::required_node, slot, kNoId));
    }
    for (Id q = 0; q < requests_.rows(); ++q)
      if (requests_.present(q)) refer(requests_.get(&RequestColumns::required_node, q, kNoId));
    for (Id v = 0; v < reservations_.rows(); ++v)
      if (reservations_.present(v)) refer(reservations_.get(&ReservationColumns::node, v, kNoId));
  }
  return referring_[node];
}

}  // namespace evenhand
