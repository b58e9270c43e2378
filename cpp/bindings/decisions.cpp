#include "decisions.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <type_traits>

namespace evenhand::bindings {

namespace {

constexpr std::array<const char*, 5> kAmounts = {"freed", "free_before", "needed", "usage_before",
                                                 "kept"};

// A quotient, or the neighbour of it that leads back to what was divided.
template <class LeadsBack>
double exactly(double guess, LeadsBack leads_back) {
  if (leads_back(guess)) return guess;
  for (const double towards : {-HUGE_VAL, HUGE_VAL})
    if (const double neighbour = std::nextafter(guess, towards); leads_back(neighbour))
      return neighbour;
  return guess;
}

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

}  // namespace

py::dict decision_columns(const Decisions& decisions, std::size_t width) {
  const std::vector<Decision>& rows = decisions.rows();
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
  for (const char* name : kAmounts) out[name] = rows_by(decisions.amounts(which++), width);
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

namespace {

// The units of an amount, whole ones as int: what `evenhand.building.readback` makes of a column.
py::object in_units(Amount quanta, double quantum) {
  const double per_unit = std::round(1.0 / quantum);
  const auto count = static_cast<double>(quanta);
  if (quantum == std::floor(quantum) && quantum < 0x1p62 && count * quantum < 0x1p62)
    return py::int_(quanta * static_cast<Amount>(quantum));
  const bool divides = per_unit >= 1.0 && per_unit <= 1e15 && quantum == 1.0 / per_unit;
  const double units =
      divides ? exactly(count / per_unit, [&](double u) { return u * per_unit == count; })
              : exactly(count * quantum, [&](double u) { return u / quantum == count; });
  if (units != std::trunc(units)) return py::float_(units);
  return py::reinterpret_steal<py::object>(PyLong_FromDouble(units));
}

py::object in_seconds(Time time) {
  if (time == kNoTime) return py::none();
  return py::float_(exactly(static_cast<double>(time) / 1e6, [&](double seconds) {
    return std::nearbyint(seconds * 1e6) == static_cast<double>(time);
  }));
}

py::object flag(int code) { return code < 0 ? py::object(py::none()) : py::bool_(code != 0); }

// An object of a class of frozen attributes.
template <std::size_t N>
py::object frozen(py::handle type, const py::tuple& names,
                  const std::array<py::object, N>& values) {
  auto* kind = reinterpret_cast<PyTypeObject*>(type.ptr());
  auto made = py::reinterpret_steal<py::object>(kind->tp_alloc(kind, 0));
  if (!made) throw py::error_already_set();
  for (std::size_t i = 0; i < N; ++i)
    if (PyObject_GenericSetAttr(made.ptr(), names[i].ptr(), values[i].ptr()) != 0)
      throw py::error_already_set();
  return made;
}

template <class Columns>
py::object name_of(const LiveTable<Columns>& table, Id row) {
  const py::str text{std::string(table.keys().name(row))};
  return table.keys().is_integer(row) ? py::object(py::int_(text)) : py::object(text);
}

py::object named(const py::list& names, Id row) {
  return row == kNoId ? py::object(py::none()) : py::object(names[at(row)]);
}

}  // namespace

DecisionRows::DecisionRows(const Planner& planner)
    : width_(planner.state().width()),
      rows_(planner.decisions().rows()),
      queues_(planner.decisions().queue_names()),
      hands_over_(!planner.handed().empty()) {
  const ClusterState& state = planner.state();
  const Decisions& decisions = planner.decisions();
  for (std::size_t which = 0; which < amounts_.size(); ++which)
    amounts_[which] = decisions.amounts(static_cast<int>(which));
  if (!decisions.proofs().empty()) {
    proofs_.resize(rows_.size());
    for (std::size_t i = 0; i < rows_.size(); ++i)
      for (const auto& [step, proof] : decisions.proofs())
        if (step == rows_[i].step)
          proofs_[i] = {proof.cost, proof.lower_bound, proof.proved, proof.first};
  }
  // Few rows are named, some of them often.
  const auto place = [](py::list& names, std::vector<Id>& known, const auto& table, Id& row) {
    if (row == kNoId) return;
    const auto found = std::ranges::find(known, row);
    const auto number = static_cast<Id>(found - known.begin());
    if (found == known.end()) {
      known.push_back(row);
      names.append(name_of(table, row));
    }
    row = number;
  };
  std::vector<Id> allocations, requests, operations, nodes;
  const LiveTable<RequestColumns>& asks = state.requests();
  for (Decision& d : rows_) {
    std::optional<Asked>& asked = asked_.emplace_back();
    if (d.action == Action::kStart) {
      using C = RequestColumns;
      const Amount* each = asks.get_row(&C::resources, d.request);
      asked.emplace();
      asked->amounts.assign(width_, 0);
      if (each != nullptr) std::copy_n(each, width_, asked->amounts.begin());
      const Id node = asks.get(&C::required_node, d.request, kNoId);
      asked->node = node == kNoId ? py::object(py::none()) : name_of(state.nodes(), node);
      asked->priority = py::none();
      if (asks.get(&C::priority_given, d.request) != 0)
        asked->priority = py::float_(asks.get(&C::priority, d.request));
      asked->preemptible = asks.get(&C::preemptible, d.request, std::uint8_t{1}) != 0;
      d.slot = kNoId;
    }
    place(allocations_, allocations, state.allocations(), d.slot);
    place(requests_, requests, asks, d.request);
    place(requests_, requests, asks, d.beneficiary.request);
    place(operations_, operations, state.operations(), d.operation);
    place(operations_, operations, state.operations(), d.beneficiary.operation);
    place(nodes_, nodes, state.nodes(), d.node);
    repairs_ |= d.violated != kNoId;
  }
}

DecisionRows::DecisionRows(const py::dict& columns, const py::dict& names)
    : allocations_(names["allocations"]),
      requests_(names["requests"]),
      operations_(names["operations"]),
      nodes_(names["nodes"]) {
  rows_.resize(py::len(columns["action"]));
  const auto read = [&]<class T>(const char* name, T Decision::* to) {
    using Code = std::conditional_t<std::is_enum_v<T> || std::is_same_v<T, bool>, std::uint8_t, T>;
    if (!columns.contains(name)) return;
    const auto cells = to_vector(py::cast<py::array_t<Code>>(columns[name]));
    for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i].*to = static_cast<T>(cells[i]);
  };
  read("action", &Decision::action);
  read("allocation", &Decision::slot);
  read("request", &Decision::request);
  read("operation", &Decision::operation);
  read("node", &Decision::node);
  read("mode", &Decision::mode);
  read("grace", &Decision::grace);
  read("at", &Decision::at);
  read("until", &Decision::until);
  read("reason", &Decision::reason);
  read("stage", &Decision::stage);
  read("step", &Decision::step);
  read("violated", &Decision::violated);
  read("within_fair_share", &Decision::within_fair_share);
  read("pool_within_guarantee", &Decision::pool_within_guarantee);
  read("group", &Decision::group);
  read("soft", &Decision::soft);
  read("ran", &Decision::ran);
  const auto each = [&]<class T>(const char* name, T, auto&& put) {
    if (!columns.contains(name)) return;
    const auto cells = to_vector(py::cast<py::array_t<T>>(columns[name]));
    for (std::size_t i = 0; i < rows_.size(); ++i) put(i, cells[i]);
  };
  each("beneficiary_operation", Id{},
       [&](std::size_t i, Id row) { rows_[i].beneficiary.operation = row; });
  each("beneficiary_request", Id{},
       [&](std::size_t i, Id row) { rows_[i].beneficiary.request = row; });
  if (columns.contains("minimum_cost")) proofs_.resize(rows_.size());
  each("minimum_cost", Index{}, [&](std::size_t i, Index cost) { proofs_[i].cost = cost; });
  each("minimum_lower_bound", Index{},
       [&](std::size_t i, Index least) { proofs_[i].least = least; });
  using Flag = std::uint8_t;
  each("minimum_proved", Flag{}, [&](std::size_t i, Flag flag) { proofs_[i].proved = flag != 0; });
  each("minimum_first", Flag{}, [&](std::size_t i, Flag flag) { proofs_[i].first = flag != 0; });
  if (columns.contains("queue")) {
    queues_ = columns["queue"].attr("tolist")().cast<std::vector<std::string>>();
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (!queues_[i].empty()) rows_[i].over.queue = static_cast<Id>(i);
    using Q = QueueCount;
    each("queue_count", Index{}, [&](std::size_t i, Index n) { rows_[i].over.count = n; });
    each("queue_most", Index{}, [&](std::size_t i, Index n) { rows_[i].over.most = n; });
    each("queue_level", Index{},
         [&](std::size_t i, Index n) { rows_[i].over.level = static_cast<decltype(Q::level)>(n); });
    each("queue_seq", Index{},
         [&](std::size_t i, Index n) { rows_[i].over.seq = static_cast<decltype(Q::seq)>(n); });
  }
  for (std::size_t which = 0; which < amounts_.size(); ++which) {
    amounts_[which] = to_vector(py::cast<py::array_t<Amount>>(columns[kAmounts[which]]));
    if (!rows_.empty()) width_ = amounts_[which].size() / rows_.size();
  }
}

py::object DecisionRows::actions() const {
  std::vector<std::uint8_t> out;
  for (const Decision& d : rows_) out.push_back(static_cast<std::uint8_t>(d.action));
  return to_array(std::move(out));
}

py::object DecisionRows::soft() const {
  std::vector<std::uint8_t> out;
  for (const Decision& d : rows_) out.push_back(static_cast<std::uint8_t>(d.soft));
  return to_array(std::move(out));
}

py::list DecisionRows::objects(const py::tuple& words, const py::tuple& resources,
                               const py::array_t<double>& quantum, const py::list& keys,
                               const py::object& repairs, const py::object& chosen) const {
  const auto word = [&](std::size_t which, auto code) {
    return py::reinterpret_steal<py::object>(
        PySequence_GetItem(words[which].ptr(), static_cast<Py_ssize_t>(code)));
  };
  const auto size = [&](std::size_t which) { return py::len(words[which]); };
  const auto amounts = [&](std::size_t which, std::size_t row, bool zeros) {
    const Amount* quanta = amounts_[which].data() + row * width_;
    py::dict out;
    for (std::size_t r = 0; r < width_; ++r)
      if (zeros || quanta[r] != 0) out[resources[r]] = in_units(quanta[r], quantum.at(r));
    return out;
  };
  enum { kFreed, kFreeBefore, kNeeded, kUsageBefore, kKept };
  const auto made = [&](std::size_t i) {
    const Decision& d = rows_[i];
    py::dict numbers;
    numbers["free_before"] = amounts(kFreeBefore, i, true);
    if (py::dict needed = amounts(kNeeded, i, false); !needed.empty()) numbers["needed"] = needed;
    if (d.slot != kNoId) numbers["usage_before"] = amounts(kUsageBefore, i, true);
    if (static_cast<std::size_t>(d.group) < size(8)) numbers["group"] = word(8, d.group);
    if (d.violated != kNoId) numbers["violated"] = keys[at(d.violated)];
    if (d.ran != kNoTime) numbers["wallclock"] = in_seconds(d.ran);
    if (d.over.queue != kNoId) {
      numbers["queue"] = queues_[at(d.over.queue)];
      if (d.over.most > 0) {
        numbers["count"] = d.over.count;
        numbers["most"] = d.over.most;
      }
      if (d.over.level >= 0) {
        numbers["level"] = d.over.level;
        numbers["seq_no"] = d.over.seq;
      }
    }
    if (!proofs_.empty() && proofs_[i].cost >= 0) {
      py::dict proof;
      proof["cost"] = proofs_[i].cost;
      proof["lower_bound"] = proofs_[i].least;
      proof["proved"] = proofs_[i].proved;
      proof["first"] = proofs_[i].first;
      numbers["minimum"] = proof;
    }
    if (!repairs.is_none())
      if (const py::int_ row(i); repairs.contains(row)) numbers.attr("update")(repairs[row]);
    py::object served = py::none();
    if (d.beneficiary.operation != kNoId || d.beneficiary.request != kNoId)
      served = frozen<2>(
          words[2], words[3],
          {named(operations_, d.beneficiary.operation), named(requests_, d.beneficiary.request)});
    const bool leaves = d.action == Action::kPreempt;
    return frozen<18>(
        words[0], words[1],
        {word(4, d.action), named(allocations_, d.slot), named(operations_, d.operation),
         named(nodes_, d.node), named(requests_, d.request),
         leaves ? word(5, d.mode) : py::object(py::none()),
         leaves ? in_seconds(d.grace) : py::object(py::none()), in_seconds(d.at),
         in_seconds(d.until), word(6, d.reason), numbers, word(7, d.stage), py::int_(d.step),
         served, flag(d.within_fair_share), flag(d.pool_within_guarantee),
         amounts(kFreed, i, false), amounts(kKept, i, false)});
  };
  py::list out;
  if (chosen.is_none())
    for (std::size_t i = 0; i < rows_.size(); ++i) out.append(made(i));
  else
    for (const py::handle row : chosen) out.append(made(py::cast<std::size_t>(row)));
  return out;
}

py::list DecisionRows::asked(const py::tuple& resources, const py::array_t<double>& quantum) const {
  py::list out;
  for (const std::optional<Asked>& a : asked_) {
    if (!a) {
      out.append(py::none());
      continue;
    }
    py::dict amounts;
    for (std::size_t r = 0; r < width_; ++r)
      if (a->amounts[r] != 0) amounts[resources[r]] = in_units(a->amounts[r], quantum.at(r));
    out.append(py::make_tuple(amounts, a->node, a->priority, a->preemptible));
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

// `none` is shared: most kinds are empty.
py::dict named(const Facts& facts, const py::dict& none) {
  const auto values = [&none](const auto& pairs, auto&& as) {
    if (pairs.empty()) return none;
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
  const auto several = [](const auto& rows) {
    return to_array(std::vector(rows.begin(), rows.end()));
  };
  out["nodes"] = values(facts.nodes, several);
  out["slots"] = values(facts.slots, several);
  out["jobs"] = values(facts.jobs, several);
  out["amounts"] = values(facts.amounts, several);
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
  const py::dict none;
  for (const Event& e : events) facts.append(named(e.facts, none));
  out["facts"] = std::move(facts);
  out["unseen"] = named(recorder.unseen, none);
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
