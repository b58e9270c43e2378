// Grid Engine's share tree: long-term and short-term target shares.
//
// Per level, among nodes with jobs: long-term target = shares / sum of shares;
// weight = shares^2 / max(usage, overall long-term target); short-term target =
// weight / sum of weights. Overall targets multiply down the tree. A node whose
// overall short-term target exceeds compensation_factor x its overall long-term
// target has its weight cut to that bound once, then the level is normalised again.
// Source: share_tree(5), sge sched_conf compensation_factor, sgeee scheduler.
// Complexity: O(n).
#pragma once

#include <span>
#include <vector>

#include "evenhand/share/history/forest.h"

namespace evenhand::history {

struct ShareTreeTargets {
  Column<double> level_long_term, level_short_term;  // within the siblings
  Column<double> long_term, short_term;              // within the cluster
};

// `usage` holds subtree totals; a node takes part if it or a descendant is `active`.
ShareTreeTargets gridengine_share_tree(const Forest& forest, View<const double> shares,
                                       View<const double> usage, View<const std::uint8_t> active,
                                       double compensation_factor);

}  // namespace evenhand::history
