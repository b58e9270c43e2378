// YuniKorn's cycles as a planner: an allocation cycle, a preemption cycle (the seed's design), or
// passes in which each ask preempts by itself (today's); and the enforcement of quotas.
//
// Leaf queues are pools, applications operations, asks requests. `update` makes what a round looks
// at, in O(cells) and O(n log n) for orders; `decide` leaves the state as it was.
//
// Source: the design page "cross queue preemption", and YuniKorn core 1.9; which of both is a
// matter of settings.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "evenhand/policy/planner.h"
#include "evenhand/policy/yunikorn/settings.h"
#include "evenhand/policy/yunikorn/world.h"

namespace evenhand::yunikorn {

// What pools set, with what they inherit (empty: the default in each), and what other rows set.
struct RowSettings {
  Column<QueuePolicy> policy;                                  // P
  Column<std::uint8_t> priority_fence;                         // P
  Column<std::int64_t> offset;                                 // P
  Column<Time> delay, quota_delay;                             // P
  Column<std::uint8_t> fair, priority_first, managed;          // P: of applications; configured
  Beside<std::uint8_t> may_preempt = Absent(std::uint8_t{1});  // Q
  std::vector<ClusterState::TakenRoom> taken;                  // of what leaves: by its beneficiary
  // Q, A: types that are given as 0.
  Beside<ResourceMask> asked_zeros = Absent(ResourceMask{0}), held_zeros = Absent(ResourceMask{0});
  Column<double> own_cost;          // A: of a user's function
  Column<Id> predicate_of;          // Q: class of requests; kNoId: none
  Column<std::uint8_t> predicates;  // classes x N: whether it may stand there

  // Settings of rows that came or changed, or are put without any.
  void put_requests(std::span<const Id> of, const RowSettings& cells) {
    may_preempt.put(of, cells.may_preempt);
    asked_zeros.put(of, cells.asked_zeros);
  }
  void put_allocations(std::span<const Id> of, const RowSettings& cells) {
    held_zeros.put(of, cells.held_zeros);
  }
};

// What asks remember.
struct AskMemory {
  Beside<std::int64_t> missed = Absent(std::int64_t{0});  // opportunities in a row
  // Allocation cycles that it is still left out of.
  Beside<std::int64_t> wait = Absent(std::int64_t{0});
  Beside<Time> last_attempt = Absent(kNoTime);  // per ask
  Beside<std::uint8_t> triggered = Absent(std::uint8_t{0});

  void forget(Id request) {  // it was placed
    missed.set(request, 0);
    wait.set(request, 0);
  }
  // A request came, in the place of another one or of none (kNoId); or none waits any more.
  void come(Id request, Id instead_of) {
    missed.come(request, instead_of);
    wait.come(request, instead_of);
    last_attempt.come(request, instead_of);
    triggered.come(request, instead_of);
  }
};

struct Inputs {
  Snapshot snapshot;
  Settings settings;
  RowSettings rows;
  AskMemory asks{};
  Beside<Time> last_preempt = Absent(kNoTime);  // O: of other policies' memory, handed on
  Column<Time> over_quota_since{};              // P: since when a pool has been above its max
  VictimTimes victims{};
};

// Of pools, P x R: what they are owed, also by what is inferred, use without what leaves, and ask
// for; and their ideal shares, in quanta.
struct QueueShares {
  Column<Amount> owed, used, pending;
  Column<double> ideal;
};
QueueShares queue_shares(const Inputs& inputs);

struct Tally {
  Index rounds = 0, asks = 0, starts = 0, victims = 0, failed = 0, attempts = 0;
};

struct Partition;
class Rounds;
class Attempts;

class Planner final : public evenhand::Planner {
 public:
  explicit Planner(Inputs inputs);
  // Follows a living cluster.
  Planner(Inputs inputs, std::shared_ptr<ClusterState> state, bool total_stated);
  ~Planner() override;

  void rows_came(const std::string& table, std::span<const Id> rows, const RowSettings& cells) {
    if (table == "requests") inputs_.rows.put_requests(rows, cells);
    if (table == "allocations") inputs_.rows.put_allocations(rows, cells);
    for (const ClusterState::TakenRoom& t : cells.taken) state_.set_taken(t.allocation, t.amounts);
    stale_ = true;
  }

  void update(Time now, bool keep) override;
  void decide(const Trigger& trigger, Recorder* recorder = nullptr) override;
  void before(const Delta& delta) override;
  void after(const Delta& delta, Id row) override;
  void passed(Id node, Time first, Time period, Time last) override;

  const Decisions& decisions() const override { return decisions_; }
  Counts counts() const override;
  Refusals refusals() const override { return refusals_; }
  std::span<const ClusterState::TakenRoom> handed() const override { return handed_; }
  Time next_due() const override { return next_due_; }
  Columns memory() const override;
  std::unique_ptr<evenhand::Planner> afresh() const override {
    return std::make_unique<Planner>(inputs_);
  }
  std::shared_ptr<evenhand::Planner> copy(std::shared_ptr<ClusterState> state) const override;

 private:
  void read();
  void watch_quotas();
  Time quota_due(Time after) const;

  Inputs inputs_;
  AskMemory asks_;                 // as the last trigger left it
  Column<Time> over_quota_since_;  // likewise
  Pace pace_{inputs_.settings.pace, state_, inputs_.victims};
  std::unique_ptr<Partition> partition_;
  std::unique_ptr<Rounds> rounds_;      // as the last trigger that is repeated has left asks
  std::unique_ptr<Attempts> attempts_;  // likewise
  bool stale_ = true;
  Decisions decisions_;
  Tally tally_;
  Refusals refusals_;
  std::vector<ClusterState::TakenRoom> handed_;
  Time next_due_ = kNoTime;
};

}  // namespace evenhand::yunikorn
