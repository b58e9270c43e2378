// Settings that say what starves, and how pools and operations inherit them.
// Source: YTsaurus, pool tree, pool and operation settings of starvation.
#pragma once

#include <limits>

#include "evenhand/core/beside.h"
#include "evenhand/model/tables.h"

namespace evenhand {

inline constexpr Amount kUnlimited = -1;
inline constexpr std::int8_t kUnset = -1;

struct StarvationSettings {
  double tolerance = 0.8;
  Time timeout = 30 * kMicrosecondsPerSecond;
  Time aggressive_timeout = 120 * kMicrosecondsPerSecond;
  bool enable_aggressive = false;
  bool enable_pools = true;
  bool absolute_tolerance = false;
  double allocation_count_coefficient = 1.0;
  // Tolerance 1 where the fair share covers the demand of an operation.
  bool ignore_tolerance_if_satisfied = false;
  bool allow_aggressive_preemption = true;  // of the root
  bool allow_aggressive_preemption_for_gangs = true;
  Column<Amount> usage_threshold;  // R, kUnlimited: unset; empty: none is set
};

// What rows set of their own; by default unset.
struct OwnStarvationSettings {
  Beside<double> tolerance = Absent(std::numeric_limits<double>::quiet_NaN());  // E
  Beside<Time> timeout = Absent(kNoTime);                                       // E
  Column<std::int8_t> enable_aggressive;                               // P; empty: none sets it
  Column<std::int8_t> allow_aggressive;                                // likewise
  Beside<Amount> usage_threshold = Absent(kUnlimited);                 // E x R
  Beside<std::uint8_t> has_usage_threshold = Absent(std::uint8_t{0});  // E
};

// What holds for every element (E rows).
struct EffectiveSettings {
  Column<double> tolerance;
  Column<Time> timeout;
  Column<std::uint8_t> enable_aggressive;
  Column<std::uint8_t> allow_aggressive;
  Column<Amount> usage_threshold;            // E x R; kUnlimited: unset
  Column<std::uint8_t> has_usage_threshold;  // some resource of it is set
};

// O(E R). Pools: own, else the parent's, else the tree's; a usage threshold as a
// whole. Operations: tolerance and usage threshold at most, timeout at least the
// inherited one; a gang is spared from aggressive preemption if the tree says so.
EffectiveSettings inherit(const Tables& tables, const StarvationSettings& tree,
                          const OwnStarvationSettings& own);
// Where nothing has changed but these operations.
void inherit_again(const Tables& tables, const StarvationSettings& tree,
                   const OwnStarvationSettings& own, View<const Id> operations,
                   EffectiveSettings& effective);

}  // namespace evenhand
