// The share function of one operation. O(R^2), at most 2 R + 2 vertices.
// Source: YTsaurus fair share, "A of an operation".
#pragma once

#include <algorithm>

#include "evenhand/share/curve_builder.h"

namespace evenhand {

// What the operation uses grows first, every resource at the same speed until it
// reaches its own usage; then all go straight to the demand. A gang takes its
// whole demand at once or nothing.
template <int R>
void build_operation_curve(CurveBuilder<R>& builder, const Row<R>& usage, const Row<R>& demand,
                           const Row<R>& limits, bool gang) {
  builder.start(Row<R>::Zero(), Row<R>::Zero(), limits);
  if (gang) {
    builder.jump(demand, 1);
    return;
  }
  double corners[static_cast<unsigned>(R)];
  for (int r = 0; r < R; ++r) corners[r] = usage[r];
  std::sort(corners, corners + R);
  double reached = 0;
  for (int k = 0; k < R && !builder.ended(); ++k) {
    if (!(corners[k] > reached)) continue;
    reached = corners[k];
    builder.line(usage.min(reached), {});
  }
  if (!builder.ended() && !(demand == usage).all()) builder.line(demand, {});
}

}  // namespace evenhand
