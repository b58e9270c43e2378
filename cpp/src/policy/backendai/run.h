// One scheduling run over the queue of a resource group.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "evenhand/place/in_order.h"
#include "evenhand/place/rooms.h"
#include "evenhand/place/where.h"
#include "evenhand/policy/backendai/planner.h"
#include "evenhand/preempt/pace.h"
#include "evenhand/preempt/recorder.h"
#include "evenhand/preempt/victim_sets.h"

namespace evenhand::backendai {

// What of a session is to be placed: a request, so many times, or a suspended allocation.
struct Unit {
  Id request = kNoId, slot = kNoId;
  Index count = 1;
  const Amount* need = nullptr;
  Id only_node = kNoId;  // of a suspended allocation
};

struct Placement {
  std::size_t unit;
  Id node;
};

// A session in the queue.
struct Entry {
  Id operation = kNoId;
  bool suspended = false;
  double sequence = 0;  // of equal priority the smaller one first, then the earlier
  Time since = 0;
  std::vector<Unit> units;
  Outcome outcome = Outcome::kBehindFirstWaiting;
  Id failed = kNoId;       // the request that found no place
  Index nodes = 0;         // on which it might run
  Column<Amount> missing;  // R, on the best of them
  Spared spared{};         // why the first victim is spared that could make room for it
  Id ahead = kNoId;        // the session before it that holds it up
};

// A running session that might be preempted.
struct Candidate {
  Id operation = kNoId;
  Time start = 0;        // of its earliest allocation
  Time end = kNoTime;    // planned, of its last one; kNoTime: unknown of some
  double key = 0;        // by size; the smaller first
  Column<Id> slots;      // running
  bool claimed = false;  // by an earlier session of this run
};

// What became of every session when one looked for victims.
struct Attempt {
  Id operation = kNoId, request = kNoId;
  Column<Outcome> verdict;  // O
  Column<Spared> spared{};  // O: by the pace; empty: none is
  Column<Index> place{};    // O: among the candidates in their order, from 1; 0: it is none
  Column<Index> among{};    // O: of how many
  Column<Id> nodes{};       // where the session is to be placed
};

class Run {
 public:
  Run(const Inputs& inputs, const ClusterState& state, Pace& pace, bool record);

  void go();
  Refusals refusals() const;
  // What the recorder's request or allocation met.
  void report(Recorder& recorder) const;
  // What became of one request of a session.
  Outcome outcome(const Entry& entry, Id request) const noexcept;

  Decisions decisions;
  Tally tally;
  std::vector<Entry> queue;
  std::vector<Attempt> attempts;  // filled when recording
  // From when on it may differ, if nothing happens: a session has run long enough, or what is
  // reserved begins or ends.
  Time next_due = kNoTime;

  const ClusterState& state() const noexcept { return state_; }

 private:
  using Size = std::size_t;
  static constexpr Size kNone = static_cast<Size>(-1);
  const ResourceSpace& resources() const noexcept { return state_.tables().resources; }
  OperationKind kind(Id operation) const noexcept {
    return state_.operations().get(&OperationColumns::kind, operation);
  }
  Index rank(Id operation) const noexcept { return state_.operations().keys().rank(operation); }
  Column<Id> slots(Id operation) const {
    return in_order(state_.allocations(), state_.allocations_of(operation));
  }

  // queue.cpp
  void read_priorities();
  void read_nodes();
  void read_reservations();
  void due(Time instant) {
    if (instant > state_.now() && (next_due == kNoTime || instant < next_due)) next_due = instant;
  }
  Id scope_of(Id operation) const;
  Time submitted(Id operation) const;
  Column<Amount> total() const;
  Column<double> sequence() const;  // O: of equal priority the smaller one first
  void build_queue();
  std::vector<Unit> waiting_units(Id operation) const;
  std::vector<Unit> suspended_units(Id operation);

  // placing.cpp
  Place why_not(const Unit& unit, Id node) const;
  bool may_run(const Unit& unit, Id node) const;  // whatever stands there
  bool takes_one_more(Id node) const;
  bool allowed(const Unit& unit, Id node) const;          // both
  Id choose_node(const Unit& unit, Size from = 0) const;  // a place among nodes_
  bool better_agent(Id a, Id b) const;
  // All of a session or nothing: takes room and containers for what it adds to placed_.
  bool place(const Entry& entry, Entry* failed = nullptr);
  void unplace(const Entry& entry);
  void nearest(const Unit& unit, Entry& entry) const;
  // Why a unit, or the first such unit of a session, can run nowhere; kStarted: it can.
  Outcome barred(const Unit& unit) const;
  Outcome barred(Entry& entry) const;

  // credits.cpp: room that is a session's alone
  void credit_reserved(Id operation, Amount sign);
  void add_leaving(Rooms& to, const Leaving& leaving, Amount sign) const;
  void credit_leaving(Id operation, Amount sign);
  bool serves(Id reservation, const Unit& unit) const;
  // One more Placement for all that the session wants; false: not all has reservations.
  struct Due;
  bool reserved_places(const Entry& entry, const Column<Column<Id>>& of_request, Due& due) const;
  void admit_reserved();

