// Decisions and recorded events as columns of a plan.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "arrays.h"
#include "evenhand/model/cluster_state.h"
#include "evenhand/preempt/decision.h"
#include "evenhand/preempt/recorder.h"
#include "evenhand/preempt/victims.h"
#include "long_call.h"
#include "pybind.h"

namespace evenhand::bindings {

template <class E>
std::vector<std::underlying_type_t<E>> codes(const std::vector<E>& values) {
  std::vector<std::underlying_type_t<E>> out(values.size());
  std::ranges::transform(values, out.begin(),
                         [](E e) { return static_cast<std::underlying_type_t<E>>(e); });
  return out;
}

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

// How far the fewest victims were proved, as counts "minimum.*".
void put_proof(py::dict& counts, const SelectionProof& proof);

// One row an event.
py::dict event_columns(const std::vector<Event>& events, std::size_t width);

// What a "request" or an "allocation" met when the plan is made again.
template <class Plan>
py::dict trace_columns(const Plan& plan, const std::string& kind, Id row, std::size_t width) {
  std::vector<Event> events;
  {
    const LongCall call;
    events = kind == "request" ? plan.trace(row, kNoId) : plan.trace(kNoId, row);
  }
  return event_columns(events, width);
}

}  // namespace evenhand::bindings
