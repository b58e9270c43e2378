// Where a request may run at all: its node, its tags.
#pragma once

#include <cstdint>
#include <vector>

#include "evenhand/model/tables.h"

namespace evenhand {

enum class Place : std::uint8_t { kAllowed, kOtherNode, kTagMissing };

class Where {
 public:
  Where() = default;
  explicit Where(const Tables& tables);  // O(distinct tags of requests x of nodes)

  // O(tags of the request x tags of the node).
  Place why_not(const Tables& tables, Id request, Id node) const;

 private:
  std::vector<Id> node_tag_of_;  // request tag code -> node tag code
};

}  // namespace evenhand
