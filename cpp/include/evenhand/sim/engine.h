// A policy, a workload and a clock: what happens, event by event.
//
// One state is changed by deltas, which its planner follows. Instants are integers; what happens at
// the same one is ordered: ends, events of nodes, ends of grace, what waits again, arrivals, the
// update, then heartbeats in the order of their grid, or the pass over the queue; among equals as
// they came about. Ticks at which nothing can be decided are passed over: what a planner says of
// itself (idle, next_update, next_due) tells which.
//
// An event costs O(log n) of those that are to come, and what its delta and its decisions cost; a
// node is looked at once after each update. Memory follows what is there now, and the log.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "evenhand/policy/planner.h"
#include "evenhand/sim/grid.h"
#include "evenhand/sim/log.h"
#include "evenhand/sim/options.h"
#include "evenhand/sim/turns.h"
#include "evenhand/sim/workload.h"

namespace evenhand::sim {

class Engine {
 public:
  // Hands over to a planner what a row of the workload's operations sets, which is a row of the
  // state now.
  using Came = std::function<void(Planner&, Id source, Id row)>;

  // Nothing but the engine changes the state from here on. The planner shares it.
  Engine(std::shared_ptr<ClusterState> state, std::shared_ptr<Planner> planner, Workload workload,
         Options options, Came came = {});
  Engine& operator=(const Engine&) = delete;
  // One that stands where this does, with a state and a planner of its own. O(rows, what the
  // planner keeps, and the log).
  std::unique_ptr<Engine> copy() const;

  // All that happens up to an instant, which is the clock's from then on; kNoTime: until nothing
  // can happen any more. A poll may end it between two steps, and so many steps do, or one after
  // which settings that shared the run are apart: then false is returned. It can continue from
  // there. `guarded`: it ends, too, where work is preempted in
  // turns, or waits in vain.
  bool run(Time until, std::size_t most = std::numeric_limits<std::size_t>::max(),
           bool guarded = false);

  const ClusterState& state() const noexcept { return *state_; }
  Planner& planner() const noexcept { return *planner_; }
  const std::shared_ptr<Planner>& shared_planner() const noexcept { return planner_; }
  const Log& log() const noexcept { return log_; }
  Column<Time> sampled() const;  // the instants of all samples
  Index samples() const noexcept { return sampled_; }
  const Options& options() const noexcept { return options_; }
  Time now() const noexcept { return now_; }
  // What the planner remembers is as of now, also where runs that decide nothing were left out.
  void catch_up();
  Time begin() const noexcept { return begin_; }
  Time last_update() const noexcept { return last_update_; }
  bool done() const;  // nothing can happen any more
  // Is an operation preempted in turns with others, without end? Nothing will come, nothing has
  // got done for so many turns, and what will end by itself has not run for half of them.
  bool in_turns() const;
  const Turns& turns() const noexcept { return turns_; }
  // Does something wait without end? Nothing will come or end, and as many updates (passes, runs)
  // as an operation may take turns have decided nothing and led to nothing but the next one. What
  // leads to a later instant may be a row's own clock, of which each has a few. Or as many
  // heartbeats of every node, and a day of them: the hours of a pace have passed then.
  bool in_vain() const;
  Index vain_tries() const noexcept { return std::max(vain_.tries, vain_.later); }
  Index vain_heartbeats() const noexcept { return vain_.beats / std::max(grid_.nodes().rows(), 1); }
  bool vain_by_beats() const noexcept { return vain_heartbeats() > vain_tries(); }
  Time vain_since() const noexcept { return vain_by_beats() ? vain_.beating : vain_.since; }
  Id waits() const;  // the first request that does, by its source; kNoId: none
  // By operation: seconds times what its dominant share lacked of what it was due, until now.
  Column<double> shortfall() const;
  std::size_t steps() const noexcept { return steps_; }  // so far: where it stands

  // Where the next step asks the planner: it stands there, and its decisions can be taken back.
  // Returns what it is to be asked. The run cannot continue.
  Trigger poise();

