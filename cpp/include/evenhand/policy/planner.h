// One system's rules over one live cluster, behind one interface for all systems.
//
// `update` computes what holds until the next update, `decide` answers one trigger, `before` and
// `after` follow what happens in the cluster. A one-shot plan is a planner with a ClusterState of
// its own that updates and decides once; planners of a living cluster share its state and follow
// its changes (LiveCluster). One virtual call a trigger, none below it.
//
// What `decide` changes. Systems that are asked node by node (YTsaurus) carry their decisions
// out in the state: the next heartbeat counts on them. In a state that is shared they stand until
// `take_back`. Systems that decide over a whole queue (Slurm, Backend.AI) leave the state as it
// was; at each decision they read of it all, or what has changed since the one before (Slurm).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "evenhand/model/delta.h"
#include "evenhand/preempt/decision.h"
#include "evenhand/preempt/pace.h"
#include "evenhand/preempt/recorder.h"
#include "evenhand/share/fair_share.h"
#include "evenhand/starve/starvation.h"

namespace evenhand {

// What a decision is asked for.
struct Trigger {
  enum class Kind : std::uint8_t {
    kRound,       // a heartbeat of every node in canonical order; or one scheduling run
    kHeartbeats,  // of these nodes in this order
    kCycle,       // one cycle of that name
    kCommands     // what persons ask for, in this order
  };
  // A person's request that some give way to another; jobs by name.
  struct Command {
    std::string consumer;
    std::vector<std::string> providers;
    std::optional<Mode> mode;
    bool force = false, manager = false;
    std::string user;
  };
  Kind kind = Kind::kRound;
  std::span<const Id> nodes{};
  bool main_pass = true, backfill_pass = true;  // of a scheduling run
  Time every = kNoTime;  // the same follows again and again, each so much later; kNoTime: not known
  std::string_view cycle{};
  std::span<const Command> commands{};
  bool tells = true;          // what refusals lack is asked for afterwards
  bool certificates = false;  // what searches for the least cost were asked is written down
};

// The name of a row, be it there or not.
struct RowName {
  std::string text;
  bool is_integer = false;
  friend bool operator==(const RowName&, const RowName&) = default;
};

// A named column: one number a row, or one number a row and resource; or names.
struct NamedColumn {
  const char* name;
  std::variant<Column<double>, Column<std::int64_t>, Column<Id>, Column<std::uint8_t>,
               Column<RowName>>
      values;
  bool by_resource = false;
};
using Columns = std::vector<NamedColumn>;

// Enumerators as the numbers that columns hold.
template <class E>
Column<std::uint8_t> codes(const std::vector<E>& values) {
  Column<std::uint8_t> out;
  out.reserve(values.size());
  for (const E e : values) out.push_back(static_cast<std::uint8_t>(e));
  return out;
}

// How often what came of a try, by "<stage>.<what>".
using Counts = std::vector<std::pair<std::string, Index>>;

// How far the least costly victims were proved, as counts "minimum.*".
inline void put_proof(Counts& counts, const SelectionProof& proof) {
  counts.insert(counts.end(), {{"minimum.cost", proof.cost},
                               {"minimum.lower_bound", proof.lower_bound},
                               {"minimum.proved", static_cast<Index>(proof.proved)},
                               {"minimum.branches", proof.branches}});
}

// When victims were taken, as far as the pace of later ones depends on it.
inline void put_victims(Columns& memory, VictimTimes victims) {
  if (victims.element.empty()) return;
  memory.push_back({"victims_element", std::move(victims.element)});
  memory.push_back({"victims_time", std::move(victims.time)});
}

// Jobs that others are preempted for, and for each a job before it that may take the room first.
struct Contested {
  Column<Id> beneficiary, earlier;
};

// Fair shares of the last update, and the options that they were computed with.
struct SharesView {
  const FairShareResult* result = nullptr;  // nullptr: the system has no fair shares
  FairShareOptions options{};
};

class Planner {
 public:
  virtual ~Planner() = default;
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;

  const ClusterState& state() const noexcept { return state_; }
  // Whether the state is of a living cluster, and whether this still follows it.
  bool shares_state() const noexcept { return shared_; }
  bool follows() const noexcept { return follows_; }
  void leave() noexcept { follows_ = false; }

