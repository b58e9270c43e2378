// What follows from an operation's share, and how far the share may move before it does.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "evenhand/policy/ytsaurus/workspace.h"
#include "evenhand/share/attributes.h"
#include "evenhand/share/satisfaction.h"
#include "evenhand/starve/relation.h"

namespace evenhand::ytsaurus {
namespace {

using Size = std::size_t;

}  // namespace

void Workspace::set_bounds(Id operation) {
  const Id e = pools() + operation;
  const EffectiveSettings& effective = last.starvation.effective;
  groups.set_bounds(operation, last.fair_share(e), last.demand_share(e),
                    effective.has_usage_threshold[e] != 0
                        ? effective.usage_threshold.row(e, state.width())
                        : nullptr);
}

void Workspace::resatisfy(Id operation) {
  const Id e = pools() + operation;
  const Size width = state.width();
  const double now = in_billionths(satisfaction_of({last.fair_share(e), width},
                                                   {last.shares->usage_share.row(e, width), width},
                                                   {last.demand_share(e), width}));
  if (std::exchange(live_satisfaction_[operation], now) != now) resatisfied_.push_back(operation);
}

void Workspace::follow_share(Id operation) {
  resatisfy(operation);
  set_bounds(operation);
}

// Within bounds that no comparison with the share separates it stands, which reads it to decide
// whether the operation is below its share or satisfied, or where its groups are cut. Until it
// leaves them, or what the operation has and wants changes, the groups keep the bounds that they
// had: whatever changes them sets those anew.
void Workspace::stay_calm(Id operation) {
  const Id e = pools() + operation;
  const Size width = state.width();
  CalmShares& calm = engine_.calm();
  const double *fair = last.fair_share(e), *wants = last.demand_share(e);
  const double* used = last.shares->usage_share.row(e, width);
  double *low = calm.bounds.row(2 * operation, width), *high = low + width;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::fill_n(low, width, -kInfinity);
  std::fill_n(high, width, kInfinity);
  bool known = true;
  const auto decides = [&](Size r, double share) {
    constexpr double kRounding = 1e-12;
    const double margin = kRounding * (1 + std::abs(share));
    if (fair[r] > share + margin)
      low[r] = std::max(low[r], share + margin);
    else if (fair[r] < share - margin)
      high[r] = std::min(high[r], share - margin);
    else
      known = false;
  };
  bool uses = false;
  for (Size r = 0; r < width; ++r) {
    uses |= used[r] > 0;
    decides(r, wants[r] - kShareTolerance);
    decides(r, kShareTolerance);
  }
  const bool schedulable = work().schedulable[operation] != 0;
  calm.watched[operation] = schedulable && uses && waits(operation);
  if (schedulable) {
    const StarvationSettings& tree = settings.starvation;
    const Column<Amount>& total = inputs().total;
    const Amount* smallest = work().smallest.row(operation, width);
    const double tolerance = last.starvation.effective.tolerance[e];
    for (Size r = 0; r < width; ++r) {
      decides(r, wants[r] - kCovers);
      if (tree.absolute_tolerance)
        decides(r, used[r] + kShareTolerance + share_of_total(smallest[r], total[r]));
      if (tree.ignore_tolerance_if_satisfied) decides(r, used[r] + kShareTolerance);
      if (tolerance > 0) decides(r, (used[r] + kShareTolerance) / tolerance);
      for (const OtherStarvation::Clock& clock : last.starvation.others.clocks)
        if (clock.tolerance > 0) decides(r, (used[r] + kShareTolerance) / clock.tolerance);
    }
  }
  groups.refresh(state, operation);
  known &= groups.for_deciding(state, operation, [&](double factor, const Amount* amounts) {
    for (Size r = 0; factor > 0 && r < width; ++r) {
      const double share = share_of_total(amounts[r], inputs().total[r]);
      decides(r, (share + kShareTolerance) / factor);
      decides(r, (share - kShareTolerance) / factor);
    }
  });
  if (!known) std::fill_n(low, width, kInfinity);
}

}  // namespace evenhand::ytsaurus
