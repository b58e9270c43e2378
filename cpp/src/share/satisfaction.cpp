#include "evenhand/share/satisfaction.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "evenhand/share/topology.h"

namespace evenhand {
namespace {

using Size = std::size_t;
using Shares = std::span<const double>;

constexpr double kTolerance = 1e-9;

}  // namespace

double satisfaction_of(Shares fair, Shares usage, Shares demand) {
  const Size width = fair.size();
  bool nothing = true, above = false, all_blocked = true;
  for (Size r = 0; r < width; ++r) {
    nothing &= fair[r] <= kTolerance;
    above |= usage[r] > fair[r] + kTolerance;
    all_blocked &= fair[r] >= demand[r] - kTolerance;
  }
  if (nothing) return kInfiniteSatisfaction;
  if (std::ranges::none_of(usage, [](double used) { return used > 0; })) return 0;
  if (above) {
    double most = 0;
    for (Size r = 0; r < width; ++r)
      if (fair[r] > 0)
        most = std::max(most, usage[r] / fair[r]);
      else if (usage[r] > kTolerance)
        most = kInfiniteSatisfaction;
    return std::min(most, kInfiniteSatisfaction);
  }
  double least = kInfiniteSatisfaction, most = 0;
  for (Size r = 0; r < width; ++r) {
    least = std::min(least, fair[r] > 0 ? usage[r] / fair[r] : 1.0);
    if (fair[r] < demand[r] - kTolerance && fair[r] > 0) most = std::max(most, usage[r] / fair[r]);
  }
  return all_blocked ? least : most;
}

double in_billionths(double satisfaction) noexcept {
  return static_cast<double>(static_cast<std::int64_t>(satisfaction * 1e9 + 0.5));
}

Column<double> satisfaction(const Tables& t, const FairShareResult& result) {
  const Size width = t.total.size(), pools = at(result.pool_count);
  const Size elements = pools + at(result.operation_count);
  const auto row = [&](const Column<double>& matrix, Size e) {
    return Shares(matrix.row(e, width), width);
  };
  Column<double> out(elements, kInfiniteSatisfaction);
  for (Size e = pools; e < elements; ++e)
    out[e] = satisfaction_of(row(result.total, e), row(result.usage_share, e),
                             row(result.demand_share, e));
  for (Id pool : Topology::of(t).postorder)
    for (Id child : t.children.of(pool)) out[pool] = std::min(out[pool], out[child]);
  return out;
}

Column<Id> dominant_resource(const Tables& t, const FairShareResult& result, int main_resource) {
  const Size width = t.total.size(), elements = at(result.pool_count + result.operation_count);
  Column<Id> out(elements, Id{std::max(main_resource, 0)});
  for (Size e = 0; e < elements; ++e)
    for (const auto* matrix : {&result.usage_share, &result.demand_share}) {
      double largest = 0;
      for (Size r = 0; r < width; ++r)
        if (t.total[r] > 0 && (*matrix)[e * width + r] > largest) {
          largest = (*matrix)[e * width + r];
          out[e] = static_cast<Id>(r);
        }
      if (largest > 0) break;
    }
  return out;
}

}  // namespace evenhand
