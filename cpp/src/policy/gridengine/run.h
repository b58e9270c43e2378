// One scheduling run over the queue of a cluster.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "evenhand/place/calendar.h"
#include "evenhand/place/in_order.h"
#include "evenhand/place/room_blocks.h"
#include "evenhand/place/rooms.h"
#include "evenhand/place/where.h"
#include "evenhand/policy/gridengine/planner.h"
#include "evenhand/preempt/effects.h"
#include "evenhand/preempt/recorder.h"
#include "evenhand/preempt/victim_sets.h"
#include "subordination.h"

namespace evenhand::gridengine {

// What of a job is to be placed: a request, so many times, or a stopped allocation, where it is.
struct Unit {
  Id request = kNoId, slot = kNoId;
  Index count = 1;
  const Amount* need = nullptr;
  Id only_node = kNoId;
};

struct Placement {
  std::size_t unit;
  Id node;
};

// A job in the queue.
struct Entry {
  Id operation = kNoId;
  bool preemptee = false, reserve = false;
  std::vector<Unit> units;
  double priority = 0;
  Time since = 0;
  bool first = false;  // before all that are not
  Id behind = kNoId;   // in the queue: the preemptor of which it is next, that has yet to start
  Time duration = kForever;  // planned, with what is added to it
  Outcome outcome = Outcome::kNoFreeRoom;
  Id failed = kNoId, failed_slot = kNoId;  // what found no place: a request, or a stopped part
  Index nodes = 0;                         // on which it might run
  Column<Amount> missing{};                // R, on the best of them
  Id best = kNoId;
  bool planned = false;           // that is free now, and planned for others while it would run
  Column<Id> planned_for{};       // these jobs have it; when recording
  std::optional<Time> at{};       // since when it would fit; kForever: never
  bool near = false;              // within `preemption_distance`
  bool forced = false;            // a request for preemption was by force
  bool full = false;              // others have all reservations that there may be
  Column<Id> reserved_on{};       // nodes; when recording
  Column<Amount> unit_missing{};  // units x R, of a preemptee; when recording
  std::vector<Entry> without{};   // itself, with all gone that it may preempt; when recording
};

struct Attempt;

// Room that a job has been planned.
struct Planned {
  Id operation, node;
  const Amount* need;
  Time from, until;
};

// A running job that may be preempted.
struct Provider {
  Id operation = kNoId;
  double priority = 0;
  Time start = 0, end = kNoTime;
  std::span<const Id> slots{};
  bool claimed = false;
  bool checkpointable = true, rerunnable = true;  // all of it
  // What the configuration says, and which of the advisor's actions lets go of its processes:
  // where the consumer wants nothing but slots, and else.
  Asked action = Asked::kConfigured;
  Id action_queue = kNoId;  // that says so
  Mode for_slots = Mode::kPreempt, for_more = Mode::kPreempt;
  Outcome why = Outcome::kTaken;  // why it may not
  Mode mode = Mode::kPreempt;     // for the consumer at hand
  // Of the question with this number.
  Index question = 0;
  Outcome verdict = Outcome::kTaken;
};

// Providers by the nodes they are on, in their order.
struct Hosts {
  Column<Id> first;         // N + 1
  Column<Id> provider;      // in providers_
  Column<double> priority;  // beside it: those of the node, ascending
  Column<Amount> most;      // N x R: what any one of them has there
  Column<Amount> largest;   // like provider, x R: the most that the first, two, .. of any have
  bool spread = false;      // one of them is on several, or on none
};

// Whom a job may preempt, and how.
struct Question {
  const Entry* entry = nullptr;
  Asked action = Asked::kConfigured;
  std::span<const Id> named{};  // none: any
  Attempt* attempt = nullptr;
  bool only_slots = false;                               // are wanted
  bool forced = false;                                   // R also of what is not rerunnable
  mutable std::map<std::size_t, Column<Amount>> room{};  // Run::room_for, by resource
  mutable Column<Amount> gives{};                        // N x R: what those have that may leave
};

// Why a job is preempted in the mode that it is.
enum class WhyMode : std::uint8_t {
  kNone,
  kAsked,           // the request names the action
  kQueue,           // `preemption_action` of its queue
  kConfigured,      // `preemption_action`
  kCheckpointable,  // from here on the advisor's rules, in its order
  kOnlySlots,
  kSwappedAndReleased,
  kKeepsResources,  // what is wanted of it is free with its processes stopped
  kRerunnable,      // that frees too little
  kNotRerunnable
};

// Why a job does not allow an action.
enum class NotAllowed : std::uint8_t {
  kNoneWouldDo,
  kNotThere,
  kNotCheckpointable,
  kNotRerunnable
};

// How victims are chosen.
enum class Order : std::uint8_t { kFewest, kOnOneHost, kNamed };

// What became of every job when one looked for providers.
struct Attempt {
  Id operation = kNoId, request = kNoId;
  Column<Outcome> verdict{};  // O
  Column<Spared> spared{};    // O; empty: none is
  Facts counted{};            // of all of it
  Facts job{};                // of the recorder's allocation, and its job
  Order order = Order::kFewest;
  // Of each job and allocation that is taken, where all are recorded.
  std::vector<std::pair<Id, Facts>> jobs{}, slots{};
};

// Room of managed licences that a job takes, for the other clusters.
struct Claim {
  Column<Amount> amounts;
  Time from, until;
  bool now;
};

class Run {
 public:
  Run(const Inputs& inputs, const Memory& memory, const ClusterState& state, Pace& pace,
      const Recorder* recorder);

