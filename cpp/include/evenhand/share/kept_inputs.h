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
  bool same_children(const Tables& t, std::size_t pool) const {
    const auto of = [pool](const Grouping& g) {
      return std::span(g.items).subspan(
          static_cast<std::size_t>(g.offsets[pool]),
          static_cast<std::size_t>(g.offsets[pool + 1] - g.offsets[pool]));
    };
    return std::ranges::equal(of(t.children), of(children_));
  }

  // An operation of pools with the same children.
  bool operation_changed(const Tables& t, const FairShareResult& before, const FairShareResult& now,
                         std::size_t o) const {
    const auto width = static_cast<std::size_t>(now.resource_count);
    const std::size_t row = (static_cast<std::size_t>(now.pool_count) + o) * width;
    if (o >= weight_.size()) return true;
    const auto differs = [&](const std::vector<double>& a, const std::vector<double>& b) {
      bool different = false;
      for (std::size_t i = row; i < row + width; ++i) different |= a[i] != b[i];
      return different;
    };
    return differs(now.demand_share, before.demand_share) ||
           differs(now.usage_share, before.usage_share) ||
           differs(now.limits_share, before.limits_share) || weight_changed(t, o) ||
           t.operations.gang[o] != gang_[o] || now.fifo_index[o] != before.fifo_index[o] ||
           now.effective_fifo_index[o] != before.effective_fifo_index[o];
  }

  bool weight_changed(const Tables& t, std::size_t o) const {
    return o >= weight_.size() || t.operations.weight[o] != weight_[o];
  }
  bool pool_weight_changed(const Tables& t, std::size_t p) const {
    return t.pools.weight[p] != pool_weight_[p];
  }

 private:
  Grouping children_;
  std::vector<Id> parent_;
  std::vector<PoolMode> mode_;
  std::vector<std::uint8_t> steps_, gang_;
  std::vector<double> pool_weight_, weight_;
};

}  // namespace evenhand
