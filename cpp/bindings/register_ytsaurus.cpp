// YTsaurus' preemption: settings and columns in, a plan's columns out.
#include <chrono>
#include <optional>
#include <string>

#include "arrays.h"
#include "decisions.h"
#include "evenhand/policy/ytsaurus/heartbeat.h"
#include "evenhand/policy/ytsaurus/plan.h"
#include "pybind.h"
#include "reader.h"
#include "register.h"
#include "shares.h"

namespace evenhand::bindings {
namespace {

using ytsaurus::Given;
using ytsaurus::PlanInputs;
using ytsaurus::RowSettings;
using ytsaurus::Settings;

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
  int selection = static_cast<int>(s.victim_selection);
  in.read("victim_selection", selection);
  s.victim_selection = static_cast<VictimSelection>(selection);
  in.read("minimum_budget", s.minimum_budget);
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
  in.finish();
  return s;
}

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
  in.read("wants_ssd", r.wants_ssd);
  in.read("allow_normal", r.allow_normal);
  in.read("regular_on_ssd", r.regular_on_ssd);
  in.read("limits_tolerance", r.limits_tolerance);
  in.read("node_ssd", r.node_ssd);
  in.read("cpu_gap", r.cpu_gap);
  in.read("uses_ssd", r.uses_ssd);
  std::vector<Id> taken;
  std::vector<Amount> amounts;
  in.read("room_taken_rows", taken);
  in.read("room_taken", amounts);
  in.finish();
  for (std::size_t i = 0; i < taken.size(); ++i)
    r.taken.push_back({taken[i],
                       {amounts.begin() + static_cast<std::ptrdiff_t>(i * width),
                        amounts.begin() + static_cast<std::ptrdiff_t>((i + 1) * width)}});
  return r;
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
  in.read_enum("starvation", m.clocks.starvation);
  in.read("last_preemptive", m.last_preemptive);
  in.read("overcommitted_since", m.overcommitted_since);
  in.finish();
  return m;
}

class CorePlan {
 public:
  explicit CorePlan(PlanInputs inputs) : plan_(std::move(inputs)) {}

  const ytsaurus::Desk& desk() const { return plan_.desk(); }
  std::size_t width() const { return desk().state.width(); }

