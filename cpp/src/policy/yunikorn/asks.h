// Today's scheduling: passes over queues, applications and asks in fair order. An ask that cannot
// be placed preempts by itself, and its node waits for it.
#pragma once

#include <memory>

#include "evenhand/policy/yunikorn/search.h"
#include "run.h"

namespace evenhand::yunikorn {

// Why an allocation is no candidate of an ask.
enum class NoCandidate : std::uint8_t {
  kNeedsItsNode,
  kSpared,
  kHoldsNothing,
  kSameQueue,
  kAskerDisabled,
  kQueueDisabled,
  kOutsideFence,
  kWithinGuarantee,
  kPriority
};

class Asks : public Run {
 public:
  Asks(const ClusterState& state, const Partition& partition, const Inputs& inputs, AskMemory& asks,
       Pace& pace, Recorder* recorder);

  void passes();
  // Takes from queues that have been above their max for long enough.
  void quotas(const Column<Time>& since);

 private:
  World make_world();
  Queues world_queues();
  void start_reserved();
  bool pass();
  void order_leaves(Id queue, Column<Id>& out) const;
  Column<Id> asks_in_order(Id leaf) const;
  double priority_of(Id queue) const;  // of what waits below it
  bool serve(Id request, Index& attempts);
  bool try_to_preempt(Id request, bool nodes_tried, Index& attempts);
  bool on_required_node(Id request, Id node);
  void keep_node(Id request, Id node);
  void place(Id request, Id node, Reason reason);
  void quota_of(Id queue, const Column<Time>& since);

  // --- facts.cpp
  void add_wait(Facts& facts, Id request) const;
  void add_owed(Facts& facts, Id request) const;
  void add_own_owed(Facts& facts, Id row) const;
  void add_no_candidate(Facts& facts, Id row, Id request) const;
  Outcome why_no_candidate(Id row, Id request) const;
  Spared spared_by_pace(Id row) const;
  void add_place(Facts& facts, Id row, std::span<const Id> victims) const;

  Resource of_row(const Amount* amounts) const { return dense(amounts, width_); }
  Time delay_of(Id queue) const {
    return at_or(rows_.delay, part_.pool_of[queue], Time{30'000'000});
  }

  Column<Id> world_row_, queue_of_row_;  // of queues, and back
  Column<Id> place_of_row_;              // of allocations of the world
  Column<Resource> fair_max_;            // Q
  Column<std::uint8_t> tried_;           // asks
  Column<Index> kept_back_;              // of asks: how many wait on a node that is kept for them
  Column<Amount> waiting_;               // Q x R
  std::unique_ptr<World> world_;
  std::unique_ptr<Search> search_;
};

}  // namespace evenhand::yunikorn
