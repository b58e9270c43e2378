#include "event_steps.h"

#include <algorithm>
#include <cmath>

#include "evenhand/model/amounts.h"

namespace evenhand::bindings {
namespace {

bool same_order(double a, double b) { return a == b || (a != a && b != b); }

}  // namespace

bool EventReader::read(const EventCells& e, EventStep& s) {
  using K = EventStep::Kind;
  broken_ = {};
  switch (e.kind) {
    case EventKind::kTime:
      return time(e, s);
    case EventKind::kStart:
      return start(e, s);
    case EventKind::kEnd:
      s.kind = K::kEnd;
      return (s.row = alive(e[F::kAllocation])) != kNoId;
    case EventKind::kLeave:
      return leave(e, s);
    case EventKind::kSuspend:
      return suspend(e, s);
    case EventKind::kResume:
      return resume(e, s);
    case EventKind::kJob:
      return job(e, s);
    case EventKind::kResize:
      return resize(e, s);
    case EventKind::kTake:
      s.kind = K::kTake;
      if ((s.row = alive(e[F::kAllocation])) == kNoId) return false;
      if (!state_.leaving(s.row)) return breaks("allocation", "state");
      return e[F::kResources].kind == Cell::Kind::kObject &&
             rows.amounts(e[F::kResources], s.amounts.data());
    case EventKind::kCount:
      return count(e, s);
    case EventKind::kNode:
      return node(e, s);
    case EventKind::kPut:
      return put(e, s);
    case EventKind::kRemove:
      return remove(e, s);
    case EventKind::kNone:
      break;
  }
  return false;
}

template <class Columns>
Id EventReader::find(const LiveTable<Columns>& table, const Cell& name) {
  const std::string_view text = name_of(name, buffer_);
  return text.empty() ? kNoId : table.find(text);
}

// The slot of an allocation that has not ended.
Id EventReader::alive(const Cell& name) {
  const Id slot = find(state_.allocations(), name);
  if (slot != kNoId && (!state_.gone(slot) || state_.away(slot))) return slot;
  breaks("allocation", "exists");
  return kNoId;
}

// The name of what need not exist.
bool EventReader::label(const Cell& cell, std::string& text, std::string_view& found) {
  if (cell.none()) return true;
  found = name_of(cell, text);
  return !found.empty();
}

// Whether a sum stays within the largest amount; what does not grow always does.
bool EventReader::fits(const std::vector<Amount>& sums, const Amount* before, Index times,
                       const Amount* after, Index times_after) {
  for (std::size_t r = 0; r < state_.width(); ++r) {
    const Amount b = before == nullptr ? 0 : before[r] * times;
    const Amount a = after == nullptr ? 0 : times_checked(after[r], times_after);
    if (a > b && sums[r] - b + a > kMaxAmount) return breaks("", "overflow");
  }
  return true;
}

const Amount* EventReader::each_of(Id request) const {
  return state_.requests().get_row(&RequestColumns::resources, request);
}

bool EventReader::reserved_for(Column<Id> ReservationColumns::* column, Id row) const {
  const LiveTable<ReservationColumns>& all = state_.reservations();
  for (Id v = 0; v < all.rows(); ++v)
    if (all.present(v) && all.get(column, v, kNoId) == row) return true;
  return false;
}

template <class Columns>
Id EventReader::named(const LiveTable<Columns>& table, const Columns& row) {
  return table.find(row.names.text[0]);
}

// Whether a row has the name and `order` of the one before it, which keeps its place.
template <class Columns>
bool EventReader::in_place(const LiveTable<Columns>& table, const Columns& row, Id old) const {
  return same_order(table.keys().order(old), at_or(row.order, 0, std::nan(""))) &&
         table.keys().is_integer(old) == (at_or(row.names.is_integer, 0, std::uint8_t{0}) != 0);
}

bool EventReader::time(const EventCells& e, EventStep& s) {
  s.kind = EventStep::Kind::kAdvance;
  const Cell& now = e[F::kNow];
  double seconds = 0;
  if (now.kind == Cell::Kind::kReal)
    seconds = now.real;
  else if (now.kind == Cell::Kind::kInteger)
    seconds = static_cast<double>(now.integer);
  else
    return false;
  const double microseconds = std::nearbyint(seconds * 1e6);
  if (!(std::abs(microseconds) <= static_cast<double>(kMaxAmount))) return breaks("now", "range");
  s.time = static_cast<Time>(microseconds);
  if (s.time < state_.now()) return breaks("now", "clock");
  return true;
}

bool EventReader::start(const EventCells& e, EventStep& s) {
  s.kind = EventStep::Kind::kStart;
  if (!rows.read_allocation(e.row)) return false;
  const AllocationColumns& row = rows.allocations;
  const RowReferences& refers = rows.refers;
  const Id old = named(state_.allocations(), row);
  if (old != kNoId && (!state_.gone(old) || state_.away(old))) return breaks("name", "unique");
  for (const RowCell& cell : e.row)
    if (cell.field == "state" && cell.cell.none()) return breaks("state", "choice");
  if (row.state[0] != AllocationState::kRunning) return breaks("state", "choice");
  if (state_.stated(refers.operation)) return breaks("operation", "sum_agrees");
  const Amount* each = nullptr;
  if (!e[F::kRequest].none()) {
    s.request = find(state_.requests(), e[F::kRequest]);
    if (s.request == kNoId) return breaks("request", "exists");
    if (state_.pending(s.request) == 0) return breaks("request", "count");
    if (state_.operation_of_request(s.request) != refers.operation)
      return breaks("request", "operation");
    s.count = state_.pending(s.request) - 1;
    each = each_of(s.request);
  }
  s.time = refers.started ? row.start_time[0] : state_.now();
  s.second = refers.last_job_start == kNoTime ? s.time : refers.last_job_start;
  return fits(state_.asked(), each, 1, row.resources.data(), 1);
}

// What an allocation keeps: no more than it has.
bool EventReader::held(const EventCells& e, EventStep& s) {
  if (!rows.amounts(e[F::kHeld], s.amounts.data())) return false;
  const Amount* has = state_.amounts(s.row);
  for (std::size_t r = 0; r < state_.width(); ++r)
    if (s.amounts[r] > has[r]) return breaks("held", "held_within_resources", r);
  return true;
}

bool EventReader::leave(const EventCells& e, EventStep& s) {
  s.kind = EventStep::Kind::kLeave;
  s.row = alive(e[F::kAllocation]);
  if (s.row == kNoId) return false;
  if (!state_.holds(s.row)) return breaks("allocation", "state");
  if (!e[F::kDeadline].none() && !rows.time(e[F::kDeadline], s.time)) return false;
  s.held = !e[F::kHeld].none();
  if (s.held && !held(e, s)) return false;
  Cell operation = e[F::kBeneficiaryOperation], request = e[F::kBeneficiaryRequest];
  const Cell& beneficiary = e[F::kBeneficiary];
  if (!beneficiary.none() && !(operation.none() && request.none())) return false;
  if (beneficiary.kind == Cell::Kind::kObject) {
    if (!PyDict_CheckExact(beneficiary.object)) return false;
    PyObject *key = nullptr, *value = nullptr;
    Py_ssize_t at = 0;
    while (PyDict_Next(beneficiary.object, &at, &key, &value)) {
      const Cell name = cell_of(key);
      if (name.kind != Cell::Kind::kText) return false;
      if (name.text == "operation")
        operation = cell_of(value);
      else if (name.text == "request")
        request = cell_of(value);
      else
        return false;
    }
  } else {
    request = beneficiary.none() ? request : beneficiary;
  }
  return label(operation, operation_, s.operation) && label(request, asked_, s.asked);
}

bool EventReader::suspend(const EventCells& e, EventStep& s) {
  s.kind = EventStep::Kind::kSuspend;
  s.row = alive(e[F::kAllocation]);
  if (s.row == kNoId) return false;
  if (state_.away(s.row)) return breaks("allocation", "state");
  if (!e[F::kHeld].none()) return held(e, s);
  if (const Amount* kept = state_.kept(s.row)) std::copy_n(kept, state_.width(), s.amounts.begin());
  return true;
}

bool EventReader::resume(const EventCells& e, EventStep& s) {
  s.kind = EventStep::Kind::kResume;
  s.row = alive(e[F::kAllocation]);
  if (s.row == kNoId) return false;
  if (!state_.away(s.row)) return breaks("allocation", "state");
  s.node = state_.node_of(s.row);
  if (!e[F::kNode].none() && (s.node = find(state_.nodes(), e[F::kNode])) == kNoId) return false;
  s.time = state_.now();
  return e[F::kStartTime].none() || rows.time(e[F::kStartTime], s.time);
}

bool EventReader::job(const EventCells& e, EventStep& s) {
  s.kind = EventStep::Kind::kTouch;
  s.row = alive(e[F::kAllocation]);
  if (s.row == kNoId) return false;
  s.time = state_.last_start(s.row);
  s.second = state_.last_progress(s.row);
  const Cell &started = e[F::kLastJobStartTime], &saved = e[F::kLastProgressTime];
  return (started.none() || rows.time(started, s.time)) &&
         (saved.none() || rows.time(saved, s.second));
}

bool EventReader::resize(const EventCells& e, EventStep& s) {
  s.kind = EventStep::Kind::kResize;
  s.row = alive(e[F::kAllocation]);
  if (s.row == kNoId) return false;
  if (!state_.holds(s.row)) return breaks("allocation", "state");
  if (!rows.amounts(e[F::kResources], s.amounts.data())) return false;
  if (const Amount* kept = state_.kept(s.row))
    for (std::size_t r = 0; r < state_.width(); ++r)
      if (kept[r] > s.amounts[r]) return breaks("resources", "held_within_resources", r);
  return fits(state_.asked(), state_.amounts(s.row), 1, s.amounts.data(), 1);
}

bool EventReader::count(const EventCells& e, EventStep& s) {
  s.row = find(state_.requests(), e[F::kRequest]);
  if (s.row == kNoId) return breaks("request", "exists");
  if (!rows.whole(e[F::kCount], 0, s.count)) return false;
  s.kind = s.count == 0 ? EventStep::Kind::kRemoveRequest : EventStep::Kind::kPending;
  const Amount* each = each_of(s.row);
  return fits(state_.asked(), each, state_.pending(s.row), each, s.count);
}

bool EventReader::node(const EventCells& e, EventStep& s) {
  s.kind = EventStep::Kind::kNode;
  s.row = find(state_.nodes(), e[F::kNode]);
  if (s.row == kNoId) return breaks("node", "exists");
  if (const Cell& given = e[F::kSchedulable]; !given.none()) {
    if (given.kind != Cell::Kind::kFlag) return false;
    s.flagged = true;
    s.flag = given.flag;
  }
  s.capacity = !e[F::kCapacity].none();
  return !s.capacity ||
         (rows.amounts(e[F::kCapacity], s.amounts.data()) && rows.of_nodes(s.amounts.data()) &&
          fits(state_.offered(), state_.node_capacity(s.row), 1, s.amounts.data(), 1));
}

bool EventReader::put(const EventCells& e, EventStep& s) {
  const std::string_view table = e[F::kTable].text;
  if (table == "requests") return put_request(e, s);
  if (table == "operations") return put_operation(e, s);
  if (table == "allocations") return put_allocation(e, s);
  if (table == "nodes") return put_node(e, s);
  return table == "reservations" && put_reservation(e, s);
}

bool EventReader::put_allocation(const EventCells& e, EventStep& s) {
  s.kind = EventStep::Kind::kStart;
  if (!rows.read_allocation(e.row) || state_.stated(rows.refers.operation)) return false;
  const AllocationColumns& row = rows.allocations;
  const Id old = named(state_.allocations(), row);
  if (old != kNoId && (!state_.gone(old) || state_.away(old))) {
    if (reserved_for(&ReservationColumns::allocation, old)) return false;
    s.gone = old;
  }
  s.state = row.state[0];
  s.time = row.start_time[0];
  s.second = rows.refers.last_job_start == kNoTime ? s.time : rows.refers.last_job_start;
  return fits(state_.asked(), s.gone == kNoId ? nullptr : state_.amounts(s.gone), 1,
              row.resources.data(), 1);
}

bool EventReader::put_operation(const EventCells& e, EventStep& s) {
  s.kind = EventStep::Kind::kPutOperation;
  if (!rows.read_operation(e.row)) return false;
  const OperationColumns& row = rows.operations;
  const Id old = named(state_.operations(), row);
  const bool has_rows =
      old != kNoId && (!state_.allocations_of(old).empty() || !state_.requests_of(old).empty());
  s.row = old;
  s.stated = rows.refers.usage != 0 || rows.refers.demand != 0;
  if (old != kNoId && !in_place(state_.operations(), row, old)) {
    if (has_rows) return false;
    s.row = kNoId;
    s.gone = old;
  }
  if (!s.stated && (old == kNoId || !state_.stated(old))) return true;
  // What it used and wanted before is not counted out: a sum that is too large for both is rare.
  s.stated = true;
  return !has_rows && fits(state_.asked(), nullptr, 0, row.demand.data(), 1);
}

bool EventReader::put_request(const EventCells& e, EventStep& s) {
  s.kind = EventStep::Kind::kPutRequest;
  if (!rows.read_request(e.row)) return false;
  if (state_.stated(rows.refers.operation)) return breaks("operation", "sum_agrees");
  const RequestColumns& row = rows.requests;
  const Id old = s.row = named(state_.requests(), row);
  if (old != kNoId && !in_place(state_.requests(), row, old)) {
    if (reserved_for(&ReservationColumns::request, old)) return false;
    s.row = kNoId;
    s.gone = old;
  }
  return fits(state_.asked(), old == kNoId ? nullptr : each_of(old),
              old == kNoId ? 0 : state_.pending(old), row.resources.data(), row.count[0]);
}

bool EventReader::put_node(const EventCells& e, EventStep& s) {
  s.kind = EventStep::Kind::kPutNode;
  if (!rows.read_node(e.row)) return false;
  const NodeColumns& row = rows.nodes;
  const Id old = s.row = named(state_.nodes(), row);
  if (old != kNoId && !in_place(state_.nodes(), row, old)) {
    if (state_.referring(old) != 0) return false;
    s.row = kNoId;
    s.gone = old;
  }
  return fits(state_.offered(), old == kNoId ? nullptr : state_.node_capacity(old), 1,
              row.capacity.data(), 1);
}

bool EventReader::put_reservation(const EventCells& e, EventStep& s) {
  s.kind = EventStep::Kind::kPutReservation;
  if (!rows.read_reservation(e.row)) return false;
  const ReservationColumns& row = rows.reservations;
  s.gone = named(state_.reservations(), row);
  const Amount* before =
      s.gone == kNoId ? nullptr
                      : state_.reservations().get_row(&ReservationColumns::resources, s.gone);
  return fits(state_.reserved(), before, 1, row.resources.data(), 1);
}

bool EventReader::remove(const EventCells& e, EventStep& s) {
  using K = EventStep::Kind;
  const std::string_view table = e[F::kTable].text;
  const Cell& name = e[F::kName];
  if (table == "requests") {
    s.kind = K::kRemoveRequest;
    s.row = find(state_.requests(), name);
    return s.row != kNoId || breaks("request", "exists");
  }
  if (table == "allocations") {
    s.kind = K::kEnd;
    return (s.row = alive(name)) != kNoId;
  }
  if (table == "operations") {
    s.kind = K::kRemoveOperation;
    s.row = find(state_.operations(), name);
    return s.row != kNoId && state_.allocations_of(s.row).empty() &&
           state_.requests_of(s.row).empty();
  }
  if (table == "nodes") {
    s.kind = K::kRemoveNode;
    s.row = find(state_.nodes(), name);
    return s.row != kNoId && state_.referring(s.row) == 0;
  }
  if (table != "reservations") return false;
  s.kind = K::kRelease;
  s.row = find(state_.reservations(), name);
  if (s.row == kNoId) return false;
  // One for an allocation that has ended is there no more.
  const Id slot = state_.reservations().get(&ReservationColumns::allocation, s.row, kNoId);
  return slot == kNoId || !state_.gone(slot) || state_.away(slot);
}

}  // namespace evenhand::bindings
