// Where a request may run at all: its node, its tags.
#pragma once

#include <cstdint>
#include <vector>

#include "evenhand/model/cluster_state.h"

namespace evenhand {

enum class Place : std::uint8_t { kAllowed, kOtherNode, kTagMissing };

class Where {
 public:
  Where() = default;
  explicit Where(const Tables& tables);  // O(distinct tags of requests x of nodes)
  explicit Where(const ClusterState& state);  // likewise, and O(tags of nodes)

  // O(tags of the request x tags of the node).
  Place why_not(const Tables& tables, Id request, Id node) const;
  Place why_not(const ClusterState& state, Id request, Id node) const;
  // Whether it names neither a node nor a tag.
  static bool anywhere(const ClusterState& state, Id request) {
    return state.requests().list(&RequestColumns::node_tags, request).empty() &&
           state.requests().get(&RequestColumns::required_node, request, kNoId) == kNoId;
  }

 private:
  std::vector<Id> node_tag_of_;  // request tag code -> node tag code
};

}  // namespace evenhand
