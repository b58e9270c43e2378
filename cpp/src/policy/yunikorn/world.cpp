#include "evenhand/policy/yunikorn/world.h"

#include <numeric>
#include <tuple>
#include <utility>

namespace evenhand::yunikorn {

World::Groups World::Groups::by(const Column<Id>& group, Id groups, std::span<const Id> order) {
  Groups out;
  out.offsets.assign(at(groups) + 1, 0);
  for (const Id row : order)
    if (group[row] != kNoId) ++out.offsets[group[row] + 1];
  std::partial_sum(out.offsets.begin(), out.offsets.end(), out.offsets.begin());
  out.items.resize(at(out.offsets.back()));
  Column<Index> next = out.offsets;
  for (const Id row : order)
    if (group[row] != kNoId) out.items[next[group[row]]++] = row;
  return out;
}

World::World(Queues queues, Held held, NodeRooms nodes, Reserved reserved,
             bool lowest_priority_first)
    : World(std::move(queues), std::move(nodes)) {
  reserved_ = std::move(reserved);
  put(std::move(held), lowest_priority_first);
}

World::World(Queues queues, NodeRooms nodes)
    : queues_(std::move(queues)), nodes_(std::move(nodes)) {
  if (nodes_.order.empty()) {
    nodes_.order.resize(at(nodes_.rows()));
    std::iota(nodes_.order.begin(), nodes_.order.end(), Id{0});
  }
  Column<Id> rows(at(queues_.rows()));
  std::iota(rows.begin(), rows.end(), Id{0});
  children_ = Groups::by(queues_.parent, queues_.rows(), rows);

  Column<Id> way;
  path_.offsets.push_back(0);
  for (const Id q : rows) {
    way.clear();
    for (Id up = q; up != kNoId; up = queues_.parent[up]) way.push_back(up);
    path_.items.insert(path_.items.end(), way.rbegin(), way.rend());
    path_.offsets.push_back(path_.items.rows());
    const Id parent = queues_.parent[q];
    effective_max_.push_back(
        min_all(queues_.max[q], parent == kNoId ? Resource{} : effective_max_[parent]));
  }
}

void World::put(Held held, bool lowest_priority_first) {
  held_ = std::move(held);
  // Keys of integers: kind, then priority where it counts, then the newest.
  struct Key {
    std::int32_t kind;
    double priority;
    Time age;
    Id row;
    auto operator<=>(const Key&) const = default;
  };
  std::vector<Key> keys;
  keys.reserve(at(held_.rows()));
  for (Id a = 0; a < held_.rows(); ++a)
    keys.push_back({(held_.allows[a] != 0 ? 0 : 2) + (held_.originator[a] != 0 ? 1 : 0),
                    lowest_priority_first ? held_.priority[a] : 0, -held_.created[a], a});
  std::sort(keys.begin(), keys.end());
  in_order_.reserve(keys.size());
  for (const Key& key : keys) in_order_.push_back(key.row);
  of_queue_ = Groups::by(held_.queue, queues_.rows(), in_order_);
  on_node_ = Groups::by(held_.node, nodes_.rows(), in_order_);

  largest_.assign(at(nodes_.rows()) * nodes_.width, 0);
  for (Id a = 0; a < held_.rows(); ++a) {
    types_.push_back(held_.resources[a].types);
    if (held_.node[a] == kNoId) continue;
    Amount* most = largest_.row(held_.node[a], nodes_.width);
    each_type(held_.resources[a].types,
              [&](std::size_t r) { most[r] = std::max(most[r], held_.resources[a].v[r]); });
  }
}

void World::preempt(Id allocation) {
  held_.preempted[allocation] = 1;
  for (const Id q : path(held_.queue[allocation]))
    add_to(queues_.preempting[q], held_.resources[allocation]);
}

}  // namespace evenhand::yunikorn
