#include "run_work.h"

namespace evenhand::slurm {
namespace {

constexpr Time kYear = Time{365} * 86'400 * kMicrosecondsPerSecond;

bool is_served(Outcome rule) {
  return rule == Outcome::kWaitsForVictims || rule == Outcome::kWaitsForNextPass;
}

}  // namespace

Run::Run(Inputs inputs, ClusterState& state, const Trigger& trigger, Recorder* recorder)
    : inputs_(std::move(inputs)),
      desk(inputs_, state),
      decisions(desk.state.width()),
      trigger_(trigger),
      recorder_(recorder),
      blocked_(static_cast<Size>(tables().nodes.size()), 0),
      closed_(jobs().partition_down.size(), Outcome::kStarted),
      partition_nodes_(closed_.size(), 0),
      partition_up_(closed_.size(), 0),
      ending_(blocked_.size(), kNoId),
      open_(blocked_.size(), 1),
      start_(blocked_.size(), 0),
      choose_(blocked_.size(), 0),
      gone_for_(static_cast<Size>(tables().operations.size()), kNoId),
      served_(gone_for_.size(), 0),
      started_(gone_for_.size(), 0),
      told_(gone_for_.size(), 0),
      runs_(gone_for_.size(), 0),
      resumed_(desk.stopped.size(), 0) {
  const Size count = blocked_.size();
  for (Size p = 0; p < closed_.size(); ++p)
    for (Size n = 0; n < count; ++n) {
      if (!jobs().node_of_partition[p * count + n]) continue;
      ++partition_nodes_[p];
      partition_up_[p] += desk.state.schedulable(static_cast<Id>(n));
    }
  for (const RunningJob& job : desk.running) runs_[at(job.operation)] = 1;
  const ReservationColumns& kept = tables().reservations;
  for (Id i = 0; i < static_cast<Id>(kept.size()); ++i)
    reserved_ |= keeps_room(kept, i, desk.state.now());
  for (const Leaving& l : desk.state.leaving()) {
    const Time deadline = cell_of(desk.state, tables().allocations.deadline, l.slot, kNoTime);
    const Id node = desk.state.node_of(l.slot);
    if (deadline != kNoTime && deadline > desk.state.now()) {
      due(deadline);
    } else if (node != kNoId) {
      const Id whom = l.beneficiary.operation;
      mark_ending(node, whom == kNoId ? kSeveral : whom);
    }
  }
}

void Run::all() {
  queue_ = queue_order(desk);
  rules_.assign(queue_.size(), Outcome::kWaitsForNextPass);
  if (trigger_.main_pass) main_pass();
  resume(kNoId);
  if (set().backfill && trigger_.backfill_pass) backfill();
  stage_ = Stage::kSchedulingRun;
  tell_contested();
  tell_refusals();
}

void Run::stand_in(const Turn& turn) {
  turn_ = turn;
  JobColumns& j = inputs_.jobs;
  j.partition[at(turn.job)] = turn.partition;
  j.tier[at(turn.job)] = turn.tier;
  j.priority[at(turn.job)] = turn.priority;
  j.exclusive[at(turn.job)] = turn.exclusive;
}

// Jobs in the order of the queue; one that has to wait closes its partition.
void Run::main_pass() {
  const Passes& passes = set().passes;
  std::vector<Index> seen(closed_.size(), 0);
  Index starts = 0;
  for (Size i = 0; i < queue_.size(); ++i) {
    const Turn turn = queue_[i];
    if (served_[at(turn.job)]) continue;  // in another of its partitions
    if (passes.sched_max_job_start > 0 && starts >= passes.sched_max_job_start) return;
    stand_in(turn);
    if (++seen[at(turn.partition)] > passes.partition_job_depth && passes.partition_job_depth > 0)
      continue;
    resume(turn.job);
    add_reserved(desk.room, turn.job, 1);
    const Outcome rule = one(turn.job);
    if (rule == Outcome::kStarted) {
      ++starts;
    } else {
      add_reserved(desk.room, turn.job, -1);
      rules_[i] = rule;
      served_[at(turn.job)] |= rule == Outcome::kWaitsForVictims;
    }
  }
}

// kStarted, or why it waits.
Outcome Run::one(Id job) {
  if (const Outcome now = barred_now(job); now != Outcome::kStarted) return now;
  const Id partition = jobs().partition[at(job)];
  if (closed_[at(partition)] != Outcome::kStarted) return closed_rule(partition);
  Wish wish = desk.wish(job);
  if (const Outcome never = beyond(job, wish); never != Outcome::kStarted) return never;
  Index least = 0;
  for (const Wish::Part& part : wish.parts())
    if (part.takes_node) least = std::max(least, part.count);
  if (partition_nodes_[at(partition)] < least) return Outcome::kLargerThanNodes;
  Index open = 0;
  const Size row = at(partition) * blocked_.size();
  for (Size n = 0; n < blocked_.size(); ++n) {
    open_[n] = !blocked_[n];
    open +=
        jobs().node_of_partition[row + n] && open_[n] && desk.state.schedulable(static_cast<Id>(n));
  }
  if (open < least) {
    const Outcome rule = partition_up_[at(partition)] < least ? Outcome::kNodeNotSchedulable
                                                              : closed_rule(partition);
    close(job, rule);
    return rule;
  }
  if (licences_lack(job, wish)) return Outcome::kLicensesMissing;
  const Outcome rule = select(job, wish, open_.data());
  if (rule == Outcome::kStarted || rule == Outcome::kLargerThanNodes ||
      rule == Outcome::kNodeNotSchedulable)
    return rule;
  bool held_up = false;
  for (const Wish::Part& part : wish.parts()) {
    if (!part.takes_node) continue;
    bool any = false;
    for (Size n = 0; n < blocked_.size(); ++n) any |= part.allowed[n] && !blocked_[n];
    held_up |= !any;
  }
  busy(job, wish, rule);
  return held_up && rule != Outcome::kWaitsForVictims ? closed_rule(partition) : rule;
}

// Why a job may not start at this instant, whatever is free.
Outcome Run::barred_now(Id job) {
  const Time now = desk.state.now();
  if (const Time eligible = jobs().eligible[at(job)]; eligible != kNoTime && eligible > now) {
    due(eligible);
    return Outcome::kNotEligibleYet;
  }
  return jobs().partition_down[at(jobs().partition[at(job)])] ? Outcome::kPartitionDown
                                                              : Outcome::kStarted;
}

// Why it never starts there as things are set.
Outcome Run::beyond(Id job, const Wish& wish) const {
  const Time longest = jobs().partition_max_time[at(jobs().partition[at(job)])];
  const std::optional<Time> wanted = limit(job);
  if (longest != kNoTime && wanted && *wanted > longest) return Outcome::kPartitionTimeLimit;
  for (const Wish::Part& part : wish.parts())
    if (part.takes_node && std::ranges::find(part.allowed, 1) == part.allowed.end())
      return barred_everywhere(job, part.request);
  return Outcome::kStarted;
}

// Whether a job is too young, or has too little priority, to keep anything from others.
bool Run::keeps_nothing(Id job) {
  const Passes& passes = set().passes;
  const Time eligible = jobs().eligible[at(job)];
  const Time since = eligible == kNoTime ? tables().operations.start_time[at(job)] : eligible;
  const bool young = desk.state.now() - since < passes.bf_min_age_reserve;
  if (young) due(since + passes.bf_min_age_reserve);
  return young || jobs().priority[at(job)] < passes.bf_min_prio_reserve;
}

// What is said of a job that others keep from its partition's nodes: they are served, or not.
Outcome Run::closed_rule(Id partition) const {
  const Outcome by = closed_[at(partition)];
  return (by == Outcome::kStarted ? all_hold_ : is_served(by)) ? Outcome::kWaitsForNextPass
                                                               : Outcome::kBehindFirstWaiting;
}

void Run::close(Id job, Outcome rule) {
  const Id partition = jobs().partition[at(job)];
  closed_[at(partition)] = rule;
  all_hold_ = all_hold_ && is_served(rule);
  const Size count = blocked_.size(), row = at(partition) * count;
  for (Size n = 0; n < count; ++n) blocked_[n] |= jobs().node_of_partition[row + n];
}

// A job that has to wait closes its partition; or the nodes that it names, or nothing.
void Run::busy(Id job, const Wish& wish, Outcome rule) {
  bool named = false, others = false;
  for (const Wish::Part& part : wish.parts()) {
    if (!part.takes_node) continue;
    (at_or(tables().requests.required_node, part.request, kNoId) == kNoId ? others : named) = true;
  }
  if (named && !others) {
    for (const Wish::Part& part : wish.parts())
      if (part.takes_node) blocked_[at(tables().requests.required_node[at(part.request)])] = 1;
  } else if (!keeps_nothing(job)) {
    close(job, rule);
  }
}

bool Run::licences_lack(Id job, const Wish& wish) {
  return !wish.licences_fit(desk.room) && !licences_come_free(job, wish);
}

// Whether the licences that a job lacks would be there once all have gone that may go for it.
bool Run::licences_come_free(Id job, const Wish& wish) {
  if (!set().reclaim_licenses) return false;
  Room all = desk.room;
  desk.add_leaving(all, job);
  for (const Index i : desk.candidates(job)) desk.give(all, of(i), 1);
  if (wish.licences_fit(all)) return true;
  note(wish, candidates_of(job, wish), nullptr);
  return false;
}

// The longest of the durations of what waits; none: a part has no limit.
std::optional<Time> Run::limit(Id job) const {
  Time most = 0;
  const Grouping& by = tables().requests_by_operation;
  for (Index i = by.offsets[at(job)]; i < by.offsets[at(job) + 1]; ++i) {
    const Id request = by.items[static_cast<Size>(i)];
    const Time one = at_or(tables().requests.duration, request, kNoTime);
    if (desk.state.pending(request) <= 0) continue;
    if (one == kNoTime) {
      const Time usual = jobs().partition_default_time[at(jobs().partition[at(job)])];
      return usual == kNoTime ? std::nullopt : std::optional(usual);
    }
    most = std::max(most, one);
  }
  return most;
}

// How long a job would run at most.
Time Run::lasts(Id job, bool backfill) const {
  const Time most = jobs().partition_max_time[at(jobs().partition[at(job)])];
  const Time longest = most == kNoTime ? kYear : most;
  const Time length = std::min(limit(job).value_or(longest), longest);
  const Time shortest = jobs().time_min[at(job)];
  return backfill && shortest != kNoTime ? std::min(length, shortest) : length;
}

}  // namespace evenhand::slurm
