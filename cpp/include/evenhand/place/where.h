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

  // O(tags of the request x tags of the node).
  Place why_not(const Tables& tables, Id request, Id node) const;
  // Of rows of a state, also those that came later; the first after new words looks at all words.
  Place why_not(const ClusterState& state, Id request, Id node);

 private:
  Index request_words_ = 0, node_words_ = 0;
  std::vector<Id> node_tag_of_;  // request tag code -> node tag code
};

}  // namespace evenhand
