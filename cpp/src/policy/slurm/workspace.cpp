#include "evenhand/policy/slurm/workspace.h"

#include <algorithm>
#include <array>

#include "evenhand/core/poll.h"

namespace evenhand::slurm {
namespace {

using Size = std::size_t;

}  // namespace

void Workspace::read_node(Id node) {
  room.occupants[node] = static_cast<std::int32_t>(state.on_node(node).size());
  std::int32_t& exclusives = room.exclusives[node] = 0;
  for (const Id slot : state.on_node(node)) exclusives += jobs.exclusive[state.operation_of(slot)];
}

void Workspace::read_nodes() {
  const Size count = at(state.nodes().rows()), partitions = settings.partitions.size();
  room = {Rooms(state), Column<std::int32_t>(count), Column<std::int32_t>(count)};
  for (Id node = 0; node < state.nodes().rows(); ++node) read_node(node);
  is_touched_.assign(count, 0);
  up_.resize(partitions * count);
  nodes_of_.assign(partitions, 0);
  nodes_up_.assign(partitions, 0);
  for (Size p = 0; p < partitions; ++p) {
    const std::span<const std::uint8_t> inside = jobs.on_nodes(static_cast<Id>(p));
    for (Size n = 0; n < count; ++n) {
      const bool up = inside[n] && state.schedulable(static_cast<Id>(n));
      up_[p * count + n] = up;
      nodes_of_[p] += inside[n];
      nodes_up_[p] += up;
    }
  }
}

// What reservations keep depends on the instant.
void Workspace::read_room() {
  if (std::exchange(all_nodes_, state.reservations().rows() > 0)) {
    read_nodes();
  } else {
    for (const Id node : touched_) {
      room.rooms.read(state, node);
      read_node(node);
      is_touched_[node] = 0;
    }
    room.rooms.read_shared(state);
  }
  touched_.clear();
}

void Workspace::refresh(const Jobs::Changed& changed, bool with_running) {
  all_nodes_ |= changed.all;
  all_stale_ |= changed.all;
  bool away = !stopped.empty();
  const auto look = [&](Id job) {
    if (!state.operations().present(job)) return;
    for (const Id slot : state.allocations_of(job)) {
      away |= state.away(slot);
      touch(state.node_of(slot));
    }
  };
  stale_.resize(jobs.exclusive.size(), 0);
  if (changed.all)
    for (Id o = 0; o < state.operations().rows(); ++o) look(o);
  for (const Id job : changed.jobs) {
    look(job);
    if (std::exchange(stale_[job], std::uint8_t{1}) == 0) stale_jobs_.push_back(job);
  }
  read_room();
  if (!with_running && !away) return;
  const bool all = all_stale_ || slots_.size() > 2 * static_cast<Size>(live_) + 1024;
  const auto dropped = [&](const RunningJob& job) { return all || stale_[job.operation] != 0; };
  for (Column<RunningJob>* jobs_here : {&running, &stopped})
    std::erase_if(*jobs_here, [&](const RunningJob& job) {
      if (dropped(job)) live_ -= job.slots;
      return dropped(job);
    });
  for (RunningJob& job : running) {
    if (std::exchange(job.gone, false)) job.leaves = false;
    job.key.submitted.second = state.operations().keys().rank(job.operation);  // as others came
  }
  const auto known = static_cast<std::ptrdiff_t>(running.size());
  if (all) {
    slots_.clear();
    nodes_.clear();
    for (Id o = 0; o < state.operations().rows(); ++o) collect(o);
  } else {
    for (const Id job : stale_jobs_) collect(job);
  }
  for (const Id job : stale_jobs_) stale_[job] = 0;
  stale_jobs_.clear();
  all_stale_ = false;
  std::sort(running.begin() + known, running.end(),
            [](const RunningJob& a, const RunningJob& b) { return a.key < b.key; });
  std::ranges::inplace_merge(running, running.begin() + known, {}, &RunningJob::key);
  std::ranges::sort(stopped, [&](const RunningJob& a, const RunningJob& b) {
    const Size x = at(a.operation), y = at(b.operation);
    if (jobs.tier[x] != jobs.tier[y]) return jobs.tier[x] > jobs.tier[y];
    if (jobs.priority[x] != jobs.priority[y]) return jobs.priority[x] > jobs.priority[y];
    return a.key.submitted < b.key.submitted;
  });
}

RunningJob Workspace::job_of(Id operation, Column<Id>& slots) {
  RunningJob job{operation,
                 static_cast<Index>(slots_.size()),
                 static_cast<Index>(slots.size()),
                 static_cast<Index>(nodes_.size()),
                 0,
                 kNoTime};
  const LiveTable<AllocationColumns>& rows = state.allocations();
  put_in_order(rows, std::span<Id>(slots));
  for (const Id slot : slots) {
    slots_.push_back(slot);
    const Time start = rows.get(&AllocationColumns::start_time, slot, state.last_start(slot));
    if (job.start == kNoTime || start < job.start) job.start = start;
    if (state.node_of(slot) != kNoId) nodes_.push_back(state.node_of(slot));
    job.willing &= rows.get(&AllocationColumns::preemptible, slot, std::uint8_t{1}) != 0;
  }
  const auto begin = nodes_.begin() + job.first_node;
  std::sort(begin, nodes_.end());
  nodes_.erase(std::unique(begin, nodes_.end()), nodes_.end());
  job.nodes = static_cast<Index>(nodes_.size()) - job.first_node;
  constexpr std::int64_t kMost = 65535;
  const std::int64_t rank = std::min(jobs.rank[operation], kMost) * (kMost + 1) +
                            std::min<std::int64_t>(job.nodes, kMost);
  job.key = {settings.youngest_first ? -job.start : rank, submitted(operation)};
  live_ += job.slots;
  return job;
}

void Workspace::collect(Id operation) {
  held_.clear();
  away_.clear();
  leaving_.clear();
  for (const Id slot : state.allocations_of(operation)) {
    if (state.holds(slot)) held_.push_back(slot);
    if (state.away(slot)) away_.push_back(slot);
    if (state.leaving_at(slot) != nullptr) leaving_.push_back(slot);
  }
  if (!held_.empty()) {
    running.push_back(job_of(operation, held_));
  } else if (!leaving_.empty()) {
    const Id whose = state.leaving_at(leaving_.front())->beneficiary.operation;
    running.push_back(job_of(operation, leaving_));
    running.back().leaves = true;
    running.back().leaves_for = whose;
  }
  if (!away_.empty()) stopped.push_back(job_of(operation, away_));
}

Outcome Workspace::standing(Id preemptor, const RunningJob& job) const {
  const Settings& set = settings;
  const Size p = at(preemptor), v = at(job.operation);
  if (p == v) return Outcome::kSameOperation;
  const bool partition = set.type == PreemptType::kPartitionPrio;
  if (set.type == PreemptType::kNone) return Outcome::kPreemptionDisabled;
  if (partition) {
    if (jobs.tier[v] >= jobs.tier[p]) return Outcome::kTierNotLower;
    if (set.asks_priority_in(jobs.partition[p]) && jobs.priority[p] < jobs.priority[v])
      return Outcome::kNotLowerPriority;
  } else {
    const Id mine = jobs.qos[p], its = jobs.qos[v];
    if (!set.qualities.lists(mine, its)) return Outcome::kQosNotListed;
    if (set.asks_priority_of(mine, its) && jobs.priority[p] <= jobs.priority[v])
      return Outcome::kNotLowerPriority;
  }
  if (mode(job) == PreemptMode::kOff) return Outcome::kPreemptModeOff;
  if (set.has_min_exempt_priority && jobs.priority[v] > set.min_exempt_priority)
    return Outcome::kAboveMinExemptPriority;
  const bool suspends = mode(job) == PreemptMode::kSuspend;
  if (jobs.exempt[v] > 0 && state.now() < job.start + jobs.exempt[v] &&
      (set.gang_honours_exempt_time || !(partition && suspends)))
    return Outcome::kRanTooShort;
  if (!job.willing) return Outcome::kNotPreemptibleFlag;
  if (suspends && !jobs.suspendable[v]) return Outcome::kSuspendNotAllowed;
  const View<const std::uint8_t> inside = jobs.on_nodes(jobs.partition[p]);
  for (const Id node : nodes(job))
    if (inside[node]) return Outcome::kTaken;
  if (set.reclaim_licenses)
    for (const Id slot : slots(job))
      for (Size r = 0; r < state.width(); ++r)
        if (scope(r) == ResourceScope::kCluster && state.amounts(slot)[r] > 0)
          return Outcome::kTaken;
  return Outcome::kOutsidePartition;
}

// It ends when the last of it does.
Spared Workspace::spared(const RunningJob& job) const {
  if (!pace.on()) return {};
  Time last = kNoTime;
  bool known = true;
  for (const Id slot : slots(job)) {
    const Time end = state.allocations().get(&AllocationColumns::planned_end, slot, kNoTime);
    known &= end != kNoTime;
    last = std::max(last, end);
  }
  return pace.spared(state, job.operation, job.start, known ? last : kNoTime);
}

Time Workspace::gone_by(const RunningJob& job) const {
  Time last = kNoTime, end = kNoTime;
  for (const Id slot : slots(job)) {
    last = std::max(last, state.allocations().get(&AllocationColumns::deadline, slot, kNoTime));
    end = std::max(end, state.allocations().get(&AllocationColumns::planned_end, slot, kNoTime));
  }
  if (!job.gone) return last;
  const Time until = state.now() + jobs.grace[job.operation];
  return end != kNoTime && end >= state.now() ? std::min(until, end) : until;
}

bool Workspace::serves_again(Id preemptor, const RunningJob& job) const {
  return job.leaves && job.leaves_for != preemptor && !settings.gang &&
         settings.selection == Selection::kReorder;
}

Column<Index> Workspace::candidates(Id preemptor) const {
  Column<Index> out;
  for (std::size_t i = 0; i < running.size(); ++i) {
    const RunningJob& job = running[i];
    if ((job.gone || job.leaves) && !serves_again(preemptor, job)) continue;
    if (standing(preemptor, job) == Outcome::kTaken &&
        (job.leaves || spared(job).why == Outcome::kTaken))
      out.push_back(static_cast<Index>(i));
  }
  return out;
}

Reason Workspace::reason(Id preemptor, const RunningJob& job) const {
  if (settings.type == PreemptType::kPartitionPrio) return Reason::kHigherPartitionTier;
  return jobs.qos[preemptor] == jobs.qos[job.operation] ? Reason::kHigherPriorityInQos
                                                        : Reason::kQosPreempts;
}

void Workspace::split(Id slot, bool suspends, Amount* freed, Amount* kept) const {
  const Amount* has = state.amounts(slot);
  for (Size r = 0; r < state.width(); ++r) {
    kept[r] = suspends && !settings.suspend_frees[r] ? has[r] : 0;
    freed[r] = has[r] - kept[r];
  }
}

void Workspace::give(Occupancy& to, const RunningJob& job, Amount sign, bool stays) const {
  const bool suspends = stays || mode(job) == PreemptMode::kSuspend;
  const auto exclusive = jobs.exclusive[job.operation];
  std::array<Amount, kMaxResources> freed{}, kept{};
  for (const Id slot : slots(job)) {
    const Id node = state.node_of(slot);
    split(slot, suspends, freed.data(), kept.data());
    for (Size r = 0; r < state.width(); ++r)
      if (scope(r) == ResourceScope::kCluster ? !settings.reclaim_licenses : node == kNoId)
        freed[r] = 0;
    to.rooms.add(freed.data(), std::max(node, Id{0}), sign);
    if (node == kNoId) continue;
    to.occupants[node] -= static_cast<std::int32_t>(sign);
    to.exclusives[node] -= static_cast<std::int32_t>(sign) * exclusive;
  }
}

bool Workspace::add_leaving(Occupancy& to, Id operation) const {
  bool any = false;
  for (const Leaving& l : state.leaving()) {
    if (l.beneficiary.operation != operation) continue;
    any = true;
    const Id node = state.node_of(l.slot);
    to.rooms.give(l.left.data(), node);
    if (node == kNoId) continue;
    --to.occupants[node];
    to.exclusives[node] -= jobs.exclusive[state.operation_of(l.slot)];
  }
  return any;
}

Outcome Workspace::barred(Id request, Id node) const {
  if (!jobs.has_node(jobs.partition[state.operation_of_request(request)], node))
    return Outcome::kNodeOutsidePartition;
  switch (where_.why_not(state, request, node)) {
    case Place::kOtherNode:
      return Outcome::kWrongNode;
    case Place::kTagMissing:
      return Outcome::kWrongTags;
    case Place::kAllowed:
      break;
  }
  return state.schedulable(node) ? Outcome::kStarted : Outcome::kNodeNotSchedulable;
}

void Workspace::read_request(Id operation, JobRequest& to) const {
  poll();
  const Size width = state.width(), count = at(state.nodes().rows());
  const Id partition = jobs.partition[operation];
  std::vector<JobRequest::Part> parts = to.take_parts();
  parts.clear();
  for (const Id request : state.requests_of(operation)) {
    const Index many = state.pending(request);
    if (many <= 0) continue;
    JobRequest::Part part{request, many, false, amounts(request), {}};
    bool of_cluster = false;
    for (Size r = 0; r < width; ++r) {
      if (part.amounts[r] <= 0) continue;
      part.takes_node |= scope(r) == ResourceScope::kNode;
      of_cluster |= scope(r) == ResourceScope::kCluster;
    }
    part.takes_node |= !of_cluster;
    if (part.takes_node && where_.anywhere(state, request)) {
      part.shared = up(partition);
    } else if (part.takes_node) {
      part.own.resize(count);
      for (Id n = 0; at(n) < count; ++n) part.own[n] = barred(request, n) == Outcome::kStarted;
    }
    parts.push_back(std::move(part));
  }
  if (parts.size() > 1)
    std::ranges::sort(parts, {}, [this](const JobRequest::Part& part) {
      return state.requests().keys().rank(part.request);
    });
  to.reset(state.tables().resources, jobs.nodes(), count,
           settings.whole_nodes || jobs.exclusive[operation], std::move(parts),
           jobs.node_choice(state, operation));
}

}  // namespace evenhand::slurm
