#include "evenhand/policy/ytsaurus/settings.h"

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

void RowSettings::put(const ClusterState& state, ClusterState::Table table, std::span<const Id> of,
                      const RowSettings& cells) {
  using Table = ClusterState::Table;
  const std::size_t width = state.width();
  if (table == Table::kOperations) {
    const Index pools = state.pools().size();
    OwnStarvationSettings& own = starvation;
    const OwnStarvationSettings& its = cells.starvation;
    own.tolerance.put(of, its.tolerance, pools);
    own.timeout.put(of, its.timeout, pools);
    own.usage_threshold.put(of, its.usage_threshold, pools, width);
    own.has_usage_threshold.put(of, its.has_usage_threshold, pools);
    graceful.put(of, cells.graceful);
    preemption_cost.put(of, cells.preemption_cost);
    unschedulable.put(of, cells.unschedulable);
    wants_ssd.put(of, cells.wants_ssd);
    other_segment.put(of, cells.other_segment);
  } else if (table == Table::kNodes) {
    node_ssd.put(of, cells.node_ssd);
  } else if (table == Table::kAllocations) {
    cpu_limits.put(of, cells.cpu_limits, 0, width);
    uses_ssd.put(of, cells.uses_ssd);
  }
}

}  // namespace evenhand::ytsaurus
