#include "subordination.h"

#include <algorithm>
#include <tuple>

#include "evenhand/place/in_order.h"

namespace evenhand::gridengine {

Subordination::Subordination(const ClusterState& state, const Settings& settings,
                             const RowSettings& rows, const Beside<std::uint8_t>& preempted_as)
    : set_(settings.subordinates),
      state_(state),
      rows_(rows),
      resources_(state.tables().resources),
      on_(set_.any()) {
  if (!on_) return;
  for (const ResourceKind kind : resources_.kind) has_slots_ |= kind == ResourceKind::kSlots;
  const std::size_t queues = set_.parent.size();
  below_a_pair_.assign(queues, 0);
  for (const Id q : set_.below) below_a_pair_[q] = 1;
  for (Id q = 0; q < static_cast<Id>(queues); ++q)
    if (set_.most[q] > 0) bottom_up_.push_back(q);
  std::ranges::sort(bottom_up_, {}, [&](Id q) { return std::pair(-set_.depth(q), set_.place[q]); });

  const auto operations = state.operations().rows();
  stopped_.assign(static_cast<std::size_t>(operations), 0);
  for (Id o = 0; o < operations; ++o) {
    const std::span<const Id> slots = state.allocations_of(o);
    const auto keeps_all = [&](Id slot) {
      const Amount *kept = state.kept(slot), *has = state.amounts(slot);
      if (!state.away(slot)) return false;
      return kept != nullptr
                 ? std::equal(kept, kept + state.width(), has)
                 : std::all_of(has, has + state.width(), [](Amount a) { return a == 0; });
    };
    stopped_[o] = !slots.empty() && preempted_as[o] == 0 && std::ranges::all_of(slots, keeps_all) &&
                  std::ranges::any_of(slots, [&](Id slot) { return subject(queue_of(slot)); });
  }
  if (!has_pairs()) return;
  used_.assign(static_cast<std::size_t>(state.nodes().rows()) * queues, 0.0);
  for (Id slot = 0; slot < state.slots(); ++slot) {
    if (!state.gone(slot))
      add_used(state.node_of(slot), queue_of(slot), state.amounts(slot));
    else if (state.away(slot) && state.kept(slot) != nullptr)
      add_used(state.node_of(slot), queue_of(slot), state.kept(slot));
  }
}

Id Subordination::queue_of_job(Id operation) const noexcept {
  const Id pool = state_.pool_of(operation);
  return static_cast<std::size_t>(pool) < set_.queue_of_pool.size() ? set_.queue_of_pool[pool]
                                                                    : kNoId;
}

// That of its row, else the one that is called like the job's pool.
Id Subordination::queue_of(Id slot) const noexcept {
  const Id own = rows_.queue[slot];
  return own != kNoId ? own : queue_of_job(state_.operation_of(slot));
}

bool Subordination::subject(Id queue) const noexcept {
  return queue != kNoId && (set_.parent[queue] != kNoId || below_a_pair_[queue] != 0);
}

// Slots of its host and of its queue there are the same ones. Where nothing counts slots, a job has
// one.
double Subordination::slots_in(const Amount* amounts) const noexcept {
  if (!has_slots_) return 1;
  double most = 0;
  for (std::size_t r = 0; r < resources_.kind.size(); ++r)
    if (resources_.kind[r] == ResourceKind::kSlots)
      most = std::max(most, static_cast<double>(amounts[r]) * resources_.quantum[r]);
  return most;
}

void Subordination::add_used(Id node, Id queue, const Amount* amounts) {
  if (used_.empty() || node == kNoId || queue == kNoId) return;
  used_[static_cast<std::size_t>(node) * set_.parent.size() + static_cast<std::size_t>(queue)] +=
      slots_in(amounts);
}

bool Subordination::suspended(Id node, Id queue, QueueCount* count) const noexcept {
  if (used_.empty() || node == kNoId || queue == kNoId || below_a_pair_[queue] == 0) return false;
  const double* used = &used_[static_cast<std::size_t>(node) * set_.parent.size()];
  for (std::size_t i = 0; i < set_.above.size(); ++i) {
    if (set_.below[i] != queue || used[set_.above[i]] < static_cast<double>(set_.used[i])) continue;
    if (count != nullptr)
      *count = {set_.above[i], static_cast<Index>(used[set_.above[i]]), set_.used[i], -1, -1};
    return true;
  }
  return false;
}

void Subordination::starts(Id operation, Id node, Id queue, const Amount* amounts) {
  if (!on_ || queue == kNoId) return;
  started_.push_back({operation, node, queue});
  add_used(node, queue, amounts);
}

void Subordination::leaves(Id operation) {
  if (!on_) return;
  moved_.resize(stopped_.size(), Moved::kNot);
  moved_[operation] = Moved::kLeaves;
}

// The jobs of each host as the run leaves them, but for what it starts.
void Subordination::read_jobs() {
  moved_.resize(stopped_.size(), Moved::kNot);
  status_.assign(stopped_.size(), TaskStatus::kOut);
  tasks_.resize(static_cast<std::size_t>(state_.nodes().rows()));
  for (const Id o : state_.operations().in_order()) {
    const Column<Id> slots = in_order(state_.allocations(), state_.allocations_of(o));
    if (slots.empty() || moved_[o] != Moved::kNot) continue;
    if (stopped(o))
      status_[o] = TaskStatus::kStopped;
    else if (std::ranges::all_of(slots, [&](Id slot) { return state_.running(slot); }))
      status_[o] = TaskStatus::kRuns;
    else
      continue;
    for (const Id slot : slots) add_task(o, state_.node_of(slot), queue_of(slot));
  }
}

// A job counts once on a host, however many parts it has there.
bool Subordination::add_task(Id o, Id node, Id queue) {
  if (node == kNoId || queue == kNoId || (set_.parent[queue] == kNoId && set_.most[queue] == 0))
    return false;
  std::vector<Task>& here = tasks_[static_cast<std::size_t>(node)];
  if (std::ranges::any_of(here, [&](const Task& t) { return t.operation == o; })) return false;
  Time start = state_.now();
  for (const Id slot : state_.allocations_of(o))
    start = std::min(start, state_.allocations().get(&AllocationColumns::start_time, slot,
                                                     state_.last_start(slot)));
  here.push_back({o, queue, start, state_.operations().keys().rank(o)});
  return true;
}

// Queue-wise: all jobs of an instance stop, and stay stopped as long as it is suspended.
void Subordination::bar_suspended() {
  for (const Id o : state_.operations().in_order()) {
    if (status_[o] == TaskStatus::kOut) continue;
    const Column<Id> slots = in_order(state_.allocations(), state_.allocations_of(o));
    QueueCount count;
    const bool barred = std::ranges::any_of(
        slots, [&](Id slot) { return suspended(state_.node_of(slot), queue_of(slot), &count); });
    if (barred && status_[o] == TaskStatus::kRuns) move(o, true, Reason::kQueueSuspended, count);
    const bool in_tree = std::ranges::any_of(slots, [&](Id slot) {
      return queue_of(slot) != kNoId && set_.parent[queue_of(slot)] != kNoId;
    });
    if (!barred && !in_tree && status_[o] == TaskStatus::kStopped)
      move(o, false, Reason::kQueueResumed, {queue_of(slots[0])});
    if (barred) status_[o] = TaskStatus::kBarred;
  }
}

// What is stopped after it has resumed in the same run, or had yet to start, is left as it was.
void Subordination::move(Id o, bool stops, Reason reason, const QueueCount& count) {
  status_[o] = stops ? TaskStatus::kBarred : TaskStatus::kRuns;
  if (moved_[o] == Moved::kNot) changes_.push_back({o, stops, reason, count});
  if (moved_[o] == Moved::kByRule)
    std::erase_if(changes_, [&](const Change& c) { return c.operation == o; });
  if (moved_[o] == Moved::kNot) moved_[o] = Moved::kByRule;
}

void Subordination::stop_over(Id node, Id host) {
  const HostTree tree(set_, tasks_[static_cast<std::size_t>(host)], status_);
  for (Index running = tree.running(node); running > set_.most[node]; --running) {
    const Task* next = tree.next_to_stop(node);
    if (next == nullptr) return;
    move(next->operation, true, Reason::kSubordinateThreshold,
         {node, running, set_.most[node], set_.level(node, next->queue), set_.seq[next->queue]});
  }
}

void Subordination::stop_upwards(Id queue, Id host) {
  for (Id q = queue; q != kNoId; q = set_.parent[q])
    if (set_.most[q] > 0) stop_over(q, host);
}

void Subordination::resume_below(Id root, Id host) {
  const HostTree tree(set_, tasks_[static_cast<std::size_t>(host)], status_);
  for (;;) {
    const Index running = tree.running(root);
    if (running >= set_.most[root]) return;
    const Task* next = tree.next_to_resume(root);
    if (next == nullptr) return;
    move(next->operation, false, Reason::kSubordinateResumes,
         {root, running, set_.most[root], set_.level(root, next->queue), set_.seq[next->queue]});
    stop_upwards(next->queue, host);
  }
}

const std::vector<Subordination::Change>& Subordination::settle() {
  if (!on_) return changes_;
  read_jobs();
  if (has_pairs()) bar_suspended();
  for (const Id host : state_.nodes().in_order()) {
    if (tasks_[static_cast<std::size_t>(host)].empty()) continue;
    for (const Id q : bottom_up_) stop_over(q, host);
    for (const Id q : bottom_up_)
      if (set_.parent[q] == kNoId) resume_below(q, host);
  }
  for (const Start& s : started_) {
    if (status_[s.operation] == TaskStatus::kOut) status_[s.operation] = TaskStatus::kRuns;
    // The next run may stop it.
    if (moved_[s.operation] == Moved::kNot) moved_[s.operation] = Moved::kStarts;
    if (add_task(s.operation, s.node, s.queue)) stop_upwards(s.queue, s.node);
  }
  return changes_;
}

bool Subordination::stops(Id operation) const {
  return std::ranges::any_of(changes_,
                             [&](const Change& c) { return c.operation == operation && c.stops; });
}

Subordination::Verdict Subordination::verdict(Id slot) const {
  const Id o = state_.operation_of(slot), queue = queue_of(slot), host = state_.node_of(slot);
  if (!on_ || status_.empty() || queue == kNoId || host == kNoId) return {Outcome::kTaken, {}};
  QueueCount count;
  if (suspended(host, queue, &count)) return {Outcome::kSubordinateQueueSuspended, count};
  if (set_.parent[queue] == kNoId && set_.most[queue] == 0) return {Outcome::kTaken, {}};
  const Id root = set_.root(queue);
  const std::vector<Task>& here = tasks_[static_cast<std::size_t>(host)];
  const HostTree tree(set_, here, status_);
  count = {root, tree.running(root), set_.most[root], set_.level(root, queue), set_.seq[queue]};
  if (status_[o] != TaskStatus::kRuns)
    return {stopped(o) ? Outcome::kStaysSubordinate : Outcome::kTaken, count};
  if (queue == root) return {Outcome::kSubordinateToNone, count};
  const bool others = std::ranges::any_of(changes_, [&](const Change& c) {
    return c.stops && std::ranges::any_of(here, [&](const Task& t) {
             return t.operation == c.operation && set_.root(t.queue) == root;
           });
  });
  return {others ? Outcome::kOthersStopFirst : Outcome::kWithinSubordinateThreshold, count};
}

}  // namespace evenhand::gridengine
