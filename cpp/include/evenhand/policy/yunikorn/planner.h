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

// What pools set, with what they inherit, and what requests set; empty: the default in each row.
struct RowSettings {
  Column<QueuePolicy> policy;                          // P
  Column<std::uint8_t> priority_fence;                 // P
  Column<std::int64_t> offset;                         // P
  Column<Time> delay, quota_delay;                     // P
  Column<std::uint8_t> fair, priority_first, managed;  // P: of applications; configured
  Column<std::uint8_t> may_preempt;                    // Q
  std::vector<ClusterState::TakenRoom> taken;          // of what leaves: by its beneficiary
  Column<ResourceMask> asked_zeros, held_zeros;        // Q, A: types that are given as 0
  Column<double> own_cost;                             // A: of a user's function
  Column<Id> predicate_of;                             // Q: class of requests; kNoId: none
  Column<std::uint8_t> predicates;                     // classes x N: whether it may stand there

  // Settings of requests, or allocations, that came or changed.
  void requests_came(std::span<const Id> rows, const RowSettings& cells);
  void allocations_came(std::span<const Id> rows, const RowSettings& cells);
};

// What asks remember; Q each.
struct AskMemory {
  Column<std::int64_t> missed;  // opportunities in a row
  Column<std::int64_t> wait;    // allocation cycles that it is still left out of
  Column<Time> last_attempt;    // per ask: kNoTime: none
  Column<std::uint8_t> triggered;

  void grow(std::size_t requests);
  void forget(Id request);  // it was placed
  // What is remembered of a row that came: nothing, or what is of another; kNoId: none.
  void begin_anew(Id request, Id as);
};

struct Inputs {
  Snapshot snapshot;
  Settings settings;
  RowSettings rows;
  AskMemory asks;
  Column<Time> last_preempt;      // O: of other policies' memory, handed on as it is
  Column<Time> over_quota_since;  // P: since when a pool has been above its max
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

class Planner final : public evenhand::Planner {
 public:
  explicit Planner(Inputs inputs);
  // Follows a living cluster.
  Planner(Inputs inputs, std::shared_ptr<ClusterState> state, bool total_stated);
  ~Planner() override;

  void rows_came(const std::string& table, std::span<const Id> rows, const RowSettings& cells) {
    if (table == "requests") inputs_.rows.requests_came(rows, cells);
    if (table == "allocations") inputs_.rows.allocations_came(rows, cells);
    for (const ClusterState::TakenRoom& t : cells.taken) state_.set_taken(t.allocation, t.amounts);
    stale_ = true;
  }

  void update(Time now, bool keep) override;
  void decide(const Trigger& trigger, Recorder* recorder = nullptr) override;
  void after(const Delta& delta, Id row) override;

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
  bool stale_ = true;
  Decisions decisions_;
  Tally tally_;
  Refusals refusals_;
  std::vector<ClusterState::TakenRoom> handed_;
  Time next_due_ = kNoTime;
};

}  // namespace evenhand::yunikorn
