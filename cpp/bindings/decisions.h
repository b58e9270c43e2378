// Decisions and recorded events as columns of a plan.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
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

// What was decided, by places in lists of names: it stays when the rows go.
class NamedDecisions {
 public:
  explicit NamedDecisions(const Planner& planner);

  py::dict columns() const;  // as `decision_columns`
  py::list names(const std::string& table) const;
  // By decision: of a start what one of its request has (quanta, required node, own priority,
  // preemptible), else None.
  py::list asked() const;
  bool repairs() const noexcept { return repairs_; }  // a limit that is violated
  bool hands_over() const noexcept { return hands_over_; }

 private:
  using Name = std::pair<std::string, bool>;  // whether it is a number
  struct Names {
    std::unordered_map<Id, Id> places;  // by row
    std::vector<Name> names;
  };
  struct Asked {
    std::vector<Amount> amounts;
    std::optional<Name> node;
    std::optional<double> priority;
    bool preemptible = true;
  };
  static py::object object(const Name& name);

  Decisions decisions_;
  std::size_t width_;
  std::vector<Decision> rows_;  // with places in the names for rows
  Names allocations_, requests_, operations_, nodes_;
  std::vector<std::optional<Asked>> asked_;
  bool repairs_ = false, hands_over_;
};

// Room of leaving allocations that their beneficiaries took, one row an allocation.
py::dict handed_columns(std::span<const ClusterState::TakenRoom> handed, std::size_t width);

// One row a request that still waits.
py::dict refusal_columns(Refusals refusals, std::size_t width);

// One row an event.
py::dict event_columns(const Recorder& recorder, std::size_t width);

}  // namespace evenhand::bindings
