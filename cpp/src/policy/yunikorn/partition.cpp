#include "partition.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

namespace evenhand::yunikorn {

Partition::Partition(const ClusterState& state, const Settings& settings)
    : width(state.width()), rooms(state) {
  read(state, settings);
}

void Partition::read(const ClusterState& state, const Settings& settings) {
  anew_ = listed_ = false;
  total = state.total();
  rooms = Rooms(state);
  read_queues(state);
  if (settings.per_ask)
    limit_root(state);
  else
    infer_owed();
  read_asks(state);
  read_usage(state);
  lowest.assign(parent.size(), std::numeric_limits<double>::infinity());
  for (Id s = 0; s < state.slots(); ++s) see(state, s);
  nodes = state.nodes().in_order(
      [&](Id n) { return state.nodes().present(n) && state.schedulable(n); });
}

void Partition::follow(const ClusterState& state, const Settings& settings) {
  if (anew_ || total != state.total()) return read(state, settings);
  listed_ = false;
  rooms = Rooms(state);
  follow_asks(state);
  read_usage(state);
}

void Partition::before(const ClusterState& state, const Delta& delta) {
  if (delta.kind != Delta::Kind::kRemoveOperation) return;
  const Id pool = state.pool_of(delta.row);
  if (--direct_[pool] == 0 && has_children_[pool] != 0) anew_ = true;  // a queue goes
}

void Partition::after(const ClusterState& state, const Delta& delta, Id row) {
  switch (delta.kind) {
    case Delta::Kind::kStart:
    case Delta::Kind::kStartRow:
    case Delta::Kind::kResume:
    case Delta::Kind::kCells:
      return see(state, row);
    case Delta::Kind::kPending:
    case Delta::Kind::kRemoveRequest:
      return ask_changed(delta.row);
    case Delta::Kind::kPutRequest:
      if (delta.before != kNoId) ask_changed(delta.before);
      return ask_changed(row);
    case Delta::Kind::kPutOperation:
      if (const Id pool = state.pool_of(row); delta.row != kNoId || delta.before != kNoId ||
                                              (direct_[pool]++ == 0 && has_children_[pool] != 0))
        anew_ = true;
      return;
    case Delta::Kind::kCapacity:
    case Delta::Kind::kSchedulable:
    case Delta::Kind::kPutNode:
    case Delta::Kind::kRemoveNode:
      anew_ = true;
      return;
    default:  // what is read anew at each update
      return;
  }
}

void Partition::see(const ClusterState& state, Id allocation) {
  if (!state.running(allocation)) return;
  double& known = lowest[leaf_of_pool[state.pool_of(state.operation_of(allocation))]];
  known = std::min(known, priority_of(state, allocation));
}

void Partition::ask_changed(Id request) {
  if (request >= has_changed_.rows()) has_changed_.resize(at(request) + 1, 0);
  if (std::exchange(has_changed_[request], std::uint8_t{1}) == 0) changed_.push_back(request);
}

void Partition::read_queues(const ClusterState& state) {
  const PoolColumns& pools = state.pools();
  parent = pools.parent;
  weight = pools.weight;
  has_children_.assign(at(pools.size()), 0);
  direct_.assign(at(pools.size()), 0);
  for (Id p = 1; p < pools.size(); ++p) has_children_[parent[p]] = 1;
  for (Id o = 0; o < state.operations().rows(); ++o)
    if (state.operations().present(o)) ++direct_[state.pool_of(o)];
  leaf_of_pool.resize(at(pools.size()));
  std::iota(leaf_of_pool.begin(), leaf_of_pool.end(), Id{0});
  pool_of = leaf_of_pool;
  for (Id p = 0; p < pools.size(); ++p)
    if (has_children_[p] != 0 && direct_[p] > 0) {
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
  way.assign(1, 0);
  ways.clear();
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

// A pool's usage is that of all operations below it; without its children's it is that of its own.
void Partition::read_usage(const ClusterState& state) {
  const Size cells = parent.size() * width;
  usage.assign(state.pool_usage(0), state.pool_usage(0) + at(state.pools().size()) * width);
  usage.resize(cells, 0);
  for (Id q = leaf_of_pool.rows(); q < queues(); ++q) {
    const Id pool = parent[q];
    std::copy_n(row(usage, pool), width, row(usage, q));
    for (const Id c : slice(children_of, children[pool], children[pool + 1]))
      for (Size r = 0; c != q && r < width; ++r) row(usage, q)[r] -= row(usage, c)[r];
  }
  leaving.assign(cells, 0);
  for (const Leaving& one : state.leaving())
    for (const Id q : path(leaf_of_pool[state.pool_of(state.operation_of(one.slot))]))
      for (Size r = 0; r < width; ++r) row(leaving, q)[r] += state.amounts(one.slot)[r];
  pending.assign(cells, 0);
  for (const Id q : asks)
    for (const Id up : path(ask_leaf_[q]))
      for (Size r = 0; r < width; ++r)
        row(pending, up)[r] +=
            state.pending(q) * state.requests().get_row(&RequestColumns::resources, q)[r];
}

void Partition::read_ask(const ClusterState& state, Id request) {
  const LiveTable<RequestColumns>& rows = state.requests();
  const Id asker = state.operation_of_request(request);
  ask_leaf_[request] = leaf_of_pool[state.pool_of(asker)];
  ask_priority[request] = rows.get(&RequestColumns::priority_given, request) != 0
                              ? rows.get(&RequestColumns::priority, request)
                              : state.operations().get(&OperationColumns::priority, asker);
  const auto* cells =
      reinterpret_cast<const char*>(rows.get_row(&RequestColumns::resources, request));
  need_of[request] =
      known_needs_.try_emplace(std::string(cells, width * sizeof(Amount)), needs).first->second;
  needs = std::max<Index>(needs, need_of[request] + 1);
}

void Partition::read_asks(const ClusterState& state) {
  const LiveTable<RequestColumns>& rows = state.requests();
  changed_.clear();
  has_changed_.clear();
  known_needs_.clear();
  needs = 0;
  ask_priority.assign(at(rows.rows()), 0);
  ask_leaf_.assign(at(rows.rows()), kNoId);
  need_of.assign(at(rows.rows()), kNoId);
  asks = rows.in_order([&](Id q) { return rows.present(q) && state.pending(q) > 0; });
  for (const Id q : asks) read_ask(state, q);
  std::ranges::stable_sort(asks, {}, [&](Id q) {
    return std::tuple(ask_leaf_[q], -ask_priority[q], rows.get(&RequestColumns::submit_time, q));
  });
  count_asks();
}

void Partition::count_asks() {
  asks_from.assign(parent.size() + 1, 0);
  for (const Id q : asks) ++asks_from[ask_leaf_[q] + 1];
  std::partial_sum(asks_from.begin(), asks_from.end(), asks_from.begin());
}

// Asks that came, went or changed, among the others.
void Partition::follow_asks(const ClusterState& state) {
  constexpr Size kMany = 64;
  if (changed_.empty()) return;
  if (changed_.size() > kMany + asks.size() / 8 || at(needs) > kMany + 4 * asks.size())
    return read_asks(state);
  const LiveTable<RequestColumns>& rows = state.requests();
  for (Column<Id>* column : {&ask_leaf_, &need_of}) column->resize(at(rows.rows()), kNoId);
  ask_priority.resize(at(rows.rows()), 0);
  std::erase_if(asks, [&](Id q) { return q < has_changed_.rows() && has_changed_[q] != 0; });
  const auto key = [&](Id q) {
    return std::tuple(ask_leaf_[q], -ask_priority[q], rows.get(&RequestColumns::submit_time, q),
                      rows.keys().rank(q));
  };
  for (const Id q : changed_) {
    has_changed_[q] = 0;
    if (q >= rows.rows() || !rows.present(q) || state.pending(q) <= 0) continue;
    read_ask(state, q);
    asks.insert(std::ranges::lower_bound(asks, key(q), {}, key), q);
  }
  changed_.clear();
  count_asks();
}

}  // namespace evenhand::yunikorn
