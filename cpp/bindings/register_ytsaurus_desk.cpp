// A desk of YTsaurus' preemption that stays between updates.
#include <chrono>
#include <memory>
#include <optional>

#include "arrays.h"
#include "cluster_rows.h"
#include "decisions.h"
#include "evenhand/policy/ytsaurus/heartbeat.h"
#include "pybind.h"
#include "register.h"
#include "ytsaurus_columns.h"

namespace evenhand::bindings {
namespace {

using ytsaurus::PlanInputs;

// A desk that stays: heartbeats and deltas one after the other.
class LiveDesk {
 public:
  explicit LiveDesk(PlanInputs in)
      : inputs_(std::move(in)),
        desk_(std::make_unique<ytsaurus::Desk>(ClusterState(inputs_.snapshot, inputs_.rows.taken),
                                               inputs_.settings, inputs_.rows, inputs_.given,
                                               inputs_.memory)) {}

  // keep: share functions of pools in which nothing changed are used again.
  void update(Time now, bool keep) {
    py::gil_scoped_release release;
    desk_->state.advance(now);
    desk_->update(inputs_.has_volumes ? &inputs_.volumes : nullptr, keep);
  }

  py::array_t<double> fair_shares() const {
    const std::vector<double>& total = desk_->last.shares.total;
    const auto width = static_cast<py::ssize_t>(desk_->state.width());
    return to_array(total, {static_cast<py::ssize_t>(total.size()) / width, width});
  }

  // Nanoseconds of each heartbeat.
  py::array_t<std::int64_t> heartbeats(const py::array_t<Id>& nodes) {
    const std::vector<Id> order = to_vector(nodes);
    std::vector<std::int64_t> took;
    took.reserve(order.size());
    {
      py::gil_scoped_release release;
      for (const Id node : order) {
        const auto begin = std::chrono::steady_clock::now();
        ytsaurus::heartbeat(*desk_, node);
        took.push_back(std::chrono::duration_cast<std::chrono::nanoseconds>(
                           std::chrono::steady_clock::now() - begin)
                           .count());
      }
    }
    return to_array(std::move(took));
  }

  // Nanoseconds of each start and end of an allocation, groups included: one starts
  // on each node and ends again.
  py::array_t<std::int64_t> starts_and_ends(Id operation, const py::array_t<Amount>& amounts,
                                            const py::array_t<Id>& nodes) {
    const std::vector<Amount> size = to_vector(amounts);
    std::vector<std::int64_t> took;
    const auto timed = [&](auto&& change) {
      const auto begin = std::chrono::steady_clock::now();
      change();
      desk_->groups.refresh(desk_->state);
      took.push_back(std::chrono::duration_cast<std::chrono::nanoseconds>(
                         std::chrono::steady_clock::now() - begin)
                         .count());
    };
    for (const Id node : to_vector(nodes)) {
      timed([&] { desk_->start(operation, node, size, desk_->state.now()); });
      timed([&] { desk_->end(static_cast<Id>(desk_->state.slots() - 1)); });
    }
    return to_array(std::move(took));
  }

  // Deltas, checked like those of a cluster.
  Id start(Id operation, Id node, const py::array_t<Amount>& amounts, Time time) {
    const std::vector<Amount> size = checked_amounts(desk_->state, amounts);
    check_row(operation, desk_->state.tables().operations.size());
    if (node != kNoId) check_row(node, desk_->state.tables().nodes.size());
    desk_->start(operation, node, size, time);
    return static_cast<Id>(desk_->state.slots() - 1);
  }
  void end(Id slot) {
    check_present(desk_->state, slot);
    desk_->end(slot);
  }
  void preempt(Id slot, Id operation, Id request) {
    const Tables& t = desk_->state.tables();
    check_holding(desk_->state, slot);
    if (operation != kNoId) check_row(operation, t.operations.size());
    if (request != kNoId) {
      check_row(request, t.requests.size());
      operation = t.requests.operation[static_cast<std::size_t>(request)];
    }
    desk_->preempt(slot, {operation, request});
  }
  void touch(Id slot, Time last_start, Time last_progress) {
    check_present(desk_->state, slot);
    desk_->touch(slot, last_start, last_progress);
  }
  void resize(Id slot, const py::array_t<Amount>& amounts) {
    check_holding(desk_->state, slot);
    desk_->resize(slot, checked_amounts(desk_->state, amounts));
  }
  void set_pending(Id request, Index count) {
    check_row(request, desk_->state.tables().requests.size());
    desk_->set_pending(request, count);
  }
  void set_schedulable(Id node, bool schedulable) {
    check_row(node, desk_->state.tables().nodes.size());
    desk_->state.set_schedulable(node, schedulable);
  }

