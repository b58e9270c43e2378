// YTsaurus' preemption: settings and columns of Python make a planner.
#include <map>
#include <optional>
#include <string>

#include "arrays.h"
#include "evenhand/policy/live_cluster.h"
#include "evenhand/policy/ytsaurus/planner.h"
#include "making.h"
#include "pace.h"
#include "reader.h"

namespace evenhand::bindings {
namespace from_ytsaurus {

using ytsaurus::Given;
using ytsaurus::Inputs;
using ytsaurus::RowSettings;
using ytsaurus::Settings;

// Columns of the settings of rows; of some rows alone, with a cell for each of them.
RowSettings rows_of(const py::dict& columns, std::size_t width) {
  RowSettings r;
  Reader in(columns);
  in.read("tolerance", r.starvation.tolerance);
  in.read("timeout", r.starvation.timeout);
  in.read("enable_aggressive", r.starvation.enable_aggressive);
  in.read("allow_aggressive", r.starvation.allow_aggressive);
  in.read("usage_threshold", r.starvation.usage_threshold);
  in.read("has_usage_threshold", r.starvation.has_usage_threshold);
  in.read("graceful", r.graceful);
  in.read("unschedulable", r.unschedulable);
  in.read("preemption_cost", r.preemption_cost);
  in.read("wants_ssd", r.wants_ssd);
  in.read("other_segment", r.other_segment);
  in.read("allow_normal", r.allow_normal);
  in.read("regular_on_ssd", r.regular_on_ssd);
  in.read("limits_tolerance", r.limits_tolerance);
  in.read("node_ssd", r.node_ssd);
  in.read("cpu_limits", r.cpu_limits);
  in.read("uses_ssd", r.uses_ssd);
  r.taken = taken_rooms(in, width);
  in.finish();
  return r;
}

// Of an operation.
RowSettings row_of(const RowSettings& all, Id row, std::size_t width) {
  RowSettings one;
  one.starvation.tolerance = cell_of(all.starvation.tolerance, row);
  one.starvation.timeout = cell_of(all.starvation.timeout, row);
  one.starvation.usage_threshold = cell_of(all.starvation.usage_threshold, row, width);
  one.starvation.has_usage_threshold = cell_of(all.starvation.has_usage_threshold, row);
  one.graceful = cell_of(all.graceful, row);
  one.unschedulable = cell_of(all.unschedulable, row);
  one.preemption_cost = cell_of(all.preemption_cost, row);
  one.wants_ssd = cell_of(all.wants_ssd, row);
  one.other_segment = cell_of(all.other_segment, row);
  return one;
}

Given given_of(const py::dict& columns) {
  Given g;
  Reader in(columns);
  in.read("fair_share", g.fair_share);
  in.read("has_fair_share", g.has_fair_share);
  in.read("starvation", g.starvation);
  in.read("groups", g.groups);
  in.finish();
  return g;
}

ytsaurus::Memory memory_of(const py::dict& columns) {
  ytsaurus::Memory m;
  Reader in(columns);
  in.read("since", m.clocks.since);
  in.read("starvation", m.clocks.starvation);
  in.read("last_preemptive", m.last_preemptive);
  in.read("overcommitted_since", m.overcommitted_since);
  m.victims = victims_of(in);
  in.finish();
  return m;
}

Settings settings_of(const py::dict& values, const FairShareOptions& fair_share) {
  Settings s;
  s.fair_share = fair_share;
  Reader in(values);
  in.read("tolerance", s.starvation.tolerance);
  in.read("timeout", s.starvation.timeout);
  in.read("aggressive_timeout", s.starvation.aggressive_timeout);
  in.read("enable_aggressive", s.starvation.enable_aggressive);
  in.read("enable_pools", s.starvation.enable_pools);
  in.read("absolute_tolerance", s.starvation.absolute_tolerance);
  in.read("allocation_count_coefficient", s.starvation.allocation_count_coefficient);
  in.read("ignore_tolerance_if_satisfied", s.starvation.ignore_tolerance_if_satisfied);
  in.read("allow_aggressive_preemption", s.starvation.allow_aggressive_preemption);
  in.read("allow_aggressive_preemption_for_gangs",
          s.starvation.allow_aggressive_preemption_for_gangs);
  in.read("usage_threshold", s.starvation.usage_threshold);
  in.read("preemption_threshold", s.preemption_threshold);
  in.read("aggressive_preemption_threshold", s.aggressive_preemption_threshold);
  in.read("on_bound_preemptible", s.on_bound_preemptible);
  in.read("saved_progress_counts", s.saved_progress_counts);
  in.read("usage_threshold_protects_prefix", s.usage_threshold_protects_prefix);
  in.read("aggressive_stage_first", s.aggressive_stage_first);
  in.read("preemptive_stage_serves_aggressive", s.preemptive_stage_serves_aggressive);
  in.read("one_start_per_heartbeat", s.one_start_per_heartbeat);
  in.read("priority_from_ancestors", s.priority_from_ancestors);
  in.read("allow_preemption_from_starving", s.allow_preemption_from_starving);
  in.read("victim_selection", s.victim_selection);
  in.read("minimum_budget", s.minimum_budget);
  in.read("victim_cost", s.victim_cost);
  in.read("freed_room_at_once", s.freed_room_at_once);
  in.read("infinite_limits_overcommit", s.infinite_limits_overcommit);
  in.read("check_starvation", s.check_starvation);
  in.read("check_satisfaction", s.check_satisfaction);
  in.read("conditional_preemption", s.conditional_preemption);
  in.read("backoff", s.backoff);
  in.read("preemption_timeout", s.preemption_timeout);
  in.read("graceful_timeout", s.graceful_timeout);
  in.read("repair_in_stage", s.repair_in_stage);
  in.read("overcommit_delay", s.overcommit_delay);
  in.read("ssd_stages", s.ssd_stages);
  in.read("full_host_stage", s.full_host_stage);
  in.read("full_host_max_penalty", s.full_host_max_penalty);
  in.read("full_host_timeout", s.full_host_timeout);
  in.read("gpu", s.gpu);
  in.read("full_host_gpus", s.full_host_gpus);
  s.pace = pace_of(in);
  in.finish();
  return s;
}

// What makes its planners: making.h.
struct System {
  using Planner = ytsaurus::Planner;
  using Table = ClusterState::Table;
  struct Kept {
    std::size_t width = 0;
  };

