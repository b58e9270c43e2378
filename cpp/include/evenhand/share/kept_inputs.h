// What the share functions of the last update were built from, beside its result:
// enough to tell which of them an update can reuse.
#pragma once

#include <algorithm>
#include <vector>

#include "evenhand/share/fair_share.h"

namespace evenhand {

class KeptInputs {
 public:
  void remember(const Tables& t) {
    children_ = t.children.items;
    parent_ = t.pools.parent;
    mode_ = t.pools.mode;
    steps_ = t.pools.step_function_for_gang;
    pool_weight_ = t.pools.weight;
    weight_ = t.operations.weight;
    gang_ = t.operations.gang;
  }

  // Same rows, parents, child order and pool settings that functions depend on.
  bool same_tree(const Tables& t, const FairShareResult& last) const {
    return t.resource_count() == last.resource_count &&
           t.operations.size() == last.operation_count && t.children.items == children_ &&
           t.pools.parent == parent_ && t.pools.mode == mode_ &&
           t.pools.step_function_for_gang == steps_;
  }

  bool operation_changed(const Tables& t, const FairShareResult& before, const FairShareResult& now,
                         std::size_t o) const {
    const auto width = static_cast<std::size_t>(now.resource_count);
    const std::size_t row = (static_cast<std::size_t>(now.pool_count) + o) * width;
    const auto differs = [&](const std::vector<double>& a, const std::vector<double>& b) {
      bool different = false;
      for (std::size_t i = row; i < row + width; ++i) different |= a[i] != b[i];
      return different;
    };
    return differs(now.demand_share, before.demand_share) ||
           differs(now.usage_share, before.usage_share) ||
           differs(now.limits_share, before.limits_share) || t.operations.weight[o] != weight_[o] ||
           t.operations.gang[o] != gang_[o] || now.fifo_index[o] != before.fifo_index[o] ||
           now.effective_fifo_index[o] != before.effective_fifo_index[o];
  }

  bool pool_weight_changed(const Tables& t, std::size_t p) const {
    return t.pools.weight[p] != pool_weight_[p];
  }

 private:
  std::vector<Id> children_, parent_;
  std::vector<PoolMode> mode_;
  std::vector<std::uint8_t> steps_, gang_;
  std::vector<double> pool_weight_, weight_;
};

}  // namespace evenhand
