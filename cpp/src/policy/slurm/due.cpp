// When a run may decide otherwise, though nothing happens until then.
#include <algorithm>
#include <cmath>

#include "evenhand/core/times.h"
#include "run_work.h"

namespace evenhand::slurm {

// Priorities that grow with age may put waiting jobs into another order, or above those that run.
void Run::due_by_age() {
  if (!jobs().age() || !decisions.rows().empty()) return;
  const auto rises = [this](const Turn& turn, double to) {
    if (const Time at = jobs().rises(workspace.state, turn, to); at != kNoTime) due(at);
  };
  const std::vector<Turn>& turns = queue_.turns();
  // Then the order may have circles, and others may be preempted by priority.
  bool compared = has_circles();
  for (Size p = 0; set().type == PreemptType::kPartitionPrio && p < closed_.size(); ++p)
    compared |= set().asks_priority_in(static_cast<Id>(p));
  const double least = set().passes.bf_min_prio_reserve;
  for (const Turn& turn : turns) {
    if (turn.priority < least) rises(turn, least);
    if (compared) rises(turn, turn.priority + 1);
  }
  if (set().type == PreemptType::kQos) due_above_victims();
  if (compared || set().type == PreemptType::kQos || set().has_min_exempt_priority)
    for (const RunningJob& job : workspace.running) {
      const Turn turn = jobs().first_turn(job.operation);
      rises(turn, turn.priority + 1);
    }
  if (compared || set().first_come) return;
  for (Size i = 1; i < turns.size(); ++i) {
    const Turn &before = turns[i - 1], &behind = turns[i];
    if (before.tier != behind.tier || jobs().expedited(before.job) != jobs().expedited(behind.job))
      continue;
    const bool first = workspace.submitted(behind.job) < workspace.submitted(before.job);
    if (first || !jobs().stays_before(before, behind))
      rises(behind, std::max(before.priority + (first ? 0 : 1), behind.priority + 1));
  }
}

// Whether the order by QOS may have circles: priorities alone do not say which job is before which.
bool Run::has_circles() const {
  if (set().type != PreemptType::kQos) return false;
  const std::vector<Turn>& turns = queue_.turns();
  Column<std::uint8_t> there(set().qualities.size(), 0);
  bool tiers = workspace.state.reservations().rows() > 0;
  for (const Turn& turn : turns) {
    tiers |= turn.tier != turns.front().tier;
    if (const Id qos = jobs().qos[turn.job]; qos != kNoId) there[qos] = 1;
  }
  for (Id mine = 0; mine < there.rows(); ++mine)
    for (Id its = 0; its < there.rows(); ++its)
      if (there[mine] && there[its] && set().qualities.lists(mine, its) && (mine != its || tiers))
        return true;
  return false;
}

// When what waits gets above the next of those that its QOS lets it preempt by priority.
void Run::due_above_victims() {
  std::vector<Column<double>> above(set().qualities.size());
  Column<std::uint8_t> known(set().qualities.size(), 0);
  for (const Turn& turn : queue_.turns()) {
    const Id mine = jobs().qos[turn.job];
    if (mine == kNoId) continue;
    Column<double>& priorities = above[at(mine)];
    if (!std::exchange(known[mine], std::uint8_t{1})) {
      for (const RunningJob& job : workspace.running)
        if (const Id its = jobs().qos[job.operation];
            set().qualities.lists(mine, its) && set().asks_priority_of(mine, its))
          priorities.push_back(jobs().priority[job.operation]);
      std::ranges::sort(priorities);
    }
    const Turn first = jobs().first_turn(turn.job);
    const auto next = std::ranges::lower_bound(priorities, first.priority);
    if (next == priorities.end()) continue;
    if (const Time at = jobs().rises(workspace.state, first, std::floor(*next) + 1); at != kNoTime)
      due(at);
  }
}

// What ran too short to be preempted for a job will not have some day.
void Run::due_at_exempt(Id job) {
  const Time now = workspace.state.now();
  for (const RunningJob& other : workspace.running) {
    const Time spared = other.start + jobs().exempt[other.operation];
    if (spared > now && !other.gone && !other.leaves &&
        workspace.standing(job, other) == Outcome::kRanTooShort)
      due(spared);
  }
}

// What is counted on to end and does not is planned anew: at its end, once the second of its end is
// over, and once `KillWait` is.
void Run::due_at_next_end() {
  const Time now = workspace.state.now();
  for (const End& end : ends_) {
    for (const Time later : {Time{0}, kMicrosecondsPerSecond, set().kill_wait})
      if (end.at + later > now) due(end.at + later);
    if (end.at > now) return;
  }
}

void Run::due_for_others(BackfillPass& pass, Time instant) const {
  if (instant > workspace.state.now() && (pass.due == kNoTime || instant < pass.due))
    pass.due = instant;
}

// What is kept beyond the end of the timeline, which is rounded, comes into it.
void Run::due_in_window(BackfillPass& pass, Time begin, Time end) const {
  const Passes& passes = set().passes;
  const Time last = floor(workspace.state.now() + passes.bf_window);
  for (const Time at : {begin, end})
    if (at >= last) due_for_others(pass, at + passes.bf_resolution - passes.bf_window);
}

// What is kept until or from an instant that is so far ahead of now, whenever that is, is rounded.
void Run::due_by_rounding(BackfillPass& pass, Time moving) const {
  const Time now = workspace.state.now(), before = floor(moving);
  due_for_others(pass, now + before + set().passes.bf_resolution - moving);
  if (before == moving) due_for_others(pass, now + 1);  // that was up to here rounded to itself
}

}  // namespace evenhand::slurm
