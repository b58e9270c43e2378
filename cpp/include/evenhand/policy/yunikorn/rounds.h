// Rounds of cycles that decide nothing, one after the other: which asks each tries in vain, so that
// those in which nothing can be decided may be left out, and what they would have counted is not.
//
// As long as nothing happens, an ask for which there is no room is tried in vain, whenever that is.
// What changes is how many opportunities asks have missed, and how many allocation cycles
// they are left out of for that.
#pragma once

#include <cstdint>
#include <vector>

#include "evenhand/core/column.h"
#include "evenhand/policy/yunikorn/planner.h"

namespace evenhand::yunikorn {

// For how many allocation cycles an ask is left out that has missed so many opportunities in a row.
std::int64_t left_out_for(std::int64_t missed, std::int64_t longest) noexcept;

class Rounds {
 public:
  // An ask as a round has left it. `copies`: how many wait. `starts`: there is room for it, from
  // when on it is left out no longer. `in_preemption`: each preemption cycle tries it, in vain.
  struct Ask {
    Id request;
    Index copies;
    bool starts, in_preemption;
    std::int64_t missed, wait;
  };

  // Asks in the order in which an allocation cycle looks at them, at most so many copies.
  void begin(std::vector<Ask> asks, Index most, std::int64_t longest) {
    asks_ = std::move(asks);
    most_ = most;
    longest_ = longest;
  }
  void clear() noexcept { asks_.clear(); }
  // How many rounds from now on are sure to decide nothing; -1: all. O(asks).
  std::int64_t in_vain() const noexcept;
  // So many rounds have passed. O(asks) for each in which an allocation cycle tries any.
  void pass(std::int64_t rounds, AskMemory& memory);
  // A request came, in the place of another one or of none (kNoId); or none waits any more: what is
  // remembered of it is no more what rounds have left.
  void come(Id request, Id instead_of);

 private:
  void miss(Ask& ask) const noexcept {
    ++ask.missed;
    ask.wait = left_out_for(ask.missed, longest_);
  }

  std::vector<Ask> asks_;
  Index most_ = 0;
  std::int64_t longest_ = 0;
};

// Passes of asks that decide nothing, one after the other: which of those that look for victims do
// so in vain, whenever that is, so that passes may be left out. What changes is when each has last
// looked for some.
class Attempts {
 public:
  // An ask as a pass has left it. `ready`: from when on it may look for victims. `last`: when it
  // did; kNoTime: never.
  struct Ask {
    Id request, leaf;
    Time ready, last;
  };

  // Asks in the order of a pass, leaf by leaf; of each leaf at most so many in a pass. retry > 0.
  void begin(std::vector<Ask> asks, Index most, Time retry) {
    asks_ = std::move(asks);
    most_ = most;
    retry_ = retry;
  }
  void clear() noexcept { asks_.clear(); }
  // Passes have been left out, from one on until another. O(asks), and O(log n) for each attempt
  // of a leaf where more than so many ask.
  void pass(Time first, Time period, Time last, AskMemory& memory);
  void come(Id request, Id instead_of);  // as Rounds

 private:
  std::vector<Ask> asks_;
  Index most_ = 0;
  Time retry_ = 1;
};

}  // namespace evenhand::yunikorn
