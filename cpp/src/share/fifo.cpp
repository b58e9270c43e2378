#include "evenhand/share/fifo.h"

#include <algorithm>
#include <vector>

namespace evenhand {
namespace {

using Size = std::size_t;

constexpr double kEpsilon = 1e-9;
constexpr double kTruncationEpsilon = 1e-4;

// Operations of a FIFO pool in FIFO order, as rows of the operations table.
std::vector<Size> fifo_order(const Tables& t, Size pool, const std::vector<Id>& index) {
  const auto children = children_of(t, static_cast<Id>(pool));
  std::vector<Size> order(children.size());
  for (Id child : children) {
    const Size o = static_cast<Size>(child) - static_cast<Size>(t.pools.size());
    order[static_cast<Size>(index[o])] = o;
  }
  return order;
}

}  // namespace

void sort_fifo_pools(const Tables& t, FairShareResult& out) {
  const auto pools = static_cast<Size>(t.pools.size());
  out.fifo_index.assign(static_cast<Size>(t.operations.size()), kNoId);
  out.effective_fifo_index = out.fifo_index;
  std::vector<Size> order;
  for (Size p = 0; p < pools; ++p) {
    if (t.pools.mode[p] != PoolMode::kFifo) continue;
    order.clear();
    for (Id child : children_of(t, static_cast<Id>(p)))
      order.push_back(static_cast<Size>(child) - pools);
    std::ranges::stable_sort(order, [&](Size a, Size b) {
      if (t.operations.weight[a] != t.operations.weight[b])
        return t.operations.weight[a] > t.operations.weight[b];
      return t.operations.fifo_start_time[a] < t.operations.fifo_start_time[b];
    });
    for (Size i = 0; i < order.size(); ++i) out.fifo_index[order[i]] = static_cast<Id>(i);
  }
}

void reorder_fifo_pools(const Tables& t, const Topology& tree, FairShareResult& out) {
  const Size width = t.total.size();
  std::vector<double> accepted(width), charge(width);
  for (Id pool : tree.preorder) {
    const auto p = static_cast<Size>(pool);
    if (t.pools.mode[p] != PoolMode::kFifo || !t.pools.step_function_for_gang[p] ||
        !t.pools.fifo_reordering[p])
      continue;
    const double* strong = out.strong_share.data() + p * width;
    if (std::all_of(strong, strong + width, [](double x) { return x <= kEpsilon; })) continue;
    std::ranges::fill(accepted, 0.0);
    std::vector<Size> kept, deferred;
    bool stopped = false;
    for (Size o : fifo_order(t, p, out.fifo_index)) {
      const Size row = (static_cast<Size>(tree.pool_count) + o) * width;
      const bool gang = t.operations.gang[o] != 0;
      bool within_limits = true, idle = true, fits = true;
      for (Size r = 0; r < width; ++r) {
        within_limits &= out.demand_share[row + r] <= out.limits_share[row + r];
        idle &= t.operations.usage[o * width + r] == 0;
      }
      for (Size r = 0; r < width; ++r) {
        charge[r] = gang && !within_limits
                        ? 0.0
                        : std::min(out.demand_share[row + r], out.limits_share[row + r]);
        fits &= accepted[r] + charge[r] <= strong[r] + kEpsilon;
      }
      if (stopped || (gang && idle && !fits)) {
        deferred.push_back(o);
        continue;
      }
      kept.push_back(o);
      for (Size r = 0; r < width; ++r) accepted[r] += charge[r];
      if (!fits && !gang) stopped = true;
    }
    kept.insert(kept.end(), deferred.begin(), deferred.end());
    bool changed = false;
    for (Size i = 0; i < kept.size(); ++i) changed |= out.fifo_index[kept[i]] != static_cast<Id>(i);
    if (!changed) continue;
    for (Size i = 0; i < kept.size(); ++i) out.effective_fifo_index[kept[i]] = static_cast<Id>(i);
  }
}

void truncate_fifo_pools(const Tables& t, FairShareResult& out) {
  const Size width = t.total.size();
  const auto pools = static_cast<Size>(t.pools.size());
  for (Size o = 0; o < static_cast<Size>(t.operations.size()); ++o) {
    const auto pool = static_cast<Size>(t.operations.pool[o]);
    if (t.pools.mode[pool] != PoolMode::kFifo || !t.operations.gang[o]) continue;
    const Size row = (pools + o) * width;
    bool whole = true;
    for (Size r = 0; r < width; ++r)
      whole &= out.total[row + r] >= out.demand_share[row + r] - kTruncationEpsilon;
    if (!whole) std::fill_n(out.total.begin() + static_cast<Index>(row), width, 0.0);
  }
}

}  // namespace evenhand
