#include "evenhand/share/guarantees.h"

#include <algorithm>
#include <cmath>

#include "evenhand/core/search.h"
#include "evenhand/share/units.h"

namespace evenhand {
namespace {

using Size = std::size_t;

double share(Amount amount, Amount total) {
  return total > 0 ? static_cast<double>(amount) / static_cast<double>(total) : 0.0;
}

// Largest ratio of a row of amounts to the totals, at least 0.
double max_ratio(const Units& units, const Column<Amount>& amounts, Id row,
                 const Column<Amount>& total) {
  const Size width = total.size();
  double ratio = 0;
  for (Size r = 0; r < width; ++r)
    ratio = std::max(ratio, units.ratio(amounts.row(row, width)[r], total[r], r));
  return ratio;
}

// Implied guarantees of the child pools of one pool, for one resource, in units.
void imply(const Tables& t, const Units& units, Id pool, Size r, Size main,
           const Column<Id>& children, Column<Amount>& guarantee) {
  const Size width = t.total.size();
  const auto quanta = [&](Id p) { return static_cast<double>(guarantee.row(p, width)[r]); };
  const auto own = [&](Id p, Size k) {
    return units.of(static_cast<double>(guarantee.row(p, width)[k]), k);
  };
  const auto given = [&](Id p) { return (t.pools.strong_guarantee_given[p] >> r & 1u) != 0; };
  double explicit_sum = 0;
  for (Id c : children) explicit_sum += quanta(c);
  const double residual = units.of(std::max(quanta(pool) - explicit_sum, 0.0), r);
  const auto implied = [&](Id c) {
    return own(pool, main) > 0 ? own(c, main) / own(pool, main) * own(pool, r) : 0.0;
  };
  double implied_sum = 0;
  for (Id c : children)
    if (!given(c)) implied_sum += implied(c);
  const double scale = pool != 0 && implied_sum > residual ? residual / implied_sum : 1.0;
  for (Id child : children) {
    if (given(child)) continue;
    const double amount =
        std::min(units.quanta(implied(child) * scale, r), static_cast<double>(kMaxAmount));
    // Fixed-point cpu is rounded, whole resources are cut.
    guarantee.row(child, width)[r] = static_cast<Amount>(
        t.resources.kind[r] == ResourceKind::kCpu ? std::round(amount) : std::trunc(amount));
  }
}

// Of each pool, whether the first pool above it with either flag is a donor.
Column<std::uint8_t> find_donors(const Tables& t, const Topology& tree) {
  Column<std::uint8_t> has_donor(t.pools.parent.size());
  for (Id pool : tree.preorder) {
    if (pool == 0) continue;
    const Id parent = t.pools.parent[pool];
    if (t.pools.priority_donor[parent] || t.pools.priority_strong_guarantee[parent])
      has_donor[pool] = t.pools.priority_donor[parent];
    else
      has_donor[pool] = has_donor[parent];
  }
  return has_donor;
}

// Both tiers of a pool's strong share, before any adjustment.
void split_by_tier(const Tables& t, const Topology& tree, FairShareResult& out) {
  const Size width = t.total.size();
  const Column<std::uint8_t> has_donor = find_donors(t, tree);
  for (Id pool : tree.postorder) {
    const auto p = static_cast<Size>(pool);
    const bool priority = t.pools.priority_strong_guarantee[p] && has_donor[p];
    for (Size r = 0; r < width; ++r) {
      const Size i = p * width + r;
      const double strong = out.strong_share[i];
      double first = 0;
      if (priority) {
        first = strong;
      } else if (!t.pools.priority_donor[p]) {
        for (Id c : t.children.of(pool))
          if (c < tree.pool_count) first += out.strong_share_priority.row(c, width)[r];
      }
      out.strong_share_priority[i] = first;
      out.strong_share_regular[i] = strong - first;  // below 0 where children have more
    }
  }
}

// Cuts the tiers of a pool's children to what its own strong share leaves them.
void fit_children(const Tables& t, const Topology& tree, Id pool, FairShareResult& out) {
  const Size width = t.total.size();
  Column<Id> children;
  for (Id c : t.children.of(pool))
    if (c < tree.pool_count) children.push_back(c);
  if (children.empty()) return;
  Column<double> fixed(width, 0.0), available(width);
  bool exhausted = false;
  for (auto* tier : {&out.strong_share_priority, &out.strong_share_regular}) {
    if (exhausted) {
      for (Id c : children) std::fill_n(tier->row(c, width), width, 0.0);
      continue;
    }
    for (Size r = 0; r < width; ++r)
      available[r] = std::max(out.strong_share.row(pool, width)[r] - fixed[r], 0.0);
    const auto sum = [&](Size r, double k) {
      double x = 0;
      for (Id c : children) x += tier->row(c, width)[r] * k;
      return x;
    };
    const auto fits = [&](double k) {
      for (Size r = 0; r < width; ++r)
        if (!(sum(r, k) <= available[r])) return false;
      return true;
    };
    if (!fits(1.0)) {
      const double k = largest_satisfying(0.0, 1.0, fits);
      for (Id c : children)
        for (Size r = 0; r < width; ++r) tier->row(c, width)[r] *= k;
      exhausted = true;
      continue;
    }
    for (Size r = 0; r < width; ++r) fixed[r] += sum(r, 1.0);
  }
  for (Id c : children)
    for (Size r = 0; r < width; ++r) {
      const Size i = at(c) * width + r;
      out.strong_share[i] = out.strong_share_priority[i] + out.strong_share_regular[i];
    }
}

// Reports guarantees beyond the cluster; beyond it together with bursts, scales both.
void check_overcommit(const Tables& t, const Topology& tree, FairShareResult& out) {
  const Size width = t.total.size();
  Column<Amount> strong(width, 0);
  for (Id c : t.children.of(0))
    if (c < tree.pool_count)
      for (Size r = 0; r < width; ++r) strong[r] += out.inferred_guarantee.row(c, width)[r];
  const auto exceeds = [&](double ratio, FairShareIssue issue) {
    FairShareDiagnostic found{issue, {}, {}};
    bool over = false;
    for (Size r = 0; r < width; ++r) {
      const double wanted =
          static_cast<double>(strong[r]) + std::round(static_cast<double>(t.total[r]) * ratio);
      found.numbers.push_back(wanted);
      over |= wanted > static_cast<double>(t.total[r]);
    }
    if (over) out.diagnostics.push_back(std::move(found));
    return over;
  };
  exceeds(out.total_flow_ratio[0], FairShareIssue::kGuaranteesOvercommitStrongPlusFlow);
  if (!exceeds(out.total_burst_ratio[0], FairShareIssue::kGuaranteesOvercommitStrongPlusBurst))
    return;
  double bursts = 0;
  for (Id pool : tree.preorder)
    if (t.pools.integral.type[pool] == IntegralType::kBurst) bursts += out.burst_ratio[pool];
  const double k = largest_satisfying(0.0, 1.0, [&](double x) {
    for (Size r = 0; r < width; ++r)
      if (!((out.strong_share[r] + bursts) * x <= 1.0)) return false;
    return true;
  });
  for (Size r = 0; r < width; ++r) out.strong_share[r] *= k;
  for (Id pool : tree.preorder)
    if (t.pools.integral.type[pool] == IntegralType::kBurst) out.burst_ratio[pool] *= k;
}

}  // namespace

void infer_strong_guarantees(const Tables& t, const Topology& tree, const FairShareOptions& options,
                             FairShareResult& out) {
  const Size width = t.total.size();
  out.inferred_guarantee.assign(t.pools.parent.size() * width, 0);
  std::ranges::copy(t.total, out.inferred_guarantee.begin());
  for (Id pool : tree.preorder) {
    if (pool == 0) continue;
    for (Size r = 0; r < width; ++r)
      if (t.pools.strong_guarantee_given[pool] >> r & 1u)
        out.inferred_guarantee.row(pool, width)[r] = t.pools.strong_guarantee.row(pool, width)[r];
  }
  if (options.main_resource < 0) return;
  const auto main = static_cast<Size>(options.main_resource);
  const Units units(t.resources);
  Column<Id> children;
  for (Id pool : tree.preorder) {
    children.clear();
    for (Id c : t.children.of(pool))
      if (c < tree.pool_count) children.push_back(c);
    if (children.empty()) continue;
    for (Size r = 0; r < width; ++r)
      if (r != main) imply(t, units, pool, r, main, children, out.inferred_guarantee);
  }
}

void compute_ratios(const Tables& t, const Topology& tree, FairShareResult& out) {
  const Size pools = t.pools.parent.size();
  const Units units(t.resources);
  for (auto* column :
       {&out.flow_ratio, &out.burst_ratio, &out.total_flow_ratio, &out.total_burst_ratio})
    column->assign(pools, 0.0);
  for (Id p : tree.postorder) {
    if (t.pools.integral.type[p] != IntegralType::kNone) {
      out.flow_ratio[p] = max_ratio(units, t.pools.integral.resource_flow, p, t.total);
      out.burst_ratio[p] = max_ratio(units, t.pools.integral.burst, p, t.total);
    }
    out.total_flow_ratio[p] = out.flow_ratio[p];
    out.total_burst_ratio[p] = out.burst_ratio[p];
    for (Id c : t.children.of(p))
      if (c < tree.pool_count) {
        out.total_flow_ratio[p] += out.total_flow_ratio[c];
        out.total_burst_ratio[p] += out.total_burst_ratio[c];
      }
  }
}

void check_pool_settings(const Tables& t, const Topology& tree, FairShareResult& out) {
  Column<std::uint8_t> inside(t.pools.parent.size());
  const Column<std::uint8_t> has_donor = find_donors(t, tree);
  FairShareDiagnostic nested{FairShareIssue::kNestedPromisedGuaranteePools, {}, {}};
  FairShareDiagnostic orphans{FairShareIssue::kPriorityPoolsWithoutDonor, {}, {}};
  for (Id pool : tree.preorder) {
    const bool below = pool != 0 && inside[t.pools.parent[pool]];
    const bool opted = t.pools.compute_promised_guarantee[pool] != 0;
    if (below && opted) nested.pools.push_back(pool);
    inside[pool] = below || opted;
    if (t.pools.priority_strong_guarantee[pool] && !has_donor[pool]) orphans.pools.push_back(pool);
  }
  for (FairShareDiagnostic* found : {&nested, &orphans}) {
    if (found->pools.empty()) continue;
    std::ranges::sort(found->pools);
    out.diagnostics.push_back(std::move(*found));
  }
}

void adjust_strong_guarantees(const Tables& t, const Topology& tree,
                              const FairShareOptions& options, FairShareResult& out) {
  const Size width = t.total.size();
  const Size cells = t.pools.parent.size() * width;
  const View<const Amount> guarantees(out.inferred_guarantee);
  const auto below_root = guarantees.begin() + static_cast<std::ptrdiff_t>(width);
  if (out.total_flow_ratio[0] == 0 && out.total_burst_ratio[0] == 0 &&
      std::all_of(below_root, guarantees.end(), [](Amount a) { return a == 0; })) {
    for (auto* shares : {&out.strong_share, &out.strong_share_priority, &out.strong_share_regular})
      shares->assign(cells, 0.0);  // there are none
    return;
  }
  out.strong_share.resize(cells);
  out.strong_share_priority.assign(cells, 0.0);
  out.strong_share_regular.assign(cells, 0.0);
  for (Size i = 0; i < cells; ++i) {
    out.strong_share[i] = share(out.inferred_guarantee[i], t.total[i % width]);
    if (options.limit_strong_before_scaling)
      out.strong_share[i] = std::min(out.strong_share[i], out.limits_share[i]);
  }
  for (Size r = 0; r < width; ++r) {
    out.strong_share[r] = 0;
    for (Id c : t.children.of(0))
      if (c < tree.pool_count) out.strong_share[r] += out.strong_share.row(c, width)[r];
  }
  check_overcommit(t, tree, out);
  split_by_tier(t, tree, out);
  for (Id pool : tree.preorder) {
    double* strong = out.strong_share.row(pool, width);
    const double* limits = out.limits_share.row(pool, width);
    for (Size r = 0; r < width; ++r) strong[r] = std::min(strong[r], limits[r]);
    fit_children(t, tree, pool, out);
  }
  for (Size r = 0; r < width; ++r) {
    out.strong_share_priority[r] = 0;
    out.strong_share_regular[r] = out.strong_share[r];
  }
}

Column<double> estimated_guarantee_share(const Tables& t, const FairShareResult& result,
                                         bool with_flow, bool from_ones) {
  const Topology tree = Topology::of(t);
  const Size width = t.total.size();
  const Size elements = t.pools.parent.size() + t.operations.pool.size();
  const Size pools = t.pools.parent.size();
  Column<double> estimate(elements * width, 0.0);
  for (Size r = 0; r < width; ++r)
    estimate[r] = from_ones ? share(t.total[r], t.total[r]) : result.strong_share[r];
  for (Id pool : tree.preorder) {
    const auto children = t.children.of(pool);
    if (children.empty()) continue;
    double weights = 0;
    for (Id c : children) {
      const auto e = static_cast<Size>(c);
      weights += e < pools ? t.pools.weight[e] : t.operations.weight[e - pools];
    }
    for (Size r = 0; r < width; ++r) {
      double left = estimate.row(pool, width)[r];
      for (Id c : children) {
        const auto e = static_cast<Size>(c);
        double due = e < pools ? result.strong_share[e * width + r] : 0.0;
        if (with_flow && e < pools && t.total[r] > 0) due += result.total_flow_ratio[e];
        due = std::min(due, left);
        estimate[e * width + r] = due;
        left -= due;
      }
      for (Id c : children) {
        const auto e = static_cast<Size>(c);
        const double weight = e < pools ? t.pools.weight[e] : t.operations.weight[e - pools];
        estimate[e * width + r] += left * weight / weights;
      }
    }
  }
  return estimate;
}

}  // namespace evenhand
