// Backend.AI's fair share factor.
//
// normalised usage = sum of w_r usage_r / (capacity_r x lookback) / sum of w_r
// over the resources with capacity; factor = min(1, 2^clamp(-usage / weight, +-10)).
// Source: Backend.AI 26.8 fair share calculator.
// Complexity: O(rows x resources).
#pragma once

#include <span>
#include <vector>

#include "evenhand/core/column.h"

namespace evenhand::history {

// `usage` in resource-seconds, row-major; `lookback` in seconds.
Column<double> backendai_normalised_usage(std::span<const double> usage,
                                          std::span<const double> capacity,
                                          std::span<const double> weights, double lookback);

Column<double> backendai_factor(std::span<const double> normalised_usage,
                                std::span<const double> weight);

}  // namespace evenhand::history