  // Shares, statuses, queues at an instant, which must not be before the last one. `keep`:
  // intermediate results are kept and make the next update cheaper.
  virtual void update(Time now, bool keep) = 0;
  // Answers a trigger, after an update. What the trigger before decided is dropped. A recorder
  // changes no decision.
  virtual void decide(const Trigger& trigger, Recorder* recorder = nullptr) = 0;
  // In a shared state: takes back what the last trigger decided, but for the memory. Its
  // decisions and counts stay readable.
  virtual void take_back() {}
  // Around a change of the state: what follows from the row before it, and after it. `row`: the
  // one that it changed or made.
  virtual void before(const Delta&) {}
  virtual void after(const Delta&, [[maybe_unused]] Id row) {}
  // Carries out a delta in a state of its own; returns the slot that it changes, kNoId: none.
  Id on(const Delta& delta) {
    before(delta);
    const Id slot = apply(state_, delta);
    after(delta, slot);
    return slot;
  }

  // --- of the last trigger
  virtual const Decisions& decisions() const = 0;
  virtual Counts counts() const = 0;
  virtual Refusals refusals() const = 0;  // requests that still wait
  virtual Contested contested() const { return {}; }
  // Room of leaving allocations that their beneficiaries took.
  virtual std::span<const ClusterState::TakenRoom> handed() const { return {}; }
  // The earliest instant at which the same trigger can decide anything that it did not decide
  // now: now, if it decided something; kNoTime: never, as far as is known.
  virtual Time next_due() const { return kNoTime; }
  // If nothing happens, what the same trigger decides so much later is what it decides now, shifted
  // by as much; kNoTime: that is not known.
  virtual Time cycle() const { return kNoTime; }

  // --- where heartbeats follow one another, as in a simulation
  // Whether what is decided from here on stays in the state, and there is no way back.
  virtual void keep_decisions(bool) {}
  // Whether a heartbeat of a node would decide nothing now.
  virtual bool idle(Id) const { return false; }
  // Whether what happens on one node may let another decide something.
  virtual bool contended() const { return false; }
  // Whether any node that was idle before the last update may decide something now; else those
  // may that are added to `nodes`. Asked once after each update.
  virtual bool wakes(Column<Id>&) { return true; }
  // From when on a heartbeat of a node that has just decided nothing may decide something, if
  // nothing happens until then: now: the next one may; kNoTime: none does.
  virtual Time due_on(Id) const { return kNoTime; }
  // Heartbeats of a node, from one on until another, that were left out as it was idle; kNoId: runs
  // of the trigger that is repeated, which were left out as they decide nothing before `next_due`.
  virtual void passed(Id, [[maybe_unused]] Time first, [[maybe_unused]] Time period,
                      [[maybe_unused]] Time last) {}
  // Whether settings that shared a run with its own lead to something else from the last update or
  // trigger on.
  virtual bool separated() const { return false; }
  // The earliest instant at which an update makes a difference though nothing has happened.
  virtual Time next_update() const { return kNoTime; }
  virtual std::span<const Starvation> starvation() const { return {}; }  // E, of the last update
  // Elements whose starvation it changed; nullptr: any may.
  virtual const Column<Id>* starvation_changed() const { return nullptr; }

  // --- of the last update
  virtual Columns elements() const { return {}; }  // E rows: pools, then operations
  virtual SharesView shares() const { return {}; }
  // Group of every slot as things are now; kNone: it runs no more, or there are no groups.
  virtual Column<Group> groups() const {
    return Column<Group>(static_cast<std::size_t>(state_.slots()), Group::kNone);
  }

  // What outlives the planner: clocks and back-offs, to build the next one with.
  virtual Columns memory() const = 0;
  // A planner of the same inputs, before any update, decision or delta.
  virtual std::unique_ptr<Planner> afresh() const = 0;
  // One that stands where this does, of a shared state, and follows a copy of that: both continue
  // with the same answers. Where nothing of a trigger stands; what the last one answered may be
  // missing. O(what it keeps).
  virtual std::shared_ptr<Planner> copy(std::shared_ptr<ClusterState> state) const = 0;
  virtual std::size_t memory_bytes() const { return state_.memory_bytes(); }

 protected:
  explicit Planner(ClusterState state) : Planner(std::make_shared<ClusterState>(std::move(state))) {
    shared_ = false;
  }
  explicit Planner(std::shared_ptr<ClusterState> state)
      : owner_(std::move(state)), state_(*owner_), shared_(true) {}

 private:
  std::shared_ptr<ClusterState> owner_;

 protected:
  ClusterState& state_;

 private:
  bool shared_, follows_ = true;
};

}  // namespace evenhand