  // A copy of the state in which every allocation has a name and says when it leaves, for whom:
  // fit to be frozen. O(rows).
  ClusterState named() const;

  // Work that an allocation has done in all runs so far.
  Time progress(Id slot) const noexcept;
  Time planned_end(Id slot) const noexcept;  // kNoTime: not known

 private:
  Engine(const Engine&) = default;

  // In the order in which they happen at one instant.
  enum class Phase : std::uint8_t {
    kEnd,
    kNode,
    kGrace,
    kAgain,
    kSaved,
    kLook,
    kArrival,
    kUpdate,
    kDecide,
    kNever
  };
  struct Event {
    Time time;
    std::uint64_t number;  // phase, then as they came about
    Id row;                // slot; kAgain: request; kLook: node
    std::uint32_t token;   // of the slot, or it is about another allocation
    Phase phase() const noexcept { return static_cast<Phase>(number >> 56); }
    bool operator>(const Event& other) const noexcept {
      return time != other.time ? time > other.time : number > other.number;
    }
  };
  struct Next {
    Time time;
    Phase phase;
    bool before(const Next& other) const noexcept {
      return time != other.time ? time < other.time : phase < other.phase;
    }
  };
  // What becomes of an allocation when it has left.
  enum class Fate : std::uint8_t { kGone, kWaitsAgain, kSaved };
  struct Running {  // by slot
    Id request = kNoId, log = kNoId;
    std::uint32_t token = 0;
    Time began = kNoTime;  // at work since then; kNoTime: it waits for room, or is suspended
    Time done = 0;         // in earlier runs
    Time saved = 0;        // of it, what outlives its processes: suspended ones die with their node
    Time leaves = kNoTime;
    Id decision = kNoId;
    Fate fate = Fate::kGone;
  };
  struct Kept {
    Time progress;
    Id log;
  };
  struct Asked {  // by row of requests
    Id source = kNoId;
    Time run_time = kNoTime, checkpoint_every = kNoTime, duration = kNoTime;
    bool replica = false, whole = false, cells = false;
    Index open = 0;            // of its count: neither done nor lost
    std::vector<Kept> kept;    // of those that wait again, earliest first
    std::vector<Id> reserved;  // reservations for it
  };
  struct Lacks {  // by operation of the log
    double share = 0;
    Index since = 0;  // sample
  };
  struct Owner {  // by row of operations
    Id source = kNoId;
    Index open = 0;  // requests that are not done, or have not come
  };

  // --- what happens next
  Next next() const;
  void step(const Next& next);
  void go_to(Time time);
  void push(Time time, Phase phase, Id row, std::uint32_t token);
  void drop_stale();
  Event pop();
  bool stale(const Event& event) const noexcept;

  // --- rows
  void read_start();
  void arrive(Id request);
  void finish(Id request);
  void wait_again(Id request);
  void queue_again(Id request);
  void node_event(Index event);

  // --- allocations
  void track(Id slot, Id request, Id node);
  void take_saved(Id slot);
  void begin_work(Id slot);
  void begin_waiting(Id node);
  void end(Id slot, Outcome outcome);
  void end_parts_of(Id request, Id operation, Fate fate, Id decision);
  void leave(Id slot, Fate fate, Time at, Id decision);
  void saved(Id slot);
  void lose(Id node);
  Time kept_of(Id slot) const noexcept;
  bool endless(Id request) const noexcept;
  void hold(Id slot, const Amount* amounts, Amount sign);

  // --- decisions
  bool nothing_comes() const noexcept;
  bool quiet() const noexcept;
  bool empty() const;
  bool nothing_fits() const;
  void update();
  void decide();
  void heartbeat(Id node);
  void want(Id node, bool wanted);
  void tried(bool decided, Time due, Time wished);
  bool asleep() const noexcept;
  bool repeats_for_ever(bool moved);
  void reach(Id node);
  void reach_passes(Time until);
  void pass();
  void carry_out(bool done);
  void start(const Decision& decision, Id row);
  void suspend(Id slot, const Decision& decision, const Amount* kept, Id row);
  void resume(const Decision& decision, Id row);
  void reserve(const Decision& decision, const Amount* amounts, Id number);
  void release(Id request, Id node);
  Id write(const Decision& decision, const Amount* freed);

