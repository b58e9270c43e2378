#include "decisions.h"

#include <algorithm>
#include <map>
#include <type_traits>

namespace evenhand::bindings {

namespace {

void put_step_proofs(py::dict& out, const Decisions& decisions) {
  if (decisions.proofs().empty()) return;
  const std::vector<Decision>& rows = decisions.rows();
  std::vector<Index> cost(rows.size(), -1), least(rows.size(), -1);
  std::vector<std::uint8_t> proved(rows.size(), 0), first(rows.size(), 0), spent(rows.size(), 0);
  std::map<Id, const SelectionProof*> of_step;
  for (const StepProof& p : decisions.proofs()) of_step[p.step] = &p.proof;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto found = of_step.find(rows[i].step);
    if (found == of_step.end()) continue;
    const SelectionProof& p = *found->second;
    cost[i] = p.cost;
    least[i] = p.lower_bound;
    proved[i] = p.proved;
    first[i] = p.first;
    spent[i] = p.spent;
  }
  out["minimum_cost"] = to_array(std::move(cost));
  out["minimum_lower_bound"] = to_array(std::move(least));
  out["minimum_proved"] = to_array(std::move(proved));
  out["minimum_first"] = to_array(std::move(first));
  out["minimum_spent"] = to_array(std::move(spent));
}

// `decisions`, with `rows` in the place of its own.
py::dict columns_of(const Decisions& decisions, const std::vector<Decision>& rows,
                    std::size_t width) {
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
         [](const Decision& d) { return d.action == Action::kStart ? kNoId : d.slot; });
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
  column("pool_within_guarantee", [](const Decision& d) { return d.pool_within_guarantee; });
  column("group", [&](const Decision& d) { return code(d.group); });
  column("soft", [](const Decision& d) { return static_cast<std::uint8_t>(d.soft); });
  int which = 0;
  for (const char* name : {"freed", "free_before", "needed", "usage_before", "kept"})
    out[name] = rows_by(decisions.amounts(which++), width);
  put_step_proofs(out, decisions);
  if (std::ranges::any_of(rows, [](const Decision& d) { return d.ran != kNoTime; }))
    column("ran", [](const Decision& d) { return d.ran; });
  if (std::ranges::any_of(rows, [](const Decision& d) { return d.over.queue != kNoId; })) {
    py::list names;
    for (const Decision& d : rows)
      names.append(d.over.queue == kNoId ? std::string()
                                         : decisions.queue_names()[at(d.over.queue)]);
    out["queue"] = py::module_::import("numpy").attr("array")(names, "U");
    column("queue_count", [](const Decision& d) { return d.over.count; });
    column("queue_most", [](const Decision& d) { return d.over.most; });
    column("queue_level", [](const Decision& d) { return d.over.level; });
    column("queue_seq", [](const Decision& d) { return d.over.seq; });
  }
  return out;
}

}  // namespace

py::list question_dicts(const Decisions& decisions, std::size_t width) {
  static constexpr const char* kKinds[] = {"amounts", "jobs", "sets"};
  py::list found;
  for (const auto& [step, q] : decisions.questions()) {
    py::dict out;
    out["step"] = step;
    out["kind"] = kKinds[static_cast<int>(q.kind)];
    out["table"] = q.slots ? "allocations" : "operations";
    out["budget"] = q.budget;
    out["branches"] = q.branches;
    out["root_bound"] = q.root_bound;
    out["within_caps"] = q.within_caps;
    out["candidates"] = to_array(q.candidates);
    out["costs"] = to_array(q.costs);
    out["taken"] = to_array(q.taken);
    if (q.kind == MinimumQuestion::Kind::kAmounts) {
      out["node"] = q.node;
      out["amounts"] = rows_by(q.amounts, width);
      out["shortage"] = to_array(q.shortage);
      out["multipliers"] = to_array(q.multipliers);
    } else if (q.kind == MinimumQuestion::Kind::kJobs) {
      py::list sites;
      for (const SpreadNeed::Site& s : q.need.sites)
        sites.append(py::make_tuple(s.node, s.pieces, s.levels, s.must));
      out["copies"] = q.need.copies;
      out["sites"] = sites;
      out["jobs"] = to_array(q.need.job);
      out["amounts"] = rows_by(q.need.amount, q.need.width);
      out["lacks"] = rows_by(q.need.lack, q.need.width);
      out["scale"] = q.proof.scale;
      out["parts"] = to_array(q.proof.part);
      out["bounds"] = to_array(q.proof.bound);
      out["multipliers"] = to_array(q.proof.multiplier);
    }
    found.append(out);
  }
  return found;
}

