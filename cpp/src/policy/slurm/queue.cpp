#include "evenhand/policy/slurm/queue.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "evenhand/place/rooms.h"

namespace evenhand::slurm {
namespace {

using Size = std::size_t;

// Sorts by halves and merges them. `is_after(a, b)`: a, which stood before b, is to be behind it.
// Where an order has circles, what comes of it depends on how it is sorted.
//
// Source: GNU C library, qsort, by which the system sorts its queue.
template <class IsAfter>
void sort_by_halves(std::span<Turn> turns, std::vector<Turn>& merged, const IsAfter& is_after) {
  if (turns.size() < 2) return;
  const std::span<Turn> first = turns.first(turns.size() / 2),
                        second = turns.subspan(turns.size() / 2);
  sort_by_halves(first, merged, is_after);
  sort_by_halves(second, merged, is_after);
  merged.clear();
  std::ranges::merge(first, second, std::back_inserter(merged),
                     [&](const Turn& b, const Turn& a) { return is_after(a, b); });
  std::ranges::copy(merged, turns.begin());
}

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
  // Turns of one job that are equal in all of this keep the order in which it names them.
  const auto is_after = [&](const Turn& a, const Turn& b) {
    const Key &x = keys[a.job], &y = keys[b.job];
    if (x.expedited != y.expedited) return y.expedited;
    if (may_preempt(a, b)) return false;
    if (may_preempt(b, a)) return true;
    if (x.reserved != y.reserved) return y.reserved;
    if (a.tier != b.tier) return a.tier < b.tier;
    if (a.priority != b.priority) return a.priority < b.priority;
    return x.submitted > y.submitted;
  };
  // They stand as their jobs came.
  std::ranges::stable_sort(order, {},
                           [&](const Turn& turn) { return keys[turn.job].submitted.second; });
  sort_by_halves(std::span(order), some_, is_after);
}

// By partition or QOS and priority alone, whatever the other one has.
bool Queue::may_preempt(const Turn& turn, const Turn& other) const noexcept {
  const Settings& set = workspace_.settings;
  const Column<Id>& qos = workspace_.jobs.qos;
  if (set.type == PreemptType::kPartitionPrio)
    return turn.tier > other.tier &&
           !(set.asks_priority_in(turn.partition) && turn.priority < other.priority);
  if (set.type == PreemptType::kQos)
    return set.qualities.lists(qos[turn.job], qos[other.job]) &&
           !(set.asks_priority_of(qos[turn.job], qos[other.job]) &&
             turn.priority <= other.priority);
  return false;
}

}  // namespace evenhand::slurm
