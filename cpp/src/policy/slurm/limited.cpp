// Which limits of QOS and associations hold a job back, and what counts against them.
#include <algorithm>
#include <string>

#include "run_work.h"

namespace evenhand::slurm {

// The QOS and associations that limit a job, in the partition whose turn it is.
void Run::read_limited_as(Id job, LimitedAs& to) const {
  const Limits& limits = set().limits;
  const ClusterState& state = workspace.state;
  to.qos.clear();
  to.associations.clear();
  to.user = state.operations().code(&OperationColumns::user, job);
  to.account = state.operations().code(&OperationColumns::account, job);
  const Id partition = jobs().partition[job], own = jobs().qos[job];
  const Id of_partition = limits.partition_qos[partition];
  const bool own_first = own != kNoId && limits.over_partition[own];
  for (const Id qos : {own_first ? own : of_partition, own_first ? of_partition : own})
    if (qos != kNoId && std::ranges::find(to.qos, qos) == to.qos.end()) to.qos.push_back(qos);
  if (limits.association_of.empty()) return;
  const std::string account(state.operations().text(&OperationColumns::account, job));
  const std::string user(state.operations().text(&OperationColumns::user, job));
  const Column<std::string>& names = set().partitions.names;
  std::string there = account;
  there.append("/").append(user).append("/");
  if (at(partition) < names.size()) there.append(names[partition]);
  auto found = limits.association_of.find(there);
  if (found == limits.association_of.end())
    found = limits.association_of.find(account + "/" + user);
  if (found == limits.association_of.end()) found = limits.association_of.find(account);
  if (found == limits.association_of.end()) return;
  for (Id one = found->second; one != kNoId; one = limits.parent[one])
    to.associations.push_back(one);
}

// All that has begun: what is suspended or leaves counts until it has ended.
void Run::count_running() {
  const ClusterState& state = workspace.state;
  const Limits& limits = set().limits;
  const Size width = state.width();
  limit_use_.clear();
  const Column<double>& quanta = state.tables().resources.quantum;
  Column<Id> slots, nodes;
  for (Id job = 0; job < static_cast<Id>(state.operations().rows()); ++job) {
    if (!state.operations().present(job)) continue;
    const std::span<const Id> there = state.allocations_of(job);
    slots.assign(there.begin(), there.end());
    if (slots.empty()) continue;
    uses_.amounts.assign(limits.measures.size(), 0);
    Time last = state.now();
    nodes.clear();
    for (const Id slot : slots) {
      for (Size r = 0; r < width; ++r)
        uses_.amounts[r] += static_cast<double>(state.amounts(slot)[r]) * quanta[r];
      if (const Id node = state.node_of(slot); node != kNoId) nodes.push_back(node);
      const Time end = planned_end(slot);
      last = std::max(last, end == kNoTime ? state.now() + kYear : end);
    }
    std::ranges::sort(nodes);
    const auto twice = std::ranges::unique(nodes);
    nodes.erase(twice.begin(), twice.end());
    uses_.amounts[width] = static_cast<double>(nodes.size());
    uses_.amounts[width + 1] = 1;
    uses_.seconds = static_cast<double>(last - state.now()) * kSeconds;
    read_limited_as(job, as_);
    limit_use_.add(limits, as_, uses_);
  }
}

// Whether a limit holds a job back that waits. One that takes entire nodes counts with the largest
// that it may get.
bool Run::is_limited(Id job, const JobRequest& job_request) {
  const Limits& limits = set().limits;
  if (!limits.any || marked(job).counted) return false;
  const ClusterState& state = workspace.state;
  const Size width = state.width();
  const Column<double>& quanta = state.tables().resources.quantum;
  uses_.amounts.assign(limits.measures.size(), 0);
  uses_.on_node.assign(limits.measures.size(), 0);
  Row largest{};
  if (job_request.whole_nodes())
    for (const Id node : jobs().nodes())
      for (Size r = 0; r < width && jobs().has_node(jobs().partition[job], node); ++r)
        largest[r] = std::max(largest[r], state.node_capacity(node)[r]);
  for (const JobRequest::Part& part : job_request.parts()) {
    const auto count = static_cast<double>(part.count);
    for (Size r = 0; r < width; ++r) {
      const bool whole = part.takes_node && workspace.scope(r) == ResourceScope::kNode;
      const Amount amount = std::max<Amount>(part.amounts[r], whole ? largest[r] : 0);
      const double each = static_cast<double>(amount) * quanta[r];
      uses_.amounts[r] += count * each;
      uses_.on_node[r] = std::max(uses_.on_node[r], each);
    }
    if (part.takes_node) uses_.amounts[width] += count;
  }
  uses_.amounts[width + 1] = 1;
  uses_.seconds = static_cast<double>(lasts(job, false)) * kSeconds;
  read_limited_as(job, as_);
  const LimitHit found = limit_use_.hit(limits, as_, uses_);
  if (found.row == kNoId) return false;
  hits_[job] = found;
  return true;
}

// The job that was looked at last starts, or others leave for it: it counts once.
void Run::count_use(Id job) {
  if (!set().limits.any || std::exchange(mark(job).counted, true)) return;
  limit_use_.add(set().limits, as_, uses_);
}

}  // namespace evenhand::slurm