  // candidates.cpp
  void build_candidates();
  const Amount* freed(Id slot) const;
  const Amount* kept(Id slot) const;
  Mode mode_of(Id operation) const;
  double units_of(const Amount* amounts) const;
  Outcome verdict(const Candidate& candidate, Id operation) const;
  // But for those that the pace spares.
  Column<Candidate*> candidates_for(Id operation, Attempt* attempt);
  bool within_caps(WithinCaps& caps, const Column<Candidate*>& victims, const SelectionProof& proof,
                   Attempt* attempt) const;
  Outcome unless_spared(Entry& entry, Outcome otherwise);
  void sort(Column<Candidate*>& candidates) const;
  static void note_places(Attempt* attempt, const Column<Candidate*>& sorted);
  void give(const Candidate& candidate, Amount sign);
  Index cost_of(const Candidate& c) const {
    return VictimCosts{set_.victim_cost, rows_.preemption_cost, in_parts_}.of(state_, c.operation,
                                                                              c.slots);
  }

  // group_wide.cpp, per_agent.cpp: victims for a session that does not fit
  Outcome preempt_group_wide(Entry& entry, Attempt* attempt);
  bool is_wide(Size r) const noexcept { return resources().scope[r] == ResourceScope::kCluster; }
  bool useful_on(const Candidate& candidate, const Entry& entry,
                 const Column<std::uint8_t>& usable) const;
  double shortfall_covered(const Candidate& candidate, const Entry& entry) const;
  VictimSet choose(const Entry& entry, const Column<Candidate*>& candidates,
                   const Column<std::uint8_t>& usable, Index budget, MinimumQuestion* written);

  SpreadNeed spread(const Unit& unit, const Column<Candidate*>& candidates) const;

  Outcome preempt_per_agent(Entry& entry, Attempt* attempt);
  // Victims for a session on the agents that are chosen for it; containers of `placed` are counted.
  struct Agents {
    bool fits = false;
    Column<Candidate*> victims{}, left{};
    Column<Size> taken_for{};  // of each victim
    std::vector<Placement> placed{};
    SelectionProof proof{};  // for each copy on the agent that is chosen for it
  };
  Agents on_agents(Entry& entry, Column<Candidate*> left, Index budget, Attempt* attempt,
                   MinimumQuestion* written);
  Column<Candidate*> collect(const Unit& unit, Id node, Column<Candidate*> left, Index budget,
                             MinimumQuestion* written = nullptr);
  void mark_spared(Attempt* attempt, const Column<Candidate*>& candidates,
                   const VictimSet& set) const;

  // kStarted: it may preempt.
  Outcome may_preempt(const Entry& entry, bool front) const;
  Outcome preempt(Entry& entry, Outcome may);

  // run.cpp: decisions
  void start(Entry& entry, Reason reason);
  // For which unit each of them is taken: `units`, or empty: whatever will stand there.
  void take_victims(const Entry& entry, std::span<Candidate* const> victims,
                    std::span<const std::size_t> units);
  void reserve(const Entry& entry);
  void add(Decision decision, const DecisionAmounts& amounts);
  void room_at(Id node);  // into scratch_
  // All that `placed_` takes there and what is freed can serve; nullptr: nothing.
  const Amount* needed_at(const Entry& entry, Id node, const Amount* freed);

  // notes.cpp
  void report_taken(Recorder& recorder) const;
  void report_waiting(Recorder& recorder, const Entry& entry, Outcome outcome) const;
  void report_running(Recorder& recorder, Id operation, const Attempt& attempt) const;
  void note_until(Facts& facts, const Spared& spared) const;
  void note_tie(Facts& facts, const Entry& before, const Entry& entry) const;
  void note_state(Facts& facts, Id slot, Outcome outcome) const;
  void note_lack(Facts& facts, Id slot) const;

  Pace& pace_;
  const Settings& set_;
  const RowSettings& rows_;
  bool record_;
  const ClusterState& state_;
  Size width_;
  Column<Id> nodes_, operations_;  // that there are, in canonical order
  Column<Size> place_;             // N: in nodes_
  Rooms rooms_;
  Column<Amount> in_parts_;  // N x R: what logical nodes have of a machine; empty: nothing
  mutable Where where_;
  Column<double> priority_, rank_;  // O: of the queue; which may preempt which
  Column<Index> containers_;        // N
  std::vector<Placement> placed_;   // of the session at hand
  Column<Amount> needs_;            // of suspended allocations: S x R, empty without any
  Column<Amount> freed_, kept_;     // S x R; empty: everything is freed
  std::vector<Candidate> candidates_;
  Column<Outcome> no_candidate_;   // O: why not; kTaken: it is one
  Column<std::uint8_t> admitted_;  // O: has reservations for all that it waits for
  VictimSelector selector_;
  std::optional<Rooms> then_;  // once the victims of a session have gone and it has started
  Column<Amount> scratch_, needed_;
  Column<Id> collected_;  // the last candidates of `collect` in their order; when recording
  Size blocker_ = kNone;  // its place in the queue: holds up the sessions behind it
  Id steps_ = 0;
};

}  // namespace evenhand::backendai
