// Slurm's preemption: settings and columns in, a plan's columns out.
#include <chrono>
#include <optional>
#include <string>

#include "arrays.h"
#include "decisions.h"
#include "evenhand/policy/slurm/run.h"
#include "pybind.h"
#include "reader.h"
#include "register.h"

namespace evenhand::bindings {
namespace {

using slurm::RunInputs;

slurm::Settings settings_of(const py::dict& values) {
  slurm::Settings s;
  Reader in(values);
  int type = 0, selection = 0;
  in.read("type", type);
  in.read("selection", selection);
  s.type = static_cast<slurm::PreemptType>(type);
  s.selection = static_cast<slurm::Selection>(selection);
  in.read("gang", s.gang);
  in.read("within", s.within);
  in.read("priority", s.priority);
  in.read("reorder_count", s.reorder_count);
  in.read("strict_order", s.strict_order);
  in.read("youngest_first", s.youngest_first);
  in.read("reclaim_licenses", s.reclaim_licenses);
  in.read("whole_nodes", s.whole_nodes);
  in.read("has_min_exempt_priority", s.has_min_exempt_priority);
  in.read("min_exempt_priority", s.min_exempt_priority);
  in.read("gang_honours_exempt_time", s.gang_honours_exempt_time);
  in.read("backfill", s.backfill);
  in.read("main_pass", s.main_pass);
  in.read("backfill_pass", s.backfill_pass);
  in.read("first_come", s.first_come);
  in.read("kill_wait", s.kill_wait);
  in.read("partition_job_depth", s.passes.partition_job_depth);
  in.read("sched_max_job_start", s.passes.sched_max_job_start);
  in.read("bf_max_job_test", s.passes.bf_max_job_test);
  in.read("bf_node_space_size", s.passes.bf_node_space_size);
  in.read("bf_max_job_start", s.passes.bf_max_job_start);
  in.read("bf_max_job_part", s.passes.bf_max_job_part);
  in.read("bf_max_job_user", s.passes.bf_max_job_user);
  in.read("bf_job_part_count_reserve", s.passes.bf_job_part_count_reserve);
  in.read("bf_window", s.passes.bf_window);
  in.read("bf_resolution", s.passes.bf_resolution);
  in.read("bf_min_age_reserve", s.passes.bf_min_age_reserve);
  in.read("bf_min_prio_reserve", s.passes.bf_min_prio_reserve);
  in.read("bf_one_resv_per_job", s.passes.bf_one_resv_per_job);
  in.read("backoff", s.backoff);
  in.read("minimum_budget", s.minimum_budget);
  int cost = 0;
  in.read("victim_cost", cost);
  s.victim_cost = static_cast<VictimCost>(cost);
  in.finish();
  return s;
}

slurm::JobColumns jobs_of(const py::dict& columns) {
  slurm::JobColumns j;
  Reader in(columns);
  in.read("partition", j.partition);
  in.read("qos", j.qos);
  in.read("tier", j.tier);
  in.read("rank", j.rank);
  in.read("priority", j.priority);
  in.read_enum("mode", j.mode);
  in.read("grace", j.grace);
  in.read("exempt", j.exempt);
  in.read("requeue", j.requeue);
  in.read("suspendable", j.suspendable);
  in.read("exclusive", j.exclusive);
  in.read("expedited", j.expedited);
  in.read("eligible", j.eligible);
  in.read("preemption_cost", j.preemption_cost);
  in.read("node_of_partition", j.node_of_partition);
  in.read("qos_preempts", j.qos_preempts);
  in.read("suspend_frees", j.suspend_frees);
  in.read("partition_down", j.partition_down);
  in.read("user", j.user);
  in.read("time_min", j.time_min);
  in.read("partition_max_time", j.partition_max_time);
  in.read("partition_default_time", j.partition_default_time);
  std::vector<Id> job, partition;
  std::vector<std::int32_t> tier;
  std::vector<double> priority;
  std::vector<std::uint8_t> exclusive;
  in.read("turn_job", job);
  in.read("turn_partition", partition);
  in.read("turn_tier", tier);
  in.read("turn_priority", priority);
  in.read("turn_exclusive", exclusive);
  in.finish();
  for (std::size_t i = 0; i < job.size(); ++i)
    j.turns.push_back({job[i], partition[i], tier[i], priority[i], exclusive[i]});
  return j;
}

slurm::Memory memory_of(const py::dict& columns) {
  slurm::Memory m;
  Reader in(columns);
  in.read("last_preempt", m.last_preempt);
  in.finish();
  return m;
}

class SlurmPlan {
 public:
  explicit SlurmPlan(RunInputs inputs) : plan_(std::move(inputs)) {}

  py::dict decisions() const { return decision_columns(plan_.decisions(), plan_.width()); }
  py::dict elements() const { return {}; }
  py::object groups() const {
    return to_array(std::vector<std::uint8_t>(
        static_cast<std::size_t>(plan_.inputs().snapshot.tables().allocations.size()), 255));
  }

