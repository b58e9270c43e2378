// Slurm's preemption: settings and columns of Python make a planner.
#include <array>

#include "evenhand/policy/live_cluster.h"
#include "evenhand/policy/slurm/planner.h"
#include "making.h"
#include "pace.h"
#include "reader.h"

namespace evenhand::bindings {

using namespace py::literals;

namespace from_slurm {

slurm::Partitions partitions_of(const py::dict& values) {
  slurm::Partitions p;
  Reader in(values);
  in.read("names", p.names);
  in.read("tier", p.tier);
  in.read("mode", p.mode);
  in.read("grace", p.grace);
  in.read("exempt", p.exempt);
  in.read("suspendable", p.suspendable);
  in.read("exclusive", p.exclusive);
  in.read("down", p.down);
  in.read("priority", p.priority);
  in.read("max_time", p.max_time);
  in.read("default_time", p.default_time);
  in.read("factor", p.factor);
  in.read("all_nodes", p.all_nodes);
  in.read("nodes", p.nodes);
  in.finish();
  return p;
}

slurm::Qualities qualities_of(const py::dict& values) {
  slurm::Qualities q;
  Reader in(values);
  in.read("names", q.names);
  in.read("rank", q.rank);
  in.read("mode", q.mode);
  in.read("grace", q.grace);
  in.read("exempt", q.exempt);
  in.read("factor", q.factor);
  in.read("priority", q.priority);
  in.read("preempts", q.preempts);
  in.finish();
  return q;
}

slurm::Weights weights_of(const py::dict& values) {
  slurm::Weights w;
  Reader in(values);
  in.read("multifactor", w.multifactor);
  in.read("age", w.age);
  in.read("assoc", w.assoc);
  in.read("fairshare", w.fair_share);
  in.read("jobsize", w.size);
  in.read("partition", w.partition);
  in.read("qos", w.qos);
  in.read("tres", w.tres);
  in.read("tres_resource", w.tres_resource);
  in.read("cpu", w.cpu);
  in.read("max_age", w.max_age);
  in.read("calculate_running", w.calculate_running);
  in.read("small_first", w.small_first);
  in.read("relative_to_time", w.relative_to_time);
  in.read("plain_tres", w.plain_tres);
  in.read("assoc_of", w.assoc_of);
  in.read("fair_share_of", w.fair_share_of);
  in.finish();
  return w;
}

slurm::LimitRows limit_rows_of(const py::dict& values) {
  constexpr std::array<const char*, slurm::kLimitTables> kNames{
      "group", "user", "account", "job", "node", "group_run", "user_run", "account_run", "least"};
  slurm::LimitRows rows;
  Reader in(values);
  for (std::size_t t = 0; t < kNames.size(); ++t) in.read(kNames[t], rows.of[t]);
  in.read("wall", rows.wall);
  in.read("unread", rows.unread);
  in.finish();
  return rows;
}

slurm::Limits limits_of(const py::dict& values) {
  slurm::Limits l;
  Reader in(values);
  in.read("any", l.any);
  in.read("measures", l.measures);
  l.qos = limit_rows_of(in.part("qos"));
  l.associations = limit_rows_of(in.part("associations"));
  in.read("partition_qos", l.partition_qos);
  in.read("over_partition", l.over_partition);
  in.read("association_of", l.association_of);
  in.read("parent", l.parent);
  in.finish();
  return l;
}

slurm::Settings settings_of(const py::dict& values) {
  slurm::Settings s;
  Reader in(values);
  slurm::Release release{};
  in.read("release", release);
  s.rules = slurm::rules_of(release);
  in.read("type", s.type);
  in.read("mode", s.mode);
  in.read("requeue", s.requeue);
  in.read("partition", s.partition);
  s.partitions = partitions_of(in.part("partitions"));
  s.qualities = qualities_of(in.part("qos"));
  s.weights = weights_of(in.part("weights"));
  in.read("node_weights", s.node_weights);
  s.limits = limits_of(in.part("limits"));
  in.read("suspend_frees", s.suspend_frees);
  in.read("selection", s.selection);
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
  bool exempt_by_release = false, plain_queue = false;
  in.read("gang_honours_exempt_time", s.gang_honours_exempt_time);
  in.read("gang_exempt_by_release", exempt_by_release);
  s.gang_honours_exempt_time |= exempt_by_release && s.rules.gang_honours_exempt_time;
  in.read("backfill", s.backfill);
  in.read("plain_queue", plain_queue);
  s.first_come = plain_queue && s.rules.plain_queue_is_as_submitted;
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
  in.read("victim_cost", s.victim_cost);
  s.pace = pace_of(in);
  in.finish();
  return s;
}

slurm::JobRows rows_of(const py::dict& columns) {
  slurm::JobRows j;
  Reader in(columns);
  in.read_each(j);
  in.finish();
  return j;
}

// What makes its planners: making.h.
struct System {
  using Planner = slurm::Planner;
  struct Kept {};

  static slurm::Inputs inputs(const Snapshot& snapshot, const py::dict& given, Kept&) {
    slurm::Inputs out{
        snapshot, settings_of(part(given, "settings")), rows_of(part(given, "rows")), {}};
    Reader in(part(given, "memory"));
    in.read("last_preempt", out.memory.last_preempt);
    out.memory.victims = victims_of(in);
    in.finish();
    return out;
  }
  static void came(Planner& planner, const std::string& table, const std::vector<Id>& rows,
                   const py::dict& columns, Kept&) {
    if (table == "operations") planner.rows_came(rows, rows_of(columns));
  }
  static auto coming(const py::dict& columns, Kept&) {
    return [all = rows_of(columns)](Planner& planner, Id source, Id row) {
      planner.rows_came({&row, 1}, row_of(all, source));
    };
  }
};

void offer(py::module_& m) {
  makes_planners<System>("slurm");
  m.def(
      "slurm_jobs",
      [](const Snapshot& snapshot, const py::dict& settings, const py::dict& rows) {
        const slurm::Settings read = settings_of(settings);
        slurm::Jobs jobs(read, rows_of(rows));
        jobs.update(ClusterState(snapshot));
        const auto width = static_cast<py::ssize_t>(jobs.factor_count());
        const auto count = static_cast<py::ssize_t>(jobs.factors.size()) / width;
        return py::dict(
            "partition"_a = to_array(std::move(jobs.partition)),
            "qos"_a = to_array(std::move(jobs.qos)), "tier"_a = to_array(std::move(jobs.tier)),
            "mode"_a = to_array(codes(jobs.mode)), "requeue"_a = to_array(std::move(jobs.requeue)),
            "started"_a = to_array(std::move(jobs.started)),
            "priority"_a = to_array(std::move(jobs.priority)),
            "share_unknown"_a = to_array(std::move(jobs.share_unknown)),
            "factors"_a = to_array(std::move(jobs.factors), {count, width}));
      },
      py::arg("snapshot"), py::arg("settings"), py::arg("rows"),
      "What partition, QOS, its row and the cluster make of every job; factors (jobs, factors).");
}

const Enters enters("slurm", offer);

}  // namespace from_slurm

}  // namespace evenhand::bindings