  // Where victims are to be the fewest, also minimum_cost (-1: no such step),
  // minimum_lower_bound, minimum_proved and minimum_first of each row's step.
  py::dict decisions() const {
    py::dict out = decision_columns(desk().decisions, desk().handed, width());
    if (desk().settings.victim_selection != VictimSelection::kMinimum) return out;
    const std::vector<Decision>& rows = desk().decisions.rows();
    std::vector<Index> cost(rows.size(), -1), least(rows.size(), -1);
    std::vector<std::uint8_t> proved(rows.size(), 0), first(rows.size(), 0);
    std::vector<const SelectionProof*> of_step(static_cast<std::size_t>(desk().steps), nullptr);
    for (const ytsaurus::Desk::StepProof& p : desk().proofs)
      of_step[static_cast<std::size_t>(p.step)] = &p.proof;
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (const SelectionProof* p = of_step[static_cast<std::size_t>(rows[i].step)]) {
        cost[i] = p->cost;
        least[i] = p->lower_bound;
        proved[i] = p->proved;
        first[i] = p->first;
      }
    out["minimum_cost"] = to_array(std::move(cost));
    out["minimum_lower_bound"] = to_array(std::move(least));
    out["minimum_proved"] = to_array(std::move(proved));
    out["minimum_first"] = to_array(std::move(first));
    return out;
  }

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
    ytsaurus::Refusals r;
    {
      py::gil_scoped_release release;
      r = plan_.refusals();
    }
    py::dict out;
    out["request"] = to_array(std::move(r.request));
    out["rule"] = to_array(codes(r.rule));
    out["nodes"] = to_array(std::move(r.nodes));
    out["best_missing"] = rows_by(std::move(r.missing), width());
    return out;
  }

  py::dict memory() const {
    const ytsaurus::Memory& m = desk().memory;
    py::dict out;
    out["since"] = to_array(m.clocks.since);
    out["starvation"] = to_array(codes(m.clocks.starvation));
    out["last_preemptive"] = to_array(m.last_preemptive);
    out["overcommitted_since"] = to_array(m.overcommitted_since);
    return out;
  }

  py::dict trace(const std::string& kind, Id row) const {
    std::vector<Event> events;
    {
      py::gil_scoped_release release;
      events = kind == "request" ? plan_.trace(row, kNoId) : plan_.trace(kNoId, row);
    }
    return event_columns(events, width());
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

// A desk that stays: heartbeats and deltas one after the other.
class LiveDesk {
 public:
  explicit LiveDesk(PlanInputs in)
      : inputs_(std::move(in)),
        desk_(std::make_unique<ytsaurus::Desk>(ClusterState(inputs_.snapshot, inputs_.rows.taken),
                                               inputs_.settings, inputs_.rows, inputs_.given,
                                               inputs_.memory)) {}

  void update(Time now) {
    py::gil_scoped_release release;
    desk_->state.advance(now);
    desk_->update(inputs_.has_volumes ? &inputs_.volumes : nullptr, true);
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

  void start(Id operation, Id node, const py::array_t<Amount>& amounts, Time time) {
    desk_->start(operation, node, to_vector(amounts), time);
  }
  void end(Id slot) { desk_->end(slot); }

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

void register_ytsaurus(py::module_& m) {
  const auto inputs = [](const Snapshot& snapshot, const py::dict& settings,
                         const FairShareOptions& fair_share, const py::dict& rows,
                         const py::dict& memory, const std::optional<VolumeMemory>& volumes,
                         const py::dict& given, const py::array_t<Id>& nodes) {
    return PlanInputs{snapshot,
                      settings_of(settings, fair_share),
                      rows_of(rows, static_cast<std::size_t>(snapshot.tables().resource_count())),
                      given_of(given),
                      memory_of(memory),
                      volumes.has_value(),
                      volumes.value_or(VolumeMemory{}),
                      to_vector(nodes)};
  };

  py::class_<LiveDesk>(m, "YTsaurusDesk", "Heartbeats and deltas one after the other.")
      .def(py::init([inputs](const Snapshot& snapshot, const py::dict& settings,
                             const FairShareOptions& fair_share, const py::dict& rows,
                             const py::dict& memory, const std::optional<VolumeMemory>& volumes,
                             const py::dict& given) {
             return LiveDesk(
                 inputs(snapshot, settings, fair_share, rows, memory, volumes, given, {}));
           }),
           py::arg("snapshot"), py::arg("settings"), py::arg("fair_share"), py::arg("rows"),
           py::arg("memory"), py::arg("volumes"), py::arg("given"))
      .def("update", &LiveDesk::update, py::arg("now"), "Shares, statuses, groups at an instant.")
      .def("heartbeats", &LiveDesk::heartbeats, py::arg("nodes"), "Nanoseconds of each.")
      .def("starts_and_ends", &LiveDesk::starts_and_ends, py::arg("operation"), py::arg("amounts"),
           py::arg("nodes"), "Nanoseconds of each, groups included.")
      .def("start", &LiveDesk::start, py::arg("operation"), py::arg("node"), py::arg("amounts"),
           py::arg("time"))
      .def("end", &LiveDesk::end, py::arg("slot"))
      .def("groups", &LiveDesk::groups, "Group of every slot; 255: none.")
      .def_property_readonly("decision_count", &LiveDesk::decision_count)
      .def_property_readonly("memory_bytes", &LiveDesk::memory_bytes);

  py::class_<CorePlan>(m, "YTsaurusPlan", "Decisions of one plan and what they follow from.")
      .def("decisions", &CorePlan::decisions, "One row a decision, in order.")
      .def("elements", &CorePlan::elements, "One row an element: pools, then operations.")
      .def("groups", &CorePlan::groups, "Group of every allocation at the update; 255: none.")
      .def("counts", &CorePlan::counts, "What the stages did, by \"<stage>.<what>\".")
      .def("refusals", &CorePlan::refusals, "One row a request that still waits.")
      .def("memory", &CorePlan::memory, "What the next plan goes on from.")
      .def("trace", &CorePlan::trace, py::arg("kind"), py::arg("row"),
           "What a \"request\" or an \"allocation\" met, by planning again.")
      .def_property_readonly("next_due", &CorePlan::next_due,
                             "Microseconds: when a plan can first differ; None: never.")
      .def_property_readonly("shares", &CorePlan::shares, "Fair shares of the update.");

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

  m.def(
      "plan_ytsaurus",
      [inputs](const Snapshot& snapshot, const py::dict& settings,
               const FairShareOptions& fair_share, const py::dict& rows, const py::dict& memory,
               const std::optional<VolumeMemory>& volumes, const py::dict& given,
               const py::array_t<Id>& nodes) {
        PlanInputs in = inputs(snapshot, settings, fair_share, rows, memory, volumes, given, nodes);
        py::gil_scoped_release release;
        return std::make_unique<CorePlan>(std::move(in));
      },
      py::arg("snapshot"), py::arg("settings"), py::arg("fair_share"), py::arg("rows"),
      py::arg("memory"), py::arg("volumes"), py::arg("given"), py::arg("nodes"),
      "One update and a heartbeat of each node, in order.");
}

}  // namespace evenhand::bindings
