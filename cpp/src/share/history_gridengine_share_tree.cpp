#include <algorithm>

#include "evenhand/share/history/gridengine_share_tree.h"

namespace evenhand::history {

ShareTreeTargets gridengine_share_tree(const Forest& forest, View<const double> shares,
                                       View<const double> usage, View<const std::uint8_t> active,
                                       double compensation_factor) {
  const std::size_t n = shares.size();
  Column<std::uint8_t> has_jobs(active.begin(), active.end());
  for (auto row = forest.order.rbegin(); row != forest.order.rend(); ++row) {
    const Id up = forest.parent[*row];
    if (up != kNoId && has_jobs[*row]) has_jobs[up] = 1;
  }

  ShareTreeTargets out{Column<double>(n), Column<double>(n), Column<double>(n), Column<double>(n)};
  Column<double> weight(n);
  const auto divide = [&](Id row, double long_term, double short_term) {
    const auto each = [&](auto&& visit) {
      for (const Id c : forest.children(row))
        if (const auto v = static_cast<std::size_t>(c); has_jobs[v]) visit(v);
    };
    double share_sum = 0;
    each([&](std::size_t v) { share_sum += shares[v]; });
    if (share_sum <= 0 || long_term <= 0) return;
    double weight_sum = 0;
    each([&](std::size_t v) {
      out.level_long_term[v] = shares[v] / share_sum;
      out.long_term[v] = long_term * out.level_long_term[v];
      // Usage below the target itself counts as the target: no division by nearly nothing.
      weight[v] = shares[v] > 0 ? shares[v] * shares[v] / std::max(usage[v], out.long_term[v]) : 0;
      weight_sum += weight[v];
    });
    if (compensation_factor > 0) {
      double cut_sum = 0;
      each([&](std::size_t v) {
        const double target = short_term * (weight[v] / weight_sum);
        const double bound = compensation_factor * out.long_term[v];
        if (target > bound && bound > 0) weight[v] /= target / bound;
        cut_sum += weight[v];
      });
      weight_sum = cut_sum;
    }
    each([&](std::size_t v) {
      out.level_short_term[v] = weight[v] / weight_sum;
      out.short_term[v] = short_term * out.level_short_term[v];
    });
  };
  divide(kNoId, 1, 1);
  for (const Id row : forest.order) {
    divide(row, out.long_term[row], out.short_term[row]);
  }
  return out;
}

}  // namespace evenhand::history
