// The mutable form of a snapshot: deltas that can be undone, and its columns.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "deltas.h"
#include "evenhand/policy/live_cluster.h"
#include "events.h"
#include "pybind.h"
#include "register.h"

namespace evenhand::bindings {
namespace {

using Kind = Delta::Kind;

class Cluster : public LiveCluster {
 public:
  explicit Cluster(const Snapshot& snapshot)
      : LiveCluster(ClusterState(snapshot)), state_(*shared()) {}
  Cluster(const Cluster& other) : LiveCluster(other), state_(*shared()) {}

  std::unique_ptr<Events<Cluster>> events;  // kept between calls

  Id on(const Delta& delta) {
    const Id slot = LiveCluster::on(delta);
    if (delta.kind == Delta::Kind::kResume)  // no job waits for its room any more
      set_departure(delta.row, {delta.time, kNoTime, {}, {}});
    return slot;
  }
  // Rows: cells and name are those of row `row` of `from`, references are rows of this state.
  Id put(const OperationColumns& from, Id row, Id pool, Index note, Id old, Id before = kNoId) {
    if (before != kNoId) remove_operation(before);
    return change(
        {.kind = Kind::kPutOperation, .row = old, .before = before},
        [&](ClusterState& state) { return state.put_operation(from, row, pool, note, old); });
  }
  Id put(const RequestColumns& from, Id row, Id operation, Id required_node, Index note, Id old,
         Id before = kNoId) {
    if (before != kNoId) remove(Kind::kRemoveRequest, before, &ClusterState::remove_request);
    return change({.kind = Kind::kPutRequest, .row = old, .before = before},
                  [&](ClusterState& state) {
                    return state.put_request(from, row, operation, required_node, note, old);
                  });
  }
  Id put(const NodeColumns& from, Id row, Index note, Id old, Id before = kNoId) {
    if (before != kNoId) remove_node(before);
    return change({.kind = Kind::kPutNode, .row = old, .before = before},
                  [&](ClusterState& state) { return state.put_node(from, row, note, old); });
  }
  Id put(const AllocationColumns& from, Id row, Id operation, Id node, Id required_node, Time time,
         Time last_start, Index note, AllocationState its) {
    return change({.kind = Kind::kStartRow}, [&](ClusterState& state) {
      return state.start_row(from, row, operation, node, required_node, time, last_start, note,
                             its);
    });
  }
  Id reserve(const ReservationColumns& from, Id row, Id request, Id allocation, Id node,
             Index note) {
    return change({.kind = Kind::kReserve}, [&](ClusterState& state) {
      return state.reserve(from, row, request, allocation, node, note);
    });
  }
  void release(Id reservation) { remove(Kind::kRelease, reservation, &ClusterState::release); }
  void remove_node(Id node) { remove(Kind::kRemoveNode, node, &ClusterState::remove_node); }
  void set_stated(Id operation, std::span<const Amount> usage, std::span<const Amount> besides) {
    change({.kind = Kind::kStated, .row = operation}, [&](ClusterState& state) {
      state.set_stated(operation, usage, besides);
      return operation;
    });
  }
  void remove_operation(Id operation) {
    check_present(state_.operations(), operation);
    if (has_rows(operation)) throw py::value_error("the operation has allocations or requests");
    remove(Kind::kRemoveOperation, operation, &ClusterState::remove_operation);
  }
  void remove_request(Id request) {
    check_present(state_.requests(), request);
    remove(Kind::kRemoveRequest, request, &ClusterState::remove_request);
    gone_requests_.push_back(request);
  }
  // How many requests have gone for good since numbers were last freed, and the names of those
  // from a place on.
  std::size_t gone_count() const noexcept { return gone_requests_.size(); }
  py::list gone_requests(std::size_t from) const {
    py::list out;
    for (std::size_t i = from; i < gone_requests_.size(); ++i)
      out.append(py::str(std::string(state_.requests().keys().name(gone_requests_[i]))));
    return out;
  }
  bool has_rows(Id operation) const {
    check_present(state_.operations(), operation);
    return !state_.allocations_of(operation).empty() || !state_.requests_of(operation).empty();
  }
  void leave(Id slot, Time deadline, const std::string& operation, const std::string& request,
             const std::vector<Amount>& held) {
    check_holding(state_, slot);
    if (!held.empty() && held.size() != state_.width())
      throw py::value_error("one amount a resource");
    on({.kind = Kind::kPreempt, .row = slot, .amounts = held});
    set_departure(slot, {start_time(slot), deadline, operation, request});
  }
  void set_note(Id slot, Index note) {
    check_present(state_, slot);
    change({.kind = Kind::kCells, .row = slot}, [&](ClusterState& state) {
      state.set_note(slot, note);
      return slot;
    });
  }
  Index note(Id slot) const {
    check_present(state_, slot);
    return state_.allocations().note(slot);
  }
  Index note_of(const std::string& table, Id row) const {
    if (table == "allocations") return note(row);
    const auto of = [row](const auto& rows) {
      check_present(rows, row);
      return rows.note(row);
    };
    if (table == "operations") return of(state_.operations());
    if (table == "requests") return of(state_.requests());
    if (table == "nodes") return of(state_.nodes());
    throw py::key_error("no notes of " + table);
  }
  // What rules of systems read of an operation that came: texts, and its own priority.
  py::dict said_of_operation(Id row) const {
    using C = OperationColumns;
    const LiveTable<C>& rows = state_.operations();
    check_present(rows, row);
    py::dict out;
    const auto text = [&](const char* name, TextColumn C::* column) {
      const std::string_view said = rows.text(column, row);
      if (rows.code(column, row) != kNoId) out[name] = py::str(std::string(said));
    };
    text("user", &C::user);
    text("project", &C::project);
    text("partition", &C::partition);
    text("qos", &C::qos);
    if (rows.get(&C::priority_given, row) != 0) out["priority"] = rows.get(&C::priority, row);
    return out;
  }
  py::list tags_of(Id node) const {
    const LiveTable<NodeColumns>& rows = state_.nodes();
    check_present(rows, node);
    py::list tags;
    for (const Id tag : rows.list(&NodeColumns::tags, node))
      tags.append(py::str(std::string(rows.word(&NodeColumns::tags, tag))));
    return tags;
  }
  void advance(Time now) {
    change({.kind = Kind::kAdvance}, [&](ClusterState& state) {
      state.advance(now);
      return kNoId;
    });
  }