  py::dict counts() const {
    const slurm::Counts& c = plan_.counts();
    py::dict out;
    const auto put = [&](const char* name, Index count) {
      if (count > 0) out[py::str(std::string("scheduling_run.") + name)] = count;
    };
    put("started", c.starts);
    put("resumed", c.resumes);
    put("victims", c.victims);
    put("preempted_jobs", c.victim_jobs);
    put("jobs_that_preempt", c.jobs);
    put("reservations", c.reservations);
    if (c.backfilled > 0) out["backfill.started"] = c.backfilled;
    if (c.jobs > 0 && plan_.inputs().settings.selection == slurm::Selection::kMinimum)
      put_proof(out, c.proof);
    return out;
  }

  py::dict contested() const {
    py::dict out;
    out["beneficiary"] = to_array(std::vector(plan_.contested().beneficiary));
    out["earlier"] = to_array(std::vector(plan_.contested().earlier));
    return out;
  }

  py::dict refusals() const { return refusal_columns(plan_.refusals(), plan_.width()); }

  py::dict memory() const {
    py::dict out;
    out["last_preempt"] = to_array(std::vector(plan_.memory().last_preempt));
    return out;
  }

  py::dict trace(const std::string& kind, Id row) const {
    return trace_columns(plan_, kind, row, plan_.width());
  }

  std::optional<Time> next_due() const {
    return plan_.next_due() == kNoTime ? std::nullopt : std::optional(plan_.next_due());
  }

 private:
  slurm::Plan plan_;
};

// A desk that stays: who would be preempted for a job, and how long finding them took.
class SlurmDesk {
 public:
  explicit SlurmDesk(RunInputs inputs)
      : inputs_(std::make_unique<RunInputs>(std::move(inputs))),
        desk_(std::make_unique<slurm::Desk>(*inputs_)) {}

  std::pair<py::array_t<Id>, std::int64_t> victims(Id job) const {
    const auto begin = std::chrono::steady_clock::now();
    slurm::Wish wish = desk_->wish(job);
    const slurm::Choice choice =
        slurm::choose(*desk_, wish, desk_->room, desk_->candidates(job), false);
    const auto took = std::chrono::steady_clock::now() - begin;
    std::vector<Id> found;
    for (const Index i : choice.victims)
      found.push_back(desk_->running[static_cast<std::size_t>(i)].operation);
    return {to_array(std::move(found)),
            std::chrono::duration_cast<std::chrono::nanoseconds>(took).count()};
  }

 private:
  std::unique_ptr<RunInputs> inputs_;  // the desk looks at it
  std::unique_ptr<slurm::Desk> desk_;
};

}  // namespace

void register_slurm(py::module_& m) {
  py::class_<SlurmPlan>(m, "SlurmPlan",
                        "Decisions of one scheduling run and what they follow from.")
      .def("decisions", &SlurmPlan::decisions, "One row a decision, in order.")
      .def("elements", &SlurmPlan::elements, "Empty: there are no fair shares.")
      .def("groups", &SlurmPlan::groups, "255 for every allocation: there are no groups.")
      .def("counts", &SlurmPlan::counts, "What the run did, by \"<stage>.<what>\".")
      .def("contested", &SlurmPlan::contested,
           "Jobs that others leave for, and which job before each may take that room.")
      .def("refusals", &SlurmPlan::refusals, "One row a request that still waits.")
      .def("memory", &SlurmPlan::memory, "What the next plan goes on from.")
      .def("trace", &SlurmPlan::trace, py::arg("kind"), py::arg("row"),
           "What a \"request\" or an \"allocation\" met, by planning again.")
      .def_property_readonly("next_due", &SlurmPlan::next_due,
                             "Microseconds: when a plan can first differ; None: never.")
      .def_property_readonly(
          "shares", [](const SlurmPlan&) { return py::none(); }, "None: there are no fair shares.");

  py::class_<SlurmDesk>(m, "SlurmDesk",
                        "Who would be preempted, asked of one desk again and again.")
      .def(py::init([](const Snapshot& snapshot, const py::dict& settings, const py::dict& jobs,
                       const py::dict& memory) {
             return SlurmDesk({snapshot, settings_of(settings), jobs_of(jobs), memory_of(memory)});
           }),
           py::arg("snapshot"), py::arg("settings"), py::arg("jobs"), py::arg("memory"))
      .def("victims", &SlurmDesk::victims, py::arg("job"),
           "Operations that go for a pending one, and nanoseconds that finding them took.");

  m.def(
      "plan_slurm",
      [](const Snapshot& snapshot, const py::dict& settings, const py::dict& jobs,
         const py::dict& memory) {
        RunInputs in{snapshot, settings_of(settings), jobs_of(jobs), memory_of(memory)};
        const LongCall call;
        return std::make_unique<SlurmPlan>(std::move(in));
      },
      py::arg("snapshot"), py::arg("settings"), py::arg("jobs"), py::arg("memory"),
      "One scheduling run.");
}

}  // namespace evenhand::bindings
