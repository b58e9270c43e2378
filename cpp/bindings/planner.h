// A planner of any system as Python sees it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "evenhand/policy/planner.h"
#include "long_call.h"
#include "pybind.h"

namespace evenhand::bindings {

class BoundPlanner {
 public:
  explicit BoundPlanner(std::unique_ptr<Planner> planner) : planner_(std::move(planner)) {}

  const ClusterState& state() const { return planner_->state(); }
  Id on(const Delta& delta) { return planner_->on(delta); }

  void update(Time now, bool keep);
  void decide(const std::optional<py::array_t<Id>>& nodes, bool main_pass, bool backfill_pass);
  void plan(const std::optional<py::array_t<Id>>& nodes, bool main_pass, bool backfill_pass);

  py::dict decisions() const;
  py::dict elements() const;
  py::object groups() const;
  py::dict counts() const;
  py::dict contested() const;
  py::dict refusals() const;
  py::dict handed() const;
  py::dict memory() const;
  py::dict trace(const std::string& kind, Id row) const;
  py::object shares() const;
  py::object fair_shares() const;
  std::optional<Time> next_due() const;
  std::size_t memory_bytes() const { return planner_->memory_bytes(); }

 private:
  void read(const std::optional<py::array_t<Id>>& nodes, bool main_pass, bool backfill_pass);
  py::dict columns(Columns from) const;

  std::unique_ptr<Planner> planner_;
  std::vector<Id> nodes_;  // of trigger_, as long as nothing else is decided
  Trigger trigger_;
  std::optional<std::vector<Group>> groups_;  // of a plan: at its update
};

// A planner of a system from its inputs; signals are heard meanwhile.
template <class Planner, class Inputs>
std::unique_ptr<BoundPlanner> bound(Inputs inputs) {
  const LongCall call;
  return std::make_unique<BoundPlanner>(std::make_unique<Planner>(std::move(inputs)));
}

}  // namespace evenhand::bindings