  std::size_t mark() {
    settle();
    return state_.mark().entries;
  }
  void undo(std::size_t entries) {
    drop();
    state_.undo({entries});
    gone_requests_.clear();
  }
  void forget() {
    settle();
    state_.forget();
  }
  void reclaim() {
    settle();
    state_.forget();
    state_.reclaim();
    gone_requests_.clear();
  }

  // The rows as a snapshot; by table: the row of this state for each of its rows, and the notes.
  py::tuple frozen(bool total_stated) {
    settle();
    ClusterState::Sources rows;
    std::optional<Snapshot> made;
    {
      const py::gil_scoped_release release;
      made.emplace(state_.frozen(total_stated, &rows));
    }
    py::dict sources;
    const auto add = [&](const char* table, const auto& live, std::vector<Id>& of) {
      std::vector<Index> notes;
      for (const Id row : of) notes.push_back(live.note(row));
      sources[table] = py::make_tuple(to_array(std::move(of)), to_array(std::move(notes)));
    };
    add("operations", state_.operations(), rows.operations);
    add("nodes", state_.nodes(), rows.nodes);
    add("allocations", state_.allocations(), rows.allocations);
    add("requests", state_.requests(), rows.requests);
    add("reservations", state_.reservations(), rows.reservations);
    return py::make_tuple(*made, sources);
  }

