// The one mutable form of a scheduling domain: what runs where and how much of it,
// changed by deltas that can be undone.
//
// A state starts as the rows of a snapshot, which it shares. Rows that come later stand
// behind them: operations, requests, nodes and reservations in their tables, allocations
// in slots. Sums of usage (nodes, operations, pools) are integers and exact whatever the
// history. Row numbers are storage, never an order: ties go by `rank`. A row that has gone
// leaves its number free for another one, but only when the owner says so (`reclaim`).
//
// Room. What a node's leaving allocations have is not free until they have gone,
// but for the operation and request they leave for: `left` holds the part that
// their beneficiary has not taken yet.
//
// A delta costs O(R x depth), one that writes a row O(cells of the row) beside; undo the
// same. Once, the first that removes a row with reservations looks at all of these. Copying is
// O(allocations).
#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "evenhand/core/column.h"
#include "evenhand/model/live_table.h"
#include "evenhand/model/row_lists.h"
#include "evenhand/model/snapshot.h"

namespace evenhand {

// Beneficiary of a leaving allocation: a request of an operation, or any of it (request kNoId).
struct Beneficiary {
  Id operation = kNoId, request = kNoId;
  friend bool operator==(const Beneficiary&, const Beneficiary&) = default;
};

// An allocation that has been asked to leave.
struct Leaving {
  Id slot = kNoId;
  Beneficiary beneficiary;
  std::array<Amount, kMaxResources> left{};  // room that its beneficiary has not taken
};

// What the row of an allocation says of its leaving; texts are names, empty: none.
struct Departure {
  Time start_time = 0, deadline = kNoTime;
  std::string_view operation, request;
};

class ClusterState {
 public:
  enum class Table : std::uint8_t { kOperations, kNodes, kAllocations, kRequests, kReservations };

  // For each in-flight allocation of the tables, room its beneficiary took already.
  struct TakenRoom {
    Id allocation;
    Column<Amount> amounts;
  };

  explicit ClusterState(Snapshot snapshot, std::span<const TakenRoom> taken = {});

  // The snapshot's own rows, as they were.
  const Tables& tables() const noexcept { return snapshot_.tables(); }
  const Snapshot& snapshot() const noexcept { return snapshot_; }
  std::size_t width() const noexcept { return width_; }
  Time now() const noexcept { return now_; }

  // Cells of the rows that there are. Those that deltas change are below: they are what
  // counts where a column has them too.
  const PoolColumns& pools() const noexcept { return tables().pools; }
  const LiveTable<OperationColumns>& operations() const noexcept { return operations_; }
  const LiveTable<NodeColumns>& nodes() const noexcept { return nodes_; }
  const LiveTable<AllocationColumns>& allocations() const noexcept { return allocations_; }
  const LiveTable<RequestColumns>& requests() const noexcept { return requests_; }
  const LiveTable<ReservationColumns>& reservations() const noexcept { return reservations_; }
  Id pool_of(Id operation) const noexcept { return pool_[operation]; }
  Id operation_of_request(Id request) const noexcept { return asking_[request]; }
  // No order within a group; of allocations, those that have not ended.
  std::span<const Id> allocations_of(Id operation) const noexcept {
    return operation_allocations_.of(operation);
  }
  std::span<const Id> requests_of(Id operation) const noexcept {
    return operation_requests_.of(operation);
  }

