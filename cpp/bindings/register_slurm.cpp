// Slurm's preemption: settings and columns of Python make a planner.
#include "evenhand/policy/slurm/planner.h"
#include "planner.h"
#include "reader.h"
#include "register.h"

namespace evenhand::bindings {
namespace from_slurm {

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

}  // namespace from_slurm

void register_slurm(py::module_& m) {
  using namespace from_slurm;
  m.def(
      "slurm_planner",
      [](const Snapshot& snapshot, const py::dict& settings, const py::dict& jobs,
         const py::dict& memory) {
        return bound<slurm::Planner>(
            slurm::Inputs{snapshot, settings_of(settings), jobs_of(jobs), memory_of(memory)});
      },
      py::arg("snapshot"), py::arg("settings"), py::arg("jobs"), py::arg("memory"),
      "A planner of scheduling runs.");
}

}  // namespace evenhand::bindings
