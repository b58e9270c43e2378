#include <algorithm>
#include <cmath>

#include "evenhand/share/history/slurm_classic.h"

namespace evenhand::history {

ClassicFairShare slurm_classic(const Forest& forest, View<const double> shares,
                               View<const std::uint8_t> inherits, View<const double> usage,
                               const ClassicOptions& options) {
  const std::size_t n = shares.size();
  ClassicFairShare out{Column<double>(n), Column<double>(n), Column<double>(n), Column<double>(n)};
  // An account that inherits is dissolved: what lies below it belongs to the one above.
  Column<Id> above(n);
  Column<double> level(n + 1);  // shares below each row, last those of the first tier
  const auto slot = [n](Id row) { return row == kNoId ? n : static_cast<std::size_t>(row); };
  for (const Id row : forest.order) {
    const Id up = forest.parent[row];
    above[row] = up != kNoId && inherits[slot(up)] ? above[slot(up)] : up;
    if (!inherits[row]) level[slot(above[row])] += shares[row];
  }
  for (const Id row : forest.order) {
    const Id up = above[row];
    const bool first_tier = up == kNoId || up == options.root;
    out.usage[row] = options.total > 0 ? std::min(usage[row] / options.total, 1.0) : 0;
    // The implicit root owns everything and has used everything.
    const double shares_above = up == kNoId ? 1 : out.norm_shares[slot(up)];
    const double usage_above = up == kNoId ? 1 : out.effective_usage[slot(up)];
    if (inherits[row]) {
      out.norm_shares[row] = shares_above;
      out.effective_usage[row] = usage_above;
    } else {
      const double part = level[slot(up)] > 0 ? shares[row] / level[slot(up)] : 0;
      out.norm_shares[row] = row == options.root ? 1 : shares_above * part;
      out.effective_usage[row] =
          first_tier ? out.usage[row] : out.usage[row] + (usage_above - out.usage[row]) * part;
    }
    const double owed = out.norm_shares[row];
    out.factor[row] =
        owed > 0 ? std::exp2(-(out.effective_usage[row] / owed / options.dampening)) : 0;
  }
  return out;
}

}  // namespace evenhand::history
