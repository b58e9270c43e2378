#include <algorithm>
#include <cmath>

#include "evenhand/share/history/backendai_factor.h"

namespace evenhand::history {

Column<double> backendai_normalised_usage(std::span<const double> usage,
                                          std::span<const double> capacity,
                                          std::span<const double> weights, double lookback) {
  const std::size_t r_count = capacity.size();
  double weight_sum = 0;
  for (std::size_t r = 0; r < r_count; ++r)
    if (capacity[r] > 0) weight_sum += weights[r];
  Column<double> out(r_count == 0 ? 0 : usage.size() / r_count);
  if (weight_sum <= 0) return out;
  for (std::size_t i = 0; i < out.size(); ++i) {
    double sum = 0;
    for (std::size_t r = 0; r < r_count; ++r)
      if (capacity[r] > 0) sum += weights[r] * (usage[i * r_count + r] / (capacity[r] * lookback));
    out[i] = sum / weight_sum;
  }
  return out;
}

Column<double> backendai_factor(std::span<const double> normalised_usage,
                                std::span<const double> weight) {
  Column<double> out(normalised_usage.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double exponent = std::clamp(-normalised_usage[i] / weight[i], -10.0, 10.0);
    out[i] = std::min(1.0, std::exp2(exponent));
  }
  return out;
}

}  // namespace evenhand::history
