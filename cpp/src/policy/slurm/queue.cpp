#include "evenhand/policy/slurm/queue.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "evenhand/place/rooms.h"

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

bool Queue::Before::operator()(const Entry& a, const Entry& b) const noexcept {
  const Settings& set = workspace->settings;
  if (!set.first_come) {
    if (a.expedited != b.expedited) return a.expedited;
    if (a.turn.tier != b.turn.tier) return a.turn.tier > b.turn.tier;
    if (a.turn.priority != b.turn.priority) return a.turn.priority > b.turn.priority;
  }
  if (a.submitted != b.submitted) return a.submitted < b.submitted;
  if (a.turn.job == b.turn.job) return a.number < b.number;
  const LiveKeys& keys = workspace->state.operations().keys();
  return keys.rank(a.turn.job) < keys.rank(b.turn.job);
}

bool Queue::stays() const noexcept {
  return !workspace_.jobs.age() && workspace_.state.reservations().rows() == 0 &&
         workspace_.settings.type != PreemptType::kQos;
}

bool Queue::waits(Id job) const noexcept {
  const ClusterState& state = workspace_.state;
  return state.operations().present(job) &&
         std::ranges::any_of(state.requests_of(job), [&](Id q) { return state.pending(q) > 0; });
}

// In the order in which it names its partitions.
void Queue::turns_of(Id job, std::vector<Turn>& to) const {
  to.push_back(workspace_.jobs.first_turn(job));
  workspace_.jobs.add_turns(job, to);
}

void Queue::refresh(const Jobs::Changed& changed) {
  turns_.clear();
  if (!stays()) {
    kept_.clear();
    next_ = kept_.end();
    all_ = true;
    return sort();
  }
  if (std::exchange(all_, false) || changed.all) {
    kept_.clear();
    others_.clear();
    waiting_.assign(workspace_.settings.partitions.size(), 0);
    timed_ = 0;
    first_.assign(workspace_.jobs.partition.size(), kept_.end());
    for (Id job = 0; job < workspace_.state.operations().rows(); ++job) add(job);
  } else {
    first_.resize(workspace_.jobs.partition.size(), kept_.end());
    // What has changed has no place to be compared with.
    for (const Id job : changed.jobs) remove(job);
    for (const Id job : changed.jobs) add(job);
  }
  next_ = kept_.begin();
}

void Queue::add(Id job) {
  if (first_[job] != kept_.end() || !waits(job)) return;
  const Jobs& jobs = workspace_.jobs;
  some_.clear();
  turns_of(job, some_);
  for (Size i = 0; i < some_.size(); ++i) {
    const Entry entry{some_[i], workspace_.submitted(job).first, static_cast<Index>(i),
                      jobs.expedited(job), jobs.eligible[job] != kNoTime};
    const auto place = kept_.insert(entry).first;
    ++waiting_[entry.turn.partition];
    timed_ += entry.timed;
    if (i == 0)
      first_[job] = place;
    else
      others_[job].push_back(place);
  }
}

void Queue::remove(Id job) {
  const auto drop = [this](Kept::const_iterator place) {
    --waiting_[place->turn.partition];
    timed_ -= place->timed;
    kept_.erase(place);
  };
  if (first_[job] == kept_.end()) return;
  drop(std::exchange(first_[job], kept_.end()));
  if (const auto more = others_.find(job); more != others_.end()) {
    for (const Kept::const_iterator place : more->second) drop(place);
    others_.erase(more);
  }
}

bool Queue::all_closed(const Column<Outcome>& closed) const noexcept {
  if (timed_ > 0) return false;
  for (Size p = 0; p < waiting_.size(); ++p)
    if (waiting_[p] > 0 && closed[p] == Outcome::kStarted) return false;
  return true;
}

// All of it anew.
void Queue::sort() {
  const ClusterState& state = workspace_.state;
  const Jobs& jobs = workspace_.jobs;
  std::vector<Turn>& order = turns_;
  const auto rows = static_cast<Size>(state.operations().rows());
  for (Id job = 0; at(job) < rows; ++job)
    if (waits(job)) turns_of(job, order);
  waiting_.assign(workspace_.settings.partitions.size(), 0);
  timed_ = 0;
  struct Key {
    bool expedited, reserved;
    std::pair<Time, Index> submitted;
  };
  Column<Key> keys(rows);
  for (const Turn& turn : order) {
    ++waiting_[turn.partition];
    timed_ += jobs.eligible[turn.job] != kNoTime;
    keys[turn.job] = {jobs.expedited(turn.job), false, workspace_.submitted(turn.job)};
  }
  for (Id i = 0; i < state.reservations().rows(); ++i)  // room that is kept for it
    if (const Id job = keeps_room(state, i) ? reserved_for(state, i) : kNoId; job != kNoId)
      keys[job].reserved = true;
  const auto submitted = [&](const Turn& turn) { return keys[turn.job].submitted; };
  if (workspace_.settings.first_come) {
    std::ranges::stable_sort(order, {}, submitted);
    return;
  }
  const bool by_tier = workspace_.settings.type == PreemptType::kPartitionPrio;
  // Turns of one job that are equal in all of this keep the order in which it names them.
  std::ranges::stable_sort(order, [&](const Turn& a, const Turn& b) {
    const Key &x = keys[a.job], &y = keys[b.job];
    if (x.expedited != y.expedited) return x.expedited;
    if (by_tier && a.tier != b.tier) return a.tier > b.tier;  // it could preempt the other
    if (x.reserved != y.reserved) return x.reserved;
    if (a.tier != b.tier) return a.tier > b.tier;
    if (a.priority != b.priority) return a.priority > b.priority;
    return x.submitted < y.submitted;
  });
  if (workspace_.settings.type != PreemptType::kQos) return;
  QosQueues queues(workspace_, order);
  for (Turn& turn : order) turn = queues.next();
}

}  // namespace evenhand::slurm
