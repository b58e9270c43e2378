// Ideal shares of queues, in each resource by itself: guarantees first, the rest by weight, and to
// none more than it uses and asks for, or may have. Exact, level by level.
#pragma once

#include <vector>

#include "partition.h"

namespace evenhand::yunikorn {

__extension__ using Wide = __int128;

struct Part {  // of quanta; den > 0
  Wide num = 0, den = 1;
};

struct Shares {
  std::vector<Part> part;      // Q x R
  Column<Amount> below, most;  // Q x R: whole quanta at most, and at least, as much

  // What the askers among leaf queues lack of their shares together, in whole quanta at least; R.
  // `asks`: Q, which are askers.
  Column<Amount> claimed(const Partition& queues, const Column<Amount>& usage,
                         const Column<std::uint8_t>& asks) const;
};

// Of what queues use and what waits in them, Q x R. O(Q R log Q).
Shares ideal_shares(const Partition& queues, const Column<Amount>& usage,
                    const Column<Amount>& pending);

}  // namespace evenhand::yunikorn
