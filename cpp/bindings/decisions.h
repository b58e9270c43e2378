// Decisions and recorded events as columns of a plan.
#pragma once

#include <span>
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

// Room of leaving allocations that their beneficiaries took, one row an allocation.
py::dict handed_columns(std::span<const ClusterState::TakenRoom> handed, std::size_t width);

// One row a request that still waits.
py::dict refusal_columns(Refusals refusals, std::size_t width);

// One row an event.
py::dict event_columns(const std::vector<Event>& events, std::size_t width);

}  // namespace evenhand::bindings
