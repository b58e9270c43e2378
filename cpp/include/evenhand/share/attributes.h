// Usage, demand and limits of every element as fractions of the cluster, E x R.
// O((N + P) R). Source: YTsaurus fair share, "shares".
#pragma once

#include <algorithm>
#include <vector>

#include "evenhand/share/fair_share.h"
#include "evenhand/share/topology.h"

namespace evenhand {

// What all below a pool want and use, P x R.
struct PoolSums {
  Column<Amount> demand, usage;
};

// As compute_attributes() has it.
inline double share_of_total(Amount amount, Amount total) noexcept {
  return total > 0 ? static_cast<double>(amount) / static_cast<double>(total) : 0.0;
}

inline double limit_of_total(ResourceMask given, const Amount* limits, const Column<Amount>& total,
                             std::size_t r) noexcept {
  if (given >> r & 1u) return share_of_total(std::min(limits[r], total[r]), total[r]);
  return total[r] > 0 ? 1.0 : 0.0;
}

// R is the number of resources, or the width of a kernel that serves fewer.
template <int R>
void compute_attributes(const Tables& t, const Topology& tree, FairShareResult& out,
                        PoolSums& sums) {
  using Size = std::size_t;
  const auto width = R <= 8 ? static_cast<Size>(R) : t.total.size();
  const Size pools = t.pools.parent.size(), operations = t.operations.pool.size();
  for (auto* matrix : {&out.usage_share, &out.demand_share, &out.limits_share})
    matrix->resize((pools + operations) * width);
  double total[static_cast<unsigned>(R)], exists[static_cast<unsigned>(R)];
  for (Size r = 0; r < width; ++r) {
    total[r] = t.total[r] > 0 ? static_cast<double>(t.total[r]) : 1.0;
    exists[r] = t.total[r] > 0 ? 1.0 : 0.0;
  }
  const auto share_of = [&](Amount amount, Size r) {
    return static_cast<double>(amount) / total[r] * exists[r];
  };
  const auto limit_of = [&](ResourceMask given, const Amount* limits, Size r) {
    return given >> r & 1u ? share_of(std::min(limits[r], t.total[r]), r) : exists[r];
  };
  Column<Amount>&demand = sums.demand, &usage = sums.usage;
  for (Column<Amount>* sum : {&demand, &usage}) sum->assign(pools * width, 0);
  for (Size o = 0; o < operations; ++o) {
    const Size p = at(t.operations.pool[o]) * width;
    const Size from = o * width, to = (pools + o) * width;
    for (Size r = 0; r < width; ++r) {
      const Amount d = t.operations.demand[from + r], u = t.operations.usage[from + r];
      demand[p + r] += d;
      usage[p + r] += u;
      out.demand_share[to + r] = share_of(d, r);
      out.usage_share[to + r] = share_of(u, r);
    }
    const bool anywhere = t.operations.best_allocation_share.empty();
    for (Size r = 0; r < width; ++r) {
      const double limit =
          limit_of(t.operations.limits_given[o], t.operations.limits.data() + from, r);
      out.limits_share[to + r] =
          anywhere ? limit : std::min(limit, t.operations.best_allocation_share[from + r]);
    }
  }
  for (Id p : tree.postorder) {
    for (Size r = 0; r < width; ++r) {
      const Size i = at(p) * width + r;
      if (p != 0) {
        const Size up = at(t.pools.parent[p]) * width + r;
        demand[up] += demand[i];
        usage[up] += usage[i];
      }
      out.demand_share[i] = share_of(demand[i], r);
      out.usage_share[i] = share_of(usage[i], r);
      out.limits_share[i] = limit_of(t.pools.limits_given[p], t.pools.limits.row(p, width), r);
    }
  }
}

}  // namespace evenhand
