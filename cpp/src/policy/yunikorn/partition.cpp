#include "partition.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string_view>
#include <tuple>
#include <unordered_map>

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

Partition::Partition(const ClusterState& state, const Settings& settings, const RowSettings& rows)
    : width(state.width()), total(state.total()), rooms(state) {
  read_queues(state);
  if (settings.per_ask)
    limit_root(state);
  else
    infer_owed();
  read_usage(state);
  read_asks(state);
  read_victims(state, settings, rows);
  if (!settings.per_ask) read_near();
  nodes = state.nodes().in_order(
      [&](Id n) { return state.nodes().present(n) && state.schedulable(n); });
}

void Partition::read_queues(const ClusterState& state) {
  const PoolColumns& pools = state.pools();
  parent = pools.parent;
  weight = pools.weight;
  Column<std::uint8_t> has_children(at(pools.size()), 0), has_operations(at(pools.size()), 0);
  for (Id p = 1; p < pools.size(); ++p) has_children[parent[p]] = 1;
  for (Id o = 0; o < state.operations().rows(); ++o)
    if (state.operations().present(o)) has_operations[state.pool_of(o)] = 1;
  for (Id p = 0; p < pools.size(); ++p) {
    leaf_of_pool.push_back(p);
    pool_of.push_back(p);
  }
  for (Id p = 0; p < pools.size(); ++p)
    if (has_children[p] != 0 && has_operations[p] != 0) {
      leaf_of_pool[p] = parent.rows();
      parent.push_back(p);
      pool_of.push_back(p);
      weight.push_back(1);
    }
  const Size count = parent.size();
  owed = pools.strong_guarantee;
  most = pools.limits;
  owes = pools.strong_guarantee_given;
  limited = pools.limits_given;
  std::fill_n(owed.begin(), width, 0);  // the root's means nothing
  owes[0] = 0;
  owed.resize(count * width, 0);
  most.resize(count * width, 0);
  owes.resize(count, 0);
  limited.resize(count, 0);

  children.assign(count + 1, 0);
  for (Id q = 1; q < queues(); ++q) ++children[parent[q] + 1];
  std::partial_sum(children.begin(), children.end(), children.begin());
  children_of.resize(at(children.back()));
  Column<Index> next = children;
  for (Id q = 1; q < queues(); ++q) children_of[next[parent[q]]++] = q;
  way.push_back(0);
  for (Id q = 0; q < queues(); ++q) {
    for (Id up = q; up != kNoId; up = parent[up]) ways.push_back(up);
    way.push_back(ways.rows());
  }
}

Column<Id> Partition::top_down() const {
  Column<Id> out{0};
  for (Size i = 0; i < out.size(); ++i) {
    const auto below = slice(children_of, children[out[i]], children[out[i] + 1]);
    out.insert(out.end(), below.begin(), below.end());
  }
  return out;
}

// The root may have what the nodes have, also those where nothing starts; a stated total is as it
// is. What no node has is no limit, as nothing of it fits anywhere.
void Partition::limit_root(const ClusterState& state) {
  Column<Amount> open(width, 0), all(width, 0);
  for (Id n = 0; n < state.nodes().rows(); ++n) {
    if (!state.nodes().present(n)) continue;
    for (Size r = 0; r < width; ++r) {
      if (state.tables().resources.scope[r] == ResourceScope::kCluster) continue;
      all[r] += state.node_capacity(n)[r];
      if (state.schedulable(n)) open[r] += state.node_capacity(n)[r];
    }
  }
  for (Size r = 0; r < width; ++r) {
    const bool shared = state.tables().resources.scope[r] == ResourceScope::kCluster;
    const Amount has = shared || total[r] != open[r] ? total[r] : all[r];
    if (has <= 0) continue;
    const bool given = (limited[0] >> r & 1U) != 0;
    most[r] = given ? std::min(most[r], has) : has;
    limited[0] |= ResourceMask{1} << r;
  }
}

