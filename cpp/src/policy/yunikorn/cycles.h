// The seed's cycles: one routine places asks, with and without preemption.
#pragma once

#include <memory>
#include <optional>

#include "evenhand/policy/yunikorn/rounds.h"
#include "live.h"
#include "run.h"
#include "shares.h"

namespace evenhand::yunikorn {

class Cycles : public Run {
 public:
  Cycles(const ClusterState& state, Partition& partition, const Inputs& inputs, AskMemory& asks,
         Pace& pace, Recorder* recorder);

  void allocation();
  void preemption();
  void shotgun();
  // Asks that wait, in the order in which an allocation cycle looks at them. After a round of
  // cycles that has decided nothing.
  std::vector<Rounds::Ask> in_vain();

 private:
  enum class For : std::uint8_t { kAllocation, kInterQueue, kIntraQueue };
  // A node with its victims: fewer are better, then those that cost less together, then the first.
  struct Found {
    Id node = kNoId;
    Index victims = 0, place = 0;  // the latter in canonical order
    Cost cost{};

    bool better_than(const Found& other) const noexcept {
      if (other.node == kNoId || victims != other.victims)
        return other.node == kNoId || victims < other.victims;
      const int compared = cost.compare(other.cost);
      return compared != 0 ? compared < 0 : place < other.place;
    }
  };
  struct Short {  // a queue above the ask that is at its maximum, and by how much
    Id queue;
    std::array<Amount, kMaxResources> lacks;

    Size lacking(Size width) const noexcept {
      return static_cast<Size>(std::count_if(lacks.begin(),
                                             lacks.begin() + static_cast<std::ptrdiff_t>(width),
                                             [](Amount a) { return a > 0; }));
    }
  };

  // --- cycles.cpp, shotgun.cpp
  void begin(For what);
  void count_waiting();
  void share();
  // At most so many asks, queue by queue, level by level: the least dominant share first.
  Column<Id> find_asks(Index count, For what);
  template <class Take>  // of a request and how many of it; returns how many are wanted still
  Index look_in(Id queue, Index count, For what, Take&& take);
  void order(Id leaf);
  void left_out(Id request);
  bool entitled(Id queue, Id request, For what) const;
  bool try_allocate(Id request, For what);
  void missed(Id request);
  void served(Id request);
  bool may_preempt(Id request) const;
  std::optional<NoCandidate> no_candidate(Id place, Id request, For what) const;
  QueuePolicy policy_of(Id queue) const {
    return at_or(rows_.policy, part_.pool_of[queue], QueuePolicy::kDefault);
  }
  void add_may_not_preempt(Facts& facts, Id request) const;
  void passed_over(Id request, For what, const Column<Amount>& placed);
  void ended_before(Id request, Outcome& outcome);
  bool at_limit(const Column<Amount>& total) const;
  Outcome eligible(Id place, Id request, For what) const;
  void watch(Id request, For what);
  Outcome claimable(Id place, const Column<Amount>& claimed, const Column<Amount>& nothing,
                    Spared& spared) const;
  void not_claimed(Id place, Outcome why, const Spared& spared, const Column<Amount>& claimed,
                   const Column<Amount>& nothing);

  // --- in_vain.cpp
  bool preempts_in_vain();
  void miss_all();

  // --- facts.cpp
  void add_share(Facts& facts, Id request, const Amount* share) const;
  void add_end(Facts& facts, const Column<Amount>& came_to) const;
  void watch_end(For what, const Column<Amount>& placed);
  void add_surplus(Facts& facts, Id place) const;
  void add_keeper(Facts& facts, Id place, const Amount* wants) const;
  void add_place(Facts& facts, Id place, Id request, For what) const;
  void add_no_candidate(Facts& facts, Id place, Id request, For what) const;

  // --- victims.cpp
  bool victims_for(Id request, For what, Id& node);
  bool victims_on(Id node, Id request, For what, const Live& live, Column<Index>& out);
  bool anything_kept(Id queue) const;
  bool might_give(Id request, For what);
  bool may_give(Id queue, const Amount* gives, const Amount* wants) const;
  void bound(const Live& live, const Amount* wants);
  Id bound_of(const Live& live, Id node, const Amount* wants) const;
  bool may_do(Id node, const Amount* wants, const Live& live, Size victims) const;
  void add_cost(Cost& to, Id place) const;
  Cost least_cost(Id node, const Live& live, Size victims) const;

  // --- live.cpp
  void see_victims();
  void see_nodes();
  Live* live_for(Id request, For what);
  void read_most(Live& live, Id leaf);
  template <std::size_t kWidth>
  void list_wide(Live& live, Id node);
  void list(Live& live, Id node);
  void list_all(Live& live);
  void read_queue(Id queue);
  void has_left(Id place);
  void uses(Id leaf);
  void room_changed(Id node);

  // As of the policy under way.
  Shares shares_;
  Id shared_at_ = kNoId;               // the step at which they were computed
  bool seen_ = false;                  // what may leave: what is known of it holds
  Column<std::uint8_t> fits_nowhere_;  // scratch: of asks of the same amounts
  Column<std::int8_t> asks_may_;       // Q: whether anything might leave for asks; -1: not known
  Column<Amount> keeps_;               // Q x R: the larger of guarantee and ideal share
  Column<Amount> dead_;                // Q x R: usage up to which nothing is given; -1: none
  Column<Amount> bound_;               // R: what asks may add up to; kNoLimit: anything
  Column<std::uint8_t> masked_;        // asks that have failed in this cycle
  Column<std::uint8_t> noted_;         // asks whose failure in this cycle has been counted
  Column<std::uint8_t> tried_;         // asks that have failed in any cycle
  Column<std::uint8_t> closed_;        // Q: nothing of it may leave
  Column<Id> fence_;                   // Q: of leaf queues: victims are taken below it alone
  Column<std::uint8_t> cut_off_;       // asks that a policy had no more room for
  std::vector<Column<Id>> order_;      // of leaf queues: asks
  Column<std::uint8_t> unordered_;
  std::vector<Column<Id>> ranked_;  // likewise, all that wait; as of the last that was served
  Column<std::uint8_t> unranked_;
  Column<double> highest_;  // scratch: of operations
  Column<Index> waiting_;   // Q: asks that may still be looked at

  // Of the ask that is looked at.
  Column<std::uint8_t> asking_;  // Q: on its path
  std::vector<Short> short_;
  Column<Amount> given_;  // Q x R: what leaves for it so far
  Column<Id> victims_;
  Column<Index> leaving_there_;  // scratch
  Costs own_costs_;              // of nodes of which nothing is kept

  // What is known of nodes; see live.h.
  Column<Index> of_need_;  // asks of the same amounts that wait
  std::vector<std::unique_ptr<Live>> lives_;
  std::unique_ptr<Live> own_;  // within a queue
  Size nodes_ = 0;             // in blocks
  Column<Index> node_place_;   // N: in canonical order
  Column<float> room_;         // R x N, no less than it is
  Column<Id> fewest_;          // N: victims that a node needs at least; of the ask, see `bound`
  Column<std::uint8_t> usable_;
  Column<std::uint8_t> tight_, single_, exhausted_;  // Q
  Column<Amount> most_alone_;  // Q x R: what one that leaves a queue alone may have at most
  Column<std::uint8_t> off_;   // as they lie near: it stays, or has left
  Tick tick_ = 0, all_changed_ = 0, all_removed_ = 0;
  Column<Tick> changed_, removed_;  // N
};

}  // namespace evenhand::yunikorn