  static Inputs inputs(const Snapshot& snapshot, const py::dict& given, Kept& kept) {
    kept.width = static_cast<std::size_t>(snapshot.tables().resource_count());
    const auto volumes = given["volumes"].cast<std::optional<VolumeMemory>>();
    return {
        snapshot,
        settings_of(part(given, "settings"), given["fair_share"].cast<const FairShareOptions&>()),
        rows_of(part(given, "rows"), kept.width),
        given_of(part(given, "given")),
        memory_of(part(given, "memory")),
        volumes.has_value(),
        volumes.value_or(VolumeMemory{})};
  }
  static void came(Planner& planner, const std::string& table, const std::vector<Id>& rows,
                   const py::dict& columns, const Kept& kept) {
    static const std::map<std::string, Table> kTables{{"operations", Table::kOperations},
                                                      {"nodes", Table::kNodes},
                                                      {"allocations", Table::kAllocations},
                                                      {"requests", Table::kRequests}};
    const auto found = kTables.find(table);
    if (found == kTables.end()) throw py::key_error("no rows come to " + table);
    planner.rows_came(found->second, rows, rows_of(columns, kept.width));
  }
  static auto coming(const py::dict& columns, const Kept& kept) {
    return [width = kept.width, all = rows_of(columns, kept.width)](Planner& planner, Id source,
                                                                    Id row) {
      planner.rows_came(Table::kOperations, {&row, 1}, row_of(all, source, width));
    };
  }
};

void offer(py::module_& m) {
  m.def(
      "ytsaurus_stages",
      [](const py::dict& settings, bool ssd_node) {
        static constexpr const char* kLevels[] = {"ssd_non_preemptible",
                                                  "ssd_aggressively_preemptible", "non_preemptible",
                                                  "aggressively_preemptible", "preemptible"};
        std::vector<std::pair<int, std::string>> out;
        for (const auto& rule : ytsaurus::stage_rules(settings_of(settings, {}), ssd_node))
          out.emplace_back(static_cast<int>(rule.stage), kLevels[static_cast<int>(rule.lowest)]);
        return out;
      },
      py::arg("settings"), py::arg("ssd_node"),
      "Preemptive stages in order, each with the lowest level that it may take.");

  makes_planners<System>("ytsaurus");

  const auto planner_of = [](const BoundPlanner& bound) -> ytsaurus::Planner& {
    return static_cast<ytsaurus::Planner&>(*bound.shared());
  };
  m.def(
      "ytsaurus_share",
      [planner_of](const BoundPlanner& planner, const py::dict& columns) {
        ytsaurus::SharedSettings shared;
        Reader in(columns);
        in.read("tolerance", shared.tolerance);
        in.read("threshold", shared.threshold);
        in.read("aggressive_threshold", shared.aggressive_threshold);
        in.read("timeout", shared.timeout);
        in.read("aggressive_timeout", shared.aggressive_timeout);
        in.finish();
        return planner_of(planner).share(std::move(shared));
      },
      py::arg("planner"), py::arg("columns"),
      "Let settings share its run, a row each, the first its own; False: they cannot.");
  m.def(
      "ytsaurus_apart",
      [planner_of](const BoundPlanner& planner) { return to_array(planner_of(planner).apart()); },
      py::arg("planner"), "Rows of them that lead to something else.");
  m.def(
      "ytsaurus_become",
      [planner_of](const BoundPlanner& planner, const py::array_t<Id>& rows) {
        planner_of(planner).become(to_vector(rows));
      },
      py::arg("planner"), py::arg("rows"),
      "Go on with these rows of them, the first of which leads.");
}

const Enters enters("ytsaurus", offer);

}  // namespace from_ytsaurus

}  // namespace evenhand::bindings