  // Allocations.
  Index slots() const noexcept { return operation_.rows(); }
  bool running(Id slot) const noexcept { return phase_[slot] == Phase::kRuns; }
  // Running, or stopped by a person and keeping all it has.
  bool holds(Id slot) const noexcept { return phase_[slot] <= Phase::kStopped; }
  bool leaving(Id slot) const noexcept { return phase_[slot] == Phase::kLeaves; }
  bool gone(Id slot) const noexcept { return phase_[slot] >= Phase::kAway; }
  // Preempted by the engine; what it keeps counts until it ends.
  bool away(Id slot) const noexcept { return phase_[slot] == Phase::kAway; }
  Id operation_of(Id slot) const noexcept { return operation_[slot]; }
  Id node_of(Id slot) const noexcept { return node_[slot]; }
  const Amount* amounts(Id slot) const noexcept;  // R: what it uses while it runs
  const Amount* kept(Id slot) const noexcept;     // R: of one that is away; nullptr: nothing
  Time last_start(Id slot) const noexcept { return last_start_[slot]; }
  Time last_progress(Id slot) const noexcept {
    return last_progress_.empty() ? kNoTime : last_progress_[slot];
  }
  // Ties among allocations: in canonical order, those without a name behind all others in
  // the order of starting.
  Index rank(Id slot) const noexcept { return allocations_.keys().rank(slot); }
  // Running and leaving; no order.
  std::span<const Id> on_node(Id node) const noexcept { return on_node_.of(node); }

  // Sums of what is held, in quanta; R each.
  const Amount* node_used(Id node) const noexcept { return row(node_used_, node); }
  const Amount* node_left(Id node) const noexcept { return row(node_left_, node); }
  // On all nodes and on none: for what is counted for the cluster.
  const Amount* all_left() const noexcept { return all_left_.data(); }
  const Amount* node_capacity(Id node) const noexcept { return row(capacity_, node); }
  const Amount* operation_usage(Id operation) const noexcept { return row(usage_, operation); }
  const Amount* pool_usage(Id pool) const noexcept { return row(pool_usage_, pool); }
  bool schedulable(Id node) const noexcept { return schedulable_[node] != 0; }
  std::span<const Leaving> leaving() const noexcept { return leaving_; }
  bool has_leaving(Id node) const noexcept { return leaving_on_[node] != 0; }
  const Leaving* leaving_at(Id slot) const noexcept {
    return leaving(slot) && slot < leaving_place_.rows() && leaving_place_[slot] != kNoId
               ? &leaving_[leaving_place_[slot]]
               : nullptr;
  }

  Index pending(Id request) const noexcept { return pending_[request]; }
  // Demand of every operation, O x R: its usage and what its requests still want,
  // beside what the snapshot says it wants on top of its rows.
  Column<Amount> demand() const;
  void demand(Id operation, Amount* sum) const;  // of one, R
  // What there is to share, R: the snapshot's, or from `follow_total` on what the schedulable
  // nodes have.
  const Column<Amount>& total() const noexcept { return total_.empty() ? tables().total : total_; }
  void follow_total();  // O(nodes) when it is first called
  // Whether it says itself what it uses or wants, and no row stands for it.
  bool stated(Id operation) const noexcept;
  // What all allocations have, all requests want and all operations state; R. Counted in
  // O(rows) when it is first asked for, and followed from then on.
  const Column<Amount>& asked() const;
  const Column<Amount>& offered() const;   // what all nodes have; likewise
  const Column<Amount>& reserved() const;  // what all reservations keep; likewise
  // Rows that refer to a node: allocations on it, what needs it, reservations. Likewise.
  Index referring(Id node) const;
  // Reservations for a request, in canonical order. Listed in O(reservations) when they are
  // first asked for, and followed from then on.
  Column<Id> reserved_for(Id request);

  // Deltas. Their conditions are the caller's to keep: see each.
  void advance(Time now);
  Id start(Id operation, Id node, std::span<const Amount> amounts, Time time);
  Id start_request(Id request, Id node);  // one of its count; it waits one less
  void end(Id slot);                      // not of one that has ended
  // It leaves. `held`: what it will keep once it is suspended, at most what it has; empty: what
  // was said of that before. Of one that holds.
  void preempt(Id slot, Beneficiary beneficiary, std::span<const Amount> held = {});

  // A victim is suspended: it keeps `held`, at most what it has; all else is free.
  // Of one that holds or is leaving.
  void suspend(Id slot, std::span<const Amount> held);
  // It runs again with all its amounts. Of one that is away.
  void resume(Id slot, Id node, Time time);

