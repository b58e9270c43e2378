// What may be a victim, in the order in which it is wanted.
#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "partition.h"

namespace evenhand::yunikorn {
namespace {

// For how long an allocation has lived, or done work that is not saved, in microseconds.
double span(const ClusterState& state, CostKey column, Id slot) {
  const Time since =
      column == CostKey::kLiveTime
          ? state.allocations().get(&AllocationColumns::start_time, slot, state.last_start(slot))
          : std::max(state.last_progress(slot), state.last_start(slot));
  return static_cast<double>(state.now() - since);
}

}  // namespace

double priority_of(const ClusterState& state, Id allocation) {
  const LiveTable<AllocationColumns>& all = state.allocations();
  return all.get(&AllocationColumns::priority_given, allocation) != 0
             ? all.get(&AllocationColumns::priority, allocation)
             : state.operations().get(&OperationColumns::priority, state.operation_of(allocation));
}

void Partition::list_victims(const ClusterState& state, const Settings& settings,
                             const RowSettings& rows) {
  const LiveTable<AllocationColumns>& all = state.allocations();
  Column<Id> order;  // by each column after the other, the last one first
  for (Id s = 0; s < state.slots(); ++s)
    if (state.running(s) && state.node_of(s) != kNoId) order.push_back(s);
  const auto by_rank = [&](Id s) { return state.rank(s); };
  if (!std::ranges::is_sorted(order, {}, by_rank)) std::ranges::sort(order, {}, by_rank);
  std::vector<std::pair<double, Id>> cells(order.size());
  const auto sort_by = [&](auto&& column) {
    for (Size i = 0; i < order.size(); ++i) cells[i] = {column(order[i]), order[i]};
    const auto first = [](const auto& cell) { return cell.first; };
    if (std::ranges::is_sorted(cells, {}, first)) return;
    std::ranges::stable_sort(cells, {}, first);
    for (Size i = 0; i < order.size(); ++i) order[i] = cells[i].second;
  };
  const auto cost_of = [&](CostKey column, Id s) -> double {
    switch (column) {
      case CostKey::kOptedOut:
        return all.get(&AllocationColumns::preemptible, s, std::uint8_t{1}) != 0 ? 0 : 1;
      case CostKey::kOriginator:
        return all.get(&AllocationColumns::originator, s);
      case CostKey::kPriority:
        return priority_of(state, s);
      case CostKey::kLiveTime:
      case CostKey::kLostWork:
        return span(state, column, s);
      case CostKey::kUsers:
        return at_or(rows.own_cost, s, 0.0);
    }
    return 0;
  };
  for (auto column = settings.cost.rbegin(); column != settings.cost.rend(); ++column)
    sort_by([&](Id s) { return cost_of(*column, s); });

  for (Column<Id>* column : {&slot, &node, &queue, &operation}) column->clear();
  priority.clear();
  cost.clear();
  amounts.clear();
  must_stay.clear();
  const Id node_rows = state.nodes().rows();
  on_node_from.assign(at(node_rows) + 1, 0);
  place_of.assign(at(state.slots()), kNoId);
  amounts.reserve(order.size() * width);
  for (const Id s : order) {
    const Id n = state.node_of(s);
    place_of[s] = slot.rows();
    slot.push_back(s);
    node.push_back(n);
    operation.push_back(state.operation_of(s));
    queue.push_back(leaf_of_pool[state.pool_of(state.operation_of(s))]);
    priority.push_back(priority_of(state, s));
    must_stay.push_back(all.get(&AllocationColumns::required_node, s, kNoId) != kNoId
                            ? std::uint8_t{1}
                            : std::uint8_t{0});
    const Amount* has = state.amounts(s);
    amounts.insert(amounts.end(), has, has + width);
    if (!settings.per_ask)
      for (const CostKey column : settings.cost) cost.push_back(cost_of(column, s));
    ++on_node_from[n + 1];
  }
  std::partial_sum(on_node_from.begin(), on_node_from.end(), on_node_from.begin());
  on_node.resize(slot.size());
  Column<Index> next = on_node_from;
  for (Id i = 0; i < slot.rows(); ++i) on_node[next[node[i]]++] = i;
  of_queue_from.assign(parent.size() + 1, 0);
  for (const Id q : queue) ++of_queue_from[q + 1];
  std::partial_sum(of_queue_from.begin(), of_queue_from.end(), of_queue_from.begin());
  of_queue.resize(slot.size());
  of_queue_node.resize(slot.size());
  next = of_queue_from;
  for (Id i = 0; i < slot.rows(); ++i) {
    const Index to = next[queue[i]]++;
    of_queue[to] = i;
    of_queue_node[to] = node[i];
  }
  if (!settings.per_ask) read_near();
}

void Partition::read_near() {
  const Size cells = parent.size() * width;
  largest.assign(cells, 0);
  least.assign(cells, std::numeric_limits<Amount>::max());
  together.assign(cells, 0);
  near_queue.clear();
  near.clear();
  near_least.clear();
  near_queue.reserve(on_node.size());
  near_of.resize(on_node.size());
  near_stays.resize(on_node.size());
  for (Id i = 0; i < on_node.rows(); ++i) {
    near_of[on_node[i]] = i;
    near_stays[i] = must_stay[on_node[i]];
  }
  near.reserve(on_node.size() * width);
  near_least.reserve(on_node.size() * width);
  Column<Amount> sum(cells, 0), whole(width, 0), fullest(width, 0);
  for (Id n = 0; n + 1 < on_node_from.rows(); ++n) {
    const auto here = slice(on_node, on_node_from[n], on_node_from[n + 1]);
    std::ranges::fill(whole, 0);
    for (const Id place : here) {
      const Id q = queue[place];
      const Amount* gives = row(amounts, place);
      near_queue.push_back(q);
      near.insert(near.end(), gives, gives + width);
      for (Size r = 0; r < width; ++r) near_least.push_back(no_more(gives[r]));
      Amount *up = row(largest, q), *low = row(least, q), *all = row(sum, q);
      for (Size r = 0; r < width; ++r) {
        up[r] = std::max(up[r], gives[r]);
        low[r] = std::min(low[r], gives[r]);
        all[r] += gives[r];
        whole[r] += gives[r];
      }
    }
    for (Size r = 0; r < width; ++r) fullest[r] = std::max(fullest[r], whole[r]);
    for (const Id place : here) {
      Amount *all = row(sum, queue[place]), *top = row(together, queue[place]);
      for (Size r = 0; r < width; ++r) {
        top[r] = std::max(top[r], all[r]);
        all[r] = 0;
      }
    }
  }
  for (Id q = 0; q < queues(); ++q) {
    if (of_queue_from[q] == of_queue_from[q + 1]) continue;
    for (const Id up : path(q).subspan(1))
      for (Size r = 0; r < width; ++r) {
        row(largest, up)[r] = std::max(row(largest, up)[r], row(largest, q)[r]);
        row(least, up)[r] = std::min(row(least, up)[r], row(least, q)[r]);
        row(together, up)[r] = fullest[r];
      }
  }
}

}  // namespace evenhand::yunikorn
