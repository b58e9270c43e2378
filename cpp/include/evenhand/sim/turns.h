// Work that is preempted in turns: operations that lose what they have done again and again, while
// nothing gets done.
#pragma once

#include "evenhand/core/column.h"
#include "evenhand/core/types.h"

namespace evenhand::sim {

class Turns {
 public:
  explicit Turns(Index most) : most_(most) {}

  // Something has come, is done, or has been kept: all counts begin anew.
  void progressed() noexcept {
    ++round_;
    found_ = kNoId;
  }
  // An operation was interrupted and lost all of a run. What happens at one instant is one turn.
  void lost(Id operation, Time now) {
    if (operation >= of_.rows()) of_.resize(at(operation) + 1);
    Of& of = of_[operation];
    if (of.round != round_) of = {round_, 0, now, kNoTime, kNoTime};
    if (of.last == now) return;
    of.last = now;
    if (++of.count == (most_ + 1) / 2) of.middle = now;
    if (of.count == most_ && found_ == kNoId) found_ = operation;
  }

  // The first operation with as many turns as are allowed; kNoId: none.
  Id found() const noexcept { return found_; }
  Index count() const noexcept { return of_[found_].count; }
  Time first() const noexcept { return of_[found_].first; }
  Time middle() const noexcept { return of_[found_].middle; }  // at which half of them had passed

 private:
  struct Of {
    std::uint64_t round = 0;
    Index count = 0;
    Time first = kNoTime, middle = kNoTime, last = kNoTime;
  };
  Column<Of> of_;  // by operation
  std::uint64_t round_ = 1;
  Index most_;
  Id found_ = kNoId;
};

}  // namespace evenhand::sim
