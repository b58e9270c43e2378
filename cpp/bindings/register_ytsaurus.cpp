// YTsaurus' preemption: settings and columns in, a plan's columns out.
#include <optional>
#include <string>

#include "arrays.h"
#include "decisions.h"
#include "evenhand/policy/ytsaurus/plan.h"
#include "pybind.h"
#include "register.h"
#include "shares.h"
#include "ytsaurus_columns.h"

namespace evenhand::bindings {
namespace {

using ytsaurus::PlanInputs;

class YTsaurusPlan {
 public:
  explicit YTsaurusPlan(PlanInputs inputs) : plan_(std::move(inputs)) {}

  const ytsaurus::Desk& desk() const { return plan_.desk(); }
  std::size_t width() const { return desk().state.width(); }

  py::dict decisions() const { return ytsaurus_decisions(desk()); }

  py::dict elements() const {
    const ytsaurus::Update& u = desk().last;
    const EffectiveSettings& effective = u.starvation.effective;
    const auto pools = static_cast<std::size_t>(desk().pools());
    std::vector<std::uint8_t> priority(pools, 0);
    for (const auto p : u.priority) priority.push_back(static_cast<std::uint8_t>(p));
    py::dict out;
    out["status"] = to_array(codes(u.starvation.status));
    out["starvation"] = to_array(codes(u.starvation.clocks.starvation));
    out["since"] = to_array(u.starvation.clocks.since);
    out["satisfaction"] = to_array(u.satisfaction);
    out["tolerance"] = to_array(effective.tolerance);
    out["timeout"] = to_array(effective.timeout);
    out["aggressive_starvation"] = to_array(effective.enable_aggressive);
    out["aggressive_preemption"] = to_array(effective.allow_aggressive);
    out["usage_threshold"] = rows_by(effective.usage_threshold, width());
    out["lowest_starving_ancestor"] = to_array(u.starvation.lowest_starving);
    out["lowest_aggressive_ancestor"] = to_array(u.starvation.lowest_aggressive);
    out["priority"] = to_array(std::move(priority));
    return out;
  }

  py::object groups() const { return to_array(codes(plan_.groups())); }

  py::dict counts() const {
    static constexpr const char* kStage[] = {"regular",        "preemptive",     "aggressive",
                                             "ssd_preemptive", "ssd_aggressive", "full_host",
                                             "graceful",       "limit_repair",   "overcommit"};
    static constexpr const char* kWhat[] = {"run", "started", "victims", "backoff"};
    py::dict out;
    for (std::size_t s = 0; s < desk().counts.size(); ++s)
      for (std::size_t w = 0; w < 4; ++w)
        if (desk().counts[s][w] > 0)
          out[py::str(std::string(kStage[s]) + "." + kWhat[w])] = desk().counts[s][w];
    return out;
  }

  py::dict refusals() const {
    Refusals r;
    {
      const LongCall call;
      r = plan_.refusals();
    }
    return refusal_columns(std::move(r), width());
  }

  py::dict handed() const { return handed_columns(desk().handed, width()); }
  py::dict memory() const { return memory_columns(desk()); }

  py::dict trace(const std::string& kind, Id row) const {
    return trace_columns(plan_, kind, row, width());
  }

  FairShares shares() const {
    return FairShares(plan_.inputs().snapshot, plan_.inputs().settings.fair_share,
                      desk().last.shares);
  }

  std::optional<Time> next_due() const {
    const Time due = plan_.next_due();
    return due == kNoTime ? std::nullopt : std::optional(due);
  }

 private:
  ytsaurus::Plan plan_;
};

}  // namespace

void register_ytsaurus(py::module_& m) {
  py::class_<YTsaurusPlan>(m, "YTsaurusPlan", "Decisions of one plan and what they follow from.")
      .def("decisions", &YTsaurusPlan::decisions, "One row a decision, in order.")
      .def("elements", &YTsaurusPlan::elements, "One row an element: pools, then operations.")
      .def("groups", &YTsaurusPlan::groups, "Group of every allocation at the update; 255: none.")
      .def("counts", &YTsaurusPlan::counts, "What the stages did, by \"<stage>.<what>\".")
      .def("refusals", &YTsaurusPlan::refusals, "One row a request that still waits.")
      .def("handed", &YTsaurusPlan::handed,
           "Room of leaving allocations that was taken: rows, quanta.")
      .def("memory", &YTsaurusPlan::memory, "What the next plan goes on from.")
      .def("trace", &YTsaurusPlan::trace, py::arg("kind"), py::arg("row"),
           "What a \"request\" or an \"allocation\" met, by planning again.")
      .def_property_readonly("next_due", &YTsaurusPlan::next_due,
                             "Microseconds: when a plan can first differ; None: never.")
      .def_property_readonly("shares", &YTsaurusPlan::shares, "Fair shares of the update.");

  m.def(
      "ytsaurus_stages",
      [](const py::dict& settings, bool ssd_node) {
        static constexpr const char* kLevels[] = {"ssd_non_preemptible",
                                                  "ssd_aggressively_preemptible", "non_preemptible",
                                                  "aggressively_preemptible", "preemptible"};
        std::vector<std::pair<int, std::string>> out;
        for (const auto& rule : ytsaurus::stage_rules(ytsaurus_settings(settings, {}), ssd_node))
          out.emplace_back(static_cast<int>(rule.stage), kLevels[static_cast<int>(rule.lowest)]);
        return out;
      },
      py::arg("settings"), py::arg("ssd_node"),
      "Preemptive stages in order, each with the lowest level that it may take.");

  m.def(
      "plan_ytsaurus",
      [](const Snapshot& snapshot, const py::dict& settings, const FairShareOptions& fair_share,
         const py::dict& rows, const py::dict& memory, const std::optional<VolumeMemory>& volumes,
         const py::dict& given, const py::array_t<Id>& nodes) {
        PlanInputs in =
            plan_inputs(snapshot, settings, fair_share, rows, memory, volumes, given, nodes);
        const LongCall call;
        return std::make_unique<YTsaurusPlan>(std::move(in));
      },
      py::arg("snapshot"), py::arg("settings"), py::arg("fair_share"), py::arg("rows"),
      py::arg("memory"), py::arg("volumes"), py::arg("given"), py::arg("nodes"),
      "One update and a heartbeat of each node, in order.");
}

}  // namespace evenhand::bindings
