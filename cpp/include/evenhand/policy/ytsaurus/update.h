// One update: shares, statuses, starvation and what the heartbeats read of them.
#pragma once

#include <vector>

#include "evenhand/place/queue.h"
#include "evenhand/policy/ytsaurus/settings.h"
#include "evenhand/starve/starvation.h"

namespace evenhand::ytsaurus {

enum class Priority : std::uint8_t { kNone, kNormal, kAggressive };

struct Update {
  Time now = 0;
  FairShareResult shares;
  StarvationResult starvation;
  PendingWork work;
  std::vector<double> satisfaction;  // E, with the usage at the update
  std::vector<Priority> priority;    // O
  QueuePlaces places;

  const double* fair_share(Id element) const noexcept { return row(shares.total, element); }
  const double* demand_share(Id element) const noexcept {
    return row(shares.demand_share, element);
  }

 private:
  const double* row(const std::vector<double>& matrix, Id element) const noexcept {
    return matrix.data() +
           static_cast<std::size_t>(element) * static_cast<std::size_t>(shares.resource_count);
  }
};

// Computes an update; the engine keeps share functions between calls if `keep`.
// shares: of this state if they are known, else nullptr.
Update update(const ClusterState& state, const Settings& settings, const RowSettings& rows,
              const Given& given, const StarvationClocks& before, FairShareEngine& engine,
              const VolumeMemory* volumes, bool keep);

}  // namespace evenhand::ytsaurus
