// Slurm's classic fair share factor (PriorityFlags=NO_FAIR_TREE).
//
// norm_shares = product over the path of shares / sibling shares; usage is a
// fraction of the cluster's usage; effective usage of the first tier is its
// usage, below it usage + (effective usage of parent - usage) * shares /
// sibling shares; factor = 2^(-effective / norm_shares / dampening).
// Source: Slurm documentation, classic fair share algorithm; slurm.conf
// FairShareDampeningFactor.
// Complexity: O(n).
#pragma once

#include <span>
#include <vector>

#include "evenhand/share/history/forest.h"

namespace evenhand::history {

struct ClassicOptions {
  double total = 0;      // usage of the whole cluster
  double dampening = 1;  // > 0
  Id root = kNoId;       // row whose children are the first tier
};

struct ClassicFairShare {
  Column<double> usage, norm_shares, effective_usage, factor;
};

// `inherits`: FairShare=parent, the row stands for its parent. `usage` holds
// subtree totals.
ClassicFairShare slurm_classic(const Forest& forest, View<const double> shares,
                               View<const std::uint8_t> inherits, View<const double> usage,
                               const ClassicOptions& options);

}  // namespace evenhand::history
