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
  std::vector<double> part(n);  // shares / sibling shares
  const auto divide = [&](Id row) {
    double sum = 0;
    for (const Id c : forest.children(row))
      if (!inherits[static_cast<std::size_t>(c)]) sum += shares[static_cast<std::size_t>(c)];
    for (const Id c : forest.children(row)) {
      const auto v = static_cast<std::size_t>(c);
      part[v] = sum > 0 ? shares[v] / sum : 0;
    }
  };
  divide(kNoId);
  for (const Id row : forest.order) {
    divide(row);
    const auto v = static_cast<std::size_t>(row);
    const Id up = forest.parent[v];
    const auto p = static_cast<std::size_t>(up);
    const bool first_tier = up == kNoId || up == options.root;
    out.usage[v] = options.total > 0 ? std::min(usage[v] / options.total, 1.0) : 0;
    // The implicit root owns everything and has used everything.
    const double shares_above = up == kNoId ? 1 : out.norm_shares[p];
    if (inherits[v]) {
      out.norm_shares[v] = shares_above;
      out.effective_usage[v] = up == kNoId ? 1 : out.effective_usage[p];
    } else {
      out.norm_shares[v] = row == options.root ? 1 : shares_above * part[v];
      out.effective_usage[v] =
          first_tier ? out.usage[v]
                     : out.usage[v] + (out.effective_usage[p] - out.usage[v]) * part[v];
    }
    const double owed = out.norm_shares[v];
    out.factor[v] = owed > 0 ? std::exp2(-(out.effective_usage[v] / owed / options.dampening)) : 0;
  }
  return out;
}

}  // namespace evenhand::history
