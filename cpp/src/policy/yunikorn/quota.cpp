#include <cmath>

#include "evenhand/core/times.h"
#include "evenhand/policy/yunikorn/parts.h"
#include "stable_by_place.h"

namespace evenhand::yunikorn {
Time quota_start(const QuotaTimer& t, Time now) {
  if (t.running) return t.start;
  if (t.delay == 0 || !t.max.any() || existing_at_least(t.max, t.allocated)) return kNoTime;
  const Time moved = t.start == kNoTime ? kNoTime : t.start + t.delay - t.old_delay;
  if (same(t.old_max, t.max)) {
    if (t.start == kNoTime) return t.old_delay == 0 ? now + t.delay : kNoTime;
    return moved;
  }
  if (all_larger(t.old_max, t.max)) return t.start == kNoTime ? now + t.delay : moved;
  if (all_larger(t.max, t.old_max)) return moved;
  return t.start;
}

bool quota_may_begin(const Resource& max, const Resource& allocated, bool managed, bool running,
                     Time start, Time now) {
  return managed && !running && !existing_at_least(max, allocated) && start != kNoTime &&
         start <= now;
}

Resource quota_target(const World& world, Id queue, const Switches& switches) {
  const Queues& queues = world.queues();
  const Resource used = sub_existing(queues.allocated[queue], queues.preempting[queue]);
  const Resource excess = signed_part(sub_existing(queues.max[queue], used), -1);
  if (switches.quota_takes_larger_excess) {
    Resource slack;
    for (const Id q : world.path(queue))
      slack = min_all(queues.guaranteed[q].any()
                          ? sub_existing(queues.guaranteed[q], queues.allocated[q])
                          : queues.allocated[q],
                      slack);
    return min_existing(excess, signed_part(slack, -1));
  }
  Resource target = excess;  // and nothing that a queue of the path is owed
  for (const Id q : world.path(queue)) {
    const Resource& owed = queues.guaranteed[q];
    each_type(target.types & owed.types, [&](std::size_t r) {
      const Amount over = queues.allocated[q].v[r] - queues.preempting[q].v[r] - owed.v[r];
      target.v[r] = std::min(target.v[r], std::max<Amount>(over, 0));
    });
  }
  return signed_part(target, 1);
}

std::vector<std::pair<Id, Resource>> quota_distribution(const World& world, Id queue,
                                                        const Resource& target) {
  const Queues& queues = world.queues();
  std::vector<std::pair<Id, Resource>> out;
  if (queues.leaf[queue] != 0) {
    out.emplace_back(queue, target);
    return out;
  }
  std::vector<std::pair<Id, Resource>> weights;
  Resource sum;
  for (const Id c : world.children(queue)) {
    const Resource& used = queues.allocated[c];
    const Resource& owed = queues.guaranteed[c];
    if (zero(used) || (owed.any() && existing_at_least(owed, used))) continue;
    Resource weight = owed.any() ? sub_existing(owed, used) : used;
    each_type(weight.types, [&](std::size_t r) { weight.v[r] = std::abs(weight.v[r]); });
    add_to(sum, weight);
    weights.emplace_back(c, weight);
  }
  for (const auto& [child, its] : weights) {
    const Resource& weight = its;  // for the function below: some compilers capture no binding
    Resource share;
    each_type(target.types & weight.types, [&](std::size_t r) {
      // A part of nothing is nothing, and no type that may be taken without a bound.
      const double part =
          sum.v[r] == 0 ? 0 : static_cast<double>(weight.v[r]) / static_cast<double>(sum.v[r]);
      share.set(static_cast<int>(r),
                static_cast<Amount>(std::floor(part * static_cast<double>(target.v[r]))));
    });
    if (zero(share)) continue;
    for (auto& leaf : quota_distribution(world, child, share)) out.push_back(std::move(leaf));
  }
  return out;
}

Column<Id> quota_candidates(const World& world, Id leaf, const Resource& target) {
  Column<Id> out;
  for (const Id a : world.of_queue(leaf))
    if (!world.barred(a) && (world.held().resources[a].types & target.types) != 0) out.push_back(a);
  std::ranges::sort(out);
  return out;
}

void sort_by_target(const Held& held, Column<Id>& allocations, const Resource& target,
                    const Resource& total, bool opted_out_first) {
  const auto kind = [&](Id a) {
    return (held.allows[a] == 0 ? 2 : 0) + (held.originator[a] != 0 ? 1 : 0);
  };
  const auto hour = [](Time t) { return floor_to(t, kHour); };
  const auto part = [&](Id a) {
    Resource of;
    each_type(held.resources[a].types & target.types,
              [&](std::size_t r) { of.set(static_cast<int>(r), held.resources[a].v[r]); });
    return shares(of, total);
  };
  sort_as_go(allocations, [&](Id left, Id right) {
    if (kind(left) != kind(right)) return (kind(left) > kind(right)) == opted_out_first;
    const int l = type_match(held.resources[left], target);
    const int r = type_match(held.resources[right], target);
    if (l != r) return l > r;
    if (held.priority[left] != held.priority[right])
      return held.priority[left] < held.priority[right];
    if (hour(held.created[left]) != hour(held.created[right]))
      return hour(held.created[left]) > hour(held.created[right]);
    return compare_shares(part(left), part(right)) <= 0;
  });
}

QuotaAnswer quota_victims(const World& world, Id queue, const Switches& switches) {
  QuotaAnswer out;
  const Resource target = quota_target(world, queue, switches);
  if (zero(target)) return out;
  for (const auto& [leaf, part] : quota_distribution(world, queue, target)) {
    Column<Id> found = quota_candidates(world, leaf, part);
    sort_by_target(world.held(), found, part, world.queues().max[leaf],
                   switches.quota_takes_opted_out_first);
    Resource total;
    for (const Id a : found) {
      const Resource& gives = world.held().resources[a];
      if (!fit_in_actual(part, gives) || !existing_at_least(part, add(total, gives))) continue;
      add_to(total, gives);
      out.victims.push_back(a);
    }
    out.order.insert(out.order.end(), found.begin(), found.end());
  }
  return out;
}

}  // namespace evenhand::yunikorn
