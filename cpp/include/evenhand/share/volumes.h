// Accumulated volumes of integral pools over time. O(P R), plus a sort of the
// children of pools that hand volume on.
// Source: YTsaurus fair share, consumption and refill of volumes.
#pragma once

#include <span>

#include "evenhand/share/fair_share.h"
#include "evenhand/share/topology.h"

namespace evenhand {

void update_volumes(const Tables& t, const Topology& tree, const FairShareOptions& options,
                    const VolumeMemory* memory, FairShareResult& result);

// Smallest ratio of a volume to the totals, over resources that exist; 0 without any.
double min_volume_ratio(std::span<const double> volume, std::span<const Amount> total);

}  // namespace evenhand
