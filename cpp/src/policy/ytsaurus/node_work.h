// The node that a heartbeat is about: its room, what could leave, what is chosen.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "evenhand/policy/ytsaurus/workspace.h"

namespace evenhand::ytsaurus {

class NodeWork {
 public:
  struct Why {
    Stage stage;
    Reason reason;
    Time grace = 0;
    Id step = 0;
    Beneficiary beneficiary{};
    Id violated = kNoId;
    const Amount* needed = nullptr;
  };
  struct Repair {
    Id slot, violated;
  };
  using Amounts = std::array<Amount, kMaxResources>;
  // Room that leaves for a request, or for any of an operation.
  struct Promise {
    Beneficiary beneficiary;
    Amounts amounts;
  };

  NodeWork(Workspace& workspace, Id node);

  const Amount* need(Id request) const noexcept {
    return workspace_.shapes().amounts(workspace_.shapes().of(request));
  }
  const Amount* least_room(Id request) const noexcept {
    return workspace_.shapes().least_room(workspace_.shapes().of(request));
  }
  Id operation_of(Id request) const noexcept {
    return workspace_.state.operation_of_request(request);
  }
  Id next_step() noexcept { return workspace_.steps++; }
  Id node() const noexcept { return node_; }
  Id last_started() const noexcept { return last_started_; }  // request; kNoId: none yet

  // Free for any request, R: neither used nor leaving. Negative where the node has more than it
  // should, or work overlaps with what leaves.
  const Amount* room() const noexcept { return room_.data(); }
  bool has_promises() const noexcept { return !promises_.empty(); }
  std::span<const Promise> promises() const noexcept { return promises_; }
  bool fits_with_promise(Id request) const;

  // Preemptible allocations of graceful operations that the pace does not spare, as they are
  // wanted.
  Column<Id> graceful_victims();

  // --- a preemptive stage
  void collect_eligible(const StageRule& rule, std::span<const Id> but = {});
  // With all that some candidate may take; what it may take itself can be less.
  const Amount* room_with_victims() const noexcept { return room_with_victims_.data(); }
  bool fits_with_promise_and_victims(Id request) const {
    return fits_with_promise_and(room_with_victims_, request);
  }
  // The same as if nothing were spared by the pace.
  const Amount* room_with_spared() const noexcept { return room_with_spared_.data(); }
  bool fits_with_promise_and_spared(Id request) const {
    return fits_with_promise_and(room_with_spared_, request);
  }
  // Why the pace spares an allocation from a stage that could take it otherwise; nullptr: it does
  // not. The first in canonical order of those that it spares.
  const Spared* spared(Id slot, Stage stage) const noexcept;
  const Spared* first_spared() const noexcept;
  // Some room, and what leaves for the request.
  Amounts with_promise(const Amount* room, Id request) const;
  // Victims for a request that fits with all of them; false if a rule of the stage
  // forbids it after all.
  bool choose(const StageRule& rule, Id request);
  std::span<const Id> chosen() const noexcept { return chosen_; }
  const SelectionProof& proof() const noexcept { return proof_; }     // of chosen()
  std::span<const Id> looked_at() const noexcept { return wanted_; }  // for chosen(), in order
  std::size_t candidates() const noexcept { return candidates_; }     // of the stage
  enum class FullHost : std::uint8_t { kAllowed, kBeyondFairShare, kOccupied, kPenalty };
  FullHost full_host(Id request) const;  // with the chosen victims
  // Repairs violated limits with what the stage may take.
  void repair_in_stage();

  // --- repair
  std::vector<Repair> limit_repairs();
  bool overcommitted() const;
  Column<Id> beyond_capacity();

  // --- decisions
  void victim(Id slot, const Why& why);
  void start(Id request, const Why& why);

 private:
  // Work that a pool shields from all but its own members (older revisions).
  struct Shielded {
    Id slot, pool;
  };

  void refresh_room();
  void hand_over(Id request);
  Amounts promised(Id request) const;
  Amounts room_for(Id request) const;  // free, and promised to it
  bool is_promised_to(const Beneficiary& b, Id request) const;
  bool fits_with_promise_and(const Amounts& room, Id request) const;
  bool is_spared(Id slot);
  // It runs; what an earlier heartbeat of this plan started will, and has no name yet.
  bool can_be_asked(Id slot) const {
    return workspace_.state.running(slot) && std::ranges::find(begun_, slot) == begun_.end();
  }
  bool choose_without(const StageRule& rule, Id request, const WithinCaps& caps);
  void write_question(std::span<const Amount> shortage);
  static bool less_wanted(const Workspace::Wanted& a, const Workspace::Wanted& b) noexcept;
  Workspace::Wanted wanted(Id slot, bool idle_cpu_first = true) const;
  void sort_as_wanted(Column<Id>& slots, bool idle_cpu_first = true) const;

  Amount running_gpus(Id slot) const;
  Time began(Id slot) const;
  bool is_protected(Id slot) const;

  Workspace& workspace_;
  Id node_;
  std::size_t width_;
  Id last_started_ = kNoId;
  Amounts room_{}, room_with_victims_{}, room_with_spared_{};
  std::vector<Promise> promises_;
  Column<Id> begun_;  // here, by earlier heartbeats of this plan
  Column<Id> eligible_, chosen_, wanted_;
  Column<Id> spared_eligible_;                            // by the pace alone
  std::vector<std::pair<Id, Spared>> spared_, left_out_;  // by themselves; beyond caps
  Stage spared_from_ = Stage::kRegular;                   // spared_: the stage that it is of
  SelectionProof proof_;
  std::vector<Shielded> shielded_;
  std::size_t candidates_ = 0;
};

}  // namespace evenhand::ytsaurus
