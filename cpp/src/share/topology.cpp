#include "evenhand/share/topology.h"

#include <utility>

namespace evenhand {

Topology Topology::of(const Tables& t) {
  Topology out;
  out.pool_count = t.pools.parent.rows();
  out.preorder.reserve(t.pools.parent.size());
  out.postorder.reserve(t.pools.parent.size());
  std::vector<std::pair<Id, std::size_t>> path{{0, 0}};  // pool, next child
  out.preorder.push_back(0);
  while (!path.empty()) {
    auto& [pool, next] = path.back();
    const auto children = t.children.of(pool);
    while (next < children.size() && children[next] >= out.pool_count) ++next;
    if (next == children.size()) {
      out.postorder.push_back(pool);
      path.pop_back();
      continue;
    }
    const Id child = children[next++];
    out.preorder.push_back(child);
    path.emplace_back(child, 0);
  }
  return out;
}

}  // namespace evenhand
