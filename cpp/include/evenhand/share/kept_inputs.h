// What the share functions of the last update were built from, beside its result:
// enough to tell which of them an update can reuse.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "evenhand/share/fair_share.h"

namespace evenhand {

class KeptInputs {
 public:
  void remember(const Tables& t) {
    children_ = t.children;
    parent_ = t.pools.parent;
    mode_ = t.pools.mode;
    steps_ = t.pools.step_function_for_gang;
    pool_weight_ = t.pools.weight;
    weight_ = t.operations.weight;
    gang_ = t.operations.gang;
  }

  // Same pools with the same settings that functions depend on.
  bool same_pools(const Tables& t, const FairShareResult& last) const {
    return t.resource_count() == last.resource_count && t.pools.parent == parent_ &&
           t.pools.mode == mode_ && t.pools.step_function_for_gang == steps_;
  }
  bool same_children(const Tables& t, Id pool) const {
    return std::ranges::equal(t.children.of(pool), children_.of(pool));
  }

  // An operation of pools with the same children.
  bool operation_changed(const Tables& t, const FairShareResult& before, const FairShareResult& now,
                         Id o) const {
    const std::size_t width = t.total.size();
    if (o >= weight_.rows()) return true;
    const auto differs = [&](const Column<double>& a, const Column<double>& b) {
      const double *x = a.row(now.pool_count + o, width), *y = b.row(now.pool_count + o, width);
      bool different = false;
      for (std::size_t r = 0; r < width; ++r) different |= x[r] != y[r];
      return different;
    };
    return differs(now.demand_share, before.demand_share) ||
           differs(now.usage_share, before.usage_share) ||
           differs(now.limits_share, before.limits_share) || weight_changed(t, o) ||
           t.operations.gang[o] != gang_[o] || now.fifo_index[o] != before.fifo_index[o] ||
           now.effective_fifo_index[o] != before.effective_fifo_index[o];
  }

  bool weight_changed(const Tables& t, Id o) const {
    return o >= weight_.rows() || t.operations.weight[o] != weight_[o];
  }
  bool pool_weight_changed(const Tables& t, Id p) const {
    return t.pools.weight[p] != pool_weight_[p];
  }

 private:
  Grouping children_;
  Column<Id> parent_;
  Column<PoolMode> mode_;
  Column<std::uint8_t> steps_, gang_;
  Column<double> pool_weight_, weight_;
};

}  // namespace evenhand
