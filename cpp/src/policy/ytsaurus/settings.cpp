#include "evenhand/policy/ytsaurus/settings.h"

#include <limits>

namespace evenhand::ytsaurus {

SharedSettings SharedSettings::chosen(const Column<Id>& rows) const {
  SharedSettings out;
  for (const Id row : rows) {
    out.tolerance.push_back(tolerance[row]);
    out.threshold.push_back(threshold[row]);
    out.aggressive_threshold.push_back(aggressive_threshold[row]);
    out.timeout.push_back(timeout[row]);
    out.aggressive_timeout.push_back(aggressive_timeout[row]);
  }
  return out;
}

void RowSettings::set(const ClusterState& state, ClusterState::Table table, std::span<const Id> of,
                      const RowSettings& cells) {
  using Table = ClusterState::Table;
  const std::size_t width = state.width();
  // `before`: rows of the column that stand before those of the table.
  const auto column = [&]<class T>(Column<T>& to, const Column<T>& from, T absent, Index all,
                                   Index before = 0, std::size_t each = 1) {
    if (from.empty() && to.empty()) return;
    if (const std::size_t size = static_cast<std::size_t>(all) * each; to.size() < size)
      to.resize(size, absent);
    for (std::size_t i = 0; i < of.size(); ++i)
      for (std::size_t r = 0; r < each; ++r)
        to[static_cast<std::size_t>(before + of[i]) * each + r] =
            from.empty() ? absent : from[i * each + r];
  };
  if (table == Table::kOperations) {
    const Index operations = state.operations().rows(), pools = state.pools().size();
    const Index all = pools + operations;
    OwnStarvationSettings& own = starvation;
    const OwnStarvationSettings& its = cells.starvation;
    column(own.tolerance, its.tolerance, std::numeric_limits<double>::quiet_NaN(), all, pools);
    column(own.timeout, its.timeout, kNoTime, all, pools);
    column(own.usage_threshold, its.usage_threshold, kUnlimited, all, pools, width);
    column(own.has_usage_threshold, its.has_usage_threshold, std::uint8_t{0}, all, pools);
    column(graceful, cells.graceful, std::uint8_t{0}, operations);
    column(preemption_cost, cells.preemption_cost, Index{1}, operations);
    column(unschedulable, cells.unschedulable, std::uint8_t{0}, operations);
    column(wants_ssd, cells.wants_ssd, std::uint8_t{0}, operations);
  } else if (table == Table::kNodes) {
    column(node_ssd, cells.node_ssd, std::uint8_t{0}, state.nodes().rows());
  } else if (table == Table::kAllocations) {
    column(cpu_limits, cells.cpu_limits, Amount{-1}, state.slots(), 0, width);
    column(uses_ssd, cells.uses_ssd, std::uint8_t{0}, state.slots());
  }
}

}  // namespace evenhand::ytsaurus
