// A planner of any system as Python sees it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "decisions.h"
#include "evenhand/policy/live_cluster.h"
#include "evenhand/policy/planner.h"
#include "long_call.h"
#include "pybind.h"

namespace evenhand::bindings {

class BoundPlanner {
 public:
  // Hands over settings of rows of a table that came later.
  using RowsCame =
      std::function<void(const std::string& table, std::vector<Id> rows, const py::dict& columns)>;

  // Makes, of columns of a workload's operations, what hands over one of their rows.
  using Came = std::function<void(Planner&, Id source, Id row)>;
  using Coming = std::function<Came(const py::dict& columns)>;

  explicit BoundPlanner(std::shared_ptr<Planner> planner, RowsCame rows_came = {},
                        Coming coming = {})
      : planner_(std::move(planner)),
        rows_came_(std::move(rows_came)),
        coming_(std::move(coming)) {}

  const std::shared_ptr<Planner>& shared() const noexcept { return planner_; }
  Came coming(const py::dict& columns) const {
    return columns.empty() || !coming_ ? Came{} : coming_(columns);
  }

  const ClusterState& state() const { return planner_->state(); }
  Id on(const Delta& delta) {
    if (planner_->shares_state())
      throw py::value_error("the planner follows a cluster: change that one");
    return planner_->on(delta);
  }
  void rows_came(const std::string& table, const py::array_t<Id>& rows, const py::dict& columns);
  void take_back();
  std::size_t decided() const { return planner_->decisions().rows().size(); }
  std::optional<Time> updated() const { return updated_; }
  void set_updated(Time time) { updated_ = time; }  // by the owner of the planner

  void update(Time now, bool keep);
  void decide(const py::object& nodes, bool main_pass, bool backfill_pass, const std::string& cycle,
              const py::object& commands);
  void plan(const py::object& nodes, bool main_pass, bool backfill_pass, const std::string& cycle,
            const py::object& commands);
  std::unique_ptr<DecisionRows> answer(const py::object& nodes, bool main_pass, bool backfill_pass,
                                       const std::string& cycle, const py::object& commands);

  py::dict decisions() const;
  py::dict elements() const;
  py::object groups() const;
  py::dict counts() const;
  py::dict contested() const;
  py::dict refusals() const;
  py::dict handed() const;
  py::dict memory() const;
  py::list certificates() const;
  py::dict trace(const std::string& kind, Id row);
  py::dict taken();
  py::dict traced(const std::string& kind, Id row, const py::object& nodes, bool main_pass,
                  bool backfill_pass, const std::string& cycle, const py::object& commands);
  py::object shares() const;
  py::object fair_shares() const;
  std::optional<Time> next_due() const;
  std::int64_t recorded() const noexcept { return recordings_; }
  std::size_t memory_bytes() const { return planner_->memory_bytes(); }

 private:
  void read(const py::object& nodes, bool main_pass, bool backfill_pass, const std::string& cycle,
            const py::object& commands);
  py::dict columns(Columns from) const;
  void must_follow() const;

  std::shared_ptr<Planner> planner_;
  RowsCame rows_came_;
  Coming coming_;
  std::optional<Time> updated_;
  std::vector<Id> nodes_;  // of trigger_, as long as nothing else is decided
  std::string cycle_;      // likewise
  std::vector<Trigger::Command> commands_;
  Trigger trigger_;
  std::optional<std::vector<Group>> groups_;  // of a plan: at its update
  std::unique_ptr<Planner> recorded_;         // decided so with a recorder; null: not yet
  std::mutex recording_;
  std::int64_t recordings_ = 0;
  void record(Recorder& recorder);
};

// One row of a column of settings; nothing where the column is left out.
template <class T>
Column<T> cell_of(const Column<T>& column, Id row, std::size_t width = 1) {
  if (column.empty()) return {};
  const T* cells = column.row(row, width);
  return Column<T>(cells, cells + width);
}

template <class T>
Beside<T> cell_of(Beside<T> column, Id row, std::size_t width = 1) {
  const T* cells = column.row(row, width);
  column = cells == nullptr ? Column<T>{} : Column<T>(cells, cells + width);
  return column;
}

// One row of rows that name their columns.
template <class Rows>
Rows row_of(const Rows& all, Id row) {
  Rows one;
  Rows::each([&](const char*, auto& to, const auto& from) { to = cell_of(from, row); }, one, all);
  return one;
}

// A planner of a system from its inputs; signals are heard meanwhile.
template <class Planner, class Inputs>
std::shared_ptr<BoundPlanner> bound(Inputs inputs) {
  const LongCall call;
  return std::make_shared<BoundPlanner>(std::make_shared<Planner>(std::move(inputs)));
}

// A planner of a system that follows a cluster; `came` hands over settings of later rows, `coming`
// makes what does so of rows of a workload.
template <class Planner, class Inputs, class Came, class Coming, class... More>
std::shared_ptr<BoundPlanner> bound(LiveCluster& cluster, Inputs inputs, Came came, Coming coming,
                                    More... more) {
  cluster.settle();
  std::shared_ptr<Planner> planner;
  {
    const LongCall call;
    planner = std::make_shared<Planner>(std::move(inputs), cluster.shared(), more...);
  }
  cluster.attach(planner);
  return std::make_shared<BoundPlanner>(
      planner,
      [&planner = *planner, came](const std::string& table, std::vector<Id> rows,
                                  const py::dict& columns) { came(planner, table, rows, columns); },
      [coming](const py::dict& columns) -> BoundPlanner::Came {
        const auto hand = std::make_shared<const decltype(coming(columns))>(coming(columns));
        return [hand](evenhand::Planner& to, Id source, Id row) {
          (*hand)(static_cast<Planner&>(to), source, row);
        };
      });
}

}  // namespace evenhand::bindings