  py::dict decisions() const { return ytsaurus_decisions(*desk_); }
  py::dict memory() const { return memory_columns(*desk_); }

  py::array_t<std::uint8_t> groups() {
    desk_->groups.refresh(desk_->state);
    std::vector<std::uint8_t> out;
    for (Id slot = 0; slot < static_cast<Id>(desk_->state.slots()); ++slot)
      out.push_back(static_cast<std::uint8_t>(desk_->state.running(slot) ? desk_->group(slot)
                                                                         : Group::kNone));
    return to_array(std::move(out));
  }

  Index decision_count() const { return static_cast<Index>(desk_->decisions.rows().size()); }
  std::size_t memory_bytes() const {
    return desk_->state.memory_bytes() + desk_->groups.memory_bytes();
  }

 private:
  PlanInputs inputs_;
  std::unique_ptr<ytsaurus::Desk> desk_;
};

}  // namespace

void register_ytsaurus_desk(py::module_& m) {
  py::class_<LiveDesk>(m, "YTsaurusDesk", "Heartbeats and deltas one after the other.")
      .def(py::init([](const Snapshot& snapshot, const py::dict& settings,
                       const FairShareOptions& fair_share, const py::dict& rows,
                       const py::dict& memory, const std::optional<VolumeMemory>& volumes,
                       const py::dict& given) {
             return LiveDesk(
                 plan_inputs(snapshot, settings, fair_share, rows, memory, volumes, given, {}));
           }),
           py::arg("snapshot"), py::arg("settings"), py::arg("fair_share"), py::arg("rows"),
           py::arg("memory"), py::arg("volumes"), py::arg("given"))
      .def("update", &LiveDesk::update, py::arg("now"), py::arg("keep") = true,
           "Shares, statuses, groups at an instant.")
      .def_property_readonly("fair_shares", &LiveDesk::fair_shares, "Of the last update (E, R).")
      .def("decisions", &LiveDesk::decisions, "One row a decision since the beginning.")
      .def("memory", &LiveDesk::memory, "What the next plan goes on from.")
      .def("heartbeats", &LiveDesk::heartbeats, py::arg("nodes"), "Nanoseconds of each.")
      .def("starts_and_ends", &LiveDesk::starts_and_ends, py::arg("operation"), py::arg("amounts"),
           py::arg("nodes"), "Nanoseconds of each, groups included.")
      .def("start", &LiveDesk::start, py::arg("operation"), py::arg("node"), py::arg("amounts"),
           py::arg("time"))
      .def("end", &LiveDesk::end, py::arg("slot"))
      .def("preempt", &LiveDesk::preempt, py::arg("slot"), py::arg("operation") = kNoId,
           py::arg("request") = kNoId)
      .def("touch", &LiveDesk::touch, py::arg("slot"), py::arg("last_start"),
           py::arg("last_progress"))
      .def("resize", &LiveDesk::resize, py::arg("slot"), py::arg("amounts"))
      .def("set_pending", &LiveDesk::set_pending, py::arg("request"), py::arg("count"))
      .def("set_schedulable", &LiveDesk::set_schedulable, py::arg("node"), py::arg("schedulable"))
      .def("groups", &LiveDesk::groups, "Group of every slot; 255: none.")
      .def_property_readonly("decision_count", &LiveDesk::decision_count)
      .def_property_readonly("memory_bytes", &LiveDesk::memory_bytes);
}

}  // namespace evenhand::bindings
