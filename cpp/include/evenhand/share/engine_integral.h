// What integral pools get within their rate: burst pools first, then relaxed ones. Included by
// engine.h.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "evenhand/share/engine.h"

namespace evenhand {

template <int R>
void FairShareUpdate<R>::share_burst() {
  for (Id pool : tree_.preorder) {
    if (integral(pool) != IntegralType::kBurst) continue;
    const double peak = std::min(result.burst_ratio[pool], rate(pool));
    const Row<R> left = room(pool);
    const Row<R> until_now = row(result.integral_share, pool);
    Row<R> proposed = Row<R>::Zero();
    for (Size r = 0; r < columns(); ++r) {
      const Size i = at(pool) * width_ + r;
      const auto lane = static_cast<int>(r);
      proposed[lane] =
          nudge(result.limits_share[i], result.strong_share[i], std::min(peak, left[lane]));
    }
    set_row(result.integral_share, pool, proposed);
    build_block_for_both(pool);
    sweep(pool, block_, row(result.limits_share, pool), true);
    set_row(result.integral_share, pool, until_now);
    add_integral(pool, beyond_guarantee(pool, pool_.vertices()[0].shares));
  }
}

template <int R>
Row<R> FairShareUpdate<R>::beyond_guarantee(Id pool, const Row<R>& shares) const {
  return (shares - row(result.strong_share, pool)).max(0.0);
}

template <int R>
void FairShareUpdate<R>::share_relaxed() {
  struct Relaxed {
    Id pool;
    double rate;
    std::vector<Vertex<R>> curve;
  };
  std::vector<Relaxed> asking;
  for (Id pool : tree_.preorder) {
    if (integral(pool) != IntegralType::kRelaxed) continue;
    const double own_rate = rate(pool);
    if (own_rate == 0) continue;
    const double cap =
        std::min(own_rate, result.flow_ratio[pool] *
                               tables_->pools.integral.relaxed_share_multiplier_limit[pool]);
    const Row<R> limits =
        row(result.limits_share, pool).min(row(result.strong_share, pool) + filled_row<R>(cap));
    build_block_for_both(pool);
    sweep(pool, block_, limits, false);
    const auto curve = pool_.vertices();
    asking.push_back({pool, own_rate, {curve.begin(), curve.end()}});
  }
  if (asking.empty()) return;
  const Row<R> available = unclaimed();
  double slowest = asking[0].rate;
  for (const Relaxed& pool : asking) slowest = std::min(slowest, pool.rate);
  const auto given = [&](const Relaxed& pool, double f) {
    return beyond_guarantee(pool.pool,
                            value_at(pool.curve, std::min(1.0, f * (pool.rate / slowest))));
  };
  const double factor = largest_satisfying(0.0, 1.0, [&](double f) {
    Row<R> sum = Row<R>::Zero();
    for (const Relaxed& pool : asking) sum += given(pool, f);
    return !any_above(sum, available);
  });
  for (const Relaxed& pool : asking) {
    add_integral(pool.pool, given(pool, factor).min(room(pool.pool)));
  }
}

// Of the cluster, what guarantees do not claim.
template <int R>
Row<R> FairShareUpdate<R>::unclaimed() const {
  Row<R> claimed = Row<R>::Zero();
  for (Id e : children(0)) {
    if (e >= pool_rows_) continue;
    claimed += guarantee(e).min(row(result.demand_share, e));
  }
  return (filled_row<R>(1.0) - claimed).max(0.0);
}

template <int R>
Row<R> FairShareUpdate<R>::value_at(std::span<const Vertex<R>> curve, double s) {
  const auto after = std::ranges::lower_bound(curve, s, {}, &Vertex<R>::s);
  if (after == curve.end()) return curve.back().shares;
  if (after->s == s || after == curve.begin()) return after->shares;
  const Vertex<R>& from = *(after - 1);
  return between(from.shares, after->shares, (s - from.s) / (after->s - from.s));
}

}  // namespace evenhand
