// One scheduling run as it goes: what is free, what is decided, what is said.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "evenhand/place/timeline.h"
#include "evenhand/policy/slurm/planner.h"

namespace evenhand::slurm {

using Size = std::size_t;
using Row = std::array<Amount, kMaxResources>;

// The job for which jobs end on a node: more than one, or unknown.
inline constexpr Id kSeveral = -2;
inline constexpr double kSeconds = 1.0 / static_cast<double>(kMicrosecondsPerSecond);
// How long what has no end is taken to last.
inline constexpr Time kYear = Time{365} * 86'400 * kMicrosecondsPerSecond;

// Where a job is to start once those that leave for it have gone.
struct Held {
  Id job;
  std::vector<Spot> spots;
};

// A job that this run starts.
struct Begun {
  Time end;
  Id job;
  Size first, count;  // in Run::begun_spots_
};

// A span of a running job's, a leaving allocation's or a starting job's time is over.
struct End {
  enum class Of : std::uint8_t { kRunning, kVictim, kLeaving, kBegun };
  Time at;
  Id job;
  Of of;
  Index which;     // in Workspace::running, of the leaving allocations, or of those begun
  Index rank = 0;  // of the job, in canonical order

  static std::pair<Time, Index> key(const End& end) { return {end.at, end.rank}; }
};

// What a run has done to a job.
struct Mark {
  Id gone_for = kNoId;   // the job for which it was preempted
  bool served = false;   // it started, or others leave for it
  bool counted = false;  // what it takes counts against its limits
  bool started = false, has_victims = false;
  bool waits_for_others = false;  // what it would preempt leaves for those
  bool is = false;                // there is one
};

// All that may be preempted for jobs of one standing, and what they give back.
struct CandidateSet {
  Id partition, qos;
  std::int32_t tier;
  double priority;
  Column<Index> jobs;        // in Workspace::running
  Column<Id> leaving{};      // those of them that leave already
  Column<std::uint8_t> has;  // Workspace::running
  Column<Amount> gives{};    // (N + 1) x R
  Column<std::int32_t> occupants{}, exclusives{};
};

// One backfill pass.
struct BackfillPass {
  Timeline timeline;
  Column<std::uint8_t> has_victims, planned;  // O
  Column<Index> of_partition, of_user, kept;
  Index tests = 0, starts = 0;
  Time due = kNoTime;  // when what is kept for one may leave others another place
  bool full = false;   // the timeline distinguishes as many spans as it may
};

// How a job gets room from others.
struct Way {
  enum class How : std::uint8_t {
    kNone,
    kUnsaid,  // it fits over others, but the dry run does not say which of them have to wait
    kOver,    // over others that share its cpus: those that do not fit beside it are suspended
    kEnds,    // others end
    kSuspends
  } how = How::kNone;
  Choice choice{};
};

bool may_wait_for_room(Outcome rule);

class Run {
 public:
  // Is used again from run to run. `jobs`: of a job with several partitions, as of the one whose
  // turn it is; as they were again between two calls.
  Run(Workspace& workspace, Jobs& jobs, Queue& queue, Memory& memory);

  void all(const Trigger& trigger, Recorder* recorder);
  const Refusals& refusals();
  // What a request met that did not start, after a run that followed one; false: it started.
  bool report(Recorder& recorder);
  const Contested& contested();

 private:
  Jobs& jobs_;

 public:
  Workspace& workspace;
  Decisions decisions;
  Tally tally;
  Time next_due = kNoTime;
  // Nothing but the rounding of planned starts leads there: no instant is ahead of now for itself.
  bool rounds_only = false;

 private:
  Time rounded_ = kNoTime;  // when backfill's plans are rounded to others
  void begin(const Trigger& trigger, Recorder* recorder);
  void report_refusals(Id only);
  const Jobs& jobs() const { return jobs_; }
  const Settings& set() const { return workspace.settings; }
  const RunningJob& of(Index i) const { return workspace.running[i]; }

  const Mark& marked(Id job) const { return marks_[job]; }
  Mark& mark(Id job) {
    Mark& found = marks_[job];
    if (!std::exchange(found.is, true)) marked_.push_back(job);
    return found;
  }
  std::span<const Spot> spots_of(const Begun& begun) const {
    return {begun_spots_.data() + begun.first, begun.count};
  }

  void use_partition_of(const Turn& turn);
  void stand_back();
  void become(const Turn& turn);

