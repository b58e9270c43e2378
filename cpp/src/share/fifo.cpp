#include "evenhand/share/fifo.h"

#include <algorithm>
#include <vector>

namespace evenhand {
namespace {

using Size = std::size_t;

constexpr double kEpsilon = 1e-9;
constexpr double kTruncationEpsilon = 1e-4;

// Operations of a FIFO pool in FIFO order, as rows of the operations table.
Column<Id> fifo_order(const Tables& t, Id pool, const Column<Id>& index) {
  const auto children = t.children.of(pool);
  Column<Id> order(children.size());
  for (Id child : children) {
    const Id o = child - t.pools.parent.rows();
    order[index[o]] = o;
  }
  return order;
}

}  // namespace

void sort_fifo_pools(const Tables& t, FairShareResult& out) {
  const Id pools = t.pools.parent.rows();
  out.fifo_index.assign(t.operations.pool.size(), kNoId);
  out.effective_fifo_index = out.fifo_index;
  for (Id p = 0; p < pools; ++p)
    if (t.pools.mode[p] == PoolMode::kFifo) sort_fifo_pool(t, t.children.of(p), out);
}

void sort_fifo_pool(const Tables& t, View<const Id> children, FairShareResult& out) {
  Column<Id> order;
  for (Id child : children) order.push_back(child - t.pools.parent.rows());
  std::ranges::stable_sort(order, [&](Id a, Id b) {
    if (t.operations.weight[a] != t.operations.weight[b])
      return t.operations.weight[a] > t.operations.weight[b];
    return t.operations.fifo_start_time[a] < t.operations.fifo_start_time[b];
  });
  for (Id i = 0; i < order.rows(); ++i) out.fifo_index[order[i]] = i;
}

void reorder_fifo_pools(const Tables& t, const Topology& tree, FairShareResult& out) {
  const Size width = t.total.size();
  Column<double> accepted(width), charge(width);
  for (Id p : tree.preorder) {
    if (t.pools.mode[p] != PoolMode::kFifo || !t.pools.step_function_for_gang[p] ||
        !t.pools.fifo_reordering[p])
      continue;
    const double* strong = out.strong_share.row(p, width);
    if (std::all_of(strong, strong + width, [](double x) { return x <= kEpsilon; })) continue;
    std::ranges::fill(accepted, 0.0);
    Column<Id> kept, deferred;
    bool stopped = false;
    for (Id o : fifo_order(t, p, out.fifo_index)) {
      const Size row = at(tree.pool_count + o) * width;
      const bool gang = t.operations.gang[o] != 0;
      bool within_limits = true, idle = true, fits = true;
      for (Size r = 0; r < width; ++r) {
        within_limits &= out.demand_share[row + r] <= out.limits_share[row + r];
        idle &= t.operations.usage.row(o, width)[r] == 0;
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
    for (Id i = 0; i < kept.rows(); ++i) changed |= out.fifo_index[kept[i]] != i;
    if (!changed) continue;
    for (Id i = 0; i < kept.rows(); ++i) out.effective_fifo_index[kept[i]] = i;
  }
}

void truncate_fifo_pools(const Tables& t, FairShareResult& out) {
  const Size width = t.total.size();
  for (Id o = 0; o < t.operations.size(); ++o) {
    const Id pool = t.operations.pool[o];
    if (t.pools.mode[pool] != PoolMode::kFifo || !t.operations.gang[o]) continue;
    const Size row = at(t.pools.parent.rows() + o) * width;
    bool whole = true;
    for (Size r = 0; r < width; ++r)
      whole &= out.total[row + r] >= out.demand_share[row + r] - kTruncationEpsilon;
    if (!whole) std::fill_n(out.total.row(row, 1), width, 0.0);
  }
}

}  // namespace evenhand
