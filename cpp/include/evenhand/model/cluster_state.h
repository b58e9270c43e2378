// The one mutable form of a scheduling domain: what runs where and how much of it,
// changed by deltas that can be undone.
//
// A state starts as the rows of a snapshot, which it shares. Allocations live in
// slots: the snapshot's rows first, then those that start later. Sums of usage
// (nodes, operations, pools) are integers and exact whatever the history. Slots
// are storage, never an order: ties go by `rank`.
//
// Room. What a node's leaving allocations have is nobody's until they have gone,
// but for the operation and request they leave for: `left` holds the part that
// their beneficiary has not taken yet.
//
// A delta costs O(R x depth); undo the same. Copying is O(allocations).
#pragma once

#include <array>
#include <span>
#include <vector>

#include "evenhand/core/types.h"
#include "evenhand/model/snapshot.h"

namespace evenhand {

// For whom an allocation leaves: a request of an operation, or any of it (request kNoId).
struct Beneficiary {
  Id operation = kNoId, request = kNoId;
  friend bool operator==(const Beneficiary&, const Beneficiary&) = default;
};

// An allocation that has been told to leave.
struct Leaving {
  Id slot = kNoId;
  Beneficiary beneficiary;
  std::array<Amount, kMaxResources> left{};  // room that its beneficiary has not taken
};

class ClusterState {
 public:
  // For each in-flight allocation of the tables, room its beneficiary took already.
  struct TakenRoom {
    Id allocation;
    std::vector<Amount> amounts;
  };

  explicit ClusterState(Snapshot snapshot, std::span<const TakenRoom> taken = {});

  // What stays as the snapshot has it: names, pools, operations, nodes, requests.
  const Tables& tables() const noexcept { return snapshot_.tables(); }
  const Snapshot& snapshot() const noexcept { return snapshot_; }
  std::size_t width() const noexcept { return width_; }
  Time now() const noexcept { return now_; }

  // Allocations.
  Index slots() const noexcept { return static_cast<Index>(operation_.size()); }
  Index slots_of_snapshot() const noexcept { return first_new_; }
  bool running(Id slot) const noexcept { return phase_[at(slot)] == Phase::kRuns; }
  // Running, or stopped by a person and keeping all it has.
  bool holds(Id slot) const noexcept { return phase_[at(slot)] <= Phase::kStopped; }
  bool leaving(Id slot) const noexcept { return phase_[at(slot)] == Phase::kLeaves; }
  bool gone(Id slot) const noexcept { return phase_[at(slot)] >= Phase::kAway; }
  // Preempted by the engine; what it keeps counts until it ends.
  bool away(Id slot) const noexcept { return phase_[at(slot)] == Phase::kAway; }
  Id operation_of(Id slot) const noexcept { return operation_[at(slot)]; }
  Id node_of(Id slot) const noexcept { return node_[at(slot)]; }
  const Amount* amounts(Id slot) const noexcept;  // R: what it uses while it runs
  const Amount* kept(Id slot) const noexcept;     // R: of one that is away; nullptr: nothing
  Time last_start(Id slot) const noexcept { return last_start_[at(slot)]; }
  Time last_progress(Id slot) const noexcept {
    return last_progress_.empty() ? kNoTime : last_progress_[at(slot)];
  }
  // Ties among allocations: canonical rows first, then in the order of starting.
  Id rank(Id slot) const noexcept { return slot; }
  std::span<const Id> on_node(Id node) const noexcept;  // running and leaving; no order

  // Sums of what is held, in quanta; R each.
  const Amount* node_used(Id node) const noexcept { return row(node_used_, node); }
  const Amount* node_left(Id node) const noexcept { return row(node_left_, node); }
  // On all nodes and on none: for what is counted for the cluster.
  const Amount* all_left() const noexcept { return all_left_.data(); }
  const Amount* node_capacity(Id node) const noexcept { return row(capacity_, node); }
  const Amount* operation_usage(Id operation) const noexcept { return row(usage_, operation); }
  const Amount* pool_usage(Id pool) const noexcept { return row(pool_usage_, pool); }
  bool schedulable(Id node) const noexcept { return schedulable_[at(node)] != 0; }
  std::span<const Leaving> leaving() const noexcept { return leaving_; }
  bool has_leaving(Id node) const noexcept { return leaving_on_[at(node)] != 0; }
  const Leaving* leaving_at(Id slot) const noexcept {
    return leaving(slot) && at(slot) < leaving_place_.size() && leaving_place_[at(slot)] != kNoId
               ? &leaving_[at(leaving_place_[at(slot)])]
               : nullptr;
  }

