#include "evenhand/preempt/victim_cost.h"

#include <algorithm>
#include <cmath>

#include "evenhand/preempt/proof.h"

namespace evenhand {
namespace {

constexpr double kSecond = 1e6;

Index lost_work(const ClusterState& state, std::span<const Amount> not_its_own, Id slot) {
  Time since = state.last_start(slot);
  if (const Time saved = state.last_progress(slot); saved != kNoTime)
    since = std::max(since, saved);
  const double seconds = std::max(0.0, static_cast<double>(state.now() - since) / kSecond);
  double share = 0;
  const Id node = state.node_of(slot);
  for (std::size_t r = 0; node != kNoId && r < state.width(); ++r)
    if (const Amount all =
            state.node_capacity(node)[r] -
            (not_its_own.empty() ? 0
                                 : not_its_own[static_cast<std::size_t>(node) * state.width() + r]);
        all > 0)
      share =
          std::max(share, static_cast<double>(state.amounts(slot)[r]) / static_cast<double>(all));
  const double work = std::ceil(seconds * std::min(share, 1.0) - 1e-9);
  return static_cast<Index>(std::clamp(work, 1.0, static_cast<double>(kMostCost)));
}

}  // namespace

Index VictimCosts::of(const ClusterState& state, Id slot) const {
  if (kind == VictimCost::kVictims) return 1;
  return kind == VictimCost::kGiven ? given[state.operation_of(slot)]
                                    : lost_work(state, not_its_own, slot);
}

Index VictimCosts::of(const ClusterState& state, Id operation, std::span<const Id> slots) const {
  if (kind == VictimCost::kVictims) return 1;
  if (kind == VictimCost::kGiven) return given[operation];
  Index sum = 0;
  for (const Id slot : slots) sum = std::min(kMostCost, sum + lost_work(state, not_its_own, slot));
  return std::max<Index>(sum, 1);
}

}  // namespace evenhand
