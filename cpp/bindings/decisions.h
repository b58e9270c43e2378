// Decisions and recorded events as columns of a plan.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "arrays.h"
#include "evenhand/policy/planner.h"
#include "pybind.h"

namespace evenhand::bindings {

inline py::object rows_by(std::vector<Amount> values, std::size_t width) {
  const auto columns = static_cast<py::ssize_t>(width);
  const auto rows = static_cast<py::ssize_t>(values.size()) / columns;
  return to_array(std::move(values), {rows, columns});
}

// One row a decision, in order. Where victims were to cost least, also minimum_cost (-1: no
// such step), minimum_lower_bound, minimum_proved, minimum_first and minimum_spent (the budget) of
// each row's step.
py::dict decision_columns(const Decisions& decisions, std::size_t width);

// What the searches for the victims that cost least were asked, a dict each.
py::list question_dicts(const Decisions& decisions, std::size_t width);

// Decisions as Python has them: names for rows, amounts in units. They stay when the rows go.
class DecisionRows {
 public:
  DecisionRows() = default;  // none
  explicit DecisionRows(const Planner& planner);
  // Of columns as `decision_columns` makes them, and of tables the names by row.
  DecisionRows(const py::dict& columns, const py::dict& names);

  std::size_t size() const noexcept { return rows_.size(); }
  // Codes and flags, by decision.
  py::object actions() const;
  py::object soft() const;
  // One object a row of `chosen` (None: of all). `words`: the classes Decision and Beneficiary,
  // the attributes of each, and the words of actions, modes, reasons, stages and groups. `keys`:
  // of elements, where one is violated; `repairs`: by row, what else was compared there, or None.
  py::list objects(const py::tuple& words, const py::tuple& resources,
                   const py::array_t<double>& quantum, const py::list& keys,
                   const py::object& repairs, const py::object& chosen) const;
  // By decision: of a start what one of its request has (amounts, required node, own priority,
  // preemptible), else None. Of a planner's decisions only.
  py::list asked(const py::tuple& resources, const py::array_t<double>& quantum) const;
  bool repairs() const noexcept { return repairs_; }  // a limit that is violated
  bool hands_over() const noexcept { return hands_over_; }

 private:
  struct Proof {
    Index cost = -1, least = -1;
    bool proved = false, first = false;
  };
  struct Asked {
    std::vector<Amount> amounts;
    py::object node, priority;
    bool preemptible = true;
  };

  std::size_t width_ = 0;
  std::vector<Decision> rows_;  // with places among names_ for rows, in queues_ for queues
  std::array<std::vector<Amount>, 5> amounts_;
  std::vector<Proof> proofs_;  // by row, or empty
  std::vector<std::string> queues_;
  py::list allocations_, requests_, operations_, nodes_;
  std::vector<std::optional<Asked>> asked_;
  bool repairs_ = false, hands_over_ = false;
};

// Room of leaving allocations that their beneficiaries took, one row an allocation.
py::dict handed_columns(std::span<const ClusterState::TakenRoom> handed, std::size_t width);

// One row a request that still waits.
py::dict refusal_columns(Refusals refusals, std::size_t width);

// One row an event.
py::dict event_columns(const Recorder& recorder, std::size_t width);

}  // namespace evenhand::bindings
