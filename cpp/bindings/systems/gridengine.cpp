// Grid Engine's scheduling runs: settings and columns of Python make a planner.
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "evenhand/policy/gridengine/planner.h"
#include "evenhand/preempt/effects.h"
#include "making.h"
#include "pace.h"
#include "reader.h"

namespace evenhand::bindings {
namespace from_gridengine {

using gridengine::RowSettings;
using gridengine::Settings;

Settings settings_of(const py::dict& values) {
  Settings s;
  Reader in(values);
  in.read("automatic", s.automatic);
  in.read("action", s.action);
  in.read("there", s.there);
  in.read("max_reservation", s.max_reservation);
  in.read("max_preemptees", s.max_preemptees);
  in.read("prioritize", s.prioritize);
  in.read("keep_resources", s.keep_resources);
  in.read("partly", s.partly);
  in.read("backfilling", s.backfilling);
  in.read("distance", s.distance);
  in.read("offset", s.offset);
  in.read("default_duration", s.default_duration);
  in.read("notify", s.notify);
  in.read("managed", s.managed);
  in.read("rerun", s.rerun);
  in.read("has_method", s.has_method);
  in.read("queue_action", s.queue_action);
  gridengine::Subordinates& below = s.subordinates;
  in.read("parent", below.parent);
  in.read("most", below.most);
  in.read("seq", below.seq);
  in.read("longest", below.longest);
  in.read("place", below.place);
  in.read("above", below.above);
  in.read("below", below.below);
  in.read("used", below.used);
  in.read("queue_of_pool", below.queue_of_pool);
  in.read("queue_names", below.names);
  in.read("minimum_budget", s.minimum_budget);
  s.pace = pace_of(in);
  in.finish();
  return s;
}

RowSettings rows_of(const py::dict& columns) {
  RowSettings r;
  Reader in(columns);
  in.read("queue", r.queue);
  in.read("releases", r.releases);
  in.read("job_name", r.job_name);
  in.finish();
  return r;
}

void named_in(Reader& in, const char* names, const char* of, gridengine::Memory::Named& to) {
  std::vector<std::variant<Index, std::string>> given;
  in.read(names, given);
  for (const auto& name : given)
    to.names.push_back(std::holds_alternative<Index>(name)
                           ? RowName{std::to_string(std::get<Index>(name)), true}
                           : RowName{std::get<std::string>(name), false});
  in.read(of, to.of);
}

// What makes its planners: making.h.
struct System {
  using Planner = gridengine::Planner;
  struct Kept {};

  static gridengine::Inputs inputs(const Snapshot& snapshot, const py::dict& given, Kept&) {
    gridengine::Inputs out{
        snapshot, settings_of(part(given, "settings")), rows_of(part(given, "rows")), {}};
    Reader in(part(given, "memory"));
    in.read("requested", out.memory.asked);
    in.read("forced", out.memory.forced);
    in.read("preempted_as", out.memory.state);
    named_in(in, "providers", "providers_of", out.memory.providers);
    named_in(in, "preempted_for", "preempted_for_of", out.memory.preempted_for);
    out.memory.victims = victims_of(in);
    in.finish();
    return out;
  }
  static void came(Planner& planner, const std::string& table, const std::vector<Id>& rows,
                   const py::dict& columns, Kept&) {
    const RowSettings cells = rows_of(columns);
    if (table == "operations") planner.rows().put_operations(rows, cells);
    if (table == "allocations") planner.rows().put_allocations(rows, cells);
  }
  static auto coming(const py::dict& columns, Kept&) {
    return [all = rows_of(columns)](Planner& planner, Id source, Id row) {
      RowSettings one;
      one.job_name = cell_of(all.job_name, source);
      planner.rows().put_operations({&row, 1}, one);
    };
  }
};

void offer(py::module_& m) {
  makes_planners<System>("gridengine");
  m.def(
      "gridengine_together",
      [](const std::vector<std::shared_ptr<BoundPlanner>>& planners,
         const std::vector<std::uint8_t>& runs) {
        std::vector<gridengine::Planner*> all;
        for (const std::shared_ptr<BoundPlanner>& p : planners)
          all.push_back(&dynamic_cast<gridengine::Planner&>(*p->shared()));
        const LongCall call;
        gridengine::Planner::decide_together(all, std::span(runs));
      },
      py::arg("planners"), py::arg("runs"),
      "A scheduling run of clusters that share licences; of those that do not run, what has some "
      "counts.");
  m.def(
      "preemption_frees",
      [](int mode, int kind, bool available) {
        return frees(static_cast<Mode>(mode), static_cast<HeldKind>(kind), available);
      },
      py::arg("mode"), py::arg("kind"), py::arg("available"),
      "Whether a mode frees slots, memory, others or managed licences (0 to 3).");
}

const Enters enters("gridengine", offer);

}  // namespace from_gridengine

}  // namespace evenhand::bindings
