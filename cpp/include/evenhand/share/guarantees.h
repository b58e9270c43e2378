// Strong guarantees of pools: amounts implied by the main resource, overcommit,
// tiers, adjustment to what the parent has. Pools only: O(P R), plus about 65
// passes over the children of each overcommitted pool.
// Source: YTsaurus fair share, inferred guarantees, overcommit and tiers.
#pragma once

#include <vector>

#include "evenhand/share/fair_share.h"
#include "evenhand/share/topology.h"

namespace evenhand {

// result.inferred_guarantee, top-down.
void infer_strong_guarantees(const Tables& t, const Topology& tree, const FairShareOptions& options,
                             FairShareResult& result);

// Flow and burst ratios, own and total.
void compute_ratios(const Tables& t, const Topology& tree, FairShareResult& result);

// Checks of pool settings that are reported, not refused.
void check_pool_settings(const Tables& t, const Topology& tree, FairShareResult& result);

// strong_share with its split, overcommit diagnostics and the scaled burst ratios.
void adjust_strong_guarantees(const Tables& t, const Topology& tree,
                              const FairShareOptions& options, FairShareResult& result);

// Informational: what a pool may expect of its parent's guarantee. P x R.
Column<double> estimated_guarantee_share(const Tables& t, const FairShareResult& result,
                                         bool with_flow, bool from_ones);

}  // namespace evenhand