  // The row of a name; -1: there is none.
  Id find(const std::string& table, const std::string& name) const {
    const Id row = keys(table).find(name);
    return row != kNoId && present(table, row) ? row : kNoId;
  }
  // Rows of nodes by name, each -1 where there is none.
  py::list nodes(const py::list& names) const {
    py::list out(names.size());
    std::string buffer;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const py::object given = names[i];
      py::object other;
      Cell name = cell_of(given.ptr());
      if (name.kind != Cell::Kind::kText && name.kind != Cell::Kind::kInteger) {
        other = py::str(given);
        name = cell_of(other.ptr());
      }
      const std::string_view text = name_of(name, buffer);
      const Id row = text.empty() ? kNoId : state_.nodes().find(text);
      PyList_SET_ITEM(out.ptr(), static_cast<Py_ssize_t>(i), py::int_(row).release().ptr());
    }
    return out;
  }
  // Those of some rows that are there, in canonical order.
  std::vector<Id> in_order(const std::string& table, std::vector<Id> rows) const {
    const LiveKeys& of = keys(table);
    for (const Id row : rows) check_row(row, of.rows());
    std::erase_if(rows, [&](Id row) { return !present(table, row); });
    std::ranges::sort(rows, {}, [&](Id row) { return of.rank(row); });
    return rows;
  }
  // Names of the rows that there are, in no order.
  py::list names(const std::string& table) const {
    py::list out;
    for (Id row = 0; row < keys(table).rows(); ++row)
      if (present(table, row)) out.append(name(table, row));
    return out;
  }
  py::object name(const std::string& table, Id row) const {
    const LiveKeys& of = keys(table);
    check_row(row, of.rows());
    py::object text = py::str(std::string(of.name(row)));
    return of.is_integer(row) ? py::object(py::int_(text)) : text;
  }
  // Whether any node has ever named the machine that it is a part of.
  bool has_logical_nodes() const { return state_.nodes().words(&NodeColumns::physical) > 0; }
  double order(const std::string& table, Id row) const {
    check_row(row, keys(table).rows());
    return keys(table).order(row);
  }
  bool stated(Id operation) const {
    check_present(state_.operations(), operation);
    return state_.stated(operation);
  }
  bool gang(Id operation) const {
    check_present(state_.operations(), operation);
    return state_.operations().get(&OperationColumns::gang, operation) != 0;
  }
  // The operation of a request.
  Id operation_of_request(Id request) const {
    check_present(state_.requests(), request);
    return state_.operation_of_request(request);
  }

  // Of each reservation for a request, in canonical order: its name and its node's.
  py::list reserved_for(Id request) {
    settle();
    check_present(state_.requests(), request);
    py::list out;
    for (const Id row : state_.reserved_for(request)) {
      const Id node = state_.reservations().get(&ReservationColumns::node, row, kNoId);
      out.append(py::make_tuple(name("reservations", row),
                                node == kNoId ? py::none() : name("nodes", node)));
    }
    return out;
  }

  // What is held by a row of "operations", "pools" or "nodes", R.
  py::array_t<Amount> usage(const std::string& table, Id row) const {
    const Amount* used = nullptr;
    if (table == "operations") {
      check_present(state_.operations(), row);
      used = state_.operation_usage(row);
    } else if (table == "pools") {
      check_row(row, tables().pools.size());
      used = state_.pool_usage(row);
    } else if (table == "nodes") {
      check_present(state_.nodes(), row);
      used = state_.node_used(row);
    } else {
      throw py::key_error("nothing is used by rows of " + table);
    }
    return one(used);
  }

  py::array_t<Amount> amounts_of(Id slot) const {
    check_row(slot, state_.slots());
    return one(state_.amounts(slot));
  }
  bool away(Id slot) const {
    check_row(slot, state_.slots());
    return state_.away(slot);
  }
  Id operation_of(Id slot) const {
    check_row(slot, state_.slots());
    return state_.operation_of(slot);
  }
  Time now() const { return state_.now(); }
  std::size_t memory_bytes() const { return state_.memory_bytes(); }

 private:
  const Tables& tables() const { return state_.tables(); }
  py::array_t<Amount> one(const Amount* row) const {
    return to_array(std::vector<Amount>(row, row + state_.width()));
  }
  const LiveKeys& keys(const std::string& table) const {
    if (table == "operations") return state_.operations().keys();
    if (table == "nodes") return state_.nodes().keys();
    if (table == "allocations") return state_.allocations().keys();
    if (table == "requests") return state_.requests().keys();
    if (table == "reservations") return state_.reservations().keys();
    throw py::key_error("no such table: " + table);
  }
  bool present(const std::string& table, Id row) const {
    if (table == "operations") return state_.operations().present(row);
    if (table == "nodes") return state_.nodes().present(row);
    if (table == "requests") return state_.requests().present(row);
    if (table == "reservations") return state_.reservations().present(row);
    return state_.allocations().present(row) && (!state_.gone(row) || state_.away(row));
  }
  Time start_time(Id slot) const {
    return state_.allocations().get(&AllocationColumns::start_time, slot);
  }
  void set_departure(Id slot, const Departure& departure) {
    change({.kind = Kind::kCells, .row = slot}, [&](ClusterState& state) {
      state.set_departure(slot, departure);
      return slot;
    });
  }
  void remove(Delta::Kind kind, Id row, void (ClusterState::*act)(Id)) {
    change({.kind = kind, .row = row}, [&](ClusterState& state) {
      (state.*act)(row);
      return row;
    });
  }

