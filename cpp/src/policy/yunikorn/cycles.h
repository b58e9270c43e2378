// The seed's cycles: one routine places asks, with and without preemption.
#pragma once

#include <optional>

#include "run.h"

namespace evenhand::yunikorn {

class Cycles : public Run {
 public:
  using Run::Run;

  void allocation();
  void preemption();
  void shotgun();

 private:
  enum class For : std::uint8_t { kAllocation, kInterQueue, kIntraQueue };
  // Victims on a node, the cheapest first.
  struct Found {
    Id node = kNoId;
    Column<Id> victims;
  };

  // At most so many asks, queue by queue: the least dominant share first, as if each were placed.
  Column<Id> find_asks(Index count, For what);
  bool entitled(Id queue, Id request, const Amount* used, For what) const;
  bool try_allocate(Id request, For what);
  std::optional<Found> victims_for(Id request, For what);
  bool victims_on(Id node, Id request, For what, Size at_most, Column<Id>& out);
  Outcome eligible(Id place, Id request, For what) const;
  bool may_give(Id place, Id request, For what) const;
  bool give(Id place, Id request, For what);
  bool cheaper(const Column<Id>& left, const Column<Id>& right) const;
  void missed(Id request);
  bool at_limit(const Column<Amount>& total) const;
  void watch(Id request, For what);

  // What of each node's allocations may leave at all, as of a round: none that has left, none of a
  // queue that has nothing to give.
  void list_live(For what);
  void read_surplus(For what);
  bool has_surplus(Id queue) const;
  void may_give_now(Id queue) {  // it uses more
    relist_ = relist_ || (gives_[queue] == 0 && has_surplus(queue));
  }

  Column<Index> live_from_;      // N + 1
  Column<Id> live_;              // places, the cheapest first
  Column<Id> live_queue_;        // likewise, one after the other in memory
  Column<Amount> live_amounts_;  // n x R
  Column<Amount> live_largest_;  // N x R
  Column<Amount> live_sum_;      // N x R
  bool relist_ = true;
  Column<std::uint8_t> gives_;   // Q: whether it has anything to give
  Column<Amount> surplus_;       // Q x R: the most that one of its allocations may have
  Column<std::uint8_t> masked_;  // asks that have failed in this cycle
  Id within_ = kNoId;            // victims stand below this queue
  Column<Amount> quota_lack_;    // R: what that queue lacks for the ask
  Column<std::uint8_t> asking_;  // Q: on the path of the ask
};

}  // namespace evenhand::yunikorn
