// Simulations: a cluster, a planner and a workload become a run; its log comes out as columns.
#include <algorithm>
#include <limits>
#include <memory>
#include <string>

#include "arrays.h"
#include "evenhand/sim/engine.h"
#include "planner.h"
#include "reader.h"
#include "register.h"

namespace evenhand::bindings {
namespace {

using sim::Engine;

sim::Workload workload_of(const Snapshot& rows, const py::dict& columns) {
  sim::Workload w{rows, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
  Reader in(columns);
  in.read("pool", w.pool);
  in.read("node", w.node);
  in.read("heartbeats", w.heartbeats);
  in.read("run_time", w.run_time);
  in.read("checkpoint_every", w.checkpoint_every);
  in.read("cut_off", w.cut_off);
  in.read("replica", w.replica);
  in.read("whole", w.whole);
  in.read("event_time", w.event_time);
  in.read("event_node", w.event_node);
  in.read("event", w.event);
  in.read("event_capacity", w.event_capacity);
  in.finish();
  return w;
}

sim::Options options_of(const py::dict& values) {
  sim::Options o;
  int drive = 0;
  Reader in(values);
  in.read("drive", drive);
  o.drive = static_cast<sim::Options::Drive>(drive);
  in.read("period", o.period);
  in.read("second", o.second);
  in.read("requeue_delay", o.requeue_delay);
  in.read("backfill", o.backfill);
  in.read("whole_operations", o.whole_operations);
  in.read("planned_ends", o.planned_ends);
  in.read("saved_progress", o.saved_progress);
  in.read("literal", o.literal);
  in.read("series_every", o.series_every);
  in.read("series_evenly", o.series_evenly);
  in.read("give_up_after", o.give_up_after);
  in.finish();
  return o;
}

class Simulation {
 public:
  Simulation(const LiveCluster& cluster, const std::shared_ptr<BoundPlanner>& planner,
             const Snapshot& rows, const py::dict& workload, const py::dict& options,
             const py::dict& settings)
      : planner_(planner),
        made_(std::make_unique<Engine>(cluster.shared(), planner->shared(),
                                       workload_of(rows, workload), options_of(options),
                                       planner->coming(settings))) {}
  Simulation copy() const {
    std::unique_ptr<Engine> engine;
    {
      const py::gil_scoped_release release;
      engine = engine_.copy();
    }
    auto planner = std::make_shared<BoundPlanner>(engine->shared_planner());
    if (planner_->updated()) planner->set_updated(*planner_->updated());
    return {std::move(planner), std::move(engine)};
  }
  const std::shared_ptr<BoundPlanner>& planner() {
    engine_.catch_up();
    return planner_;
  }

  bool run(std::optional<Time> until, std::optional<std::size_t> steps, bool guarded) {
    bool reached = false;
    {
      const LongCall call;
      reached = engine_.run(until.value_or(kNoTime),
                            steps.value_or(std::numeric_limits<std::size_t>::max()), guarded);
    }
    if (engine_.last_update() != kNoTime) planner_->set_updated(engine_.last_update());
    return reached;
  }
  // The rows as they are, and of each by table its row in the start snapshot, or behind those that
  // of an operation in the workload (-1: neither); and its row here.
  py::tuple frozen(bool total_stated) const {
    const ClusterState named = engine_.named();
    ClusterState::Sources rows;
    Snapshot made(named.frozen(total_stated, &rows));
    py::dict sources, here;
    const auto add = [&](const char* table, const auto& live, Column<Id>& of) {
      std::vector<Id> its;
      for (const Id row : of) {
        const Index note = live.note(row);
        const Id first = live.snapshot_rows();
        its.push_back(row < first ? row : note < 0 ? kNoId : first + static_cast<Id>(note));
      }
      sources[table] = to_array(std::move(its));
      here[table] = to_array(std::move(of));
    };
    add("operations", named.operations(), rows.operations);
    add("requests", named.requests(), rows.requests);
    add("allocations", named.allocations(), rows.allocations);
    add("nodes", named.nodes(), rows.nodes);
    add("reservations", named.reservations(), rows.reservations);
    return py::make_tuple(std::move(made), std::move(sources), std::move(here));
  }
  // See the engine: the node (-1: none) and the passes that it is asked for.
  py::tuple poise() {
    const Trigger asked = engine_.poise();
    if (engine_.last_update() != kNoTime) planner_->set_updated(engine_.last_update());
    return py::make_tuple(asked.nodes.empty() ? kNoId : asked.nodes.front(), asked.main_pass,
                          asked.backfill_pass);
  }
  Id decided() const { return engine_.log().decisions.time.rows(); }
  Time now() const { return engine_.now(); }
  bool done() const { return engine_.done(); }
  std::size_t steps() const { return engine_.steps(); }
  Index samples() const { return engine_.samples(); }

  // Operation, how many turns, since when; None: none is preempted in turns without end.
  py::object turns() const {
    if (!engine_.in_turns()) return py::none();
    const sim::Turns& turns = engine_.turns();
    return py::make_tuple(turns.found(), turns.count(), turns.first());
  }

  // Request, how many updates, since when, whether heartbeats are meant; None: nothing waits in
  // vain.
  py::object vain() const {
    if (!engine_.in_vain() || engine_.waits() == kNoId) return py::none();
    const bool by_beats = engine_.vain_by_beats();
    return py::make_tuple(engine_.waits(),
                          by_beats ? engine_.vain_heartbeats() : engine_.vain_tries(),
                          engine_.vain_since(), by_beats);
  }

  Index preemptions() const {
    return std::ranges::count(engine_.log().decisions.action, Action::kPreempt);
  }

  py::dict counts() const {
    py::dict out;
    const sim::Log& log = engine_.log();
    out["events"] = log.events;
    out["updates"] = log.updates;
    out["decided"] = log.decided;
    out["preemptions"] = preemptions();
    return out;
  }
  py::dict allocations() const {
    const sim::AllocationLog& a = engine_.log().allocations;
    py::dict out;
    out["request"] = array(a.request);
    out["operation"] = array(a.operation);
    out["node"] = array(a.node);
    out["start"] = array(a.start);
    out["began"] = array(a.began);
    out["end"] = array(a.end);
    out["outcome"] = array(codes(a.outcome));
    out["requeued"] = array(a.requeued);
    out["kept"] = array(a.kept);
    out["lost"] = array(a.lost);
    out["decision"] = array(a.decision);
    out["resumed_from"] = array(a.resumed_from);
    return out;
  }
  py::dict operations() const {
    const sim::OperationLog& o = engine_.log().operations;
    py::dict out;
    out["submit"] = array(o.submit);
    out["first_start"] = array(o.first_start);
    out["end"] = array(o.end);
    out["run"] = array(o.run);
    out["lost"] = array(o.lost);
    out["preempted"] = array(o.preempted);
    out["completed"] = array(o.completed);
    out["lost_count"] = array(o.lost_count);
    out["unfinished"] = array(o.unfinished);
    out["shortfall"] = array(engine_.shortfall());
    return out;
  }
  py::dict decisions() const {
    const sim::DecisionLog& d = engine_.log().decisions;
    py::dict out;
    out["time"] = array(d.time);
    out["action"] = array(codes(d.action));
    out["stage"] = array(codes(d.stage));
    out["reason"] = array(codes(d.reason));
    out["mode"] = array(codes(d.mode));
    out["allocation"] = array(d.allocation);
    out["operation"] = array(d.operation);
    out["node"] = array(d.node);
    out["request"] = array(d.request);
    out["beneficiary_operation"] = array(d.beneficiary_operation);
    out["beneficiary_request"] = array(d.beneficiary_request);
    out["step"] = array(d.step);
    out["within_fair_share"] = array(d.within_fair_share);
    out["grace"] = array(d.grace);
    const auto width = static_cast<py::ssize_t>(engine_.state().width());
    out["freed"] =
        to_array(std::vector<Amount>(d.freed), {static_cast<py::ssize_t>(d.time.size()), width});
    return out;
  }
  py::dict series() const {
    const sim::SeriesLog& s = engine_.log().series;
    const auto column = [&](auto sim::PoolSample::* member) {
      std::vector<std::remove_cvref_t<decltype(s.values[0].*member)>> values(s.values.size());
      std::ranges::transform(s.values, values.begin(), member);
      return to_array(std::move(values));
    };
    py::dict out;
    out["time"] = array(engine_.sampled());
    out["sample"] = array(s.sample);
    out["pool"] = array(s.pool);
    out["usage"] = column(&sim::PoolSample::usage);
    out["fair_share"] = column(&sim::PoolSample::fair_share);
    out["demand"] = column(&sim::PoolSample::demand);
    out["guarantee"] = column(&sim::PoolSample::guarantee);
    out["starving"] = column(&sim::PoolSample::starving);
    out["running"] = column(&sim::PoolSample::running);
    out["waiting"] = column(&sim::PoolSample::waiting);
    return out;
  }
  py::dict spells() const {
    const sim::SpellLog& s = engine_.log().spells;
    py::dict out;
    out["pool"] = array(s.pool);
    out["operation"] = array(s.operation);
    out["from"] = array(s.from);
    out["until"] = array(s.until);
    out["level"] = array(codes(s.level));
    return out;
  }

 private:
  template <class T>
  static py::array_t<T> array(std::vector<T> values) {
    return to_array(std::move(values));
  }

  Simulation(std::shared_ptr<BoundPlanner> planner, std::unique_ptr<Engine> engine)
      : planner_(std::move(planner)), made_(std::move(engine)) {}

  std::shared_ptr<BoundPlanner> planner_;
  std::unique_ptr<Engine> made_;
  Engine& engine_ = *made_;
};

}  // namespace

void register_sim(py::module_& m) {
  py::class_<Simulation>(m, "Simulation", "A cluster, a policy and a workload as time goes by.")
      .def(py::init<const LiveCluster&, const std::shared_ptr<BoundPlanner>&, const Snapshot&,
                    const py::dict&, const py::dict&, const py::dict&>(),
           py::arg("cluster"), py::arg("planner"), py::arg("rows"), py::arg("workload"),
           py::arg("options"), py::arg("settings"))
      .def("copy", &Simulation::copy, "Another one that stands here; each continues on its own.")
      .def_property_readonly("planner", &Simulation::planner)
      .def("run", &Simulation::run, py::arg("until") = py::none(), py::arg("steps") = py::none(),
           py::arg("guarded") = false,
           "Until an instant (microseconds), None: until nothing can happen any more; or until so "
           "many steps are done: then False.")
      .def_property_readonly("now", &Simulation::now)
      .def_property_readonly("done", &Simulation::done)
      .def_property_readonly("steps", &Simulation::steps)
      .def_property_readonly("samples", &Simulation::samples, "Of pools so far.")
      .def_property_readonly("turns", &Simulation::turns)
      .def_property_readonly("vain", &Simulation::vain)
      .def_property_readonly("decided", &Simulation::decided, "Rows of decisions so far.")
      .def("poise", &Simulation::poise,
           "Stand before the next step, which asks the planner; return the node and the passes.")
      .def("frozen", &Simulation::frozen, py::arg("total_stated"),
           "The rows as a snapshot, where their settings are from, and their rows here.")
      .def_property_readonly("preemptions", &Simulation::preemptions)
      .def("counts", &Simulation::counts, "Events, updates, triggers, preemptions.")
      .def("allocations", &Simulation::allocations, "One row a run of an allocation.")
      .def("operations", &Simulation::operations, "One row an operation.")
      .def("decisions", &Simulation::decisions, "One row a decision.")
      .def("series", &Simulation::series,
           "Times of samples, and one row a pool of which a sample says something else.")
      .def("spells", &Simulation::spells, "One row a spell of starvation.");
}

}  // namespace evenhand::bindings