  bool tells = true;  // where what waits came closest to fitting

  // Serves the queue; or one entry after the other, where several runs share licences.
  void go();
  void begin();
  std::size_t left() const noexcept { return queue.size() - next_; }
  const Entry& next() const { return queue[order_[next_]]; }
  bool next_is_before(const Run& other) const;
  void serve_next();
  void finish();
  // Licences of the settings' managed ones: by name, R of this cluster to R of the other.
  void claimed_elsewhere(const Claim& claim, std::span<const Id> resource_of, Amount sign);
  void uses_elsewhere(const Run& other, std::span<const Id> resource_of);
  std::vector<Claim> claims;  // since they were last cleared

  // What the recorder's request or allocation met.
  void report(Recorder& recorder) const;
  void report_taken(Recorder& recorder) const;

  // Commands: refused, or remembered.
  void accept(std::span<const Trigger::Command> commands);

  Refusals refusals() const;
  Column<std::uint8_t> states() const;  // O: JobState

  Decisions decisions;
  Tally tally;
  Memory memory;  // for the next plan
  std::vector<Entry> queue;
  std::vector<Attempt> attempts;  // filled when recording
  Time next_due = kNoTime;

  const ClusterState& state() const noexcept { return state_; }

 private:
  using Size = std::size_t;
  const ResourceSpace& resources() const noexcept { return state_.tables().resources; }
  Index rank(Id operation) const noexcept { return state_.operations().keys().rank(operation); }
  double priority(Id operation) const noexcept {
    return state_.operations().get(&OperationColumns::priority, operation, 0.0);
  }
  bool is_managed(Size r) const noexcept { return !set_.managed.empty() && set_.managed[r] != 0; }
  Asked asked(Id operation) const noexcept { return before_.asked[operation]; }
  RowName name_of(Id operation) const {
    const LiveKeys& keys = state_.operations().keys();
    return {std::string(keys.name(operation)), keys.is_integer(operation)};
  }
  // kNoId: it has gone.
  Id job_of(const RowName& name) const { return state_.operations().find(name.text); }
  bool reserves() const noexcept { return set_.max_reservation > 0; }

  // queue.cpp
  void build_calendar();
  void load_reservations();
  Time ends(Id slot) const;
  Time submitted(Id operation) const;
  void build_queue();
  auto key(const Entry& entry) const {
    const Entry& lead = entry.behind == kNoId ? entry : queue[at(entry.behind)];
    return std::tuple(!entry.first, -lead.priority, !lead.preemptee, lead.since);
  }
  void stand_behind_preemptors();
  void remember_preemptors();
  void remember_states();
  void due(Time instant) {
    if (instant > state_.now() && instant < kForever && (next_due == kNoTime || instant < next_due))
      next_due = instant;
  }

  // placing.cpp
  bool allowed(const Unit& unit, Id node) const;
  bool simple(const Entry& entry) const noexcept {
    return entry.units.size() == 1 && entry.units[0].count == 1;
  }
  bool fits_at(const Unit& unit, Id node, Time from, Time until, bool now) const;
  // All of a job from one instant on, or nothing; placed_ says where. Takes no room.
  // `failed`: if not, it learns which part finds no place, and what that lacks.
  bool place(const Entry& entry, Time from, bool now, Entry* failed = nullptr);
  // The first node, from a place in their order on, with so much room now that `also` takes.
  template <class Also>
  Size first_with_room(const Amount* need, Size from, Also also) const;
  void add_room(const Amount* amounts, Id node, Amount sign) {
    rooms_.add(amounts, node, sign);
    if (node != kNoId) blocks_.changed(place_of_node_[node]);
  }
  Time first_fit(const Entry& entry);
  // What cannot start now starts a second later, or later still.
  Time soonest() const noexcept { return state_.now() + kMicrosecondsPerSecond; }
  Time first_fit_simple(const Unit& unit, Time duration);
  Time first_fit_copies(const Unit& unit, Time duration);
  Time first_fit_spread(const Entry& entry);
  Outcome barred(Entry& entry) const;
  void nearest(Entry& entry, const Unit& unit, bool first) const;
  void nearest_now(Entry& entry, const Unit& unit, bool first, bool open_only) const;
  void nearest_later(Entry& entry, const Unit& unit) const;
  Column<Id> planned_there(const Entry& entry) const;
  void occupy(const Entry& entry, Time from, Time until);
  void credit_own(Id operation, Amount sign);
  void credit_leaving(Id operation, Amount sign);

