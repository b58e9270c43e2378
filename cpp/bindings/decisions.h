// Decisions and recorded events as columns of a plan.
#pragma once

#include <algorithm>
#include <span>
#include <type_traits>
#include <vector>

#include "arrays.h"
#include "evenhand/model/cluster_state.h"
#include "evenhand/preempt/decision.h"
#include "evenhand/preempt/recorder.h"
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

// One row a decision, in order.
py::dict decision_columns(const Decisions& decisions, std::size_t width);

// Room of leaving allocations that their beneficiaries took, one row an allocation.
py::dict handed_columns(std::span<const ClusterState::TakenRoom> handed, std::size_t width);

// One row an event.
py::dict event_columns(const std::vector<Event>& events, std::size_t width);

}  // namespace evenhand::bindings
