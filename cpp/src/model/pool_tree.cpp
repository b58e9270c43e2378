// The tree of pools: cycles, children in canonical order, top-down order.
#include <algorithm>
#include <cmath>
#include <string>

#include "evenhand/model/building.h"

namespace evenhand {
namespace {

// Reports every cycle once, at its first pool in canonical order, and hangs
// that pool under the root.
void cut_cycles(Building& b) {
  PoolColumns& pools = b.tables.pools;
  enum : std::uint8_t { kUnseen, kOnPath, kDone };
  Column<std::uint8_t> seen(pools.parent.size(), kUnseen);
  seen[0] = kDone;
  Column<Id> path;
  for (Id start = 1; start < seen.rows(); ++start) {
    path.clear();
    Id p = start;
    for (; seen[p] == kUnseen; p = pools.parent[p]) {
      seen[p] = kOnPath;
      path.push_back(p);
    }
    if (seen[p] == kOnPath) {
      auto begin = std::find(path.begin(), path.end(), p);
      std::rotate(begin, std::min_element(begin, path.end()), path.end());
      const Id first = *begin;
      std::string loop;
      constexpr std::ptrdiff_t kShown = 8;
      for (auto member = begin; member != path.end() && member - begin < kShown; ++member)
        loop += quoted(pools.names.text[*member]) + " under ";
      if (path.end() - begin > kShown) loop += "... under ";
      loop += quoted(pools.names.text[first]);
      const auto row = at(first) - 1;
      b.pools.problem(row, {"parent"}, "cycle", pools.names.text[pools.parent[first]],
                      "closes a cycle: ", loop);
      pools.parent[first] = 0;
    }
    for (const Id member : path) seen[member] = kDone;
  }
}

// Pools, then operations, each in canonical order: merged where `order` says.
void group_children(Tables& t) {
  const std::size_t pools = t.pools.parent.size();
  Column<Id> parent = t.pools.parent;
  parent.insert(parent.end(), t.operations.pool.begin(), t.operations.pool.end());
  t.children = grouped(parent, pools);
  if (t.pools.order.empty() && t.operations.order.empty()) return;

  const double none = std::nan("");
  Column<double> order(parent.size(), none);
  std::copy(t.pools.order.begin(), t.pools.order.end(), order.begin());
  std::copy(t.operations.order.begin(), t.operations.order.end(),
            order.begin() + static_cast<std::ptrdiff_t>(pools));
  for (std::size_t p = 0; p < pools; ++p) {
    const auto begin = t.children.items.begin() + t.children.offsets[p];
    const auto end = t.children.items.begin() + t.children.offsets[p + 1];
    const auto operations = std::find_if(begin, end, [&](Id child) { return at(child) >= pools; });
    std::inplace_merge(begin, operations, end,
                       [&](Id a, Id c) { return order_less(order[a], order[c]); });
  }
}

void list_top_down(Tables& t) {
  const std::size_t pools = t.pools.parent.size();
  Column<Id>& list = t.pools.top_down;
  list.clear();
  list.reserve(pools);
  list.push_back(0);
  for (std::size_t i = 0; i < list.size(); ++i) {
    for (const Id child : t.children.of(list[i]))
      if (at(child) < pools) list.push_back(child);
  }
}

}  // namespace

void order_tree(Tables& t) {
  group_children(t);
  list_top_down(t);
}

void build_tree(Building& b) {
  cut_cycles(b);
  order_tree(b.tables);
}

}  // namespace evenhand
