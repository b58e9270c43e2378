#include "evenhand/core/times.h"
#include "run_work.h"

namespace evenhand::slurm {

// Would more room help?
bool may_wait_for_room(Outcome rule) {
  return rule == Outcome::kBehindFirstWaiting || rule == Outcome::kWaitsForNextPass ||
         rule == Outcome::kPreemptionDisabled || rule == Outcome::kNoEligibleVictims ||
         rule == Outcome::kNoRoomEvenWithVictims || rule == Outcome::kDryRunOmitsVictims ||
         rule == Outcome::kPreemptionBackoff;
}

// Every job that waits, in the order of the queue: it starts, or preempts, on nodes that are kept
// for no job before it, or whole nodes are kept for it from the instant at which it would fit.
void Run::backfill() {
  const Passes& passes = set().passes;
  const Time now = workspace.state.now();
  stage_ = Stage::kBackfill;
  NodeSet up = node_set(static_cast<Id>(blocked_.size()));
  for (Id n = 0; n < static_cast<Id>(blocked_.size()); ++n)
    if (workspace.state.schedulable(n)) put(up, n);
  BackfillPass pass{.timeline = Timeline(floor(now), floor(now + passes.bf_window), up),
                    .has_victims = Column<std::uint8_t>(marks_.size(), 0),
                    .planned = Column<std::uint8_t>(marks_.size(), 0),
                    .of_partition = Column<Index>(closed_.size(), 0),
                    .of_user = {},
                    .kept = Column<Index>(closed_.size(), 0)};
  Column<std::uint8_t> before(marks_.size(), 0);
  for (const Id job : marked_) before[job] = marked(job).has_victims;
  collect_ends();
  look_at_rest();
  for (Size i = 0; i < rules_.size(); ++i) {
    const Turn turn = queue_.turns()[i];
    if (marked(turn.job).started || pass.has_victims[turn.job]) continue;
    // Others leave for it in another of its partitions.
    if (before[turn.job] && rules_[i] != Outcome::kWaitsForVictims) continue;
    use_partition_of(turn);
    Outcome rule = barred_now(turn.job);
    if (rule == Outcome::kStarted) {
      JobRequest& job_request = request_;
      workspace.read_request(turn.job, job_request);
      rule = is_limited(turn.job, job_request) ? Outcome::kLimitReached
                                               : beyond(turn.job, job_request);
      if (rule == Outcome::kStarted) {
        if (passed_over(pass, turn.job)) continue;
        if (pass.full || pass.tests >= passes.bf_max_job_test) break;
        if (passes.bf_max_job_start > 0 && pass.starts >= passes.bf_max_job_start) break;
        add_reserved(workspace.room, turn.job, 1);
        if (licences_lack(turn.job, job_request)) {
          rule = Outcome::kLicensesMissing;
        } else {
          ++pass.tests;
          rule = plan_job(pass, turn.job, job_request);
        }
        if (rule == Outcome::kStarted) {
          ++pass.starts;
          ++tally.backfilled;
          continue;
        }
        add_reserved(workspace.room, turn.job, -1);
      }
    }
    // What the main pass found stands where it looked.
    const Outcome said = rules_[i];
    const bool unseen = said == Outcome::kBehindFirstWaiting || said == Outcome::kWaitsForNextPass;
    if (unseen || ((rule == Outcome::kWaitsForVictims || rule == Outcome::kWaitsForNextPass) &&
                   said != Outcome::kWaitsForVictims))
      rules_[i] = rule;
  }
  if (pass.full) due_for_others(pass, floor(now) + passes.bf_resolution);
  if (pass.tests > pass.starts) due_at_next_end();
  if (pass.tests > pass.starts + 1) rounded_ = pass.due;
}

// Whether a pass looks at no more jobs of its partition or its user.
bool Run::passed_over(BackfillPass& pass, Id job) {
  const Passes& passes = set().passes;
  bool over = false;
  const auto counted = [&over](Index& seen, Index most) {
    if (most > 0 && seen >= most) {
      over = true;
    } else {
      ++seen;
    }
  };
  counted(pass.of_partition[jobs().partition[job]], passes.bf_max_job_part);
  const Id user = workspace.state.operations().code(&OperationColumns::user, job);
  if (at(user + 1) >= pass.of_user.size()) pass.of_user.resize(at(user + 2), 0);
  counted(pass.of_user[user + 1], passes.bf_max_job_user);
  return over;
}

// kStarted, or why it waits.
Outcome Run::plan_job(BackfillPass& pass, Id job, JobRequest& job_request) {
  const Time now = workspace.state.now(), length = lasts(job, true);
  const Id partition = jobs().partition[job];
  const Passes& passes = set().passes;
  bool starts_only = keeps_nothing(job);
  starts_only |= passes.bf_one_resv_per_job && pass.planned[job];
  Index& kept = pass.kept[partition];
  starts_only |= passes.bf_job_part_count_reserve > 0 && kept >= passes.bf_job_part_count_reserve;
  const Outcome otherwise = waits(pass, job, job_request);
  const NodeSet inside = partition_set(partition, false);
  const Estimate rooms = estimate(job);
  const bool by_instant = set().rules.estimates_from_the_instant_tried;
  std::optional<Outcome> rule;
  NodeSet free, before;
  std::vector<Spot> spots;
  Time since = now, found = kNoTime;
  if (const Time next = pass.timeline.next(now + length); next != kNoTime)
    due_for_others(pass, next - length);
  for (;;) {
    free = inside;
    Time later = pass.timeline.open(since, std::max(since, now) + length, inside, free);
    if (by_instant || free != before) {
      open_only(free);
      found = will_run(job, job_request, rooms, {since, later, starts_only}, spots);
      before = free;
    }
    if (found == kNoTime) {
      if (later == kNoTime || starts_only) return rule.value_or(otherwise);
      since = later;
      continue;
    }
    Time when = std::max(found, since);
    NodeSet nodes = node_set(static_cast<Id>(blocked_.size()));
    bool ending = false;
    for (const Spot& spot : spots) {
      if (spot.node == kNoId) continue;
      put(nodes, spot.node);
      ending |= ending_[spot.node] != kNoId;
    }
    if (when <= now && ending) {
      when = now + kMicrosecondsPerSecond;
      later = kNoTime;
      if (!rule) rule = Outcome::kWaitsForNextPass;
    } else if (when <= now) {
      rule = start_now(pass, job, job_request);
      if (*rule == Outcome::kStarted || *rule == Outcome::kLargerThanNodes ||
          *rule == Outcome::kNodeNotSchedulable)
        return *rule;
      later = kNoTime;
    }
    if (when > now && starts_only) return rule.value_or(otherwise);
    if (later != kNoTime && when > later) {
      since = later;
      continue;
    }
    if (when > now + passes.bf_window) {
      due_for_others(pass, when - passes.bf_window);
      return rule.value_or(otherwise);
    }
    const Time begin = floor(when), end = kept_until(when + length);
    if (when > now && pass.timeline.taken(nodes, begin, end)) {
      since = when;
      continue;
    }
    pass.full = pass.timeline.size() >= passes.bf_node_space_size;
    if (pass.full) return rule.value_or(otherwise);
    const Time until = std::max(end, begin + passes.bf_resolution);
    pass.timeline.keep(nodes, begin, until);
    due_in_window(pass, begin, until);
    if (when <= now + kMicrosecondsPerSecond)
      for (const Time moving : {when, when + length}) due_by_rounding(pass, moving);
    for (const Spot& spot : spots)
      if (spot.node != kNoId && !blocked_by_.empty() && blocked_by_[spot.node] == kNoId)
        blocked_by_[spot.node] = job;
    pass.planned[job] = 1;
    ++kept;
    return rule.value_or(otherwise);
  }
}

Outcome Run::start_now(BackfillPass& pass, Id job, JobRequest& job_request) {
  if (marked(job).has_victims) return Outcome::kWaitsForVictims;
  if (marked(job).waits_for_others) return Outcome::kWaitsForNextPass;
  const Outcome rule = select(job, job_request, open_.data());
  pass.has_victims[job] = marked(job).has_victims;
  return rule;
}

// What is said of a job that does not fit now.
Outcome Run::waits(const BackfillPass& pass, Id job, const JobRequest& job_request) {
  if (const Outcome never = beyond_nodes(job_request); never != Outcome::kStarted) return never;
  if (pass.timeline.ever_taken(partition_set(jobs().partition[job], true)))
    return Outcome::kBehindFirstWaiting;
  if (set().type == PreemptType::kNone) return Outcome::kPreemptionDisabled;
  return candidate_set(job)->jobs.empty() ? Outcome::kNoEligibleVictims
                                          : Outcome::kNoRoomEvenWithVictims;
}

// An absolute instant, rounded down.
Time Run::floor(Time instant) const { return floor_to(instant, set().passes.bf_resolution); }

// When what is kept until an instant ends: rounded down, or up.
Time Run::kept_until(Time instant) const {
  const Time before = floor(instant);
  return set().rules.kept_until_rounded_up && before < instant ? before + set().passes.bf_resolution
                                                               : before;
}

NodeSet Run::partition_set(Id partition, bool up) const {
  const std::span<const std::uint8_t> inside = jobs().on_nodes(partition);
  NodeSet set = node_set(static_cast<Id>(inside.size()));
  for (Size n = 0; n < inside.size(); ++n)
    if (inside[n] && (!up || workspace.state.schedulable(static_cast<Id>(n))))
      put(set, static_cast<Id>(n));
  return set;
}

void Run::open_only(const NodeSet& nodes) {
  for (Size n = 0; n < open_.size(); ++n) open_[n] = has(nodes, static_cast<Id>(n));
}

}  // namespace evenhand::slurm
