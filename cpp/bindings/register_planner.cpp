// One class for the planners of all systems: triggers and deltas in, columns out.
#include <type_traits>
#include <variant>

#include "arrays.h"
#include "decisions.h"
#include "deltas.h"
#include "evenhand/policy/reports.h"
#include "making.h"
#include "planner.h"
#include "register.h"
#include "shares.h"

namespace evenhand::bindings {

py::dict BoundPlanner::columns(Columns from) const {
  const auto width = static_cast<py::ssize_t>(state().width());
  py::dict out;
  for (NamedColumn& column : from)
    std::visit(
        [&]<class Cells>(Cells&& values) {
          if constexpr (std::is_same_v<std::decay_t<Cells>, Column<RowName>>) {
            py::list names;
            for (const RowName& name : values) {
              const py::str text(name.text);
              names.append(name.is_integer ? py::object(py::int_(text)) : py::object(text));
            }
            out[column.name] = names;
          } else {
            const auto rows = static_cast<py::ssize_t>(values.size());
            out[column.name] = column.by_resource
                                   ? py::object(to_array(std::move(values), {rows / width, width}))
                                   : py::object(to_array(std::move(values)));
          }
        },
        std::move(column.values));
  return out;
}

namespace {

// Rows (consumer, providers, mode or none, force, user, manager).
std::vector<Trigger::Command> commands_of(const py::object& rows) {
  std::vector<Trigger::Command> out;
  using Row = std::tuple<std::string, std::vector<std::string>, std::optional<int>, bool,
                         std::string, bool>;
  for (const py::handle row : rows) {
    auto [consumer, providers, mode, force, user, manager] = row.cast<Row>();
    out.push_back({std::move(consumer), std::move(providers),
                   mode ? std::optional(static_cast<Mode>(*mode)) : std::nullopt, force, manager,
                   std::move(user)});
  }
  return out;
}

}  // namespace

void BoundPlanner::read(const py::object& nodes, bool main_pass, bool backfill_pass,
                        const std::string& cycle, const py::object& commands) {
  recorded_.reset();
  nodes_.clear();
  commands_.clear();
  if (!commands.is_none()) commands_ = commands_of(commands);
  if (py::isinstance<py::list>(nodes))
    for (const py::handle node : nodes) nodes_.push_back(py::cast<Id>(node));
  else if (!nodes.is_none())
    nodes_ = to_vector(py::cast<py::array_t<Id>>(nodes));
  for (const Id node : nodes_) check_present(state().nodes(), node);
  cycle_ = cycle;
  trigger_ = {.kind = !commands.is_none() ? Trigger::Kind::kCommands
                      : !nodes.is_none()  ? Trigger::Kind::kHeartbeats
                      : !cycle_.empty()   ? Trigger::Kind::kCycle
                                          : Trigger::Kind::kRound,
              .nodes = nodes_,
              .main_pass = main_pass,
              .backfill_pass = backfill_pass,
              .cycle = cycle_,
              .commands = commands_};
}

void BoundPlanner::must_follow() const {
  if (!planner_->follows())
    throw py::value_error("the cluster was changed in a way that its planners cannot follow");
}

void BoundPlanner::update(Time now, bool keep) {
  must_follow();
  const py::gil_scoped_release release;
  groups_.reset();
  planner_->update(now, keep);
  updated_ = now;
}

void BoundPlanner::take_back() {
  if (!planner_->follows()) return;
  const py::gil_scoped_release release;
  planner_->take_back();
}

void BoundPlanner::rows_came(const std::string& table, const py::array_t<Id>& rows,
                             const py::dict& columns) {
  must_follow();
  if (!rows_came_) throw py::value_error("rows of this planner have no settings that come later");
  rows_came_(table, to_vector(rows), columns);
}

void BoundPlanner::decide(const py::object& nodes, bool main_pass, bool backfill_pass,
                          const std::string& cycle, const py::object& commands) {
  must_follow();
  read(nodes, main_pass, backfill_pass, cycle, commands);
  const py::gil_scoped_release release;
  planner_->decide(trigger_);
}

std::unique_ptr<DecisionRows> BoundPlanner::answer(const py::object& nodes, bool main_pass,
                                                   bool backfill_pass, const std::string& cycle,
                                                   const py::object& commands) {
  decide(nodes, main_pass, backfill_pass, cycle, commands);
  std::unique_ptr<DecisionRows> out;
  if (decided() > 0) out = std::make_unique<DecisionRows>(*planner_);
  take_back();
  return out;
}

void BoundPlanner::plan(const py::object& nodes, bool main_pass, bool backfill_pass,
                        const std::string& cycle, const py::object& commands) {
  read(nodes, main_pass, backfill_pass, cycle, commands);
  const LongCall call;
  planner_->update(state().now(), false);
  updated_ = state().now();
  groups_ = planner_->groups();
  planner_->decide(trigger_);
}

py::dict BoundPlanner::decisions() const {
  return decision_columns(planner_->decisions(), state().width());
}
py::dict BoundPlanner::elements() const { return columns(planner_->elements()); }
py::object BoundPlanner::groups() const {
  return to_array(codes(groups_ ? *groups_ : planner_->groups()));
}
py::dict BoundPlanner::counts() const {
  py::dict out;
  for (const auto& [name, count] : planner_->counts()) out[py::str(name)] = count;
  return out;
}
py::dict BoundPlanner::contested() const {
  Contested found = planner_->contested();
  return columns(
      {{"beneficiary", std::move(found.beneficiary)}, {"earlier", std::move(found.earlier)}});
}
py::dict BoundPlanner::refusals() const {
  Refusals found;
  {
    const LongCall call;
    found = planner_->refusals();
  }
  return refusal_columns(std::move(found), state().width());
}
py::dict BoundPlanner::handed() const {
  return handed_columns(planner_->handed(), state().width());
}
py::dict BoundPlanner::memory() const { return columns(planner_->memory()); }

py::dict BoundPlanner::traced(const std::string& kind, Id row, const py::object& nodes,
                              bool main_pass, bool backfill_pass, const std::string& cycle,
                              const py::object& commands) {
  must_follow();
  read(nodes, main_pass, backfill_pass, cycle, commands);
  Recorder recorder{kind == "request" ? row : kNoId, kind == "request" ? kNoId : row, {}};
  {
    const py::gil_scoped_release release;
    planner_->decide(trigger_, &recorder);
    planner_->take_back();
  }
  return event_columns(recorder, state().width());
}

py::dict BoundPlanner::trace(const std::string& kind, Id row) {
  Recorder recorder{kind == "request" ? row : kNoId, kind == "request" ? kNoId : row, {}};
  record(recorder);
  return event_columns(recorder, state().width());
}

py::dict BoundPlanner::taken() {
  Recorder recorder;
  recorder.all_taken = true;
  record(recorder);
  return event_columns(recorder, state().width());
}

// Decides again with a recorder, in a planner of its own, unless the last one knows.
void BoundPlanner::record(Recorder& recorder) {
  const LongCall call;
  const std::lock_guard lock(recording_);
  std::unique_ptr<Planner> last = std::move(recorded_);  // not kept if what follows throws
  if (auto* known = dynamic_cast<Reports*>(last.get());
      known == nullptr || !known->report(recorder)) {
    ++recordings_;
    std::unique_ptr<Planner> again = planner_->afresh();
    again->update(again->state().now(), false);
    again->decide(trigger_, &recorder);
    // Who followed a request knows of all of them; some know of all else, too.
    if (recorder.request != kNoId || last == nullptr) last = std::move(again);
  }
  if (dynamic_cast<Reports*>(last.get()) != nullptr) recorded_ = std::move(last);
}

py::list BoundPlanner::certificates() const {
  Trigger trigger = trigger_;
  trigger.certificates = true;
  std::unique_ptr<Planner> again;
  {
    const LongCall call;
    again = planner_->afresh();
    again->update(again->state().now(), false);
    again->decide(trigger);
  }
  return question_dicts(again->decisions(), state().width());
}

py::object BoundPlanner::shares() const {
  const SharesView shares = planner_->shares();
  if (shares.result == nullptr) return py::none();
  return py::cast(FairShares(state().snapshot(), shares.options, *shares.result));
}

py::object BoundPlanner::fair_shares() const {
  const SharesView shares = planner_->shares();
  if (shares.result == nullptr) return py::none();
  const auto width = static_cast<py::ssize_t>(state().width());
  const auto rows = static_cast<py::ssize_t>(shares.result->total.size()) / width;
  return to_array(shares.result->total, {rows, width});
}

std::optional<Time> BoundPlanner::next_due() const {
  const Time due = planner_->next_due();
  return due == kNoTime ? std::nullopt : std::optional(due);
}

std::map<std::string, Maker>& makers() {
  static std::map<std::string, Maker> known;
  return known;
}

std::map<std::string, Offer>& systems() {
  static std::map<std::string, Offer> known;
  return known;
}

void register_systems(py::module_& m) {
  for (const auto& [word, offer] : systems()) offer(m);
}

void register_planner(py::module_& m) {
  py::class_<DecisionRows>(m, "DecisionRows", "Decisions by names that stay when rows go.")
      .def(py::init<>())
      .def(py::init<const py::dict&, const py::dict&>(), py::arg("columns"), py::arg("names"),
           "Of a plan's columns, and of tables the names by row.")
      .def("__len__", &DecisionRows::size)
      .def("action", &DecisionRows::actions, "Codes, by decision.")
      .def("soft", &DecisionRows::soft, "Whether others may use what is reserved, by decision.")
      .def("objects", &DecisionRows::objects, py::arg("words"), py::arg("resources"),
           py::arg("quantum"), py::arg("keys"), py::arg("repairs"), py::arg("chosen"),
           "What a Decision is made of, in words, units and seconds.")
      .def("asked", &DecisionRows::asked, py::arg("resources"), py::arg("quantum"),
           "By decision: amounts, required node, own priority, preemptible of a start; or None.")
      .def_property_readonly("repairs", &DecisionRows::repairs,
                             "Whether the limit of an element is repaired.")
      .def_property_readonly("hands_over", &DecisionRows::hands_over,
                             "Whether room of leaving allocations was taken.");
  py::class_<BoundPlanner, std::shared_ptr<BoundPlanner>> c(m, "Planner",
                                                            "A system's rules over a cluster.");
  c.def("update", &BoundPlanner::update, py::arg("now"), py::arg("keep") = true,
        "Shares, statuses, queues at an instant; keep: the next update is cheaper.")
      .def("decide", &BoundPlanner::decide, py::arg("nodes") = py::none(),
           py::arg("main_pass") = true, py::arg("backfill_pass") = true, py::arg("cycle") = "",
           py::arg("commands") = py::none(),
           "Heartbeats of nodes in this order, of all by default; or a scheduling run.")
      .def("plan", &BoundPlanner::plan, py::arg("nodes") = py::none(), py::arg("main_pass") = true,
           py::arg("backfill_pass") = true, py::arg("cycle") = "", py::arg("commands") = py::none(),
           "Update and decide at once; after an exception the planner must be dropped.")
      .def("take_back", &BoundPlanner::take_back,
           "What was decided is undone in the cluster, but for the memory; it stays readable.")
      .def("answer", &BoundPlanner::answer, py::arg("nodes") = py::none(),
           py::arg("main_pass") = true, py::arg("backfill_pass") = true, py::arg("cycle") = "",
           py::arg("commands") = py::none(),
           "`decide`, the decisions by name, and `take_back`; None: nothing is decided.")
      .def("rows_came", &BoundPlanner::rows_came, py::arg("table"), py::arg("rows"),
           py::arg("columns"),
           "Settings of rows that came later, under the names of the constructor's columns.")
      .def("decisions", &BoundPlanner::decisions, "One row a decision, in order.")
      .def_property_readonly("decided", &BoundPlanner::decided, "How many decisions there are.")
      .def_property_readonly("updated", &BoundPlanner::updated,
                             "Microseconds: the last update; None: there was none.")
      .def("elements", &BoundPlanner::elements,
           "One row an element: pools, then operations; empty without fair shares.")
      .def("groups", &BoundPlanner::groups,
           "Group of every slot now, after `plan` at its update; 255: none.")
      .def("counts", &BoundPlanner::counts, "What was done, by \"<stage>.<what>\".")
      .def("contested", &BoundPlanner::contested,
           "Jobs that others leave for, and which job before each may take that room.")
      .def("refusals", &BoundPlanner::refusals, "One row a request that still waits.")
      .def("handed", &BoundPlanner::handed,
           "Room of leaving allocations that was taken: rows, quanta.")
      .def("memory", &BoundPlanner::memory, "What the next planner starts with.")
      .def("trace", &BoundPlanner::trace, py::arg("kind"), py::arg("row"),
           "What a \"request\" or an \"allocation\" met, by planning again.")
      .def("taken", &BoundPlanner::taken,
           "What was recorded of all that is taken when it was, by planning again once.")
      .def_property_readonly("recorded", &BoundPlanner::recorded,
                             "How often it was planned again for `trace` and `taken`.")
      .def("certificates", &BoundPlanner::certificates,
           "What searches for the least cost were asked, and what proves it, by planning again.")
      .def("traced", &BoundPlanner::traced, py::arg("kind"), py::arg("row"),
           py::arg("nodes") = py::none(), py::arg("main_pass") = true,
           py::arg("backfill_pass") = true, py::arg("cycle") = "", py::arg("commands") = py::none(),
           "`decide`, and what a \"request\" or an \"allocation\" met.")
      .def_property_readonly("shares", &BoundPlanner::shares,
                             "Fair shares of the update; None: there are none.")
      .def_property_readonly("fair_shares", &BoundPlanner::fair_shares, "Of the update (E, R).")
      .def_property_readonly("next_due", &BoundPlanner::next_due,
                             "Microseconds: when a decision can first differ; None: never.")
      .def_property_readonly("memory_bytes", &BoundPlanner::memory_bytes);
  define_deltas<BoundPlanner>(c);
  m.def(
      "planner",
      [](const std::string& system, const Snapshot& snapshot, const py::dict& given) {
        return makers().at(system).once(snapshot, given);
      },
      py::arg("system"), py::arg("snapshot"), py::arg("given"),
      "A planner of a system; `given`: settings, rows, memory, and what else the system reads.");
  m.def(
      "live_planner",
      [](const std::string& system, LiveCluster& cluster, const py::dict& given,
         bool total_stated) { return makers().at(system).live(cluster, given, total_stated); },
      py::arg("system"), py::arg("cluster"), py::arg("given"), py::arg("total_stated"),
      "A planner that follows a cluster; columns are by row of the snapshot that it began from.");
}

}  // namespace evenhand::bindings
