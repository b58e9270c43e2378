// Checks of what Python says about the rows of a mutable cluster.
#pragma once

#include <stdexcept>
#include <vector>

#include "arrays.h"
#include "evenhand/model/cluster_state.h"
#include "pybind.h"

namespace evenhand::bindings {

inline void check_row(Id row, Index rows) {
  if (row < 0 || row >= rows) throw py::index_error("no such row");
}

inline void check_present(const ClusterState& state, Id slot) {
  check_row(slot, state.slots());
  if (state.gone(slot) && !state.away(slot)) throw py::value_error("the allocation has ended");
}

template <class Columns>
void check_present(const LiveTable<Columns>& rows, Id row) {
  check_row(row, rows.rows());
  if (!rows.present(row)) throw py::value_error("the row has gone");
}

inline void check_holding(const ClusterState& state, Id slot) {
  check_row(slot, state.slots());
  if (!state.holds(slot)) throw py::value_error("the allocation holds nothing");
}

inline std::vector<Amount> checked_amounts(const ClusterState& state,
                                           const py::array_t<Amount>& amounts) {
  std::vector<Amount> out = to_vector(amounts);
  if (out.size() != state.width()) throw py::value_error("one amount a resource");
  for (const Amount amount : out)
    if (amount < 0 || amount > kMaxAmount) throw py::value_error("an amount is out of range");
  return out;
}

}  // namespace evenhand::bindings
