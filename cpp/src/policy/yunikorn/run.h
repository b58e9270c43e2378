// What both kinds of runs share: queues and rooms as they change, and what is decided.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "partition.h"

namespace evenhand::yunikorn {

// A candidate that was looked at for an ask, and what became of it.
struct Looked {
  Id request = kNoId;
  Outcome outcome = Outcome::kNotChosen;
  Spared spared{};
};

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

class Run {
 public:
  Run(const ClusterState& state, Partition& partition, const Inputs& inputs, AskMemory& asks,
      Pace& pace, Recorder* recorder);

  bool tells = true;  // what the node that lacks least lacks
  Decisions decisions;
  Tally tally;
  std::vector<ClusterState::TakenRoom> handed;

  Refusals refusals() const;
  // Takes up what another run of the same state has decided; that one is over.
  void continue_from(Run& before);
  const ClusterState& state() const noexcept { return state_; }

 protected:
  using Size = std::size_t;

  struct Reservation {  // a hard one, of an ask
    Id request, row, node;
    Size place;         // in canonical order
    bool used = false;  // its room was given back
  };

  const Amount* need(Id request) const noexcept {
    return state_.requests().get_row(&RequestColumns::resources, request);
  }
  Id leaf_of(Id request) const noexcept {
    return part_.leaf_of_pool[state_.pool_of(state_.operation_of_request(request))];
  }
  // Below all maxima, beside what still leaves.
  bool has_headroom(Id request) const { return without_headroom(request) == kNoId; }
  Id without_headroom(Id request) const;  // the first queue that is short of it; kNoId: none
  // The first node where it fits as things are; kNoId: none, and why in `why_`.
  Id free_node(Id request);
  void add_usage(Id queue, const Amount* by, Amount sign);
  // Room of what leaves for the ask already, and what is reserved for it, is its own while it is
  // looked at. Returns whether there is any.
  bool credit(Id request, Amount sign);
  // Calls `visit` with the place in `state_.leaving()` of what leaves for an ask.
  template <class Visit>
  void each_leaving_for(Id request, Visit&& visit) const {
    const Id operation = state_.operation_of_request(request);
    auto one = std::ranges::lower_bound(leaving_for_, operation, {}, &LeavingFor::operation);
    for (; one != leaving_for_.end() && one->operation == operation; ++one) {
      const Id whose = state_.leaving()[one->place].beneficiary.request;
      if (whose == kNoId || whose == request) visit(one->place);
    }
  }
  void start(Id request, Id node, Stage stage, std::span<const Id> victims, Reason reason);
  void hand_over(Id request, Id node, std::span<const Id> victims, Amount* wants);
  void preempt(Id place, Id request, Id node, Stage stage, Reason reason);
  void reserve(Id request, Id node, Stage stage);
  void release(Id request, Id node, Stage stage);
  void fail(Id request, Outcome why);
  void record(Id request, Outcome why, Id node = kNoId);  // where it lacked least
  void record_slot(Id request, Outcome why, Spared spared = {}) {
    record_slot(recorder_->slot, request, why, spared);
  }
  void record_slot(Id slot, Id request, Outcome why, Spared spared);
  // Of what was recorded last, if it is of this request and allocation; else nullptr.
  Facts* last_fact(Id request, Id slot);
  void add_maximum(Facts& facts, Id queue, const Amount* used, const Amount* wants) const;
  // What a queue uses, with an allocation that has just left it.
  Column<Amount> used_before(Id queue, Id place) const;
  // Of some resources; nothing of none.
  template <class Keep>
  void add_amounts(Facts& facts, const char* name, const Amount* row, Keep&& keep) const {
    Column<Amount> out(width_, kUnsaid);
    bool any = false;
    for (Size r = 0; r < width_; ++r) {
      if (!keep(r)) continue;
      out[r] = row[r];
      any = true;
    }
    if (any) facts.amounts.emplace_back(name, std::move(out));
  }
  void add_priorities(Facts& facts, Id place, Id request) const;
  void room_at(Id node);
  // Whether an ask may stand on every node, as far as tags and predicates say.
  bool anywhere(Id request) const {
    return Where::anywhere(state_, request) && at_or(rows_.predicate_of, request, kNoId) == kNoId;
  }
  // Why it may not stand on a node, whatever leaves; kStarted: it may.
  Outcome barred(Id request, Id node);
  bool may_stand(Id request, Id node) { return barred(request, node) == Outcome::kStarted; }
  std::span<Reservation> reserved_of(Id request);
  const Amount* kept(const Reservation& one) const noexcept {
    return state_.reservations().get_row(&ReservationColumns::resources, one.row);
  }
  void give_back(Reservation& one);  // its room is free
  void room_grew();
  void take_room(const Amount* amounts, Id node) {
    rooms_.take(amounts, node);
    taken_at_[node] = steps_;
  }
  // From here on it is known what may be a victim.
  void list_victims() {
    part_.list(state_, set_, rows_);
    taken_.resize(part_.slot.size(), 0);
  }
  Id watched() const noexcept { return recorder_ == nullptr ? kNoId : recorder_->slot; }
  bool records_taken(Id slot) const noexcept {
    return recorder_ != nullptr && (recorder_->all_taken || recorder_->slot == slot);
  }

  const ClusterState& state_;
  Partition& part_;
  const Settings& set_;
  const RowSettings& rows_;
  AskMemory& asks_;
  Pace& pace_;
  Recorder* recorder_;
  Size width_;
  Column<Amount> usage_, leaving_;  // Q x R
  Rooms rooms_;
  Where where_;
  Column<Index> pending_;                  // of requests
  Column<std::uint8_t> taken_;             // places
  Column<Outcome> outcome_;                // of requests that still wait
  Column<Amount> missing_;                 // Q x R of requests, on the best node
  Column<Index> places_;                   // of requests: where they may stand; -1: anywhere
  Column<Amount> left_;                    // room of `state_.leaving()` that is not taken: n x R
  std::vector<Reservation> reservations_;  // by ask
  Column<Amount> scratch_;
  Id steps_ = 0;
  Outcome why_ = Outcome::kNoFreeRoom;
  bool credited_ = false;  // the ask that is looked at

 private:
  void see_rooms();
  Id nearest(Id request, bool anywhere);

  struct LeavingFor {
    Id operation;
    Index rank;
    Size place;  // in `state_.leaving()`
    auto operator<=>(const LeavingFor&) const = default;
  };
  std::vector<LeavingFor> leaving_for_;  // in order
  Column<Id> handed_of_;                 // of `state_.leaving()`: place in `handed`
  // Of asks of the same amounts: the first node that may have room, and the one that lacks least,
  // as of a step. Free room only shrinks in a run, but where a reservation is given back.
  Column<Amount> most_free_;    // R
  Column<Size> roomy_, blank_;  // in `part_.nodes`: with room of something when last seen, or none
  Column<Size> first_;
  Column<Id> nearest_;
  Column<Id> nearest_at_, taken_at_;  // steps; the latter of nodes
};

}  // namespace evenhand::yunikorn