  Index pending(Id request) const noexcept { return pending_[at(request)]; }
  // Demand of every operation, O x R: its usage and what its requests still want,
  // beside what the snapshot says it wants on top of its rows.
  std::vector<Amount> demand() const;

  // Deltas. Their conditions are the caller's to keep: see each.
  void advance(Time now);
  Id start(Id operation, Id node, std::span<const Amount> amounts, Time time);
  Id start_request(Id request, Id node);           // one of its count; it waits one less
  void end(Id slot);                               // not of one that has ended
  void preempt(Id slot, Beneficiary beneficiary);  // of one that holds

  // A victim is suspended: it keeps `held`, at most what it has; all else is free.
  // Of one that holds or is leaving.
  void suspend(Id slot, std::span<const Amount> held);
  // It runs again with all its amounts. Of one that is away.
  void resume(Id slot, Id node, Time time);

  // Hands room of a leaving allocation to its beneficiary.
  void take_room(Id slot, std::span<const Amount> amounts);
  void touch(Id slot, Time last_start, Time last_progress);  // a job started, or saved
  void resize(Id slot, std::span<const Amount> amounts);     // of one that holds
  void set_pending(Id request, Index count);
  void set_capacity(Id node, std::span<const Amount> amounts);
  void set_schedulable(Id node, bool schedulable);

  // Journal: undo(mark()) leaves everything as it was at the mark. Without a mark
  // nothing is recorded.
  struct Mark {
    std::size_t entries;
  };
  Mark mark();
  void undo(Mark mark);
  void forget();  // keeps what is, drops the journal

  // Operations and nodes that a delta touched since the last call, ascending.
  struct Dirty {
    std::vector<Id> operations, nodes;
  };
  Dirty take_dirty();

  std::size_t memory_bytes() const noexcept;

 private:
  enum class Phase : std::uint8_t { kRuns, kStopped, kLeaves, kAway, kGone };
  struct Change;

  static std::size_t at(Id id) noexcept { return static_cast<std::size_t>(id); }
  const Amount* row(const std::vector<Amount>& matrix, Id i) const noexcept {
    return matrix.data() + at(i) * width_;
  }
  Amount* row(std::vector<Amount>& matrix, Id i) noexcept { return matrix.data() + at(i) * width_; }

  void add_usage(Id slot, const Amount* amount, Amount sign);
  void add_usage(Id slot, Amount sign) { add_usage(slot, amounts(slot), sign); }
  void put_on_node(Id node, Id slot);
  void take_off_node(Id node, Id slot);
  void add_left(Id slot, const Amount* amounts, Amount sign);
  void leave(const Leaving& leaving);
  Leaving drop_leaving(Id slot);
  Leaving* leaving_of(Id slot) noexcept;
  void soil(Id operation, Id node);
  void own_amounts();
  void own_held();
  template <class Undo>
  void record(Undo undo) {
    if (recording_) journal_.push_back(undo());
  }
  void revert(const Change& change);

  struct NodeList {
    Index begin = 0;
    std::int32_t size = 0, capacity = 0;
  };

  Snapshot snapshot_;
  std::size_t width_;
  Time now_;
  Index first_new_;
  std::vector<Id> operation_, node_;
  std::vector<Phase> phase_;
  std::vector<Time> last_start_, last_progress_;  // the second may be empty
  bool owns_amounts_ = false;
  std::vector<Amount> amounts_;  // of new slots; of all once a size has changed
  bool owns_held_ = false;
  std::vector<Amount> held_;  // of all slots, once one has been suspended
  std::vector<Amount> all_left_, node_used_, node_left_, capacity_, usage_, pool_usage_;
  std::vector<std::uint8_t> schedulable_;
  std::vector<Index> pending_;
  std::vector<Amount> wanted_besides_;  // O x R: demand that no row stands for
  std::vector<NodeList> lists_;
  std::vector<Id> list_items_;
  std::vector<Leaving> leaving_;
  std::vector<Id> leaving_place_;         // slot -> place in leaving_; as long as needed
  std::vector<std::int32_t> leaving_on_;  // per node
  std::vector<std::uint8_t> operation_dirty_, node_dirty_;
  std::vector<Id> dirty_operations_, dirty_nodes_;
  bool recording_ = false;
  std::vector<Change> journal_;
};

// One entry of the journal: what to put back.
struct ClusterState::Change {
  enum class Kind : std::uint8_t {
    kNow,
    kStart,
    kEnd,
    kPreempt,
    kSuspend,
    kResume,
    kTakeRoom,
    kTouch,
    kResize,
    kPending,
    kCapacity,
    kSchedulable
  };
  Kind kind;
  Id row = kNoId;
  std::int64_t first = 0, second = 0;
  std::vector<Amount> amounts;
  Leaving leaving;
};

}  // namespace evenhand
