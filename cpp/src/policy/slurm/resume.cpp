#include "run_work.h"

namespace evenhand::slurm {

// Suspended jobs resume where they are, before a pending one that may not preempt them; not in room
// that a job counts on for which others leave.
void Run::resume(Id before) {
  for (Size i = 0; i < workspace.stopped.size(); ++i) {
    const RunningJob& job = workspace.stopped[i];
    if (resumed_[i]) continue;
    if (before != kNoId && workspace.standing(before, job) == Outcome::kTaken) continue;
    Id where = kNoId;
    Row missing{};
    Outcome found = can_resume(job, workspace.room, where, missing);
    if (found == Outcome::kStarted && !held_.empty()) {
      Occupancy later = afterwards();
      if (can_resume(job, later, where, missing) != Outcome::kStarted) found = Outcome::kRoomHeld;
    }
    if (found != Outcome::kStarted) {
      // What stood in its way in the end.
      if (before == kNoId && follows(job)) event(where, found, job.operation, kNoId, missing);
      continue;
    }
    resumed_[i] = 1;
    const Id step = step_++;
    for (const Id slot : workspace.slots(job)) {
      const Id node = workspace.state.node_of(slot);
      const Row more = back(slot), free = free_on(node);
      decisions.add({.action = Action::kResume,
                     .stage = stage_,
                     .reason = Reason::kResumes,
                     .slot = slot,
                     .operation = job.operation,
                     .node = node,
                     .step = step,
                     .at = workspace.state.now()},
                    {nullptr, free.data(), more.data(), nullptr, nullptr});
      occupy(workspace.room, job.operation, node, more.data());
      workspace.touch(node);
      ++tally.resumes;
    }
  }
}

// Whether a suspended job fits where it is: kStarted, or what stands in the way, where and how
// much.
Outcome Run::can_resume(const RunningJob& job, Occupancy& in, Id& where, Row& missing) const {
  const bool whole = takes_whole_nodes(job.operation);
  Outcome found = Outcome::kStarted;
  for (const Id slot : workspace.slots(job)) {
    const Id node = workspace.state.node_of(slot);
    const Row more = back(slot);
    if (Row lack{}; found == Outcome::kStarted && lacks(in, more.data(), node, whole, lack)) {
      found = in_use(in, node, whole) ? Outcome::kWholeNodeInUse : Outcome::kNoRoomToResume;
      where = node;
      missing = lack;
    }
    in.rooms.take(more.data(), node);
  }
  for (const Id slot : workspace.slots(job))
    in.rooms.give(back(slot).data(), workspace.state.node_of(slot));
  return found;
}

// Room once all that leave for a job have gone and it has started.
Occupancy Run::afterwards() const {
  Occupancy room = workspace.room;
  for (const auto& [job, spots] : held_) {
    workspace.add_leaving(room, job);
    add_reserved(room, job, 1);
    for (const RunningJob& other : workspace.running)
      if (other.gone && marked(other.operation).gone_for == job &&
          workspace.mode(other) != PreemptMode::kSuspend)
        workspace.give(room, other, 1);
    for (const Spot& spot : spots)
      if (spot.node != kNoId) occupy(room, job, spot.node, workspace.amounts(spot.request));
  }
  return room;
}

// What a suspended allocation takes when it resumes; without a node, of what the cluster shares.
Row Run::back(Id slot) const {
  Row more{};
  const Size width = workspace.state.width();
  const Amount* held = workspace.state.kept(slot);
  for (Size r = 0; r < width; ++r)
    if (workspace.state.node_of(slot) != kNoId || workspace.scope(r) == ResourceScope::kCluster)
      more[r] = workspace.state.amounts(slot)[r] - (held == nullptr ? 0 : held[r]);
  return more;
}

}  // namespace evenhand::slurm
