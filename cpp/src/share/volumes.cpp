#include "evenhand/share/volumes.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "evenhand/share/units.h"

namespace evenhand {
namespace {

using Size = std::size_t;

constexpr double kPositive = 1e-9;

bool is_integral(const Tables& t, Id pool) {
  return t.pools.integral.type[pool] != IntegralType::kNone;
}

// Volumes of fixed-point resources are rounded to the quantum at each operation.
class Volume {
 public:
  explicit Volume(const Tables& t) : kinds_(t.resources.kind) {}
  double rounded(Size r, double value) const {
    return kinds_[r] == ResourceKind::kCpu ? std::round(value) : value;
  }

 private:
  const Column<ResourceKind>& kinds_;
};

// Consumption and refill of one integral pool's own volume.
void refill(const Tables& t, Id p, double dt, const FairShareOptions& options,
            FairShareResult& out) {
  const Size width = t.total.size();
  const Volume volume(t);
  for (Size r = 0; r < width; ++r) {
    const Size i = at(p) * width + r;
    const auto total = static_cast<double>(t.total[r]);
    const double flow = std::round(total * out.flow_ratio[p]);
    const double capacity =
        volume.rounded(r, flow * options.integral_pool_capacity_saturation_period_s);
    const double whole = volume.rounded(r, total * dt);
    const double old = out.volume.accumulated[i];
    double v = old + volume.rounded(r, whole * out.flow_ratio[p]) -
               volume.rounded(r, whole * out.volume.last_share_ratio[p]);
    v = std::max(v, 0.0);
    const double upper = std::max(old, capacity);
    out.volume.overflow[i] = std::max(v - upper, 0.0);
    out.volume.acceptable[i] =
        t.pools.integral.can_accept_free_volume[p] ? std::max(capacity - v, 0.0) : 0.0;
    out.volume.accumulated[i] = std::min(v, upper);
  }
}

// Overflow and room of the pools above, bottom-up.
void bubble(const Tables& t, const Topology& tree, FairShareResult& out) {
  const Size width = t.total.size();
  for (Id p : tree.postorder) {
    if (is_integral(t, p)) continue;
    for (Size r = 0; r < width; ++r) {
      const Size i = at(p) * width + r;
      double overflow = 0, acceptable = 0;
      for (Id c : t.children.of(p))
        if (c < tree.pool_count) {
          overflow += out.volume.overflow.row(c, width)[r];
          acceptable += out.volume.acceptable.row(c, width)[r];
        }
      out.volume.children_overflow[i] = overflow;
      const double rest = overflow - acceptable;
      out.volume.overflow[i] = std::max(rest, 0.0);
      out.volume.acceptable[i] =
          rest <= 0 && t.pools.integral.can_accept_free_volume[p] ? -rest : 0.0;
    }
  }
}

// Shares one resource's free volume of a pool among its children in proportion
// to their flow, each up to what it accepts.
void distribute(const Tables& t, const Units& units, const Topology& tree, Id pool, Size r,
                FairShareResult& out) {
  const Size width = t.total.size();
  const Volume volume(t);
  const Size i = at(pool) * width + r;
  double free = out.volume.accepted_free[i] + out.volume.children_overflow[i];
  const auto acceptable = [&](Id c) { return out.volume.acceptable.row(c, width)[r]; };
  Column<Id> hungry;
  double flow = 0;
  for (Id c : t.children.of(pool)) {
    if (c >= tree.pool_count || acceptable(c) <= kPositive || out.total_flow_ratio[c] <= kPositive)
      continue;
    hungry.push_back(c);
    flow += out.total_flow_ratio[c];
  }
  std::ranges::stable_sort(hungry, [&](Id a, Id b) {
    return acceptable(a) / out.total_flow_ratio[a] < acceptable(b) / out.total_flow_ratio[b];
  });
  const auto part = [&](Id c) { return units.of(free, r) * (out.total_flow_ratio[c] / flow); };
  Size next = 0;
  for (; next < hungry.size(); ++next) {
    const Id c = hungry[next];
    if (part(c) < units.of(acceptable(c), r)) break;
    out.volume.accepted_free.row(c, width)[r] = acceptable(c);
    free -= acceptable(c);
    flow -= out.total_flow_ratio[c];
  }
  for (; next < hungry.size(); ++next) {
    const Id c = hungry[next];
    out.volume.accepted_free.row(c, width)[r] = volume.rounded(r, units.quanta(part(c), r));
  }
}

// Free volume on its way down.
void hand_out(const Tables& t, const Topology& tree, FairShareResult& out) {
  const Size width = t.total.size();
  const Units units(t.resources);
  for (Id p : tree.preorder) {
    if (is_integral(t, p)) {
      for (Size i = at(p) * width; i < at(p + 1) * width; ++i)
        out.volume.accumulated[i] += out.volume.accepted_free[i];
      continue;
    }
    if (!t.pools.integral.should_distribute_free_volume_among_children[p]) continue;
    for (Size r = 0; r < width; ++r) distribute(t, units, tree, p, r, out);
  }
}

}  // namespace

double min_volume_ratio(std::span<const double> volume, std::span<const Amount> total) {
  double ratio = 0;
  bool any = false;
  for (Size r = 0; r < total.size(); ++r) {
    if (total[r] <= 0) continue;
    const double x = volume[r] / static_cast<double>(total[r]);
    ratio = any ? std::min(ratio, x) : x;
    any = true;
  }
  return ratio;
}

void update_volumes(const Tables& t, const Topology& tree, const FairShareOptions& options,
                    const VolumeMemory* memory, FairShareResult& out) {
  const Size cells = t.pools.parent.size() * t.total.size();
  for (auto* column : {&out.volume.overflow, &out.volume.acceptable, &out.volume.accepted_free,
                       &out.volume.children_overflow})
    column->assign(cells, 0.0);
  out.volume.accumulated = memory ? memory->accumulated : t.pools.integral.accumulated_volume;
  out.volume.last_share_ratio =
      memory ? memory->last_share_ratio : t.pools.integral.last_share_ratio;
  const Time previous = memory ? memory->updated : t.previous_update;
  const bool empty = std::ranges::all_of(t.total, [](Amount a) { return a == 0; });
  if (empty || previous == kNoTime) return;
  const double dt =
      static_cast<double>(t.now - previous) / static_cast<double>(kMicrosecondsPerSecond);
  for (IntegralType type : {IntegralType::kBurst, IntegralType::kRelaxed})
    for (Id pool : tree.preorder)
      if (t.pools.integral.type[pool] == type) refill(t, pool, dt, options, out);
  bubble(t, tree, out);
  hand_out(t, tree, out);
}

}  // namespace evenhand