  // Hands room of a leaving allocation to its beneficiary.
  void take_room(Id slot, std::span<const Amount> amounts);
  void set_taken(Id slot, std::span<const Amount> amounts);  // so much altogether
  void touch(Id slot, Time last_start, Time last_progress);  // a job started, or saved
  void resize(Id slot, std::span<const Amount> amounts);     // of one that holds
  void set_pending(Id request, Index count);
  void set_capacity(Id node, std::span<const Amount> amounts);
  void set_schedulable(Id node, bool schedulable);

  // Rows. `from` has the cells and the name, references are rows of this state; `note` is
  // the owner's (LiveTable::note). `old`: the row that it takes the place of, which keeps
  // its number and what refers to it; its name and `order` are the same. What an operation
  // uses and wants stays what its rows do, or what was stated before.
  Id put_operation(const OperationColumns& from, Id row, Id pool, Index note, Id old = kNoId);
  // What one that has no rows says of itself: its usage, and what it wants on top.
  void set_stated(Id operation, std::span<const Amount> usage, std::span<const Amount> besides);
  void remove_operation(Id operation);  // that no row refers to
  Id put_request(const RequestColumns& from, Id row, Id operation, Id required_node, Index note,
                 Id old = kNoId);
  void remove_request(Id request);  // reservations for it go too
  Id put_node(const NodeColumns& from, Id row, Index note, Id old = kNoId);
  void remove_node(Id node);  // that no row refers to
  Id start_row(const AllocationColumns& from, Id row, Id operation, Id node, Id required_node,
               Time time, Time last_start, Index note,              // it runs from `time` on,
               AllocationState state = AllocationState::kRunning);  // or is in this state
  Id reserve(const ReservationColumns& from, Id row, Id request, Id allocation, Id node,
             Index note);
  void release(Id reservation);
  void set_departure(Id slot, const Departure& departure);  // of one that has not ended
  void set_priority(Id slot, double priority, bool given);
  void set_preemptible(Id slot, bool preemptible);
  void set_note(Id slot, Index note);
  // What its request says of one that has just started from it, and when it will end.
  // It started then, by default at its last start.
  void set_started(Id slot, Id request, Time planned_end, Time start = kNoTime);
  void set_planned_end(Id slot, Time planned_end);
  void set_name(Id slot, std::string_view name);  // of one that has none
  void set_deadline(Id slot, Time deadline);  // of one that is leaving; for whom it leaves stays

  // Numbers of rows that have gone are free from here on: for owners that keep none of
  // them. Nothing is done while a journal is kept.
  void reclaim();

  // The rows as tables in canonical order: what build() makes of them. The total follows
  // the nodes unless it is stated. O(cells), and O(n log n) for texts.
  struct Sources {  // the row of this state for each row of the tables
    Column<Id> operations, nodes, allocations, requests, reservations;
  };
  Tables frozen(bool total_stated, Sources* sources = nullptr) const;

  // Journal: undo(mark()) leaves everything as it was at the mark. Without a mark
  // nothing is recorded.
  struct Mark {
    std::size_t entries;
    bool first = false;  // nothing was recorded before it
  };
  Mark mark();
  void undo(Mark mark);
  void take_back(Mark mark);  // undo, of a trial: records on only if it did before the mark
  void forget();              // keeps what is, drops the journal

  std::size_t memory_bytes() const noexcept;

 private:
  enum class Phase : std::uint8_t { kRuns, kStopped, kLeaves, kAway, kGone };
  struct Change;

  const Amount* row(const Column<Amount>& matrix, Id i) const noexcept {
    return matrix.row(i, width_);
  }
  Amount* row(Column<Amount>& matrix, Id i) noexcept { return matrix.row(i, width_); }

