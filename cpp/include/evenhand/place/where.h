// Where a request may run at all: its node, its tags.
#pragma once

#include <cstdint>
#include <vector>

#include "evenhand/model/cluster_state.h"

namespace evenhand {

enum class Place : std::uint8_t { kAllowed, kOtherNode, kTagMissing };

class Where {
 public:
  // O(tags of the request x tags of the node); the first after new words looks at all words.
  Place why_not(const ClusterState& state, Id request, Id node);
  // Whether it names neither a node nor a tag.
  static bool anywhere(const ClusterState& state, Id request) {
    return state.requests().list(&RequestColumns::node_tags, request).empty() &&
           state.requests().get(&RequestColumns::required_node, request, kNoId) == kNoId;
  }

 private:
  Index request_words_ = 0, node_words_ = 0;
  Column<Id> node_tag_of_;  // request tag code -> node tag code
};

}  // namespace evenhand
