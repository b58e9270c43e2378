#include <algorithm>
#include <deque>

#include "evenhand/place/rooms.h"
#include "evenhand/policy/slurm/planner.h"

namespace evenhand::slurm {
namespace {

using Size = std::size_t;

// Jobs of one QOS in their order; some QOS may preempt others.
class QosQueues {
 public:
  QosQueues(const Desk& desk, std::vector<Turn> base) : desk_(desk), base_(std::move(base)) {
    Id most = kNoId;
    for (const Turn& turn : base_) most = std::max(most, qos(turn));
    queues_.resize(static_cast<Size>(most) + 2);  // the last: no QOS
    for (Size i = 0; i < base_.size(); ++i) queues_[of(base_[i])].push_back(i);
    if (desk.inputs.settings.within)
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
  Id qos(const Turn& turn) const { return desk_.inputs.jobs.qos[static_cast<Size>(turn.job)]; }
  Size of(const Turn& turn) const {
    return qos(turn) == kNoId ? queues_.size() - 1 : static_cast<Size>(qos(turn));
  }
  // May the head of another QOS preempt it?
  bool blocked(const Turn& turn) const {
    const JobColumns& jobs = desk_.inputs.jobs;
    const Id mine = qos(turn);
    if (mine == kNoId) return false;
    Size count = 0;
    while (count * count < jobs.qos_preempts.size()) ++count;
    for (Size q = 0; q + 1 < queues_.size(); ++q)
      if (!queues_[q].empty() && q != static_cast<Size>(mine) &&
          jobs.qos_preempts[q * count + static_cast<Size>(mine)] &&
          (!desk_.inputs.settings.priority || base_[queues_[q].front()].priority > turn.priority))
        return true;
    return false;
  }

  const Desk& desk_;
  std::vector<Turn> base_;
  std::vector<std::deque<Size>> queues_;  // places in base_
};

}  // namespace

std::vector<Turn> queue_order(const Desk& desk) {
  const Tables& t = desk.state.tables();
  const JobColumns& jobs = desk.inputs.jobs;
  std::vector<Turn> order;
  std::vector<std::uint8_t> seen(static_cast<Size>(t.operations.size()), 0);
  for (Id request = 0; request < static_cast<Id>(t.requests.size()); ++request) {
    const auto o = static_cast<Size>(t.requests.operation[static_cast<Size>(request)]);
    if (seen[o] || desk.state.pending(request) <= 0) continue;
    seen[o] = 1;
    order.push_back(
        {static_cast<Id>(o), jobs.partition[o], jobs.tier[o], jobs.priority[o], jobs.exclusive[o]});
  }
  for (const Turn& turn : jobs.turns)
    if (seen[static_cast<Size>(turn.job)]) order.push_back(turn);
  std::vector<std::uint8_t> reserved(seen.size(), 0);  // room that is kept for it
  for (Id i = 0; i < static_cast<Id>(t.reservations.size()); ++i)
    if (const Id request = t.reservations.request[static_cast<Size>(i)];
        request != kNoId && keeps_room(t.reservations, i, desk.state.now()))
      reserved[static_cast<Size>(t.requests.operation[static_cast<Size>(request)])] = 1;
  if (desk.inputs.settings.first_come) {
    std::ranges::stable_sort(order, [&](const Turn& a, const Turn& b) {
      const Time s = t.operations.start_time[static_cast<Size>(a.job)];
      const Time u = t.operations.start_time[static_cast<Size>(b.job)];
      return s != u ? s < u : a.job < b.job;
    });
    return order;
  }
  const bool by_tier = desk.inputs.settings.type == PreemptType::kPartitionPrio;
  // Turns of one job that are equal in all of this keep the order in which it names them.
  std::ranges::stable_sort(order, [&](const Turn& a, const Turn& b) {
    const auto x = static_cast<Size>(a.job), y = static_cast<Size>(b.job);
    if (jobs.expedited[x] != jobs.expedited[y]) return jobs.expedited[x] > jobs.expedited[y];
    if (by_tier && a.tier != b.tier) return a.tier > b.tier;  // it could preempt the other
    if (reserved[x] != reserved[y]) return reserved[x] > reserved[y];
    if (a.tier != b.tier) return a.tier > b.tier;
    if (a.priority != b.priority) return a.priority > b.priority;
    const Time s = t.operations.start_time[x], u = t.operations.start_time[y];
    return s != u ? s < u : a.job < b.job;
  });
  if (desk.inputs.settings.type != PreemptType::kQos) return order;
  QosQueues queues(desk, order);
  for (Turn& turn : order) turn = queues.next();
  return order;
}

}  // namespace evenhand::slurm