  void add_usage(Id slot, const Amount* amount, Amount sign);
  void add_usage(Id slot, Amount sign) { add_usage(slot, amounts(slot), sign); }
  void add_to_pools(Id operation, const Amount* amount, Amount sign);
  void list(Id slot, bool present);
  void count(Column<Amount>& sums, const Amount* amounts, Index times) const noexcept;
  Id new_slot(Id operation, Id node, const Amount* amounts, Time time, Phase phase = Phase::kRuns);
  void stop(Id slot);
  template <class Columns>
  Id new_row(Table table, LiveTable<Columns>& rows, const Columns& from, Id row);
  void take_back_row(Table table, Id row, bool again);
  template <class Do>
  void with(Table table, Do&& act) {
    switch (table) {
      case Table::kOperations:
        return act(operations_);
      case Table::kNodes:
        return act(nodes_);
      case Table::kAllocations:
        return act(allocations_);
      case Table::kRequests:
        return act(requests_);
      case Table::kReservations:
        return act(reservations_);
    }
  }
  void point(Table table, Id row, Id version);
  void group(Table table, Id row, bool present);
  void remove(Table table, Id row);
  void remove_cells(Id slot);
  void release_for(std::size_t of, Id row);
  void list_reservations();
  void list_reservation(Id reservation, bool present);
  void count_total(Id node, Index times) noexcept;
  template <class Set>
  void change(Id slot, Set&& set);
  void refer(Id node, Index by) noexcept {
    if (!referring_.empty() && node != kNoId) referring_[node] += by;
  }
  void follow_names(Table table, Id row, std::string_view name);
  Beneficiary beneficiary_of(Id slot) const;
  void set_beneficiary(Leaving& leaving, Beneficiary beneficiary);
  void add_left(Id slot, const Amount* amounts, Amount sign);
  void leave(const Leaving& leaving);
  Leaving drop_leaving(Id slot);
  Leaving* leaving_of(Id slot) noexcept;
  void own_amounts();
  void own_held();
  void record(Change change, std::initializer_list<const Amount*> amounts = {},
              const Leaving* leaving = nullptr);
  void revert(const Change& change);

  Snapshot snapshot_;
  std::size_t width_;
  Time now_;
  Index first_new_;
  Column<Id> operation_, node_;
  Column<Phase> phase_;
  Column<Time> last_start_, last_progress_;  // the second may be empty
  bool owns_amounts_ = false;
  Column<Amount> amounts_;  // of new slots; of all once a size has changed
  bool owns_held_ = false;
  Column<Amount> held_;  // of all slots, once one has been suspended
  Column<Amount> all_left_, node_used_, node_left_, capacity_, usage_, pool_usage_;
  Column<std::uint8_t> schedulable_;
  Column<Index> pending_;
  Column<Amount> wanted_besides_;  // O x R: demand that no row stands for
  Column<Id> pool_, asking_;       // of operations and of requests
  RowLists on_node_, operation_allocations_, operation_requests_;
  LiveTable<OperationColumns> operations_;
  LiveTable<NodeColumns> nodes_;
  LiveTable<AllocationColumns> allocations_;
  LiveTable<RequestColumns> requests_;
  LiveTable<ReservationColumns> reservations_;
  std::vector<std::pair<Table, Id>> gone_;             // rows that `reclaim` frees
  mutable Column<Amount> asked_, offered_, reserved_;  // R, once asked for
  mutable Column<Index> referring_;                    // by node, once asked for
  Column<Amount> total_;                               // R, once it follows the nodes
  // Reservations for each request and for each allocation that has some, once asked for.
  std::array<std::unordered_map<Id, Column<Id>>, 2> reserved_for_;
  bool reservations_listed_ = false;
  Column<Leaving> leaving_;
  Column<Id> leaving_place_;         // slot -> place in leaving_; as long as needed
  Column<std::int32_t> leaving_on_;  // per node
  bool recording_ = false;
  std::vector<Change> journal_;
  Column<Amount> journal_amounts_;  // what its entries say of amounts, one behind the other
  std::vector<Leaving> journal_leaving_;
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
    kSchedulable,
    kRow,
    kVersion,
    kStated,
    kBeneficiary
  };
  Kind kind;
  Id row = kNoId;
  std::int64_t first = 0, second = 0;
  std::size_t amounts = 0;  // where the journal's amounts of this entry begin
  bool leaves = false;      // the journal's last leaving allocation belongs to it
};

}  // namespace evenhand
