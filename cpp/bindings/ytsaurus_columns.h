// What the bindings of YTsaurus' plans and desks have in common.
#pragma once

#include <algorithm>
#include <optional>
#include <type_traits>
#include <vector>

#include "evenhand/policy/ytsaurus/plan.h"
#include "pybind.h"

namespace evenhand::bindings {

ytsaurus::Settings ytsaurus_settings(const py::dict& values, const FairShareOptions& fair_share);

ytsaurus::PlanInputs plan_inputs(const Snapshot& snapshot, const py::dict& settings,
                                 const FairShareOptions& fair_share, const py::dict& rows,
                                 const py::dict& memory, const std::optional<VolumeMemory>& volumes,
                                 const py::dict& given, const py::array_t<Id>& nodes);

py::dict decision_columns(const ytsaurus::Desk& desk);  // one row a decision, in order
// Room of leaving allocations that their beneficiaries took, one row an allocation.
py::dict handed_columns(const ytsaurus::Desk& desk);
py::dict memory_columns(const ytsaurus::Desk& desk);  // what the next plan goes on from

// Rows of so many amounts.
py::object rows_by(std::vector<Amount> values, std::size_t width);

template <class E>
std::vector<std::underlying_type_t<E>> codes(const std::vector<E>& values) {
  std::vector<std::underlying_type_t<E>> out(values.size());
  std::ranges::transform(values, out.begin(),
                         [](E e) { return static_cast<std::underlying_type_t<E>>(e); });
  return out;
}

}  // namespace evenhand::bindings
