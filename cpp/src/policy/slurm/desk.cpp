#include "evenhand/policy/slurm/desk.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "evenhand/core/poll.h"
#include "evenhand/policy/slot_cells.h"

namespace evenhand::slurm {
namespace {

using Size = std::size_t;

constexpr Size at(Id id) noexcept { return static_cast<Size>(id); }

}  // namespace

Desk::Desk(const Inputs& given, ClusterState& cluster)
    : inputs(given),
      state(cluster),
      room{Rooms(state), {}, {}},
      memory(given.memory),
      where_(state.tables()),
      qos_count_(static_cast<Size>(
          std::llround(std::sqrt(static_cast<double>(given.jobs.qos_preempts.size()))))) {
  const Tables& t = state.tables();
  const Size count = static_cast<Size>(t.nodes.size());
  memory.last_preempt.resize(static_cast<Size>(t.operations.size()), kNoTime);
  room.occupants.assign(count, 0);
  room.exclusives.assign(count, 0);
  for (Size n = 0; n < count; ++n) {
    for (const Id slot : state.on_node(static_cast<Id>(n))) {
      ++room.occupants[n];
      room.exclusives[n] += inputs.jobs.exclusive[at(state.operation_of(slot))];
    }
  }
  collect();
  sort_running();
}

RunningJob Desk::job_of(Id operation, std::span<const Id> slots) {
  RunningJob job{operation,
                 static_cast<Index>(slots_.size()),
                 static_cast<Index>(slots.size()),
                 static_cast<Index>(nodes_.size()),
                 0,
                 kNoTime};
  for (const Id slot : slots) {
    slots_.push_back(slot);
    const Time start = start_of(state, slot);
    if (job.start == kNoTime || start < job.start) job.start = start;
    if (state.node_of(slot) != kNoId) nodes_.push_back(state.node_of(slot));
  }
  const auto begin = nodes_.begin() + job.first_node;
  std::sort(begin, nodes_.end());
  nodes_.erase(std::unique(begin, nodes_.end()), nodes_.end());
  job.nodes = static_cast<Index>(nodes_.size()) - job.first_node;
  return job;
}

void Desk::collect() {
  const Tables& t = state.tables();
  const SlotsByOperation slots_of(state);
  std::vector<Id> held, stopped_slots;
  for (Id operation = 0; operation < static_cast<Id>(t.operations.size()); ++operation) {
    held.clear();
    stopped_slots.clear();
    for (const Id slot : slots_of.of(operation)) {
      if (state.holds(slot)) held.push_back(slot);
      if (state.away(slot)) stopped_slots.push_back(slot);
    }
    if (!held.empty()) running.push_back(job_of(operation, held));
    if (!stopped_slots.empty()) stopped.push_back(job_of(operation, stopped_slots));
  }
  const JobColumns& jobs = inputs.jobs;
  std::ranges::stable_sort(stopped, [&](const RunningJob& a, const RunningJob& b) {
    const Size x = at(a.operation), y = at(b.operation);
    if (jobs.tier[x] != jobs.tier[y]) return jobs.tier[x] > jobs.tier[y];
    if (jobs.priority[x] != jobs.priority[y]) return jobs.priority[x] > jobs.priority[y];
    return t.operations.start_time[x] < t.operations.start_time[y];
  });
}

void Desk::sort_running() {
  constexpr std::int64_t kMost = 65535;
  const Tables& t = state.tables();
  struct Key {
    std::int64_t first, second;
    Index job;
    auto operator<=>(const Key&) const = default;
  };
  std::vector<Key> keys;
  keys.reserve(running.size());
  const bool youngest = inputs.settings.youngest_first;
  for (Size i = 0; i < running.size(); ++i) {
    const RunningJob& job = running[i];
    const Size o = at(job.operation);
    const std::int64_t rank = std::min(inputs.jobs.rank[o], kMost) * (kMost + 1) +
                              std::min<std::int64_t>(job.nodes, kMost);
    // Ties in the order of submission, then of rows, which `i` is.
    keys.push_back(
        {youngest ? -job.start : rank, t.operations.start_time[o], static_cast<Index>(i)});
  }
  std::ranges::sort(keys);
  std::vector<RunningJob> sorted;
  sorted.reserve(running.size());
  for (const Key& key : keys) sorted.push_back(running[static_cast<Size>(key.job)]);
  running = std::move(sorted);
}

Outcome Desk::standing(Id preemptor, const RunningJob& job) const {
  const Settings& set = inputs.settings;
  const JobColumns& jobs = inputs.jobs;
  const Size p = at(preemptor), v = at(job.operation);
  if (p == v) return Outcome::kSameOperation;
  const bool partition = set.type == PreemptType::kPartitionPrio;
  if (set.type == PreemptType::kNone) return Outcome::kPreemptionDisabled;
  if (partition) {
    if (jobs.tier[v] >= jobs.tier[p]) return Outcome::kTierNotLower;
    if (set.priority && jobs.priority[p] < jobs.priority[v]) return Outcome::kNotLowerPriority;
  } else {
    const Id mine = jobs.qos[p], its = jobs.qos[v];
    if (mine == kNoId || its == kNoId) return Outcome::kQosNotListed;
    // Within a QOS the diagonal tells, and priority always counts.
    if (!jobs.qos_preempts[at(mine) * qos_count_ + at(its)]) return Outcome::kQosNotListed;
    if ((mine == its || set.priority) && jobs.priority[p] <= jobs.priority[v])
      return Outcome::kNotLowerPriority;
  }
  if (mode(job) == PreemptMode::kOff) return Outcome::kPreemptModeOff;
  if (set.has_min_exempt_priority && jobs.priority[v] > set.min_exempt_priority)
    return Outcome::kAboveMinExemptPriority;
  const bool suspends = mode(job) == PreemptMode::kSuspend;
  if (jobs.exempt[v] > 0 && state.now() < job.start + jobs.exempt[v] &&
      (set.gang_honours_exempt_time || !(partition && suspends)))
    return Outcome::kRanTooShort;
  const std::vector<std::uint8_t>& opted = state.tables().allocations.preemptible;
  if (!opted.empty())
    for (const Id slot : slots(job))
      if (!cell_of(state, opted, slot, std::uint8_t{1})) return Outcome::kNotPreemptibleFlag;
  if (suspends && !jobs.suspendable[v]) return Outcome::kSuspendNotAllowed;
  const Size partition_row = at(jobs.partition[p]) * static_cast<Size>(state.tables().nodes.size());
  for (const Id node : nodes(job))
    if (jobs.node_of_partition[partition_row + at(node)]) return Outcome::kTaken;
  if (set.reclaim_licenses)
    for (const Id slot : slots(job))
      for (Size r = 0; r < state.width(); ++r)
        if (state.tables().resources.scope[r] == ResourceScope::kCluster &&
            state.amounts(slot)[r] > 0)
          return Outcome::kTaken;
  return Outcome::kOutsidePartition;
}

std::vector<Index> Desk::candidates(Id preemptor) const {
  std::vector<Index> out;
  for (std::size_t i = 0; i < running.size(); ++i)
    if (!running[i].gone && standing(preemptor, running[i]) == Outcome::kTaken)
      out.push_back(static_cast<Index>(i));
  return out;
}

Reason Desk::reason(Id preemptor, const RunningJob& job) const {
  if (inputs.settings.type == PreemptType::kPartitionPrio) return Reason::kHigherPartitionTier;
  const JobColumns& jobs = inputs.jobs;
  return jobs.qos[at(preemptor)] == jobs.qos[at(job.operation)] ? Reason::kHigherPriorityInQos
                                                                : Reason::kQosPreempts;
}

void Desk::split(Id slot, bool suspends, Amount* freed, Amount* kept) const {
  const Amount* has = state.amounts(slot);
  for (Size r = 0; r < state.width(); ++r) {
    kept[r] = suspends && !inputs.jobs.suspend_frees[r] ? has[r] : 0;
    freed[r] = has[r] - kept[r];
  }
}

void Desk::give(Room& to, const RunningJob& job, Amount sign, bool stays) const {
  const bool suspends = stays || mode(job) == PreemptMode::kSuspend;
  const std::vector<ResourceScope>& scope = state.tables().resources.scope;
  const auto exclusive = inputs.jobs.exclusive[at(job.operation)];
  std::array<Amount, kMaxResources> freed{}, kept{};
  for (const Id slot : slots(job)) {
    const Id node = state.node_of(slot);
    split(slot, suspends, freed.data(), kept.data());
    for (Size r = 0; r < state.width(); ++r)
      if (scope[r] == ResourceScope::kCluster ? !inputs.settings.reclaim_licenses : node == kNoId)
        freed[r] = 0;
    to.rooms.add(freed.data(), std::max(node, Id{0}), sign);
    if (node == kNoId) continue;
    to.occupants[at(node)] -= static_cast<std::int32_t>(sign);
    to.exclusives[at(node)] -= static_cast<std::int32_t>(sign) * exclusive;
  }
}

bool Desk::add_leaving(Room& to, Id operation) const {
  bool any = false;
  for (const Leaving& l : state.leaving()) {
    if (l.beneficiary.operation != operation) continue;
    any = true;
    const Id node = state.node_of(l.slot);
    to.rooms.give(l.left.data(), node);
    if (node == kNoId) continue;
    --to.occupants[at(node)];
    to.exclusives[at(node)] -= inputs.jobs.exclusive[at(state.operation_of(l.slot))];
  }
  return any;
}

Outcome Desk::barred(Id request, Id node) const {
  const Tables& t = state.tables();
  const Id operation = t.requests.operation[at(request)];
  const Size partition = at(inputs.jobs.partition[at(operation)]);
  if (!inputs.jobs.node_of_partition[partition * static_cast<Size>(t.nodes.size()) + at(node)])
    return Outcome::kNodeOutsidePartition;
  switch (where_.why_not(t, request, node)) {
    case Place::kOtherNode:
      return Outcome::kWrongNode;
    case Place::kTagMissing:
      return Outcome::kWrongTags;
    case Place::kAllowed:
      break;
  }
  return state.schedulable(node) ? Outcome::kStarted : Outcome::kNodeNotSchedulable;
}

Wish Desk::wish(Id operation) const {
  poll();
  const Tables& t = state.tables();
  const RequestColumns& q = t.requests;
  const Size width = state.width(), count = static_cast<Size>(t.nodes.size());
  const JobColumns& jobs = inputs.jobs;
  std::vector<Wish::Part> parts;
  const Grouping& by = t.requests_by_operation;
  for (Index i = by.offsets[at(operation)]; i < by.offsets[at(operation) + 1]; ++i) {
    const Id request = by.items[static_cast<Size>(i)];
    const Index many = state.pending(request);
    if (many <= 0) continue;
    Wish::Part part{request, many, false, q.resources.data() + at(request) * width, {}};
    bool of_cluster = false;
    for (Size r = 0; r < width; ++r) {
      if (part.amounts[r] <= 0) continue;
      part.takes_node |= t.resources.scope[r] == ResourceScope::kNode;
      of_cluster |= t.resources.scope[r] == ResourceScope::kCluster;
    }
    part.takes_node |= !of_cluster;
    if (part.takes_node) {
      part.allowed.resize(count);
      for (Size n = 0; n < count; ++n)
        part.allowed[n] = barred(request, static_cast<Id>(n)) == Outcome::kStarted;
    }
    parts.push_back(std::move(part));
  }
  return Wish(t, inputs.settings.whole_nodes || jobs.exclusive[at(operation)], std::move(parts));
}

}  // namespace evenhand::slurm
