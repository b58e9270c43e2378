// What the bindings of YTsaurus' plans and desks have in common.
#pragma once

#include <optional>

#include "evenhand/policy/ytsaurus/plan.h"
#include "pybind.h"

namespace evenhand::bindings {

ytsaurus::Settings ytsaurus_settings(const py::dict& values, const FairShareOptions& fair_share);

ytsaurus::PlanInputs plan_inputs(const Snapshot& snapshot, const py::dict& settings,
                                 const FairShareOptions& fair_share, const py::dict& rows,
                                 const py::dict& memory, const std::optional<VolumeMemory>& volumes,
                                 const py::dict& given, const py::array_t<Id>& nodes);

// One row a decision, in order.
py::dict ytsaurus_decisions(const ytsaurus::Desk& desk);

py::dict memory_columns(const ytsaurus::Desk& desk);  // what the next plan goes on from

}  // namespace evenhand::bindings