  // --- main_pass.cpp

  void main_pass(bool whole);
  void look_at_rest();
  Outcome one(Id job);
  Outcome barred_now(Id job);
  Outcome beyond(Id job, const JobRequest& job_request) const;
  bool keeps_nothing(Id job);
  Outcome closed_rule(Id partition) const;
  void close(Id job, Outcome rule);
  void block_closed();
  void busy(Id job, const JobRequest& job_request, Outcome rule);
  bool licences_lack(Id job, const JobRequest& job_request);
  bool licences_come_free(Id job, const JobRequest& job_request);
  std::optional<Time> limit(Id job) const;
  Id required_node(Id request) const {
    return workspace.state.requests().get(&RequestColumns::required_node, request, kNoId);
  }
  Time deadline(Id slot) const {
    return workspace.state.allocations().get(&AllocationColumns::deadline, slot, kNoTime);
  }
  Time planned_end(Id slot) const {
    return workspace.state.allocations().get(&AllocationColumns::planned_end, slot, kNoTime);
  }
  Time lasts(Id job, bool backfill) const;

  // --- act.cpp

  // Starts a job in free room or preempts for it, on open nodes (N) only; nullptr: all are.
  Outcome select(Id job, JobRequest& job_request, const std::uint8_t* open);
  Time backs_off_until(Id job) const;
  Outcome preempt(Id job, JobRequest& job_request, const std::uint8_t* open);
  Column<Index> candidates_of(Id job, const JobRequest& job_request);
  Way way(Id job, JobRequest& job_request, Occupancy base, const Column<Index>& candidates,
          Index budget, MinimumQuestion* written) const;
  Way way_within_caps(Id job, JobRequest& job_request, const Occupancy& base,
                      Column<Index> candidates, MinimumQuestion* written);
  void hold_by_pace(Id job, const JobRequest& job_request, Occupancy base);
  Outcome preempt_candidates(Id job, const JobRequest& job_request, const Column<Index>& victims,
                             const std::vector<Spot>& spots, bool leaving);
  void end(Id job, const JobRequest& job_request, const Column<Index>& victims,
           const std::vector<Spot>& spots);
  Outcome wait_for_others(Id job);
  void count(const Choice& choice, MinimumQuestion question);  // of the step that comes
  Time take(Id job, const JobRequest& job_request, Index victim, const std::vector<Spot>& spots,
            Id step);
  void start(Id job, const std::vector<Spot>& spots, Reason reason, Id step);
  void mark_ending(Id node, Id beneficiary);
  bool holds(Id job) const;

  bool takes_whole_nodes(Id job) const { return set().whole_nodes || jobs().exclusive[job] != 0; }
  void occupy(Occupancy& room, Id job, Id node, const Amount* amounts) const;

  // --- what is said

  Row free_on(Id node) const {
    Row free{};
    for (Size r = 0; r < workspace.state.width(); ++r)
      if (node != kNoId || workspace.scope(r) == ResourceScope::kCluster)
        free[r] = workspace.room.rooms.at(node, r);
    return free;
  }

  // What hard reservations keep for a job is its own.
  void add_reserved(Occupancy& to, Id job, Amount sign) const {
    if (!reserved_) return;
    evenhand::add_reserved(to.rooms, workspace.state, sign,
                           [job](Id owner) { return owner == job; });
  }

  // --- gang.cpp

  bool over(const JobRequest& job_request, Occupancy base, const Column<Index>& candidates,
            std::vector<Spot>& spots) const;
  Column<Index> under(Id job, Occupancy room, const Column<Index>& candidates,
                      const std::vector<Spot>& spots) const;
  void add_those_sharing(Id job, Occupancy room, Column<Index> sharing, Choice& choice) const;

  // --- limited.cpp

  void count_running();
  bool is_limited(Id job, const JobRequest& job_request);
  void count_use(Id job);
  void read_limited_as(Id job, LimitedAs& to) const;

  // --- resume.cpp

  void resume(Id before);
  Outcome can_resume(const RunningJob& job, Occupancy& in, Id& where, Row& missing) const;
  Occupancy afterwards() const;
  Row back(Id slot) const;

  // --- backfill.cpp

