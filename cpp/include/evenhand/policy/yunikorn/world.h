// What YuniKorn's preemption looks at, as flat columns: queues, nodes, what runs, reservations.
//
// Usage of queues is changed by what-ifs and put back; nothing here refers to a ClusterState.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "evenhand/core/column.h"
#include "evenhand/policy/yunikorn/resource.h"

namespace evenhand::yunikorn {

enum class QueuePolicy : std::uint8_t { kDefault, kFence, kDisabled };

struct Queues {  // parents before their children; row 0 is the root
  Column<Id> parent;
  Column<std::uint8_t> leaf;
  Column<QueuePolicy> policy;
  Column<std::uint8_t> priority_fence;
  Column<std::int64_t> offset;
  std::vector<std::string> path;
  Column<Resource> max, guaranteed, allocated, preempting;

  Id rows() const noexcept { return parent.rows(); }
};

struct Held {  // allocations
  Column<Id> queue, node;
  Column<double> priority;
  Column<Time> created;
  Column<std::uint8_t> allows, originator;  // lets itself be preempted; first of its application
  Column<std::uint8_t> barred;              // needs its node, is released, or belongs to nobody
  Column<std::uint8_t> preempted;           // marked already
  Column<Resource> resources;

  Id rows() const noexcept { return queue.rows(); }
};

struct NodeRooms {
  std::size_t width = 0;
  Column<std::uint8_t> schedulable;
  Column<Amount> capacity, free;  // N x R
  Column<Id> order{};  // those that there are, in canonical order; empty: all, as they stand

  Id rows() const noexcept { return schedulable.rows(); }
};

struct Reserved {  // nodes that asks have reserved
  Column<Id> node, ask;
  Column<double> priority;
  Column<Time> age;
  Column<std::uint8_t> triggered, required;  // has preempted; needs that node

  Id rows() const noexcept { return node.rows(); }
};

class World {
 public:
  World(Queues queues, Held held, NodeRooms nodes, Reserved reserved, bool lowest_priority_first);
  // Without allocations, until they are put.
  World(Queues queues, NodeRooms nodes);
  void put(Held held, bool lowest_priority_first);

  const Queues& queues() const noexcept { return queues_; }
  const Held& held() const noexcept { return held_; }
  const NodeRooms& nodes() const noexcept { return nodes_; }
  Reserved& reserved() noexcept { return reserved_; }

  std::span<const Id> path(Id queue) const noexcept { return path_.of(queue); }  // root first
  std::span<const Id> children(Id queue) const noexcept { return children_.of(queue); }
  std::span<const Id> of_queue(Id leaf) const noexcept { return of_queue_.of(leaf); }
  // In the order in which they are wanted as victims.
  std::span<const Id> on_node(Id node) const noexcept { return on_node_.of(node); }
  // Of all nodes, by kind and newest first.
  std::span<const Id> in_order() const noexcept { return in_order_; }
  // Of an allocation: beside its amounts, as all of them are looked at.
  ResourceMask types(Id allocation) const noexcept { return types_[allocation]; }
  // The most of each type that one allocation on a node has, R.
  const Amount* largest(Id node) const noexcept { return largest_.row(node, nodes_.width); }
  const Resource& effective_max(Id queue) const noexcept { return effective_max_[queue]; }

  void add(Id queue, const Resource& amounts, Amount sign) noexcept {
    for (const Id q : path(queue)) add_to(queues_.allocated[q], amounts, sign);
  }
  void start(Id queue, Id node, const Resource& amounts) {
    add(queue, amounts, 1);
    Amount* free = nodes_.free.row(node, nodes_.width);
    each_type(amounts.types, [&](std::size_t r) { free[r] -= amounts.v[r]; });
  }
  // It has been asked to leave.
  void preempt(Id allocation);
  bool barred(Id allocation) const noexcept {
    return held_.barred[allocation] != 0 || held_.preempted[allocation] != 0;
  }

 private:
  struct Groups {
    Column<Index> offsets;
    Column<Id> items;
    std::span<const Id> of(Id group) const noexcept {
      return slice(items, offsets[group], offsets[group + 1]);
    }
    static Groups by(const Column<Id>& group, Id groups, std::span<const Id> order);
  };

  Queues queues_;
  Held held_;
  NodeRooms nodes_;
  Reserved reserved_;
  Groups path_, children_, of_queue_, on_node_;
  Column<Id> in_order_;
  Column<ResourceMask> types_;
  Column<Amount> largest_;
  Column<Resource> effective_max_;
};

}  // namespace evenhand::yunikorn
