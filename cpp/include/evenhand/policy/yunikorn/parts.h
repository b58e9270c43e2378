// The smaller preemptors of today's YuniKorn, and its fair order of queues and applications.
//
// Source: YuniKorn core, required_node_preemptor.go, quota_preemptor.go, preemption_utilities.go,
// sorters.go, release 1.9.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "evenhand/policy/yunikorn/settings.h"
#include "evenhand/policy/yunikorn/world.h"

namespace evenhand::yunikorn {

// --- an ask that must run on one node (daemon set)
struct RequiredNodeAnswer {
  Index total = 0, required_node = 0, no_common_type = 0, higher_priority = 0, preempted = 0,
        released = 0;
  Column<Id> candidates, victims;
};
// Regular ones, opted out, originators; then lower priority, newer, smaller.
void sort_by_type(const Held& held, Column<Id>& allocations);
RequiredNodeAnswer required_node_victims(const Held& held, const Amount* free, std::size_t width,
                                         const Resource& ask, double priority, bool counts_free,
                                         const Column<std::uint8_t>& needs_node,
                                         const Column<std::uint8_t>& released);

// --- a queue above its max
struct QuotaTimer {  // instants; kNoTime: not set
  Resource old_max, max, allocated;
  Time old_delay = 0, delay = 0, start = kNoTime;
  bool running = false;
};
Time quota_start(const QuotaTimer& timer, Time now);
bool quota_may_begin(const Resource& max, const Resource& allocated, bool managed, bool running,
                     Time start, Time now);
Resource quota_target(const World& world, Id queue, const Switches& switches);
// Shares of the target of a queue's leaves, in the order of the tree.
std::vector<std::pair<Id, Resource>> quota_distribution(const World& world, Id queue,
                                                        const Resource& target);
Column<Id> quota_candidates(const World& world, Id leaf, const Resource& target);
void sort_by_target(const Held& held, Column<Id>& allocations, const Resource& target,
                    const Resource& total, bool opted_out_first);
struct QuotaAnswer {
  Column<Id> victims, order;  // order: all candidates
};
QuotaAnswer quota_victims(const World& world, Id queue, const Switches& switches);

// --- fair order
double fair_share(const Resource& allocated, const Resource& guaranteed, const Resource& fair_max);
struct OrderedQueue {
  Resource allocated, guaranteed, pending, fair_max;
  double priority = 0;
};
std::vector<std::size_t> queue_order(const std::vector<OrderedQueue>& queues, bool fair,
                                     bool priority_first, bool fair_max_by_position);
struct OrderedApplication {
  Resource allocated;
  Time submitted = 0;
  double priority = 0;
};
std::vector<std::size_t> app_order(const std::vector<OrderedApplication>& applications,
                                   const Resource& guaranteed, bool fair, bool priority_first);
Resource fair_max(const Resource& parent, const Resource& max);
// What a queue hands upward of the highest priority among its asks; `none`: nothing waits.
std::int64_t queue_priority(std::int64_t highest, std::int64_t offset, bool fence);
inline constexpr std::int64_t kNothingWaits = -2147483648LL;

}  // namespace evenhand::yunikorn