  // subordinate.cpp
  Id queue_of(const Entry& entry, const Unit& unit) const;
  bool open(const Entry& entry, const Unit& unit, Id node) const {
    return !subordination_.has_pairs() || !subordination_.suspended(node, queue_of(entry, unit));
  }
  // Where it may start now, as far as room is not asked for.
  bool may_start(const Entry& entry, const Unit& unit, Id node) const {
    return allowed(unit, node) && open(entry, unit, node);
  }
  void subordinate();

  // run.cpp
  void resume_or_reserve(Entry& entry);
  void start_or_reserve(Entry& entry);
  void start(Entry& entry);
  void reserve(Entry& entry);
  void claim(const Amount* amounts, Time from, Time until, bool now);
  Column<Amount> missing_of_units(const Entry& entry) const;
  void room_at(Id node);
  void add(Decision decision, const DecisionAmounts& amounts);

  // providers.cpp
  void find_providers();
  void describe(Provider& provider) const;
  bool is_slots(Size r) const noexcept;  // or a licence that is free with them
  bool frees(Mode mode, Size r) const noexcept { return frees_[at(mode) * width_ + r] != 0; }
  std::optional<Mode> mode_for(const Provider& provider, const Question& question,
                               NotAllowed* why = nullptr) const;
  WhyMode why_mode(const Provider& provider, const Question& question) const;
  std::optional<Mode> advised(const Provider& provider, const Question& question) const;
  bool frees_enough(const Provider& provider, const Question& question, Mode mode) const;
  bool is_short(const Question& question, Id node, Size r) const;
  const Column<Amount>& room_for(const Question& question, Size r, Amount wanted) const;
  void effect(const Provider& provider, Id slot) const;  // into freed_ and kept_
  void give(const Provider& provider, Amount sign, bool keeps = true);

  // preempt.cpp
  Outcome carry_out(Entry& entry, Asked ask);
  // Named ones only; none: any. `fewest`: as few as can be, else those that are needed, in order.
  Outcome preempt(Entry& entry, std::span<const Id> named, Asked action, bool fewest,
                  Reason reason);
  Outcome judge(const Provider& provider, const Question& question, Mode& mode);
  Outcome verdict(Provider& provider, const Question& question) {
    if (provider.question != questions_) {
      provider.question = questions_;
      provider.verdict = judge(provider, question, provider.mode);
    }
    return provider.verdict;
  }
  Column<Id> order_of(const Question& question) const;
  bool has_candidates(const Question& question);
  Outcome none_may_leave(const Question& question);
  Column<Provider*> candidates_for(const Question& question);
  Column<Provider*> choose(const Question& question, bool fewest);
  bool may_fit_without(const Entry& entry, std::span<Provider* const> gone);
  Column<Provider*> in_turn(const Entry& entry, const Column<Provider*>& candidates,
                            VictimSelection selection);
  // R: what is there now and stays, of a node and of what the cluster shares: what a job that is to
  // start now lacks beyond it, those that leave for it must free.
  void stays_free(Id node, Time until, Amount* free) const;
  // Likewise; of what the cluster shares only what is there now. O(steps of the node x R).
  void stays_free_there(Id node, Time until, Amount* free) const;
  // By node how often a unit fits there from now on, were all candidates gone and kept nothing.
  Column<Index> copies_without(const Unit& unit, Time duration,
                               const Column<Provider*>& candidates);
  SpreadNeed spread(const Entry& entry, const Unit& unit, const Column<Provider*>& candidates);
  void take(Entry& entry, std::span<Provider* const> victims, Reason reason);
  // keeping.cpp
  struct Wanted {
    Column<Column<Amount>> at;  // N: R of each node where it is to start
    Column<Amount> shared;      // R
  };
  Wanted wanted_of(const Entry& entry, std::span<Provider* const> victims);
  void lacks_without(Entry& entry, const Question& question);

