#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "evenhand/share/history/decay.h"

namespace evenhand::history {
namespace {

// Halvings per second of (1 - lost)^(t / interval); what loses all at once is
// an infinite rate.
double rate_of(double lost, double interval) {
  if (lost >= 1) return std::numeric_limits<double>::infinity();
  return -std::log1p(-lost) / std::numbers::ln2 / interval;
}

}  // namespace

Decay Decay::exact(double half_life_s) { return {half_life_s > 0 ? 1 / half_life_s : 0, 0}; }

Decay Decay::slurm(double half_life_s) {
  return {half_life_s > 0 ? rate_of(0.693 / half_life_s, 1) : 0, 0};
}

Decay Decay::gridengine(double half_life_s, double interval_s) {
  if (half_life_s < 0) return {std::numeric_limits<double>::infinity(), 0};
  return {half_life_s > 0 ? rate_of(interval_s * std::numbers::ln2 / half_life_s, interval_s) : 0,
          0};
}

double Decay::factor(double age) const noexcept {
  if (step > 0) age = std::floor(age / step) * step;
  return age > 0 ? std::exp2(-rate * age) : 1;
}

void accumulate(const Decay& decay, Index resources, View<const Id> row, View<const double> amount,
                View<const double> age, std::span<double> into) {
  using Rows = Eigen::Array<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Index events = std::ssize(row);
  const Eigen::Map<const Rows> used(amount.data(), events, resources);
  Eigen::Map<Rows> sums(into.data(), std::ssize(into) / std::max<Index>(resources, 1), resources);
  for (Index i = 0; i < events; ++i) {
    sums.row(row[i]) += used.row(i) * decay.factor(age[i]);
  }
}

}  // namespace evenhand::history
