#include "run_work.h"

namespace evenhand::slurm {
namespace {

bool is_served(Outcome rule) {
  return rule == Outcome::kWaitsForVictims || rule == Outcome::kWaitsForNextPass;
}

}  // namespace

Run::Run(Workspace& of, Jobs& columns, Queue& queue, Memory& memory)
    : jobs_(columns), workspace(of), decisions(of.state.width()), queue_(queue), memory_(memory) {}

void Run::begin(const Trigger& trigger, Recorder* recorder) {
  const ClusterState& state = workspace.state;
  const Size nodes = at(state.nodes().rows()), jobs = at(state.operations().rows());
  decisions.clear();
  decisions.certify(trigger.certificates);
  tally = {};
  next_due = rounded_ = kNoTime;
  trigger_ = trigger;
  recorder_ = recorder;
  refusals_.reset();
  contested_.reset();
  rules_.clear();
  turn_ = 0;
  main_starts_ = 0;
  seen_.assign(set().partitions.size(), 0);
  blocked_.assign(nodes, 0);
  closing_.clear();
  any_blocked_ = any_ending_ = false;
  closed_.assign(set().partitions.size(), Outcome::kStarted);
  closed_by_.assign(set().partitions.size(), kNoId);
  blocked_by_.assign(recorder != nullptr ? nodes : 0, kNoId);
  all_hold_ = true;
  ending_.assign(nodes, kNoId);
  open_.assign(nodes, 1);
  start_.resize(nodes);
  choose_.resize(nodes);
  for (const Id job : marked_) marks_[job] = {};
  marked_.clear();
  marks_.resize(jobs);
  gone_.clear();
  resumed_.assign(workspace.stopped.size(), 0);
  held_.clear();
  begun_.clear();
  begun_spots_.clear();
  candidate_sets_.clear();
  ends_.clear();
  has_ends_ = reserved_ = false;
  stage_ = Stage::kSchedulingRun;
  step_ = 0;
  hits_.clear();
  if (set().limits.any) count_running();
  workspace.pace.begin(state);
  if (workspace.pace.on()) held_by_pace_.assign(jobs, {});
  for (Id i = 0; i < state.reservations().rows(); ++i) reserved_ |= keeps_room(state, i);
  for (const Leaving& l : state.leaving()) {
    const Time gone = deadline(l.slot);
    const Id node = state.node_of(l.slot);
    if (gone != kNoTime && gone > state.now()) {
      due(gone);
    } else if (node != kNoId) {
      const Id beneficiary = l.beneficiary.operation;
      mark_ending(node, beneficiary == kNoId ? kSeveral : beneficiary);
    }
  }
}

void Run::all(const Trigger& trigger, Recorder* recorder) {
  begin(trigger, recorder);
  if (trigger_.main_pass) main_pass(false);
  resume(kNoId);
  if (set().backfill && trigger_.backfill_pass) backfill();
  stage_ = Stage::kSchedulingRun;
  if (recorder != nullptr && recorder->request != kNoId) report(*recorder);
  recorder_ = nullptr;
  stand_back();
  if (const Time paced = workspace.pace.due(); paced != kNoTime) due(paced);
  due_by_age();
  rounds_only = next_due == kNoTime && rounded_ != kNoTime;
  if (rounded_ != kNoTime) due(rounded_);
}

void Run::use_partition_of(const Turn& turn) {
  const Size j = at(turn.job);
  if (jobs_.partition[j] == turn.partition) return;
  if (std::ranges::find(first_turns_, turn.job, &Turn::job) == first_turns_.end())
    first_turns_.push_back(
        {turn.job, jobs_.partition[j], jobs_.tier[j], jobs_.priority[j], jobs_.exclusive[j]});
  become(turn);
}

void Run::stand_back() {
  for (const Turn& turn : first_turns_) become(turn);
  first_turns_.clear();
}

void Run::become(const Turn& turn) {
  const Size j = at(turn.job);
  jobs_.partition[j] = turn.partition;
  jobs_.tier[j] = turn.tier;
  jobs_.priority[j] = turn.priority;
  jobs_.exclusive[j] = turn.exclusive;
}

// Jobs in the order of the queue; one that has to wait closes its partition. Unless all of it is
// wanted, it ends where no job behind can do anything.
void Run::main_pass(bool whole) {
  const Passes& passes = set().passes;
  for (; queue_.reaches(turn_); ++turn_) {
    const Turn turn = queue_.turns()[turn_];
    if (rules_.size() <= turn_) rules_.push_back(Outcome::kWaitsForNextPass);
    if (marked(turn.job).served) continue;  // in another of its partitions, by this pass
    if (passes.sched_max_job_start > 0 && main_starts_ >= passes.sched_max_job_start) return;
    use_partition_of(turn);
    if (++seen_[turn.partition] > passes.partition_job_depth && passes.partition_job_depth > 0)
      continue;
    resume(turn.job);
    add_reserved(workspace.room, turn.job, 1);
    const Outcome rule = one(turn.job);
    if (rule == Outcome::kStarted) {
      ++main_starts_;
      continue;
    }
    add_reserved(workspace.room, turn.job, -1);
    rules_[turn_] = rule;
    if (marked(turn.job).has_victims) mark(turn.job).served = true;
    if (!whole && workspace.stopped.empty() && !reserved_ && queue_.all_closed(closed_)) {
      ++turn_;
      return;
    }
  }
}

// All turns are there, each with what the main pass says of it.
void Run::look_at_rest() {
  if (trigger_.main_pass) main_pass(true);
  while (queue_.reaches(rules_.size())) rules_.push_back(Outcome::kWaitsForNextPass);
}

// kStarted, or why it waits.
Outcome Run::one(Id job) {
  if (const Outcome now = barred_now(job); now != Outcome::kStarted) return now;
  const Id partition = jobs().partition[job];
  JobRequest& job_request = request_;
  if (set().limits.any) {
    workspace.read_request(job, job_request);
    if (is_limited(job, job_request)) return Outcome::kLimitReached;
  }
  if (closed_[partition] != Outcome::kStarted) return closed_rule(partition);
  workspace.read_request(job, job_request);
  if (const Outcome never = beyond(job, job_request); never != Outcome::kStarted) return never;
  Index least = 0;
  for (const JobRequest::Part& part : job_request.parts())
    if (part.takes_node) least = std::max(least, part.count);
  if (workspace.nodes_of(partition) < least) return Outcome::kLargerThanNodes;
  block_closed();
  Index open = workspace.nodes_up(partition);
  if (any_blocked_) {
    open = 0;
    const View<const std::uint8_t> up = workspace.up(partition);
    for (Size n = 0; n < blocked_.size(); ++n) {
      open_[n] = !blocked_[n];
      open += up[n] & open_[n];
    }
  }
  if (open < least) {
    const Outcome rule = workspace.nodes_up(partition) < least ? Outcome::kNodeNotSchedulable
                                                               : closed_rule(partition);
    close(job, rule);
    return rule;
  }
  if (licences_lack(job, job_request)) return Outcome::kLicensesMissing;
  const Outcome rule = select(job, job_request, any_blocked_ ? open_.data() : nullptr);
  if (rule == Outcome::kStarted || rule == Outcome::kLargerThanNodes ||
      rule == Outcome::kNodeNotSchedulable)
    return rule;
  bool held_up = false;
  for (const JobRequest::Part& part : job_request.parts()) {
    if (!part.takes_node || !any_blocked_) continue;
    bool any = false;
    for (Size n = 0; n < blocked_.size(); ++n) any |= part.allowed()[n] && !blocked_[n];
    held_up |= !any;
  }
  busy(job, job_request, rule);
  return held_up && rule != Outcome::kWaitsForVictims ? closed_rule(partition) : rule;
}

// Why a job may not start at this instant, whatever is free.
Outcome Run::barred_now(Id job) {
  const Time now = workspace.state.now();
  if (const Time eligible = jobs().eligible[job]; eligible != kNoTime && eligible > now) {
    due(eligible);
    return Outcome::kNotEligibleYet;
  }
  return set().partitions.down[jobs().partition[job]] ? Outcome::kPartitionDown : Outcome::kStarted;
}

// Why it never starts there as things are set.
Outcome Run::beyond(Id job, const JobRequest& job_request) const {
  const Time longest = set().partitions.max_time[jobs().partition[job]];
  if (longest != kNoTime)
    if (const std::optional<Time> wanted = limit(job); wanted && *wanted > longest)
      return Outcome::kPartitionTimeLimit;
  for (const JobRequest::Part& part : job_request.parts())
    if (part.takes_node && std::ranges::none_of(part.allowed(), std::identity{}))
      return barred_everywhere(job, part.request);
  return Outcome::kStarted;
}

// Whether a job is too young, or has too little priority, to keep anything from others.
bool Run::keeps_nothing(Id job) {
  const Passes& passes = set().passes;
  const Time eligible = jobs().eligible[job];
  const Time since = eligible == kNoTime ? workspace.submitted(job).first : eligible;
  const bool young = workspace.state.now() - since < passes.bf_min_age_reserve;
  if (young) due(since + passes.bf_min_age_reserve);
  return young || jobs().priority[job] < passes.bf_min_prio_reserve;
}

// What is said of a job that others keep from its partition's nodes: they are served, or not.
Outcome Run::closed_rule(Id partition) const {
  const Outcome by = closed_[partition];
  return (by == Outcome::kStarted ? all_hold_ : is_served(by)) ? Outcome::kWaitsForNextPass
                                                               : Outcome::kBehindFirstWaiting;
}

void Run::close(Id job, Outcome rule) {
  const Id partition = jobs().partition[job];
  closed_[partition] = rule;
  closed_by_[partition] = job;
  all_hold_ = all_hold_ && is_served(rule);
  closing_.push_back(partition);
}

void Run::block_closed() {
  for (const Id partition : closing_) {
    const std::span<const std::uint8_t> inside = jobs().on_nodes(partition);
    for (Size n = 0; n < blocked_.size(); ++n) blocked_[n] |= inside[n];
    for (Size n = 0; n < blocked_by_.size(); ++n)
      if (inside[n] && blocked_by_[n] == kNoId) blocked_by_[n] = closed_by_[partition];
    any_blocked_ = true;
  }
  closing_.clear();
}

// A job that has to wait closes its partition; or the nodes that it names, or nothing.
void Run::busy(Id job, const JobRequest& job_request, Outcome rule) {
  bool named = false, others = false;
  for (const JobRequest::Part& part : job_request.parts()) {
    if (!part.takes_node) continue;
    (required_node(part.request) == kNoId ? others : named) = true;
  }
  if (named && !others) {
    for (const JobRequest::Part& part : job_request.parts()) {
      if (!part.takes_node) continue;
      const Id node = required_node(part.request);
      blocked_[node] = 1;
      if (!blocked_by_.empty() && blocked_by_[node] == kNoId) blocked_by_[node] = job;
    }
    any_blocked_ = true;
  } else if (!keeps_nothing(job)) {
    close(job, rule);
  }
}

bool Run::licences_lack(Id job, const JobRequest& job_request) {
  return !job_request.licences_fit(workspace.room) && !licences_come_free(job, job_request);
}

// Whether the licences that a job lacks would be there once all have gone that may go for it.
bool Run::licences_come_free(Id job, const JobRequest& job_request) {
  if (!set().reclaim_licenses) return false;
  Occupancy all = workspace.room;
  workspace.add_leaving(all, job);
  for (const Index i : workspace.candidates(job)) workspace.give(all, of(i), 1);
  if (job_request.licences_fit(all)) return true;
  note(job_request, candidates_of(job, job_request), nullptr);
  return false;
}

// The longest of the durations of what waits; none: a part has no limit.
std::optional<Time> Run::limit(Id job) const {
  Time most = 0;
  for (const Id request : workspace.state.requests_of(job)) {
    const Time one = workspace.state.requests().get(&RequestColumns::duration, request, kNoTime);
    if (workspace.state.pending(request) <= 0) continue;
    if (one == kNoTime) {
      const Time usual = set().partitions.default_time[jobs().partition[job]];
      return usual == kNoTime ? std::nullopt : std::optional(usual);
    }
    most = std::max(most, one);
  }
  return most;
}

// How long a job would run at most.
Time Run::lasts(Id job, bool backfill) const {
  const Time most = set().partitions.max_time[jobs().partition[job]];
  const Time longest = most == kNoTime ? kYear : most;
  const Time length = std::min(limit(job).value_or(longest), longest);
  const Time shortest = jobs().time_min(job);
  return backfill && shortest != kNoTime ? std::min(length, shortest) : length;
}

}  // namespace evenhand::slurm