py::dict decision_columns(const Decisions& decisions, std::size_t width) {
  return columns_of(decisions, decisions.rows(), width);
}

NamedDecisions::NamedDecisions(const Planner& planner)
    : decisions_(planner.decisions()),
      width_(planner.state().width()),
      rows_(decisions_.rows()),
      hands_over_(!planner.handed().empty()) {
  const ClusterState& state = planner.state();
  const auto named = [](const auto& table, Id row) {
    return Name(std::string(table.keys().name(row)), table.keys().is_integer(row));
  };
  const auto place = [&](Names& names, const auto& table, Id& row) {
    if (row == kNoId) return;
    const auto [found, fresh] = names.places.emplace(row, static_cast<Id>(names.names.size()));
    if (fresh) names.names.push_back(named(table, row));
    row = found->second;
  };
  const LiveTable<RequestColumns>& requests = state.requests();
  for (Decision& d : rows_) {
    std::optional<Asked> asked;
    if (d.action == Action::kStart) {
      using C = RequestColumns;
      const Amount* each = requests.get_row(&C::resources, d.request);
      asked.emplace();
      asked->amounts.assign(width_, 0);
      if (each != nullptr) std::copy_n(each, width_, asked->amounts.begin());
      if (const Id node = requests.get(&C::required_node, d.request, kNoId); node != kNoId)
        asked->node = named(state.nodes(), node);
      if (requests.get(&C::priority_given, d.request) != 0)
        asked->priority = requests.get(&C::priority, d.request);
      asked->preemptible = requests.get(&C::preemptible, d.request, std::uint8_t{1}) != 0;
    } else {
      place(allocations_, state.allocations(), d.slot);
    }
    asked_.push_back(std::move(asked));
    place(requests_, requests, d.request);
    place(requests_, requests, d.beneficiary.request);
    place(operations_, state.operations(), d.operation);
    place(operations_, state.operations(), d.beneficiary.operation);
    place(nodes_, state.nodes(), d.node);
    repairs_ |= d.violated != kNoId;
  }
}

py::dict NamedDecisions::columns() const { return columns_of(decisions_, rows_, width_); }

py::object NamedDecisions::object(const Name& name) {
  py::object text = py::str(name.first);
  return name.second ? py::object(py::int_(text)) : text;
}

py::list NamedDecisions::names(const std::string& table) const {
  const Names* const found = table == "allocations"  ? &allocations_
                             : table == "requests"   ? &requests_
                             : table == "operations" ? &operations_
                             : table == "nodes"      ? &nodes_
                                                     : nullptr;
  if (found == nullptr) throw py::key_error("no decision names " + table);
  py::list out;
  for (const Name& name : found->names) out.append(object(name));
  return out;
}

py::list NamedDecisions::asked() const {
  py::list out;
  for (const std::optional<Asked>& a : asked_) {
    if (!a) {
      out.append(py::none());
      continue;
    }
    const py::object node = a->node ? object(*a->node) : py::none();
    const py::object priority = a->priority ? py::object(py::float_(*a->priority)) : py::none();
    out.append(
        py::make_tuple(to_array(std::vector<Amount>(a->amounts)), node, priority, a->preemptible));
  }
  return out;
}