// A queue that has no figure of its own for a resource is owed what its children are, at most its
// max. Zeros alone are no figures.
void Partition::infer_owed() {
  const Column<Id> down = top_down();
  for (Size i = down.size(); i-- > 0;) {
    const Id q = down[i];
    const auto below = slice(children_of, children[q], children[q + 1]);
    if (below.empty()) continue;
    const ResourceMask own = given(row(owed, q), owes[q]).types;
    for (Size r = 0; r < width; ++r) {
      if ((own >> r & 1U) != 0) continue;
      Amount& sum = row(owed, q)[r];
      sum = 0;
      for (const Id c : below) sum += row(owed, c)[r];
      if ((limited[q] >> r & 1U) != 0) sum = std::min(sum, row(most, q)[r]);
    }
  }
  std::fill_n(owed.begin(), width, 0);  // the root's means nothing
}

void Partition::read_usage(const ClusterState& state) {
  const Size cells = parent.size() * width;
  usage.assign(cells, 0);
  leaving.assign(cells, 0);
  const auto up = [&](Column<Amount>& to, Id leaf, const Amount* by, Amount times) {
    for (const Id q : path(leaf))
      for (Size r = 0; r < width; ++r) to[at(q) * width + r] += times * by[r];
  };
  for (Id o = 0; o < state.operations().rows(); ++o)
    if (state.operations().present(o))
      up(usage, leaf_of_pool[state.pool_of(o)], state.operation_usage(o), 1);
  for (const Leaving& one : state.leaving())
    up(leaving, leaf_of_pool[state.pool_of(state.operation_of(one.slot))], state.amounts(one.slot),
       1);
  pending.assign(cells, 0);
  for (Id q = 0; q < state.requests().rows(); ++q)
    if (state.requests().present(q) && state.pending(q) > 0)
      up(pending, leaf_of_pool[state.pool_of(state.operation_of_request(q))],
         state.requests().get_row(&RequestColumns::resources, q), state.pending(q));
}

void Partition::read_asks(const ClusterState& state) {
  const LiveTable<RequestColumns>& rows = state.requests();
  ask_priority.assign(at(rows.rows()), 0);
  Column<Id> waiting = rows.in_order([&](Id q) { return rows.present(q) && state.pending(q) > 0; });
  Column<Id> of(at(rows.rows()), kNoId);
  for (const Id q : waiting) {
    const Id asker = state.operation_of_request(q);
    of[q] = leaf_of_pool[state.pool_of(asker)];
    ask_priority[q] = rows.get(&RequestColumns::priority_given, q) != 0
                          ? rows.get(&RequestColumns::priority, q)
                          : state.operations().get(&OperationColumns::priority, asker);
  }
  std::ranges::stable_sort(waiting, {}, [&](Id q) {
    return std::tuple(of[q], -ask_priority[q], rows.get(&RequestColumns::submit_time, q));
  });
  asks_from.assign(parent.size() + 1, 0);
  for (const Id q : waiting) ++asks_from[of[q] + 1];
  std::partial_sum(asks_from.begin(), asks_from.end(), asks_from.begin());
  need_of.assign(at(rows.rows()), kNoId);
  std::unordered_map<std::string_view, Id> known;
  for (const Id q : waiting) {
    const auto* cells = reinterpret_cast<const char*>(rows.get_row(&RequestColumns::resources, q));
    need_of[q] = known.try_emplace({cells, width * sizeof(Amount)}, needs).first->second;
    needs = std::max<Index>(needs, need_of[q] + 1);
  }
  asks = std::move(waiting);
}

void Partition::grow_older(const ClusterState& state, const Settings& settings) {
  const Size columns = settings.per_ask ? 0 : settings.cost.size();
  for (Size c = 0; c < columns; ++c) {
    const CostKey column = settings.cost[c];
    if (column != CostKey::kLiveTime && column != CostKey::kLostWork) continue;
    for (Size i = 0; i < slot.size(); ++i) cost[i * columns + c] = span(state, column, slot[i]);
  }
}

void Partition::read_victims(const ClusterState& state, const Settings& settings,
                             const RowSettings& rows) {
  const LiveTable<AllocationColumns>& all = state.allocations();
  const auto priority_of = [&](Id s) {
    return all.get(&AllocationColumns::priority_given, s) != 0
               ? all.get(&AllocationColumns::priority, s)
               : state.operations().get(&OperationColumns::priority, state.operation_of(s));
  };
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
        return priority_of(s);
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
    priority.push_back(priority_of(s));
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
}

void Partition::read_near() {
  const Size cells = parent.size() * width;
  largest.assign(cells, 0);
  least.assign(cells, std::numeric_limits<Amount>::max());
  together.assign(cells, 0);
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
