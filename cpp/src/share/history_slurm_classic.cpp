#include <algorithm>
#include <cmath>

#include "evenhand/share/history/slurm_classic.h"

namespace evenhand::history {

ClassicFairShare slurm_classic(const Forest& forest, std::span<const double> shares,
                               std::span<const std::uint8_t> inherits,
                               std::span<const double> usage, const ClassicOptions& options) {
  const std::size_t n = shares.size();
  ClassicFairShare out{std::vector<double>(n), std::vector<double>(n), std::vector<double>(n),
                       std::vector<double>(n)};
  // An account that inherits is dissolved: what lies below it belongs to the one above.
  std::vector<Id> above(n);
  std::vector<double> level(n + 1);  // shares below each row, last those of the first tier
  const auto slot = [n](Id row) { return row == kNoId ? n : static_cast<std::size_t>(row); };
  for (const Id row : forest.order) {
    const auto v = static_cast<std::size_t>(row);
    const Id up = forest.parent[v];
    above[v] = up != kNoId && inherits[slot(up)] ? above[slot(up)] : up;
    if (!inherits[v]) level[slot(above[v])] += shares[v];
  }
  for (const Id row : forest.order) {
    const auto v = static_cast<std::size_t>(row);
    const Id up = above[v];
    const bool first_tier = up == kNoId || up == options.root;
    out.usage[v] = options.total > 0 ? std::min(usage[v] / options.total, 1.0) : 0;
    // The implicit root owns everything and has used everything.
    const double shares_above = up == kNoId ? 1 : out.norm_shares[slot(up)];
    const double usage_above = up == kNoId ? 1 : out.effective_usage[slot(up)];
    if (inherits[v]) {
      out.norm_shares[v] = shares_above;
      out.effective_usage[v] = usage_above;
    } else {
      const double part = level[slot(up)] > 0 ? shares[v] / level[slot(up)] : 0;
      out.norm_shares[v] = row == options.root ? 1 : shares_above * part;
      out.effective_usage[v] =
          first_tier ? out.usage[v] : out.usage[v] + (usage_above - out.usage[v]) * part;
    }
    const double owed = out.norm_shares[v];
    out.factor[v] = owed > 0 ? std::exp2(-(out.effective_usage[v] / owed / options.dampening)) : 0;
  }
  return out;
}

}  // namespace evenhand::history
