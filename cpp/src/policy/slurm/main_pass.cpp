#include "run_work.h"

namespace evenhand::slurm {
namespace {

bool is_served(Outcome rule) {
  return rule == Outcome::kWaitsForVictims || rule == Outcome::kWaitsForNextPass;
}

}  // namespace

Run::Run(Workspace& of, Jobs& columns, Memory& memory, const Trigger& trigger, Recorder* recorder)
    : jobs_(columns),
      workspace(of),
      decisions(of.state.width()),
      memory_(memory),
      trigger_(trigger),
      recorder_(recorder),
      blocked_(at(of.state.nodes().rows()), 0),
      closed_(of.settings.partitions.size(), Outcome::kStarted),
      partition_nodes_(closed_.size(), 0),
      partition_up_(closed_.size(), 0),
      ending_(blocked_.size(), kNoId),
      open_(blocked_.size(), 1),
      start_(blocked_.size(), 0),
      choose_(blocked_.size(), 0),
      gone_for_(at(of.state.operations().rows()), kNoId),
      served_(gone_for_.size(), 0),
      started_(gone_for_.size(), 0),
      has_victims_(gone_for_.size(), 0),
      runs_(gone_for_.size(), 0),
      resumed_(workspace.stopped.size(), 0) {
  workspace.pace.begin(of.state);
  if (workspace.pace.on()) held_by_pace_.resize(gone_for_.size());
  memory_.last_preempt.resize(gone_for_.size(), kNoTime);
  for (Size p = 0; p < closed_.size(); ++p) {
    const std::span<const std::uint8_t> inside = jobs().on_nodes(static_cast<Id>(p));
    for (Size n = 0; n < inside.size(); ++n) {
      partition_nodes_[p] += inside[n];
      partition_up_[p] += inside[n] && workspace.state.schedulable(static_cast<Id>(n));
    }
  }
  for (const RunningJob& job : workspace.running) runs_[job.operation] = 1;
  for (Id i = 0; i < workspace.state.reservations().rows(); ++i)
    reserved_ |= keeps_room(workspace.state, i);
  for (const Leaving& l : workspace.state.leaving()) {
    const Time gone = deadline(l.slot);
    const Id node = workspace.state.node_of(l.slot);
    if (gone != kNoTime && gone > workspace.state.now()) {
      due(gone);
    } else if (node != kNoId) {
      const Id beneficiary = l.beneficiary.operation;
      mark_ending(node, beneficiary == kNoId ? kSeveral : beneficiary);
    }
  }
}

void Run::all() {
  queue_ = queue_order(workspace);
  rules_.assign(queue_.size(), Outcome::kWaitsForNextPass);
  if (trigger_.main_pass) main_pass();
  resume(kNoId);
  if (set().backfill && trigger_.backfill_pass) backfill();
  stage_ = Stage::kSchedulingRun;
  if (recorder_ != nullptr) refusals();
  recorder_ = nullptr;
  stand_back();
  if (const Time paced = workspace.pace.due(); paced != kNoTime) due(paced);
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

// Jobs in the order of the queue; one that has to wait closes its partition.
void Run::main_pass() {
  const Passes& passes = set().passes;
  Column<Index> seen(closed_.size(), 0);
  Index starts = 0;
  for (Size i = 0; i < queue_.size(); ++i) {
    const Turn turn = queue_[i];
    if (served_[turn.job]) continue;  // in another of its partitions
    if (passes.sched_max_job_start > 0 && starts >= passes.sched_max_job_start) return;
    use_partition_of(turn);
    if (++seen[turn.partition] > passes.partition_job_depth && passes.partition_job_depth > 0)
      continue;
    resume(turn.job);
    add_reserved(workspace.room, turn.job, 1);
    const Outcome rule = one(turn.job);
    if (rule == Outcome::kStarted) {
      ++starts;
    } else {
      add_reserved(workspace.room, turn.job, -1);
      rules_[i] = rule;
      served_[turn.job] |= rule == Outcome::kWaitsForVictims;
    }
  }
}

// kStarted, or why it waits.
Outcome Run::one(Id job) {
  if (const Outcome now = barred_now(job); now != Outcome::kStarted) return now;
  const Id partition = jobs().partition[job];
  if (closed_[partition] != Outcome::kStarted) return closed_rule(partition);
  JobRequest job_request = workspace.job_request(job);
  if (const Outcome never = beyond(job, job_request); never != Outcome::kStarted) return never;
  Index least = 0;
  for (const JobRequest::Part& part : job_request.parts())
    if (part.takes_node) least = std::max(least, part.count);
  if (partition_nodes_[partition] < least) return Outcome::kLargerThanNodes;
  Index open = 0;
  const std::span<const std::uint8_t> inside = jobs().on_nodes(partition);
  for (Size n = 0; n < blocked_.size(); ++n) {
    open_[n] = !blocked_[n];
    open += inside[n] && open_[n] && workspace.state.schedulable(static_cast<Id>(n));
  }
  if (open < least) {
    const Outcome rule =
        partition_up_[partition] < least ? Outcome::kNodeNotSchedulable : closed_rule(partition);
    close(job, rule);
    return rule;
  }
  if (licences_lack(job, job_request)) return Outcome::kLicensesMissing;
  const Outcome rule = select(job, job_request, open_.data());
  if (rule == Outcome::kStarted || rule == Outcome::kLargerThanNodes ||
      rule == Outcome::kNodeNotSchedulable)
    return rule;
  bool held_up = false;
  for (const JobRequest::Part& part : job_request.parts()) {
    if (!part.takes_node) continue;
    bool any = false;
    for (Size n = 0; n < blocked_.size(); ++n) any |= part.allowed[n] && !blocked_[n];
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
  const std::optional<Time> wanted = limit(job);
  if (longest != kNoTime && wanted && *wanted > longest) return Outcome::kPartitionTimeLimit;
  for (const JobRequest::Part& part : job_request.parts())
    if (part.takes_node && std::ranges::find(part.allowed, 1) == part.allowed.end())
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
  all_hold_ = all_hold_ && is_served(rule);
  const std::span<const std::uint8_t> inside = jobs().on_nodes(partition);
  for (Size n = 0; n < blocked_.size(); ++n) blocked_[n] |= inside[n];
}

// A job that has to wait closes its partition; or the nodes that it names, or nothing.
void Run::busy(Id job, const JobRequest& job_request, Outcome rule) {
  bool named = false, others = false;
  for (const JobRequest::Part& part : job_request.parts()) {
    if (!part.takes_node) continue;
    (required_node(part.request) == kNoId ? others : named) = true;
  }
  if (named && !others) {
    for (const JobRequest::Part& part : job_request.parts())
      if (part.takes_node) blocked_[required_node(part.request)] = 1;
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
