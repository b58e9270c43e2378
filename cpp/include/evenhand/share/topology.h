// Orders in which a pool tree is walked. O(P + N).
#pragma once

#include <span>
#include <vector>

#include "evenhand/model/tables.h"

namespace evenhand {

struct Topology {
  Id pool_count = 0;
  Column<Id> preorder;   // pools, parents before children, children in canonical order
  Column<Id> postorder;  // pools, children before parents

  static Topology of(const Tables& tables);
};

}  // namespace evenhand