py::dict handed_columns(std::span<const ClusterState::TakenRoom> handed, std::size_t width) {
  std::map<Id, std::vector<Amount>> sums;
  for (const ClusterState::TakenRoom& t : handed) {
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

namespace {

py::dict named(const Facts& facts) {
  const auto values = [](const auto& pairs, auto&& as) {
    py::dict out;
    for (const auto& [name, value] : pairs) out[name] = as(value);
    return out;
  };
  const auto plain = [](auto value) { return value; };
  py::dict out;
  out["numbers"] = values(facts.numbers, plain);
  out["times"] = values(facts.times, plain);
  out["operations"] = values(facts.operations, plain);
  out["requests"] = values(facts.requests, plain);
  out["allocations"] = values(facts.allocations, plain);
  out["pools"] = values(facts.pools, plain);
  out["hosts"] = values(facts.hosts, plain);
  const auto several = [](const Column<Id>& rows) {
    return to_array(std::vector<Id>(rows.begin(), rows.end()));
  };
  out["nodes"] = values(facts.nodes, several);
  out["slots"] = values(facts.slots, several);
  out["jobs"] = values(facts.jobs, several);
  out["amounts"] = values(facts.amounts, [](const Column<Amount>& row) {
    return to_array(std::vector<Amount>(row.begin(), row.end()));
  });
  out["words"] = values(facts.words, plain);
  out["lists"] = values(facts.lists, [](const auto& words) { return py::cast(words); });
  out["settings"] = values(facts.settings, [](const auto& row) { return py::cast(row); });
  return out;
}

}  // namespace

py::dict event_columns(const Recorder& recorder, std::size_t width) {
  const std::vector<Event>& events = recorder.events;
  py::dict out;
  py::list facts;
  for (const Event& e : events) facts.append(named(e.facts));
  out["facts"] = std::move(facts);
  out["unseen"] = named(recorder.unseen);
  out["stood"] = to_array(std::vector<Index>(recorder.stood.begin(), recorder.stood.end()));
  const auto column = [&](const char* name, auto&& value) {
    std::vector<std::decay_t<decltype(value(events[0]))>> values;
    for (const Event& e : events) values.push_back(value(e));
    out[name] = to_array(std::move(values));
  };
  column("node", [](const Event& e) { return e.node; });
  column("stage", [](const Event& e) { return static_cast<std::uint8_t>(e.stage); });
  column("outcome", [](const Event& e) { return static_cast<std::uint8_t>(e.outcome); });
  column("operation", [](const Event& e) { return e.operation; });
  column("request", [](const Event& e) { return e.request; });
  column("allocation", [](const Event& e) { return e.slot; });
  column("pace", [](const Event& e) { return static_cast<std::uint8_t>(e.spared.why); });
  column("pool", [](const Event& e) { return e.spared.pool; });
  column("instant", [](const Event& e) { return e.spared.at; });
  column("victims", [](const Event& e) { return e.spared.victims; });
  column("most", [](const Event& e) { return e.spared.most; });
  column("group", [](const Event& e) { return static_cast<std::uint8_t>(e.group); });
  std::vector<Amount> numbers;
  for (const Event& e : events) numbers.insert(numbers.end(), e.missing.begin(), e.missing.end());
  out["numbers"] = rows_by(std::move(numbers), width);
  return out;
}

py::dict refusal_columns(Refusals refusals, std::size_t width) {
  py::dict out;
  out["request"] = to_array(std::move(refusals.request));
  out["rule"] = to_array(codes(refusals.rule));
  if (!refusals.command.empty()) out["command"] = to_array(std::move(refusals.command));
  out["nodes"] = to_array(std::move(refusals.nodes));
  out["best_missing"] = rows_by(std::move(refusals.missing), width);
  return out;
}

}  // namespace evenhand::bindings
