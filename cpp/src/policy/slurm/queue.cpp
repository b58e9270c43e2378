#include <algorithm>
#include <deque>
#include <utility>

#include "evenhand/place/rooms.h"
#include "evenhand/policy/slurm/planner.h"

namespace evenhand::slurm {
namespace {

using Size = std::size_t;

// Jobs of one QOS in their order; some QOS may preempt others.
class QosQueues {
 public:
  QosQueues(const Workspace& workspace, std::vector<Turn> base)
      : workspace_(workspace), base_(std::move(base)) {
    Id most = kNoId;
    for (const Turn& turn : base_) most = std::max(most, qos(turn));
    queues_.resize(static_cast<Size>(most) + 2);  // the last: no QOS
    for (Size i = 0; i < base_.size(); ++i) queues_[of(base_[i])].push_back(i);
    if (workspace.settings.within)
      for (auto& queue : queues_)
        std::ranges::stable_sort(
            queue, [&](Size a, Size b) { return base_[a].priority > base_[b].priority; });
  }

  Turn next() {
    Size first = base_.size(), unblocked = base_.size();
    for (const auto& queue : queues_) {
      if (queue.empty()) continue;
      const Size head = queue.front();
      first = std::min(first, head);
      if (!blocked(base_[head])) unblocked = std::min(unblocked, head);
    }
    const Turn& chosen = base_[unblocked == base_.size() ? first : unblocked];
    queues_[of(chosen)].pop_front();
    return chosen;
  }

 private:
  Id qos(const Turn& turn) const { return workspace_.jobs.qos[turn.job]; }
  Size of(const Turn& turn) const {
    return qos(turn) == kNoId ? queues_.size() - 1 : static_cast<Size>(qos(turn));
  }
  // May the head of another QOS preempt it?
  bool blocked(const Turn& turn) const {
    const Qualities& quality = workspace_.settings.qualities;
    const Id mine = qos(turn);
    if (mine == kNoId) return false;
    for (Size q = 0; q + 1 < queues_.size(); ++q)
      if (!queues_[q].empty() && q != static_cast<Size>(mine) &&
          quality.preempts[q * quality.size() + static_cast<Size>(mine)] &&
          (!workspace_.settings.priority || base_[queues_[q].front()].priority > turn.priority))
        return true;
    return false;
  }

  const Workspace& workspace_;
  std::vector<Turn> base_;
  std::vector<std::deque<Size>> queues_;  // places in base_
};

}  // namespace

std::vector<Turn> queue_order(const Workspace& workspace) {
  const ClusterState& state = workspace.state;
  const Jobs& jobs = workspace.jobs;
  std::vector<Turn> order;
  Column<std::uint8_t> seen(static_cast<Size>(state.operations().rows()), 0);
  for (Id request = 0; request < state.requests().rows(); ++request) {
    if (state.pending(request) <= 0) continue;
    const auto o = static_cast<Size>(state.operation_of_request(request));
    if (std::exchange(seen[o], std::uint8_t{1}) != 0) continue;
    const auto job = static_cast<Id>(o);
    order.push_back({job, jobs.partition[o], jobs.tier[o], jobs.priority[o], jobs.exclusive[o]});
    jobs.add_turns(job, order);
  }
  Column<std::uint8_t> reserved(seen.size(), 0);  // room that is kept for it
  for (Id i = 0; i < state.reservations().rows(); ++i)
    if (const Id job = keeps_room(state, i) ? reserved_for(state, i) : kNoId; job != kNoId)
      reserved[job] = 1;
  struct Key {
    bool expedited;
    std::pair<Time, Index> submitted;
  };
  Column<Key> keys(seen.size());
  for (const Turn& turn : order)
    keys[turn.job] = {jobs.expedited(turn.job), workspace.submitted(turn.job)};
  const auto submitted = [&](const Turn& turn) { return keys[turn.job].submitted; };
  if (workspace.settings.first_come) {
    std::ranges::stable_sort(order, {}, submitted);
    return order;
  }
  const bool by_tier = workspace.settings.type == PreemptType::kPartitionPrio;
  // Turns of one job that are equal in all of this keep the order in which it names them.
  std::ranges::stable_sort(order, [&](const Turn& a, const Turn& b) {
    const auto x = static_cast<Size>(a.job), y = static_cast<Size>(b.job);
    if (keys[x].expedited != keys[y].expedited) return keys[x].expedited;
    if (by_tier && a.tier != b.tier) return a.tier > b.tier;  // it could preempt the other
    if (reserved[x] != reserved[y]) return reserved[x] > reserved[y];
    if (a.tier != b.tier) return a.tier > b.tier;
    if (a.priority != b.priority) return a.priority > b.priority;
    return submitted(a) < submitted(b);
  });
  if (workspace.settings.type != PreemptType::kQos) return order;
  QosQueues queues(workspace, order);
  for (Turn& turn : order) turn = queues.next();
  return order;
}

}  // namespace evenhand::slurm
