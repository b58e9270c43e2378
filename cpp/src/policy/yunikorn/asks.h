// Today's scheduling: passes over queues, applications and asks in fair order. An ask that cannot
// be placed preempts by itself, and its node waits for it.
#pragma once

#include <memory>

#include "evenhand/policy/yunikorn/parts.h"
#include "evenhand/policy/yunikorn/rounds.h"
#include "evenhand/policy/yunikorn/search.h"
#include "run.h"

namespace evenhand::yunikorn {

class Asks : public Run {
 public:
  // `before`: what another run has decided already.
  Asks(const ClusterState& state, Partition& partition, const Inputs& inputs, AskMemory& asks,
       Pace& pace, Recorder* recorder, Run* before = nullptr);

  void passes();
  // From when on passes may decide something, if these have decided nothing; kNoTime: never. Asks
  // that look for victims in vain until then are counted by `attempts`. The retry is not 0.
  Time due(Attempts& attempts);
  // Takes from queues that have been above their max for long enough.
  void quotas(const Column<Time>& since);

 private:
  // A node that one of an ask has reserved. It waits there for victims that leave for it, or only
  // for room.
  struct Kept {
    Id request, node;
    Time age;
    bool triggered, fresh, drawn = false;  // reserved in this run; also said so
    bool tried = false;                    // whether it has looked for victims in this run
  };

  World make_world();
  Queues world_queues();
  void put_held();
  bool pass();

  // --- reservations.cpp
  void read_reservations();
  bool start_reserved();
  bool start_reserved_of(Id operation);
  bool serve_reserved(Id request, Index& attempts);
  Id node_to_reserve(Id request);
  void keep_node(Id request, Id node, bool triggered, Size of);
  void start_kept(Size i, Id node);
  void drop(Size i, bool say);
  void cancel_for_required(Id node);
  void block(Id node);
  void unblock(Id node);
  void tell_world();
  void say_what_waits();
  bool needs_node(Id request) const {
    return state_.requests().get(&RequestColumns::required_node, request, kNoId) != kNoId;
  }

  // --- asks.cpp
  void order_leaves(Id queue, Column<Id>& out) const;
  Column<Id> asks_in_order(Id leaf) const;
  bool waits(Id request) const { return pending_[request] + kept_back_[request] > 0; }
  bool anything_waits(Id queue) const;
  Index waiting_only(Id request) const;
  Resource used_by(Id operation) const;
  double priority_of(Id queue) const;  // of what waits below it
  bool serve(Id request, Index& attempts);
  void failed(Id request);
  bool try_to_preempt(Id request, bool nodes_tried, Index& attempts, Size kept = kNew);
  void begin_search(Id request);
  bool looks_in_vain(Id request);
  bool on_required_node(Id request, Id node);
  Outcome barred_everywhere(Id request);
  bool take_victims_there(Id request, Id node);
  void place(Id request, Id node, Reason reason);
  void quota_of(Id queue, const Column<Time>& since);

  // --- facts.cpp
  void add_wait(Facts& facts, Id request) const;
  void add_owed(Facts& facts, Id request, bool lacking) const;
  void add_own_owed(Facts& facts, Id row) const;
  void add_no_candidate(Facts& facts, Id row, Id request) const;
  Outcome why_no_candidate(Id row, Id request) const;
  Spared spared_by_pace(Id row) const;
  void watch_there(Id request, const Column<Id>& rows, const RequiredNodeAnswer& found);
  void add_place(Facts& facts, Id row, std::span<const Id> victims) const;

  Resource of_row(const Amount* amounts) const { return dense(amounts, width_); }
  static Resource with_zeros(Resource of, ResourceMask zeros) {
    of.types |= zeros;
    return of;
  }
  // What an ask needs, also the types of which it asks for 0.
  Resource asked(Id request) const {
    return with_zeros(of_row(need(request)), rows_.asked_zeros[request]);
  }
  Time delay_of(Id queue) const {
    return at_or(rows_.delay, part_.pool_of[queue], Time{30'000'000});
  }

  static constexpr Size kNew = ~Size{0};

  Column<Id> world_row_, queue_of_row_;  // of queues, and back
  Column<Id> place_of_row_;              // of allocations of the world
  Column<Resource> fair_max_;            // Q
  Column<Amount> more_used_;             // of operations, beside their usage: n x R
  Column<std::uint8_t> tried_;           // asks
  Column<Index> kept_back_;              // of asks: how many wait on a node that is kept for them
  std::vector<Kept> kept_;
  Column<Index> blocked_;   // N: reservations
  Column<Amount> idle_;     // N x R: room that nobody else may use meanwhile
  Column<Amount> waiting_;  // Q x R
  Column<Id> looked_;       // asks that come to looking for victims, as the last pass did
  bool held_ = false;       // the world has what runs
  std::unique_ptr<World> world_;
  std::unique_ptr<Search> search_;
};

}  // namespace evenhand::yunikorn
