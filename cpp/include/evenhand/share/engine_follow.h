// Fair share updates that use what the one before them left: functions in which single operations
// are replaced, and results that are changed in place, where only what some operations want and
// use differs. Included by engine.h.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "evenhand/share/engine.h"

namespace evenhand {

// Replaces the operations that changed; false: the block must be built again.
template <int R>
bool FairShareUpdate<R>::replace_changed(Id pool) {
  Pool& state = pools_[pool];
  const auto children = tables_->children.of(pool);
  if (state.rebuild || state.changed.size() * 16 > children.size() || !state.children.sweepable())
    return false;
  const bool steps = options_.step_function_for_gang && tables_->pools.step_function_for_gang[pool];
  for (const Id o : state.changed) {
    const Id e = pool_rows_ + o;
    const auto child = at(std::ranges::find(children, e) - children.begin());
    if (child == children.size()) return false;
    build_operation_curve<R>(operation_, row(result.usage_share, e), row(result.demand_share, e),
                             row(result.limits_share, e), steps && tables_->operations.gang[o]);
    const double ratio = weight(e) / state.smallest_weight;
    if (!state.children.replace(child, operation_.vertices(), ratio)) return false;
  }
  state.children.sum_initial();
  return true;
}

// Whether what operations want and use changes shares by the pools' curves alone.
template <int R>
bool FairShareUpdate<R>::pools_are_independent() const {
  const PoolColumns& p = tables_->pools;
  return !options_.fifo_truncation &&
         !(options_.step_function_for_gang && options_.fifo_reordering) &&
         std::ranges::all_of(p.integral.type,
                             [](IntegralType type) { return type == IntegralType::kNone; }) &&
         std::ranges::none_of(p.compute_promised_guarantee, [](auto opted) { return opted; });
}

template <int R>
void FairShareUpdate<R>::follow(const Tables& t, View<const Id> touched) {
  tables_ = &t;
  whole_ = false;
  changed.clear();
  open_.clear();
  for (const Id o : touched) follow_operation(o);
  std::ranges::sort(open_, {}, [&](Id pool) { return postorder_place_[pool]; });
  for (const Id pool : open_) build(pool);
  walk_changed();
  for (const Id pool : open_) settle(pools_[pool]);
  std::ranges::sort(changed);
  changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
  whole_ = true;
}

template <int R>
void FairShareUpdate<R>::follow_operation(Id o) {
  const Tables& t = *tables_;
  std::array<Amount, kMaxResources> demand, usage;
  bool same = true;
  for (Size r = 0; r < width_; ++r) {
    const Amount wants = t.operations.demand.row(o, width_)[r],
                 uses = t.operations.usage.row(o, width_)[r];
    Amount &wanted = demand_.row(o, width_)[r], &used = usage_.row(o, width_)[r];
    demand[r] = wants - std::exchange(wanted, wants);
    usage[r] = uses - std::exchange(used, uses);
    same = same && demand[r] == 0 && usage[r] == 0;
  }
  if (same) return;
  const auto share = [&](Column<double>& of, Id element, const Amount* amounts) {
    changed.push_back(element);
    for (Size r = 0; r < width_; ++r)
      of.row(element, width_)[r] = share_of_total(amounts[r], t.total[r]);
  };
  const Id e = pool_rows_ + o;
  share(result.demand_share, e, demand_.row(o, width_));
  share(result.usage_share, e, usage_.row(o, width_));
  for (Id p = t.operations.pool[o]; p != kNoId; p = t.pools.parent[p]) {
    Pool& pool = pools_[p];
    if (!pool.children_changed) open_.push_back(p);
    pool.children_changed = true;
    for (Size r = 0; r < width_; ++r) {
      sums_.demand.row(p, width_)[r] += demand[r];
      sums_.usage.row(p, width_)[r] += usage[r];
    }
    share(result.demand_share, p, sums_.demand.row(p, width_));
    share(result.usage_share, p, sums_.usage.row(p, width_));
  }
  pools_[t.operations.pool[o]].changed.push_back(o);
}

// As walk(), but into pools alone that stand elsewhere or whose children have changed.
template <int R>
void FairShareUpdate<R>::walk_changed() {
  if (open_.empty()) return;
  Column<Id> path{0}, walked;
  positions_[0] = pools_[0].own.last();
  const auto set = [&](Id e, const Row<R>& shares) {
    if ((row(result.total, e) != shares).any()) changed.push_back(e);
    set_row(result.total, e, shares);
  };
  while (!path.empty()) {
    const Id pool = path.back();
    path.pop_back();
    walked.push_back(pool);
    const Position stands = positions_[pool];
    const auto children = tables_->children.of(pool);
    for (Size i = 0; i < children.size(); ++i) {
      const Id e = children[i];
      const CurvePoint place = child_place(pool, i, stands);
      if (e < pool_rows_) {
        const Position now = pools_[e].own.at(place);
        const Position then = std::exchange(positions_[e], now);
        if (now.f != then.f || now.jumped != then.jumped || pools_[e].children_changed)
          path.push_back(e);
      } else {
        const Row<R>* shares = pools_[pool].children.shares(i) + place.k;
        set(e, place.t == 0 ? shares[0] : between(shares[0], shares[1], place.t));
      }
    }
  }
  while (!walked.empty()) {  // children before parents
    const Id pool = walked.back();
    walked.pop_back();
    Row<R> sum = Row<R>::Zero();
    for (Id child : tables_->children.of(pool)) sum = sum + row(result.total, child);
    set(pool, sum);
  }
}

}  // namespace evenhand
