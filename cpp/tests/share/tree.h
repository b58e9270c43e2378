// Clusters that tests of shares write down.
#pragma once

#include <vector>

#include "evenhand/model/tables.h"

namespace evenhand::testing {

// A tree of pools and operations with one cluster of 1,000 units of every resource.
class Cluster {
 public:
  explicit Cluster(int resources) : width_(resources) {
    const auto n = static_cast<std::size_t>(resources);
    t_.resources.quantum.assign(n, 1.0);
    t_.resources.kind.assign(n, ResourceKind::kOther);
    t_.total.assign(n, 1000);
    pool(kNoId);
  }

  Id pool(Id parent, double weight = 1, Amount guarantee = 0,
          PoolMode mode = PoolMode::kFairShare) {
    PoolColumns& p = t_.pools;
    const auto n = static_cast<std::size_t>(width_);
    p.parent.push_back(parent);
    p.weight.push_back(weight);
    p.mode.push_back(mode);
    p.strong_guarantee.resize(p.strong_guarantee.size() + n, guarantee);
    p.strong_guarantee_given.push_back(guarantee > 0 ? (1u << width_) - 1 : 0);
    p.limits.resize(p.limits.size() + n);
    p.limits_given.push_back(0);
    p.integral.type.push_back(IntegralType::kNone);
    p.integral.resource_flow.resize(p.integral.resource_flow.size() + n);
    p.integral.burst.resize(p.integral.burst.size() + n);
    p.integral.relaxed_share_multiplier_limit.push_back(3);
    p.integral.can_accept_free_volume.push_back(1);
    p.integral.should_distribute_free_volume_among_children.push_back(0);
    p.integral.accumulated_volume.resize(p.integral.accumulated_volume.size() + n);
    p.integral.last_share_ratio.push_back(0);
    p.step_function_for_gang.push_back(1);
    for (auto* flags : {&p.fifo_reordering, &p.compute_promised_guarantee,
                        &p.priority_strong_guarantee, &p.priority_donor})
      flags->push_back(0);
    return static_cast<Id>(p.parent.size()) - 1;
  }

  Id operation(Id pool, std::vector<Amount> demand, double weight = 1, bool gang = false) {
    OperationColumns& o = t_.operations;
    o.pool.push_back(pool);
    o.weight.push_back(weight);
    o.demand.insert(o.demand.end(), demand.begin(), demand.end());
    o.usage.resize(o.demand.size());
    o.limits.resize(o.demand.size());
    o.limits_given.push_back(0);
    o.gang.push_back(gang);
    o.fifo_start_time.push_back(0);
    return static_cast<Id>(o.pool.size()) - 1;
  }

  Tables& tables() {
    const auto pools = static_cast<std::size_t>(t_.pools.size());
    t_.children = {{0}, {}};
    for (std::size_t p = 0; p < pools; ++p) {
      for (std::size_t c = 1; c < pools; ++c)
        if (t_.pools.parent[c] == static_cast<Id>(p))
          t_.children.items.push_back(static_cast<Id>(c));
      for (std::size_t o = 0; o < t_.operations.pool.size(); ++o)
        if (t_.operations.pool[o] == static_cast<Id>(p))
          t_.children.items.push_back(static_cast<Id>(pools + o));
      t_.children.offsets.push_back(static_cast<Index>(t_.children.items.size()));
    }
    return t_;
  }

 private:
  int width_;
  Tables t_;
};

}  // namespace evenhand::testing