  void backfill();
  bool passed_over(BackfillPass& pass, Id job);
  Outcome plan_job(BackfillPass& pass, Id job, JobRequest& job_request);
  Outcome start_now(BackfillPass& pass, Id job, JobRequest& job_request);
  Outcome waits(const BackfillPass& pass, Id job, const JobRequest& job_request);
  Time floor(Time instant) const;
  Time kept_until(Time instant) const;
  NodeSet partition_set(Id partition, bool up) const;
  void open_only(const NodeSet& nodes);

  // --- due.cpp

  void due_by_age();
  bool has_circles() const;
  void due_above_victims();
  void due_at_exempt(Id job);
  void due_at_next_end();
  void due_for_others(BackfillPass& pass, Time instant) const;
  void due_in_window(BackfillPass& pass, Time begin, Time end) const;
  void due_by_rounding(BackfillPass& pass, Time moving) const;

  // --- estimate.cpp

  struct Estimate {
    std::shared_ptr<const CandidateSet> wanted;
    Occupancy now, emptied;  // all epilogs over; and all gone that may be preempted
  };
  std::shared_ptr<const CandidateSet> candidate_set(Id job);
  Estimate estimate(Id job);
  // An instant from which on a job is tried, and when more nodes may be free; whether it starts at
  // once or not at all.
  struct Tried {
    Time since, later;
    bool now_only;
  };
  // When and where a job would start on the open nodes; no answer: kNoTime.
  Time will_run(Id job, JobRequest& job_request, const Estimate& rooms, Tried tried,
                std::vector<Spot>& spots);
  Size planned_by(Size first, Size last, Id job, const CandidateSet& wanted,
                  const std::vector<Spot>& spots) const;
  void collect_ends();
  void add_end(End end);
  void complete(End& end) const;
  Time end_of(const RunningJob& job) const;
  bool is_listed(const End& end, Id job, const CandidateSet& wanted) const;
  template <class Among>
  bool ends_on(const End& end, const Among& among) const;
  void free(Occupancy& room, const End& end, JobRequest* job_request) const;
  void free(Occupancy& room, const RunningJob& job, JobRequest* job_request) const;
  void free(Occupancy& room, Id slot, JobRequest* job_request) const;

  // --- refusals.cpp

  Outcome barred_everywhere(Id job, Id request) const;
  bool could_hold(const JobRequest::Part& part, Id node) const;
  Outcome beyond_nodes(const JobRequest& job_request) const;
  Outcome beyond_nodes(const JobRequest::Part& part) const;
  Outcome on_node(const JobRequest& job_request, const JobRequest::Part& part, Id node,
                  bool lack) const;
  // Whether others keep a job from a node that it, or one of them, takes as a whole.
  static bool in_use(const Occupancy& room, Id node, bool whole) {
    return node != kNoId && (room.exclusives[node] > 0 || (whole && room.occupants[node] > 0));
  }
  bool lacks(const Occupancy& room, const Amount* need, Id node, bool whole, Row& missing) const;
  Occupancy without_reservations(Id job) const;
  Occupancy without_victims(Id job) const;
  // What a request lacks, R each: on the best node, and on the best of those without room (kNoId:
  // there is none); of licences.
  struct Lack {
    Row best{}, short_of{}, licences{};
    Index nodes = 0, with_room = 0;
    Id node = kNoId;
    bool no_licence = false;
  };
  double lacking(const Occupancy& room, const JobRequest& job_request, const JobRequest::Part& part,
                 const Row& licences, Id node, Row& missing) const;
  Lack lack(const Occupancy& room, const JobRequest& job_request, const JobRequest::Part& part,
            Outcome rule) const;
  Outcome of_request(Outcome rule, const JobRequest& job_request, const JobRequest::Part& part,
                     const Lack& found) const;
  void add_unheld();
  void report_refusal(Id job, Outcome rule, const JobRequest* job_request);

  // --- notes.cpp

