// Orders in which a pool tree is walked. O(P + N).
#pragma once

#include <span>
#include <vector>

#include "evenhand/model/tables.h"

namespace evenhand {

struct Topology {
  Id pool_count = 0;
  std::vector<Id> preorder;   // pools, parents before children, children in canonical order
  std::vector<Id> postorder;  // pools, children before parents

  static Topology of(const Tables& tables);
};

// Elements of a pool in canonical child order.
inline std::span<const Id> children_of(const Tables& t, Id pool) {
  const auto p = static_cast<std::size_t>(pool);
  const auto begin = static_cast<std::size_t>(t.children.offsets[p]);
  const auto end = static_cast<std::size_t>(t.children.offsets[p + 1]);
  return std::span<const Id>(t.children.items).subspan(begin, end - begin);
}

}  // namespace evenhand
