// Backend.AI's scheduling run: settings and columns in, a plan's columns out.
#include "decisions.h"
#include "evenhand/policy/backendai/plan.h"
#include "pybind.h"
#include "reader.h"
#include "register.h"

namespace evenhand::bindings {
namespace {

using backendai::PlanInputs;
using backendai::RowSettings;
using backendai::Settings;

Settings settings_of(const py::dict& values) {
  Settings s;
  Reader in(values);
  const auto code = [&](const char* name, auto& to) {
    int value = static_cast<int>(to);
    in.read(name, value);
    to = static_cast<std::remove_reference_t<decltype(to)>>(value);
  };
  in.read("enabled", s.enabled);
  in.read("threshold", s.threshold);
  code("order", s.order);
  code("mode", s.mode);
  in.read("unsuited_are_terminated", s.unsuited_are_terminated);
  in.read("keep_containers", s.keep_containers);
  in.read("min_runtime", s.min_runtime);
  in.read("every_session_preempts", s.every_session_preempts);
  in.read("per_agent", s.per_agent);
  code("selection", s.selection);
  in.read("minimum_budget", s.minimum_budget);
  code("victim_cost", s.victim_cost);
  code("agents", s.agents);
  in.read("resource_order", s.resource_order);
  in.read("reserve_room", s.reserve_room);
  in.read("only_lack_blocks", s.only_lack_blocks);
  in.read("max_containers", s.max_containers);
  in.finish();
  return s;
}

RowSettings rows_of(const py::dict& columns) {
  RowSettings r;
  Reader in(columns);
  in.read("priority", r.priority);
  in.read("rank", r.rank);
  in.read("scope", r.scope);
  in.read("preemptible", r.preemptible);
  in.read("started", r.started);
  in.read("refused", r.refused);
  in.read("sequence", r.sequence);
  in.read("preemption_cost", r.preemption_cost);
  in.read("in_parts", r.in_parts);
  in.finish();
  return r;
}

class BackendAIPlan {
 public:
  explicit BackendAIPlan(PlanInputs inputs) : plan_(std::move(inputs)) {}

  py::dict decisions() const { return decision_columns(plan_.decisions(), plan_.width()); }

  py::dict refusals() const { return refusal_columns(plan_.refusals(), plan_.width()); }

  py::dict counts() const {
    const backendai::Counts& c = plan_.counts();
    py::dict out;
    out["scheduling_run.started"] = c.starts;
    out["scheduling_run.resumed"] = c.resumes;
    out["scheduling_run.victims"] = c.victims;
    out["scheduling_run.preempted_sessions"] = c.sessions;
    out["scheduling_run.reservations"] = c.reservations;
    if (plan_.inputs().settings.selection == VictimSelection::kMinimum && c.sessions > 0)
      put_proof(out, c.proof);
    return out;
  }

  py::dict trace(const std::string& kind, Id row) const {
    return trace_columns(plan_, kind, row, plan_.width());
  }

 private:
  backendai::Plan plan_;
};

}  // namespace

void register_backendai(py::module_& m) {
  py::class_<BackendAIPlan>(m, "BackendAIPlan", "Decisions of one scheduling run.")
      .def("decisions", &BackendAIPlan::decisions, "One row a decision, in order.")
      .def("refusals", &BackendAIPlan::refusals, "One row a request that still waits.")
      .def("counts", &BackendAIPlan::counts, "What the run did, by \"<stage>.<what>\".")
      .def("trace", &BackendAIPlan::trace, py::arg("kind"), py::arg("row"),
           "What a \"request\" or an \"allocation\" met, by running again.");

  m.def(
      "plan_backendai",
      [](const Snapshot& snapshot, const py::dict& settings, const py::dict& rows) {
        PlanInputs in{snapshot, settings_of(settings), rows_of(rows)};
        const LongCall call;
        return std::make_unique<BackendAIPlan>(std::move(in));
      },
      py::arg("snapshot"), py::arg("settings"), py::arg("rows"),
      "One scheduling run of a resource group.");
}

}  // namespace evenhand::bindings