  bool is_before(Id job, Id other) const;
  Id held_up_by(Id job, const JobRequest* job_request) const;
  Facts facts_of(Id job, Outcome rule, const JobRequest* job_request) const;
  bool may_help(const JobRequest& job_request, const RunningJob& other) const;
  bool runs_on_one(const RunningJob& job, const std::vector<Spot>& spots) const;
  Outcome off_or_spare(const RunningJob& other, const Choice& choice) const;
  void note_refusal(Outcome own, Outcome rule, const JobRequest* job_request,
                    const JobRequest::Part* part, const Occupancy& room, const Lack& found,
                    bool emptied);
  void note_nodes(const JobRequest& job_request, const JobRequest::Part& part, Outcome rule);
  void name_partition(Facts& facts, const char* name, Id partition) const;
  void name_turn(Facts& facts, Id job) const;
  Column<Id> leaving_for(Id job) const;
  void note_victims(Facts& facts, Id job) const;
  void note_limit(Facts& facts, const LimitHit& hit) const;
  void note_licences(Facts& facts, const Row& missing) const;
  Facts compared(Id job, const RunningJob& other) const;
  void note_barred(Facts& facts, const RunningJob& other, Outcome why) const;
  void note_taken(Facts& facts, const JobRequest& job_request, Id job,
                  const RunningJob& other) const;
  bool leaves_node(Id node, Id job) const;
  Size note_standings(Id job);
  void note_standing(Id job, Id request, const RunningJob& other);
  void note_leaving(Id job, Id request, const std::vector<Spot>& spots);
  void note(const JobRequest& job_request, const Column<Index>& candidates, const Choice* choice,
            bool unsaid = false);
  void note_sharing(const JobRequest& job_request, const Column<Index>& candidates,
                    const Column<Index>& victims, const std::vector<Spot>& spots);

  bool follows(const RunningJob& job) const {
    return recorder_ != nullptr && recorder_->slot != kNoId &&
           std::ranges::find(workspace.slots(job), recorder_->slot) != workspace.slots(job).end();
  }
  bool follows_running() const {
    return recorder_ != nullptr && (recorder_->slot != kNoId || recorder_->all_taken);
  }
  bool follows_request(Id request) const {
    return recorder_ != nullptr && recorder_->request == request;
  }
  Id first_node(const RunningJob& job) const {
    return recorder_->slot == kNoId ? workspace.nodes(job).front()
                                    : workspace.state.node_of(recorder_->slot);
  }
  void event(Id node, Outcome outcome, Id operation, Id request, const Row& missing) {
    recorder_->events.push_back(
        {node,
         stage_,
         outcome,
         operation,
         request,
         recorder_->slot,
         {missing.begin(),
          missing.begin() + static_cast<std::ptrdiff_t>(workspace.state.width())}});
  }
  void due(Time instant) {
    if (next_due == kNoTime || instant < next_due) next_due = instant;
  }

  Queue& queue_;
  Memory& memory_;
  Trigger trigger_{};
  Recorder* recorder_ = nullptr;
  std::optional<Refusals> refusals_;
  std::optional<Contested> contested_;
  Column<Outcome> rules_;  // a turn each, as far as it came: why it waits
  Size turn_ = 0;          // the next one of the main pass
  Index main_starts_ = 0;
  Column<Index> seen_;            // turns of partitions in it
  Column<std::uint8_t> blocked_;  // nodes that waiting jobs keep from those behind,
  Column<Id> closing_;            // and partitions whose nodes are to be among them
  Column<Id> closed_by_;          // partitions: the job that closed one
  Column<Id> blocked_by_;         // N, when recording: the first job that keeps a node
  bool any_blocked_ = false, any_ending_ = false;
  Column<Outcome> closed_;  // partitions: by a job of which rule, kStarted: open
  bool all_hold_ = true;    // each job that closed a partition is served
  Column<Id> ending_;       // N: the job for which one ends there, kNoId: none does
  Column<std::uint8_t> open_, start_, choose_;  // N: scratch
  Column<Spared> held_by_pace_;  // O: why the first victim is spared that could make room for it
  Column<Mark> marks_;           // O
  Column<Id> marked_;            // jobs with one
  Column<Index> gone_;           // in Workspace::running: those preempted that end
  Column<std::uint8_t> resumed_;
  std::vector<Turn> first_turns_;  // of jobs that stand in another of their partitions
  std::vector<Held> held_;
  Column<Begun> begun_;
  Column<Spot> begun_spots_;
  LimitUse limit_use_;           // what counts against limits
  LimitedAs as_;                 // of the job that was looked at last,
  Uses uses_;                    // and what it takes
  std::map<Id, LimitHit> hits_;  // jobs that a limit holds back
  JobRequest request_;           // of the job that the main pass looks at
  std::vector<Spot> spots_;      // scratch
  std::vector<std::shared_ptr<const CandidateSet>> candidate_sets_;
  std::vector<End> ends_;  // by time
  bool reserved_ = false;  // there are reservations
  bool has_ends_ = false;
  Stage stage_ = Stage::kSchedulingRun;
  Id step_ = 0;
};

}  // namespace evenhand::slurm
