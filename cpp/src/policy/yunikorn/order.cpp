#include <numeric>
#include <utility>

#include "evenhand/policy/yunikorn/parts.h"
#include "stable_by_place.h"

namespace evenhand::yunikorn {

double fair_share(const Resource& allocated, const Resource& guaranteed, const Resource& fair_max) {
  double most = 0;
  bool found = false;
  each_type(allocated.types, [&](std::size_t r) {
    if (allocated.v[r] < 0) return;
    const int type = static_cast<int>(r);
    const Resource* whole = guaranteed.has(type) ? &guaranteed
                            : fair_max.has(type) ? &fair_max
                                                 : nullptr;
    if (whole == nullptr) return;
    const auto part = static_cast<double>(allocated.v[r]);
    const auto all = static_cast<double>(whole->v[r]);
    const double share = all <= 0 ? (part > 0 ? 1.0 : 0.0) : part / all;
    most = found ? std::max(most, share) : share;
    found = true;
  });
  return most;
}

std::vector<std::size_t> queue_order(const std::vector<OrderedQueue>& queues, bool fair,
                                     bool priority_first, bool fair_max_by_position) {
  std::vector<std::size_t> order(queues.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto share = [&](Index place) {
    const std::size_t q = order[at(place)];
    return fair_share(queues[q].allocated, queues[q].guaranteed,
                      queues[fair_max_by_position ? at(place) : q].fair_max);
  };
  StableByPlace(
      [&](Index i, Index j) {
        const OrderedQueue &l = queues[order[at(i)]], &r = queues[order[at(j)]];
        if (!fair) return priority_first && l.priority > r.priority;
        if (priority_first && l.priority != r.priority) return l.priority > r.priority;
        const double left = share(i), right = share(j);
        if (left != right) return left < right;
        if (l.priority != r.priority) return l.priority > r.priority;
        return all_larger(l.pending, r.pending);
      },
      [&](Index i, Index j) { std::swap(order[at(i)], order[at(j)]); })
      .sort(static_cast<Index>(order.size()));
  return order;
}

std::vector<std::size_t> app_order(const std::vector<OrderedApplication>& applications,
                                   const Resource& guaranteed, bool fair, bool priority_first) {
  std::vector<std::size_t> order(applications.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<std::vector<double>> part;
  for (const OrderedApplication& one : applications)
    part.push_back(shares(one.allocated, guaranteed));
  sort_as_go(order, [&](std::size_t left, std::size_t right) {
    const OrderedApplication &l = applications[left], &r = applications[right];
    if (priority_first && l.priority != r.priority) return l.priority > r.priority;
    if (fair) {
      if (const int found = compare_shares(part[left], part[right]); found != 0) return found < 0;
    } else if (l.submitted != r.submitted) {
      return l.submitted < r.submitted;
    }
    return l.priority > r.priority;
  });
  return order;
}

Resource fair_max(const Resource& parent, const Resource& max) {
  if (!parent.any() || !max.any()) return parent;
  return merge_missing(max, parent);
}

std::int64_t queue_priority(std::int64_t highest, std::int64_t offset, bool fence) {
  if (highest == kNothingWaits) return kNothingWaits;
  const std::int64_t found = fence ? offset : highest + offset;
  return std::clamp<std::int64_t>(found, kNothingWaits, 2147483647);
}

}  // namespace evenhand::yunikorn
