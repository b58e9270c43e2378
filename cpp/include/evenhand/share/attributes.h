// What an element uses, wants and may have, as fractions of the cluster.
#pragma once

#include <vector>

#include "evenhand/model/tables.h"

namespace evenhand {

// Usage share of every element (pools, then operations), E x R.
std::vector<double> usage_share(const Tables& tables);

}  // namespace evenhand