  // --- which nodes are to be visited
  void changed(Id node);
  void look_at(Id node);
  void look_from(Id node, Time time);
  void look_at_all();
  Time tick(Time period, Time from) const noexcept;
  Time tick_after(Time period, Time from) const noexcept;
  Time tick_before(Time period, Time until) const noexcept;

  // --- the log
  void sample(Time until);
  Time sample_time(Index sample) const noexcept;
  Index samples_before(Time until) const noexcept;
  void lack(Id operation, double lacks);
  double lacked(Id operation) const;  // since it last changed
  void note_spells();
  void set_level(Id element, Starvation level, Id pools);

  template <class Act>
  Id change(const Delta& delta, Act&& act) {
    planner_->before(delta);
    const Id row = act();
    planner_->after(delta, row);
    return row;
  }
  Id on(const Delta& delta) {
    return change(delta, [&] { return apply(*state_, delta); });
  }

  std::shared_ptr<ClusterState> state_;
  std::shared_ptr<Planner> planner_;
  std::shared_ptr<const Workload> shared_work_;
  const Workload& work_;
  Options options_;
  Came came_;
  Log log_;
  Turns turns_;
  std::size_t width_;
  Time begin_, now_;
  std::size_t steps_ = 0;
  Id first_operation_, first_request_;  // of the workload, among all

  std::vector<Event> heap_;
  std::uint64_t pushed_ = 0;
  Column<Id> arrivals_;  // requests of the workload as they come
  Index arrived_ = 0, node_events_ = 0, sampled_ = 0;

  Column<Running> running_;
  Column<Asked> asked_;
  Column<Owner> owners_;
  Column<Id> row_of_operation_;  // by source
  Column<Index> requests_open_;  // by operation of the workload, before it comes
  Column<Amount> held_;          // N x R: what is on nodes, also what is leaving
  Column<Column<Id>> waiting_;   // by node: slots that have started and wait for room
  Column<Amount> capacity_;      // N x R: what nodes have when they are up
  std::vector<Decision> decided_;
  Column<Amount> freed_, kept_, needed_;
  Index running_count_ = 0, away_count_ = 0;

  HeartbeatGrid grid_;
  Column<Id> woken_;
  Time update_at_ = kNoTime;  // of updates, or of backfill passes
  Time pass_at_ = kNoTime;    // of passes
  Time last_update_ = kNoTime;
  Time asked_at_ = kNoTime;      // the last instant at which there was an update, or it was decided
  Time last_pass_ = kNoTime;     // at which the last one was
  Time reached_ = kNoTime;       // tick of the last run that was done or made up for
  struct Vain {                  // updates, passes or runs in a row that decided nothing, and led
    Index tries = 0, later = 0;  // to one at once, to one later
    Time since = kNoTime;        // the first of them
    Time due = kNoTime;          // what the last one led to
    Index beats = 0;             // heartbeats that are not the last, where no update will come
    Time beating = kNoTime;      // the first of them
  } vain_;
  Time repeats_ = kNoTime;  // since then passes that decided nothing differ by the clock alone
  struct Wished {           // what there would be if not every tick was visited
    Time update = kNoTime, pass = kNoTime;
    Column<std::uint8_t> node;
    Index nodes = 0;
  } wished_;
  Column<Time> visited_;      // by node: its last heartbeat; kNoTime: none
  Column<Time> look_;         // by node: from when on it is asked again; kNoTime: not known
  Column<Starvation> level_;  // by element
  Column<Id> spell_;          // by element: its row; kNoId: none
  Column<Id> starvation_changed_;
  Column<Lacks> lacks_;
  Id poised_ = kNoId;                                          // node
  Column<Index> pool_running_, pool_waiting_, pool_starving_;  // of a sample
  Column<Amount> pool_demand_;
  Column<PoolSample> pool_sample_;  // the last one; empty: none yet
};

}  // namespace evenhand::sim
