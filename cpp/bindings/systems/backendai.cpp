// Backend.AI's scheduling run: settings and columns of Python make a planner.
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "evenhand/policy/backendai/planner.h"
#include "making.h"
#include "pace.h"
#include "reader.h"

namespace evenhand::bindings {
namespace from_backendai {

using backendai::RowSettings;
using backendai::Settings;

Settings settings_of(const py::dict& values) {
  Settings s;
  Reader in(values);
  in.read("enabled", s.enabled);
  in.read("threshold", s.threshold);
  in.read("order", s.order);
  in.read("mode", s.mode);
  in.read("unsuited_are_terminated", s.unsuited_are_terminated);
  in.read("keep_containers", s.keep_containers);
  in.read("min_runtime", s.min_runtime);
  in.read("every_session_preempts", s.every_session_preempts);
  in.read("per_agent", s.per_agent);
  in.read("selection", s.selection);
  in.read("default_priority", s.default_priority);
  in.read("rank_is_priority", s.rank_is_priority);
  in.read("scope", s.scope);
  in.read("sequencer", s.sequencer);
  in.read("inference_preemptible", s.inference_preemptible);
  in.read("minimum_budget", s.minimum_budget);
  in.read("victim_cost", s.victim_cost);
  in.read("agents", s.agents);
  in.read("resource_order", s.resource_order);
  in.read("reserve_room", s.reserve_room);
  in.read("only_lack_blocks", s.only_lack_blocks);
  in.read("max_containers", s.max_containers);
  s.pace = pace_of(in);
  in.finish();
  return s;
}

// Numbers of domains, as they come.
using Domains = std::map<std::string, Id>;

RowSettings rows_of(const py::dict& columns, Domains& known) {
  RowSettings r;
  Reader in(columns);
  std::vector<std::optional<std::string>> domains;
  in.read("domain", domains);
  for (const std::optional<std::string>& name : domains)
    r.domain.push_back(name ? known.emplace(*name, static_cast<Id>(known.size())).first->second
                            : kNoId);
  in.read_each(r);
  in.finish();
  return r;
}

// What makes its planners: making.h.
struct System {
  using Planner = backendai::Planner;
  using Kept = Domains;

  static backendai::Inputs inputs(const Snapshot& snapshot, const py::dict& given, Kept& known) {
    backendai::Inputs out{snapshot, settings_of(part(given, "settings")),
                          rows_of(part(given, "rows"), known)};
    Reader in(part(given, "memory"));
    in.read("last_preempt", out.last_preempt);
    out.victims = victims_of(in);
    in.finish();
    return out;
  }
  static void came(Planner& planner, const std::string& table, const std::vector<Id>& rows,
                   const py::dict& columns, Kept& known) {
    if (table == "operations") planner.rows_came(rows, rows_of(columns, known));
  }
  static auto coming(const py::dict& columns, Kept& known) {
    return [all = rows_of(columns, known)](Planner& planner, Id source, Id row) {
      planner.rows_came({&row, 1}, row_of(all, source));
    };
  }
};

const Enters enters("backendai", [](py::module_&) { makes_planners<System>("backendai"); });

}  // namespace from_backendai

}  // namespace evenhand::bindings
