#include <algorithm>
#include <deque>

#include "evenhand/policy/slurm/run.h"

namespace evenhand::slurm {
namespace {

using Size = std::size_t;

// Jobs of one QOS in their order; some QOS may preempt others.
class QosQueues {
 public:
  QosQueues(const Desk& desk, const std::vector<Id>& base) : desk_(desk) {
    const JobColumns& jobs = desk.inputs.jobs;
    Id most = kNoId;
    for (const Id job : base) most = std::max(most, jobs.qos[static_cast<Size>(job)]);
    queues_.resize(static_cast<Size>(most) + 2);  // the last: no QOS
    place_.resize(jobs.qos.size());
    for (Size i = 0; i < base.size(); ++i) {
      place_[static_cast<Size>(base[i])] = i;
      queues_[of(base[i])].push_back(base[i]);
    }
    if (desk.inputs.settings.within)
      for (auto& queue : queues_)
        std::ranges::stable_sort(queue, [&](Id a, Id b) {
          return jobs.priority[static_cast<Size>(a)] > jobs.priority[static_cast<Size>(b)];
        });
  }

  Id next() {
    Id first = kNoId, unblocked = kNoId;
    const auto earlier = [&](Id a, Id b) {
      return b == kNoId || place_[static_cast<Size>(a)] < place_[static_cast<Size>(b)];
    };
    for (const auto& queue : queues_) {
      if (queue.empty()) continue;
      const Id head = queue.front();
      if (earlier(head, first)) first = head;
      if (!blocked(head) && earlier(head, unblocked)) unblocked = head;
    }
    const Id chosen = unblocked == kNoId ? first : unblocked;
    if (chosen != kNoId) queues_[of(chosen)].pop_front();
    return chosen;
  }

 private:
  Size of(Id job) const {
    const Id qos = desk_.inputs.jobs.qos[static_cast<Size>(job)];
    return qos == kNoId ? queues_.size() - 1 : static_cast<Size>(qos);
  }
  // May the head of another QOS preempt it?
  bool blocked(Id job) const {
    const JobColumns& jobs = desk_.inputs.jobs;
    const Id mine = jobs.qos[static_cast<Size>(job)];
    if (mine == kNoId) return false;
    Size count = 0;
    while (count * count < jobs.qos_preempts.size()) ++count;
    for (Size q = 0; q + 1 < queues_.size(); ++q)
      if (!queues_[q].empty() && q != static_cast<Size>(mine) &&
          jobs.qos_preempts[q * count + static_cast<Size>(mine)] &&
          (!desk_.inputs.settings.priority || jobs.priority[static_cast<Size>(queues_[q].front())] >
                                                  jobs.priority[static_cast<Size>(job)]))
        return true;
    return false;
  }

  const Desk& desk_;
  std::vector<std::deque<Id>> queues_;
  std::vector<Size> place_;
};

}  // namespace

std::vector<Id> queue_order(const Desk& desk) {
  const Tables& t = desk.state.tables();
  const JobColumns& jobs = desk.inputs.jobs;
  std::vector<Id> order;
  std::vector<std::uint8_t> seen(static_cast<Size>(t.operations.size()), 0);
  for (Id request = 0; request < static_cast<Id>(t.requests.size()); ++request) {
    const auto o = static_cast<Size>(t.requests.operation[static_cast<Size>(request)]);
    if (seen[o] || desk.state.pending(request) <= 0) continue;
    seen[o] = 1;
    order.push_back(static_cast<Id>(o));
  }
  std::ranges::sort(order, [&](Id a, Id b) {
    const auto x = static_cast<Size>(a), y = static_cast<Size>(b);
    if (jobs.expedited[x] != jobs.expedited[y]) return jobs.expedited[x] > jobs.expedited[y];
    if (jobs.tier[x] != jobs.tier[y]) return jobs.tier[x] > jobs.tier[y];
    if (jobs.priority[x] != jobs.priority[y]) return jobs.priority[x] > jobs.priority[y];
    const Time s = t.operations.start_time[x], u = t.operations.start_time[y];
    return s != u ? s < u : a < b;
  });
  if (desk.inputs.settings.type != PreemptType::kQos) return order;
  QosQueues queues(desk, order);
  for (Id& job : order) job = queues.next();
  return order;
}

}  // namespace evenhand::slurm
