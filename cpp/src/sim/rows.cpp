// Rows come, and go when they are done.
#include <algorithm>
#include <numeric>

#include "evenhand/sim/engine.h"

namespace evenhand::sim {
namespace {

constexpr Index kNoNote = -2;  // of a row that has nothing beside its columns

template <class T>
void fit(Column<T>& column, Id row) {
  if (row >= column.rows()) column.resize(at(row) + 1);
}

}  // namespace

void Engine::read_start() {
  const Tables& t = work_.rows.tables();
  const Id operations = first_operation_ + static_cast<Id>(t.operations.size());
  row_of_operation_.assign(at(operations), kNoId);
  requests_open_.assign(at(t.operations.size()), 0);
  for (const Id o : t.requests.operation) ++requests_open_[o];
  arrivals_.resize(at(t.requests.size()));
  std::iota(arrivals_.begin(), arrivals_.end(), Id{0});
  const Column<Time>& comes = t.requests.submit_time;
  std::ranges::stable_sort(arrivals_, {}, [&](Id q) { return comes[q]; });

  OperationLog& log = log_.operations;
  for (Column<Time>* times : {&log.submit, &log.first_start, &log.end})
    times->assign(at(operations), kNoTime);
  for (Column<Time>* sums : {&log.run, &log.lost}) sums->assign(at(operations), 0);
  for (Column<Index>* counts : {&log.preempted, &log.completed, &log.lost_count, &log.unfinished})
    counts->assign(at(operations), 0);
  constexpr Index kMostAtOnce = Index{1} << 22;
  Index starts = 0;  // if nothing is interrupted
  for (const Index count : t.requests.count) starts = std::min(starts + count, kMostAtOnce);
  log_.reserve(at(starts), width_);
  log.shortfall.assign(at(operations), 0.0);
  lacks_.assign(at(operations), {});
  for (Id q = 0; q < t.requests.operation.rows(); ++q) {
    const Id o = first_operation_ + t.requests.operation[q];
    log.submit[o] = log.submit[o] == kNoTime ? comes[q] : std::min(log.submit[o], comes[q]);
    log.unfinished[o] += t.requests.count[q];
  }

  const Tables& start = state_->tables();
  owners_.resize(at(first_operation_));
  asked_.resize(at(first_request_));
  for (Id o = 0; o < first_operation_; ++o) {
    owners_[o] = {o, static_cast<Index>(state_->requests_of(o).size())};
    row_of_operation_[o] = o;
    log.submit[o] = start.operations.start_time[o];
  }
  for (Id q = 0; q < first_request_; ++q) {
    Asked& asked = asked_[q];
    asked.source = q;
    asked.run_time = asked.duration = at_or(start.requests.duration, q, kNoTime);
    asked.open = start.requests.count[q];
    asked.cells = true;
    log.unfinished[start.requests.operation[q]] += asked.open;
  }
  capacity_ = start.nodes.capacity;
  held_.assign(start.nodes.capacity.size(), 0);
  waiting_.resize(at(start.nodes.size()));
  for (Id slot = 0; slot < state_->slots(); ++slot) {
    track(slot, kNoId, state_->node_of(slot));
    Running& r = running_[slot];
    const AllocationColumns& a = start.allocations;
    log_.allocations.start[r.log] = a.start_time[slot];
    ++log.unfinished[state_->operation_of(slot)];
    if (state_->away(slot)) {
      --running_count_;
      ++away_count_;
      log_.allocations.outcome[r.log] = Outcome::kSuspended;  // before the beginning
      if (const Amount* kept = state_->kept(slot)) hold(slot, kept, 1);
      continue;
    }
    hold(slot, state_->amounts(slot), 1);
    r.began = log_.allocations.began[r.log] = state_->last_start(slot);
    if (const Time planned = at_or(a.planned_end, slot, kNoTime);
        planned != kNoTime && a.state[slot] != AllocationState::kSuspended)
      push(std::max(planned, now_), Phase::kEnd, slot, r.token);
    if (state_->leaving(slot)) {
      r.leaves = at_or(a.deadline, slot, now_);
      push(std::max(r.leaves, now_), Phase::kGrace, slot, r.token);
    }
  }
}

void Engine::arrive(Id request) {
  turns_.progressed();
  const Tables& t = work_.rows.tables();
  const Id its = t.requests.operation[request], source = first_operation_ + its;
  Id operation = row_of_operation_[source];
  if (operation == kNoId) {
    operation = change({.kind = Delta::Kind::kPutOperation}, [&] {
      return state_->put_operation(t.operations, its, work_.pool[its], its);
    });
    if (came_) came_(*planner_, its, operation);
    row_of_operation_[source] = operation;
    fit(owners_, operation);
    owners_[operation] = {source, requests_open_[its]};
  }
  const Id named = at_or(t.requests.required_node, request, kNoId);
  const Id node = named == kNoId ? kNoId : work_.node[named];
  const Id row = change({.kind = Delta::Kind::kPutRequest}, [&] {
    return state_->put_request(t.requests, request, operation, node, kNoNote);
  });
  fit(asked_, row);
  Asked& asked = asked_[row];
  asked.source = first_request_ + request;
  asked.run_time = work_.run_time[request];
  asked.checkpoint_every = work_.checkpoint_every[request];
  asked.duration = at_or(t.requests.duration, request, kNoTime);
  asked.replica = work_.replica[request] != 0;
  asked.whole = work_.whole[request] != 0 && !options_.whole_operations;
  asked.open = t.requests.count[request];
  asked.kept.clear();
  asked.cells = node != kNoId || options_.planned_ends ||
                at_or(t.requests.preemptible, request, std::uint8_t{1}) == 0 ||
                at_or(t.requests.priority_given, request, std::uint8_t{0}) != 0;
  changed(kNoId);
  if (asked.open == 0) finish(row);
}

// Nothing of a request is left to be done; nor, perhaps, of its operation.
void Engine::finish(Id request) {
  const Id operation = state_->operation_of_request(request);
  Owner& owner = owners_[operation];
  change({.kind = Delta::Kind::kRemoveRequest, .row = request}, [&] {
    state_->remove_request(request);
    return request;
  });
  asked_[request].source = kNoId;
  if (--owner.open == 0 && state_->allocations_of(operation).empty()) {
    log_.operations.end[owner.source] = now_;
    lack(owner.source, 0);
    row_of_operation_[owner.source] = kNoId;
    const auto pools = static_cast<Id>(state_->pools().size());
    if (pools + operation < level_.rows())
      set_level(pools + operation, Starvation::kNonStarving, pools);
    owner.source = kNoId;
    change({.kind = Delta::Kind::kRemoveOperation, .row = operation}, [&] {
      state_->remove_operation(operation);
      return operation;
    });
  }
}

// One of its count waits again, perhaps after a while.
void Engine::wait_again(Id request) {
  if (options_.requeue_delay > 0)
    push(now_ + options_.requeue_delay, Phase::kAgain, request, 0);
  else
    queue_again(request);
}

void Engine::queue_again(Id request) {
  on({.kind = Delta::Kind::kPending, .row = request, .count = state_->pending(request) + 1});
  changed(kNoId);
}

void Engine::node_event(Index event) {
  turns_.progressed();
  const Id node = work_.event_node[event];
  const auto schedulable = [&](bool is) {
    if (state_->schedulable(node) != is)
      on({.kind = Delta::Kind::kSchedulable, .row = node, .schedulable = is});
  };
  const auto capacity = [&](std::span<const Amount> amounts) {
    on({.kind = Delta::Kind::kCapacity, .row = node, .amounts = amounts});
  };
  Amount* own = capacity_.row(node, width_);
  switch (work_.event[event]) {
    case NodeEvent::kUp:
      capacity({own, width_});
      schedulable(true);
      break;
    case NodeEvent::kDown: {
      schedulable(false);
      lose(node);
      const Column<Amount> nothing(width_, 0);
      capacity(nothing);
      break;
    }
    case NodeEvent::kDrain:
      schedulable(false);
      break;
    case NodeEvent::kCapacity:
      std::copy_n(work_.event_capacity.row(event, width_), width_, own);
      capacity({own, width_});
      begin_waiting(node);
      break;
  }
  changed(node);
}

}  // namespace evenhand::sim