  ClusterState& state_;
  std::vector<Id> gone_requests_;
};

}  // namespace

void register_cluster(py::module_& m) {
  py::class_<EventColumns>(m, "EventColumns", "Events as columns, one cell an event and field.")
      .def(py::init<const py::dict&, const std::vector<std::string>&, py::ssize_t>(),
           py::arg("columns"), py::arg("resources"), py::arg("rows"));
  py::class_<LiveCluster>(m, "LiveCluster", "A state that planners can follow.");
  py::class_<Cluster, LiveCluster> c(m, "ClusterState",
                                     "A snapshot's rows, changed by deltas that can be undone.");
  define_deltas<Cluster>(c);
  define_events<Cluster>(c);
  c.def(py::init<const Snapshot&>(), py::arg("snapshot"))
      .def("copy", [](const Cluster& other) { return std::make_unique<Cluster>(other); })
      .def("advance", &Cluster::advance, py::arg("now"))
      .def("gone_count", &Cluster::gone_count,
           "How many requests have gone since numbers of rows were last freed.")
      .def("gone_requests", &Cluster::gone_requests, py::arg("first"),
           "Names of those from a place on, of integers as texts.")
      .def("set_note", &Cluster::set_note, py::arg("slot"), py::arg("note"))
      .def("note", &Cluster::note, py::arg("slot"), "-1: what the snapshot has beside the row.")
      .def("note_of", &Cluster::note_of, py::arg("table"), py::arg("row"),
           "As `note`, of a row of any table but reservations.")
      .def("said_of_operation", &Cluster::said_of_operation, py::arg("operation"),
           "Its user, project, partition, QOS and own priority, as far as there are any.")
      .def("tags_of", &Cluster::tags_of, py::arg("node"))
      .def("mark", &Cluster::mark, "Deltas from here on can be undone.")
      .def("undo", &Cluster::undo, py::arg("mark"))
      .def("forget", &Cluster::forget, "There is no way back any more.")
      .def("reclaim", &Cluster::reclaim,
           "Forget, and give numbers of rows that have gone to later ones.")
      .def("frozen", &Cluster::frozen, py::arg("total_stated"),
           "The snapshot, and by table (row here, note) of each of its rows.")
      .def("find", &Cluster::find, py::arg("table"), py::arg("name"), "Row of a name; -1: none.")
      .def("nodes", &Cluster::nodes, py::arg("names"), "Rows of nodes; -1: there is none.")
      .def("in_order", &Cluster::in_order, py::arg("table"), py::arg("rows"),
           "Those of some rows that are there, in canonical order.")
      .def("names", &Cluster::names, py::arg("table"), "Of the rows that there are, in no order.")
      .def("name", &Cluster::name, py::arg("table"), py::arg("row"))
      .def("has_rows", &Cluster::has_rows, py::arg("operation"),
           "Whether it has allocations or requests.")
      .def("stated", &Cluster::stated, py::arg("operation"),
           "Whether it states usage or demand that no row stands for.")
      .def("operation_of", &Cluster::operation_of, py::arg("slot"))
      .def("gang", &Cluster::gang, py::arg("operation"))
      .def("order", &Cluster::order, py::arg("table"), py::arg("row"), "NaN: none is given.")
      .def("operation_of_request", &Cluster::operation_of_request, py::arg("request"))
      .def("reserved_for", &Cluster::reserved_for, py::arg("request"),
           "Name and node, None: no node, of its reservations in canonical order.")
      .def("usage", &Cluster::usage, py::arg("table"), py::arg("row"), "Quanta held (R).")
      .def("amounts_of", &Cluster::amounts_of, py::arg("slot"), "Quanta (R).")
      .def("away", &Cluster::away, py::arg("slot"), "Suspended; it keeps what `suspend` said.")
      .def_property_readonly("now", &Cluster::now, "Microseconds.")
      .def_property_readonly("has_logical_nodes", &Cluster::has_logical_nodes,
                             "Whether any node has ever named the machine that it is a part of.")
      .def_property_readonly("nbytes", &Cluster::memory_bytes);
}

}  // namespace evenhand::bindings
