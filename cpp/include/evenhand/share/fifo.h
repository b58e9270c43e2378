// Order within FIFO pools. O(n log n) in the children of a pool.
// Source: YTsaurus fair share, FIFO order, reordering for guarantee use, and the
// truncation of gangs of older revisions.
#pragma once

#include "evenhand/share/fair_share.h"
#include "evenhand/share/topology.h"

namespace evenhand {

// fifo_index of the children of FIFO pools: weight descending, start ascending,
// canonical order.
void sort_fifo_pools(const Tables& t, FairShareResult& result);
// Of one pool with these children.
void sort_fifo_pool(const Tables& t, View<const Id> children, FairShareResult& result);

// effective_fifo_index where pending gangs that do not fit into the guarantee
// are put behind what does.
void reorder_fifo_pools(const Tables& t, const Topology& tree, FairShareResult& result);

// Older rule: a gang of a FIFO pool without its whole demand gets nothing, and
// no other operation receives its share. Applied to result.total of operations.
void truncate_fifo_pools(const Tables& t, FairShareResult& result);

}  // namespace evenhand
