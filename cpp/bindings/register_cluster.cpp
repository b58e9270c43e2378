// The mutable form of a snapshot: deltas that can be undone, and its columns.
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "deltas.h"
#include "pybind.h"
#include "register.h"

namespace evenhand::bindings {
namespace {

class Cluster {
 public:
  explicit Cluster(const Snapshot& snapshot) : state_(snapshot) {}

  const ClusterState& state() const { return state_; }
  Id on(const Delta& delta) { return apply(state_, delta); }
  void advance(Time now) { state_.advance(now); }

  std::size_t mark() { return state_.mark().entries; }
  void undo(std::size_t entries) { state_.undo({entries}); }
  void forget() { state_.forget(); }

  // State of every slot: a code of the table, or 255: it has ended.
  py::array_t<std::uint8_t> phases() const {
    std::vector<std::uint8_t> out;
    for (Id slot = 0; slot < static_cast<Id>(state_.slots()); ++slot) {
      const AllocationState state = state_.running(slot)   ? AllocationState::kRunning
                                    : state_.holds(slot)   ? AllocationState::kSuspended
                                    : state_.leaving(slot) ? AllocationState::kPreempting
                                                           : AllocationState::kPreempted;
      const bool ended = state_.gone(slot) && !state_.away(slot);
      out.push_back(ended ? std::uint8_t{255} : static_cast<std::uint8_t>(state));
    }
    return to_array(std::move(out));
  }
  py::array_t<Amount> amounts() const {
    std::vector<Amount> out;
    for (Id slot = 0; slot < static_cast<Id>(state_.slots()); ++slot)
      out.insert(out.end(), state_.amounts(slot), state_.amounts(slot) + state_.width());
    return matrix(std::move(out));
  }
  py::array_t<Time> last_start() const {
    return each_slot([&](Id slot) { return state_.last_start(slot); });
  }
  py::array_t<Time> last_progress() const {
    return each_slot([&](Id slot) { return state_.last_progress(slot); });
  }
  py::array_t<Index> pending() const {
    std::vector<Index> out;
    for (Id q = 0; q < static_cast<Id>(tables().requests.size()); ++q)
      out.push_back(state_.pending(q));
    return to_array(std::move(out));
  }
  py::array_t<Amount> capacity() const {
    std::vector<Amount> out;
    for (Id n = 0; n < static_cast<Id>(tables().nodes.size()); ++n)
      out.insert(out.end(), state_.node_capacity(n), state_.node_capacity(n) + state_.width());
    return matrix(std::move(out));
  }
  py::array_t<std::uint8_t> schedulable() const {
    std::vector<std::uint8_t> out;
    for (Id n = 0; n < static_cast<Id>(tables().nodes.size()); ++n)
      out.push_back(state_.schedulable(n));
    return to_array(std::move(out));
  }

  // What is held by a row of "operations", "pools" or "nodes", R.
  py::array_t<Amount> usage(const std::string& table, Id row) const {
    const Amount* used = nullptr;
    if (table == "operations") {
      check_row(row, tables().operations.size());
      used = state_.operation_usage(row);
    } else if (table == "pools") {
      check_row(row, tables().pools.size());
      used = state_.pool_usage(row);
    } else if (table == "nodes") {
      check_row(row, tables().nodes.size());
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
  py::array_t<Amount> capacity_of(Id node) const {
    check_row(node, tables().nodes.size());
    return one(state_.node_capacity(node));
  }
  Index pending_of(Id request) const {
    check_row(request, tables().requests.size());
    return state_.pending(request);
  }
  std::pair<Time, Time> times_of(Id slot) const {
    check_row(slot, state_.slots());
    return {state_.last_start(slot), state_.last_progress(slot)};
  }
  bool holds(Id slot) const {
    check_row(slot, state_.slots());
    return state_.holds(slot);
  }
  bool leaving(Id slot) const {
    check_row(slot, state_.slots());
    return state_.leaving(slot);
  }
  bool away(Id slot) const {
    check_row(slot, state_.slots());
    return state_.away(slot);
  }
  Id node_of(Id slot) const {
    check_row(slot, state_.slots());
    return state_.node_of(slot);
  }
  Time now() const { return state_.now(); }
  Index slots() const { return state_.slots(); }
  std::size_t memory_bytes() const { return state_.memory_bytes(); }

 private:
  const Tables& tables() const { return state_.tables(); }
  py::array_t<Amount> one(const Amount* row) const {
    return to_array(std::vector<Amount>(row, row + state_.width()));
  }
  py::array_t<Amount> matrix(std::vector<Amount> values) const {
    const auto width = static_cast<py::ssize_t>(state_.width());
    const auto rows = static_cast<py::ssize_t>(values.size()) / width;
    return to_array(std::move(values), {rows, width});
  }
  template <class Value>
  py::array_t<Time> each_slot(Value&& value) const {
    std::vector<Time> out;
    for (Id slot = 0; slot < static_cast<Id>(state_.slots()); ++slot) out.push_back(value(slot));
    return to_array(std::move(out));
  }

  ClusterState state_;
};

}  // namespace

void register_cluster(py::module_& m) {
  py::class_<Cluster> c(m, "ClusterState",
                        "A snapshot's rows, changed by deltas that can be undone.");
  define_deltas<Cluster>(c);
  c.def(py::init<const Snapshot&>(), py::arg("snapshot"))
      .def("copy", [](const Cluster& other) { return other; })
      .def("advance", &Cluster::advance, py::arg("now"))
      .def("mark", &Cluster::mark, "Deltas from here on can be undone.")
      .def("undo", &Cluster::undo, py::arg("mark"))
      .def("forget", &Cluster::forget, "What was is forgotten.")
      .def("phases", &Cluster::phases, "State of every slot, 255: ended.")
      .def("amounts", &Cluster::amounts, "Quanta of every slot (S, R).")
      .def("last_start", &Cluster::last_start, "Microseconds, of every slot.")
      .def("last_progress", &Cluster::last_progress, "Microseconds, of every slot.")
      .def("pending", &Cluster::pending, "Count of every request.")
      .def("capacity", &Cluster::capacity, "Quanta of every node (N, R).")
      .def("schedulable", &Cluster::schedulable, "Flag of every node.")
      .def("usage", &Cluster::usage, py::arg("table"), py::arg("row"), "Quanta held (R).")
      .def("amounts_of", &Cluster::amounts_of, py::arg("slot"), "Quanta (R).")
      .def("capacity_of", &Cluster::capacity_of, py::arg("node"), "Quanta (R).")
      .def("pending_of", &Cluster::pending_of, py::arg("request"))
      .def("times_of", &Cluster::times_of, py::arg("slot"), "Last start and last progress.")
      .def("leaving", &Cluster::leaving, py::arg("slot"))
      .def("away", &Cluster::away, py::arg("slot"), "Suspended; it keeps what `suspend` said.")
      .def("node_of", &Cluster::node_of, py::arg("slot"), "Its node; -1: none.")
      .def("holds", &Cluster::holds, py::arg("slot"))
      .def_property_readonly("now", &Cluster::now, "Microseconds.")
      .def_property_readonly("slots", &Cluster::slots)
      .def_property_readonly("nbytes", &Cluster::memory_bytes);
}

}  // namespace evenhand::bindings
