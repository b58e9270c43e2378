#include "ytsaurus_columns.h"

#include <map>
#include <string>
#include <utility>

#include "arrays.h"

namespace evenhand::bindings {

using ytsaurus::Given;
using ytsaurus::PlanInputs;
using ytsaurus::RowSettings;
using ytsaurus::Settings;

namespace {

// Reads the entries of a dict one by one; a name that nobody reads is an error.
class Reader {
 public:
  explicit Reader(const py::dict& values) : values_(values) {}

  template <class T>
  void read(const char* name, T& to) {
    if (const py::object value = take(name)) to = value.cast<T>();
  }
  template <class T>
  void read(const char* name, std::vector<T>& to) {
    if (const py::object value = take(name)) to = to_vector(value.cast<py::array_t<T>>());
  }
  template <class E>
  void read_enum(const char* name, std::vector<E>& to) {
    std::vector<std::underlying_type_t<E>> codes;
    read(name, codes);
    for (const auto code : codes) to.push_back(static_cast<E>(code));
  }
  void finish() const {
    for (const auto& item : values_)
      if (!read_.contains(item.first.cast<std::string>()))
        throw py::key_error("no such column or setting: " + item.first.cast<std::string>());
  }

 private:
  py::object take(const char* name) {
    read_[name] = true;
    return values_.contains(name) ? py::object(values_[name]) : py::object();
  }

  const py::dict& values_;
  std::map<std::string, bool> read_;
};

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
  in.read("cpu_limits", r.cpu_limits);
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

}  // namespace

Settings ytsaurus_settings(const py::dict& values, const FairShareOptions& fair_share) {
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

py::object rows_by(std::vector<Amount> values, std::size_t width) {
  const auto columns = static_cast<py::ssize_t>(width);
  const auto rows = static_cast<py::ssize_t>(values.size()) / columns;
  return to_array(std::move(values), {rows, columns});
}

PlanInputs plan_inputs(const Snapshot& snapshot, const py::dict& settings,
                       const FairShareOptions& fair_share, const py::dict& rows,
                       const py::dict& memory, const std::optional<VolumeMemory>& volumes,
                       const py::dict& given, const py::array_t<Id>& nodes) {
  return {snapshot,
          ytsaurus_settings(settings, fair_share),
          rows_of(rows, static_cast<std::size_t>(snapshot.tables().resource_count())),
          given_of(given),
          memory_of(memory),
          volumes.has_value(),
          volumes.value_or(VolumeMemory{}),
          to_vector(nodes)};
}

py::dict decision_columns(const ytsaurus::Desk& desk) {
  const std::vector<Decision>& rows = desk.decisions.rows();
  py::dict out;
  const auto column = [&](const char* name, auto&& value) {
    std::vector<std::decay_t<decltype(value(rows[0]))>> values;
    values.reserve(rows.size());
    for (const Decision& d : rows) values.push_back(value(d));
    out[name] = to_array(std::move(values));
  };
  const auto code = [](auto e) { return static_cast<std::uint8_t>(e); };
  column("action", [&](const Decision& d) { return code(d.action); });
  column("allocation",
         [](const Decision& d) { return d.action == Action::kPreempt ? d.slot : kNoId; });
  column("request", [](const Decision& d) { return d.request; });
  column("operation", [](const Decision& d) { return d.operation; });
  column("node", [](const Decision& d) { return d.node; });
  column("mode", [&](const Decision& d) { return code(d.mode); });
  column("grace", [](const Decision& d) { return d.grace; });
  column("at", [](const Decision& d) { return d.at; });
  column("until", [](const Decision& d) { return d.until; });
  column("reason", [&](const Decision& d) { return code(d.reason); });
  column("stage", [&](const Decision& d) { return code(d.stage); });
  column("step", [](const Decision& d) { return d.step; });
  column("beneficiary_operation", [](const Decision& d) { return d.beneficiary.operation; });
  column("beneficiary_request", [](const Decision& d) { return d.beneficiary.request; });
  column("violated", [](const Decision& d) { return d.violated; });
  column("within_fair_share", [](const Decision& d) { return d.within_fair_share; });
  column("group", [&](const Decision& d) { return code(d.group); });
  int which = 0;
  for (const char* name : {"freed", "free_before", "needed", "usage_before"})
    out[name] = rows_by(desk.decisions.amounts(which++), desk.state.width());
  out["kept"] =
      rows_by(std::vector<Amount>(rows.size() * desk.state.width(), 0), desk.state.width());
  return out;
}

py::dict handed_columns(const ytsaurus::Desk& desk) {
  const std::size_t width = desk.state.width();
  std::map<Id, std::vector<Amount>> sums;
  for (const ClusterState::TakenRoom& t : desk.handed) {
    std::vector<Amount>& sum = sums.try_emplace(t.allocation, width, 0).first->second;
    for (std::size_t r = 0; r < width; ++r) sum[r] += t.amounts[r];
  }
  std::vector<Id> slots;
  std::vector<Amount> amounts;
  for (const auto& [slot, sum] : sums) {
    if (std::ranges::all_of(sum, [](Amount a) { return a == 0; })) continue;
    slots.push_back(slot);
    amounts.insert(amounts.end(), sum.begin(), sum.end());
  }
  py::dict out;
  out["allocation"] = to_array(std::move(slots));
  out["amounts"] = rows_by(std::move(amounts), width);
  return out;
}

py::dict memory_columns(const ytsaurus::Desk& desk) {
  const ytsaurus::Memory& m = desk.memory;
  py::dict out;
  out["since"] = to_array(m.clocks.since);
  out["starvation"] = to_array(codes(m.clocks.starvation));
  out["last_preemptive"] = to_array(m.last_preemptive);
  out["overcommitted_since"] = to_array(m.overcommitted_since);
  return out;
}

}  // namespace evenhand::bindings
