// Which of the nodes with room for a request is taken.
#pragma once

#include <span>

#include "evenhand/place/rooms.h"

namespace evenhand {

enum class NodeOrder : std::uint8_t { kCanonical, kLeastFree, kMostFree };

// Whether node a is preferred to b: less left (kLeastFree), or more, of the first resource in
// which they differ. O(R).
inline bool preferred(NodeOrder order, std::span<const Id> resources, const Rooms& rooms, Id a,
                      Id b) noexcept {
  if (order == NodeOrder::kCanonical) return false;
  for (const Id r : resources) {
    const Amount x = rooms.at(a, at(r));
    const Amount y = rooms.at(b, at(r));
    if (x != y) return order == NodeOrder::kLeastFree ? x < y : x > y;
  }
  return false;
}

}  // namespace evenhand
