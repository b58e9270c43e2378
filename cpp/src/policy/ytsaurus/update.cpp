#include "evenhand/policy/ytsaurus/update.h"

#include <algorithm>

#include "evenhand/share/satisfaction.h"

namespace evenhand::ytsaurus {
namespace {

using Size = std::size_t;

PendingWork pending_work(const ClusterState& state, const RowSettings& rows,
                         const std::vector<Amount>& demand) {
  const Tables& t = state.tables();
  const Size width = state.width();
  const auto operations = static_cast<Size>(t.operations.size());
  PendingWork out;
  out.allocations.assign(operations, 0);
  out.smallest.assign(operations * width, 0);
  out.schedulable.assign(operations, 0);
  std::vector<Amount> wanted(width);
  for (Size o = 0; o < operations; ++o) {
    Amount* smallest = out.smallest.data() + o * width;
    std::ranges::fill(wanted, 0);
    for (Index i = t.requests_by_operation.offsets[o]; i < t.requests_by_operation.offsets[o + 1];
         ++i) {
      const Id q = t.requests_by_operation.items[static_cast<Size>(i)];
      const Index count = state.pending(q);
      if (count == 0) continue;
      const Amount* amounts = t.requests.resources.data() + static_cast<Size>(q) * width;
      for (Size r = 0; r < width; ++r) {
        smallest[r] = out.allocations[o] == 0 ? amounts[r] : std::min(smallest[r], amounts[r]);
        wanted[r] += amounts[r] * count;
      }
      out.allocations[o] += count;
    }
    bool wants = out.allocations[o] > 0;
    const Amount* used = state.operation_usage(static_cast<Id>(o));
    for (Size r = 0; r < width; ++r) {
      smallest[r] = std::min(smallest[r], wanted[r]);
      wants |= demand[o * width + r] > used[r];
    }
    out.schedulable[o] =
        wants && !at_or(rows.unschedulable, static_cast<Index>(o), std::uint8_t{0});
  }
  return out;
}

// The tables that the shares are computed from: the state's usage and demand.
// A state without deltas is its snapshot.
const Tables& share_inputs(const ClusterState& state, Tables& own,
                           const std::vector<Amount>& demand) {
  const Tables& t = state.tables();
  const Amount* used = state.operation_usage(0);
  const bool same = state.now() == t.now && demand == t.operations.demand &&
                    std::equal(t.operations.usage.begin(), t.operations.usage.end(), used);
  if (same) return t;
  own.now = state.now();
  own.previous_update = t.previous_update;
  own.resources = t.resources;
  own.total = t.total;
  own.pools = t.pools;
  own.operations = t.operations;
  own.children = t.children;
  own.operations.usage.assign(used, used + t.operations.usage.size());
  own.operations.demand = demand;
  return own;
}

}  // namespace

Update update(const ClusterState& state, const Settings& settings, const RowSettings& rows,
              const Given& given, const StarvationClocks& before, FairShareEngine& engine,
              const VolumeMemory* volumes, bool keep) {
  const Tables& t = state.tables();
  const Size width = state.width();
  const auto pools = static_cast<Size>(t.pools.size());
  Update out;
  out.now = state.now();
  const std::vector<Amount> demand = state.demand();
  out.work = pending_work(state, rows, demand);
  Tables own;
  const Tables& inputs = share_inputs(state, own, demand);
  out.shares = engine.update(inputs, settings.fair_share, volumes, keep);
  if (!given.fair_share.empty())
    for (Size e = 0; e < given.has_fair_share.size(); ++e)
      if (given.has_fair_share[e])
        std::copy_n(given.fair_share.begin() + static_cast<std::ptrdiff_t>(e * width), width,
                    out.shares.total.begin() + static_cast<std::ptrdiff_t>(e * width));
  out.satisfaction = satisfaction(inputs, out.shares);
  out.starvation = starvation(t, out.shares, settings.starvation, rows.starvation, out.work, before,
                              out.now, given.starvation);
  out.priority.assign(static_cast<Size>(t.operations.size()), Priority::kNone);
  for (Size o = 0; o < out.priority.size(); ++o) {
    if (!out.work.schedulable[o]) continue;
    const Size e = pools + o;
    const Starvation own_state = out.starvation.clocks.starvation[e];
    const bool aggressive = settings.priority_from_ancestors
                                ? out.starvation.lowest_aggressive[e] != kNoId
                                : own_state == Starvation::kAggressivelyStarving;
    const bool starving = settings.priority_from_ancestors
                              ? out.starvation.lowest_starving[e] != kNoId
                              : own_state != Starvation::kNonStarving;
    out.priority[o] = aggressive ? Priority::kAggressive
                      : starving ? Priority::kNormal
                                 : Priority::kNone;
  }
  std::vector<Id> order = out.shares.fifo_index;
  for (Size o = 0; o < order.size(); ++o)
    if (out.shares.effective_fifo_index[o] != kNoId) order[o] = out.shares.effective_fifo_index[o];
  out.places = QueuePlaces::of(t, order);
  return out;
}

}  // namespace evenhand::ytsaurus