  // facts.cpp
  void note_part(const Provider& provider);
  void note_provider(Facts& facts, const Provider& p, const Question& question) const;
  void note_asked(Attempt& attempt, const Question& question);
  void note_victims(Attempt& attempt, const Column<Provider*>& victims, const Question& question);
  void note_stops(Facts& facts, Id slot) const;
  void note_candidates(Attempt& attempt, const Question& question);
  void note_action(Facts& facts, const Provider& provider, const Question& question) const;
  void note_wanted(Attempt& attempt, Index wanted) const;
  void note_lacks(Facts& facts, const Entry& entry, const Decision& made, const Amount* need,
                  const Amount* free, View<const Amount> given) const;
  void note_start(Facts& facts, const Entry& entry) const;
  void note_entry(Event& event, const Entry& entry, const Entry& lacking) const;
  void note_suspended(Facts& facts, Id operation) const;
  void note_unseen(Facts& facts, Id operation, std::span<const Column<Id>> leaving) const;
  std::vector<Column<Id>> leaving_for() const;

  // one_node.cpp
  // `largest`: whether that is wanted, too.
  Hosts by_host(std::span<const Id> order, bool largest = true) const;
  Column<Provider*> on_one_node(const Question& question, const Hosts& hosts);
  // over_hosts.cpp
  struct OverHosts;
  std::optional<Column<Provider*>> over_hosts(const Question& question);
  // with_shared.cpp
  std::optional<Column<Provider*>> with_shared(const Entry& entry,
                                               const Column<Provider*>& candidates);
  std::optional<Column<Provider*>> with_shared(const Entry& entry,
                                               const Column<Provider*>& candidates,
                                               View<const Index> copies);
  bool fits_on(const Entry& entry, Id node) const;
  bool fits_without(const Entry& entry, std::span<Provider* const> victims, Id node,
                    bool keep = true);
  Column<Provider*> fewest_on(const Entry& entry, const Column<Provider*>& on, Id node,
                              View<const Amount> lacks, View<const Amount> freed, Index& budget);
  void freed_on(const Provider& provider, Id node, Amount* sum) const;

  // commands.cpp
  Column<Id> jobs_named(const std::string& name) const;
  Outcome refused(const Trigger::Command& command, Id consumer, Column<Id>& providers,
                  Asked& asked);

  const Settings& set_;
  const RowSettings& rows_;
  const Memory& before_;
  const ClusterState& state_;
  Pace& pace_;
  Subordination subordination_;
  std::vector<Planned> plans_;  // when recording
  // Whether it matters when what runs is to end: else nothing but what happens, and reservations of
  // others, makes a later run decide otherwise.
  bool looks_ahead_;
  bool only_grows_ = false;  // what has room now has it for as long as it runs
  bool record_, all_taken_,
      closed_ = false;  // closed_: a suspended queue was in the way of the last placing
  Id watched_slot_ = kNoId, watched_ = kNoId;  // the recorder's allocation, and its job
  Id part_ = kNoId;                            // another part of that job for which it is spared
  Size width_;
  Column<Id> nodes_, operations_;  // that there are, in canonical order
  Rooms rooms_;
  Column<Size> place_of_node_;  // N: in nodes_
  Index usable_ = 0;            // nodes on which anything may start
  mutable RoomBlocks blocks_;
  Calendar calendar_;
  mutable Where where_;
  Column<Size> order_, place_of_;  // of the queue; O: entry of a waiting job
  Size next_ = 0;
  Index reserved_ = 0;             // jobs that wait for their reservation
  std::vector<Placement> placed_;  // of the job at hand
  Size begin_at_ = 0;              // in nodes_: none before it fits when first_fit said
  Column<Amount> needs_;           // of stopped allocations, S x R
  std::vector<Provider> providers_;
  Column<Id> provider_of_;      // O
  Column<Id> provider_slots_;   // of all of them
  Column<Id> in_order_;         // providers, those that are preempted first before others
  std::optional<Hosts> hosts_;  // of all of them, in this order
  bool have_providers_ = false;
  Index questions_ = 0;
  Column<std::uint8_t> frees_;    // Mode x R
  Index preemptees_ = 0;          // jobs that are preempted or leave, with those of this run
  Column<std::uint8_t> becomes_;  // O: JobState that a decision leads to; 0: as it was
  Refusals commands_;             // that were refused
  mutable Column<Amount> scratch_, freed_, kept_;
  // What the last job that found no room lacked, as long as nothing has changed.
  mutable Column<Amount> seen_need_, seen_missing_;
  mutable Index seen_nodes_ = -1;
  mutable Id seen_best_ = kNoId;
  Id steps_ = 0;
};

}  // namespace evenhand::gridengine
