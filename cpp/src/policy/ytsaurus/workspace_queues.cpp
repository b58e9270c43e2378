// Which requests take part, and which operations wait in which stage.
#include <algorithm>
#include <utility>

#include "evenhand/policy/ytsaurus/workspace.h"

namespace evenhand::ytsaurus {
namespace {

using Size = std::size_t;

}  // namespace

// All requests that there are take part from here on.
void Workspace::join_requests() {
  fit_asks(static_cast<Size>(state.operations().rows()));
  const auto requests = static_cast<Size>(state.requests().rows());
  ask_of_.resize(requests, kNoId);
  shape_place_.resize(requests, kNoId);
  refused_at_.resize(requests, 0);
  for (const Id q : came_)
    if (state.requests().present(q) && !joined(q)) join_request(q);
  came_.clear();
}

void Workspace::join_request(Id request) {
  if (state.requests().version(request) != LiveTable<RequestColumns>::kOfSnapshot)
    shapes_.set(request, state.requests().get_row(&RequestColumns::resources, request),
                state.tables().resources.scope);
  const Id operation = state.operation_of_request(request), shape = shapes_.of(request);
  Column<Ask>& asks = asks_[operation];
  auto place = asks.end();
  while (place != asks.begin() && before(request, (place - 1)->request)) --place;
  const Ask ask{request, shape, state.pending(request)};
  place = asks.insert(place, ask);
  first_waiting_[operation] =
      std::min(first_waiting_[operation], static_cast<Id>(place - asks.begin()));
  Id& only = only_shape_[operation];
  only = asks.size() == 1 || only == shape ? shape : kNoId;
  for (; place != asks.end(); ++place)
    ask_of_[place->request] = static_cast<Id>(place - asks.begin());
  by_shape_.resize(std::max(by_shape_.size(), shapes_.size()));
  shape_place_[request] = by_shape_[shape].rows();
  by_shape_[shape].push_back(request);
  for (Column<Index>& waiting : waiting_) waiting.resize(shapes_.size(), 0);
  if (ask.pending > 0) count_waiting(queues_of(operation), ask, 1);
}

bool Workspace::waits(Id operation) const { return !waiting_of(operation).empty(); }

Workspace::Stages Workspace::queues_of(Id operation) const {
  Stages found = 0;
  for (Size s = 0; s < queues_.size(); ++s)
    if (queues_[s].contains(operation)) found = static_cast<Stages>(found | 1u << s);
  return found;
}

void Workspace::join_shape(Stages stages, Id shape) {
  joined_ |= stages;
  if ((stages >> at(Stage::kRegular) & 1) &&
      std::ranges::find(joined_shapes_, shape) == joined_shapes_.end())
    joined_shapes_.push_back(shape);
}

// An ask of an operation in these queues waits from here on, or does no more.
void Workspace::count_waiting(Stages stages, const Ask& ask, Index more) {
  if (more > 0) join_shape(stages, ask.shape);
  for (Size s = 0; s < queues_.size(); ++s) {
    if (!(stages >> s & 1)) continue;
    Index& waiting = waiting_[s][ask.shape];
    Column<Id>& shapes = waiting_shapes_[s];
    waiting += more;
    if (more > 0 && waiting == 1 && std::ranges::find(shapes, ask.shape) == shapes.end())
      shapes.push_back(ask.shape);
  }
}

// Queues that an operation is in follow from the update; it leaves them with its last request.
Workspace::Stages Workspace::stages_of(Id o) const {
  const auto i = static_cast<Size>(o), e = static_cast<Size>(pools() + o);
  if (!work().schedulable[i] || !waits(o)) return 0;
  // A graceful operation would take again what it has just given up.
  if (graceful(o) && last.starvation.status[e] == Status::kNormal) return 0;
  Stages found = 0;
  const auto join = [&](Stage stage) { found = static_cast<Stages>(found | 1u << at(stage)); };
  join(Stage::kRegular);
  const bool ssd = rows.wants_ssd[o] != 0;
  const bool aggressive = last.priority[i] == Priority::kAggressive;
  if (last.priority[i] == Priority::kNormal ||
      (aggressive && settings.preemptive_stage_serves_aggressive)) {
    join(Stage::kPreemptive);
    if (ssd) join(Stage::kSsdPreemptive);
  }
  if (aggressive) {
    join(Stage::kAggressive);
    if (ssd) join(Stage::kSsdAggressive);
  }
  const Time since = last.starvation.clocks.since[e];
  const auto takes_a_host = [&](const Ask& a) {
    return shapes_.amounts(a.shape)[settings.gpu] == settings.full_host_gpus;
  };
  if (settings.full_host_stage && settings.gpu != kNoId && since != kNoTime &&
      last.now > since + settings.full_host_timeout && rows.other_segment[o] == 0 &&
      std::ranges::all_of(requests_of(o), takes_a_host))
    join(Stage::kFullHost);
  return found;
}

void Workspace::build_queues() {
  ++falls_;
  joined_ = kAllStages;
  std::array<Column<Id>, kStages> members;
  for (Column<Index>& waiting : waiting_) waiting.assign(shapes_.size(), 0);
  for (Column<Id>& shapes : waiting_shapes_) shapes.clear();
  for (Id o = 0; o < asks_.rows(); ++o) {
    const Stages stages = stages_of(o);
    for (Size s = 0; s < members.size(); ++s)
      if (stages >> s & 1) members[s].push_back(o);
    for (const Ask& a : requests_of(o))
      if (a.pending > 0) count_waiting(stages, a, 1);
  }
  for (Size s = 0; s < members.size(); ++s)
    queues_[s].reset(last.places, live_satisfaction_, std::move(members[s]));
}

// As build_queues(), where the last update knows which operations changed.
void Workspace::follow_queues() {
  const auto is_queued = [&](Id o) { return queues_of(o) != 0; };
  if (last.starvation.all || !last.places.fifo_pools.empty() || !rows.graceful.empty() ||
      settings.full_host_stage || std::ranges::any_of(*inputs_.moved(), is_queued))
    return build_queues();
  Size inside = 0;
  for (const ServiceQueue& queue : queues_) inside += queue.size();
  if (last.requeued.size() > inside / 16 + 256) return build_queues();
  ++falls_;
  if (last.moved_places)
    for (ServiceQueue& queue : queues_) queue.move_places();
  for (ServiceQueue& queue : queues_)
    for (Size i = 0; !queue.empty() && i < resatisfied_.size(); ++i)
      if (queue.contains(resatisfied_[i])) queue.touch(resatisfied_[i]);
  for (const Id o : last.requeued) {
    const Stages before = queues_of(o), now = stages_of(o);
    const auto left = static_cast<Stages>(before & ~now), came = static_cast<Stages>(now & ~before);
    if (left == 0 && came == 0) continue;
    for (const Ask& a : requests_of(o)) {
      if (a.pending == 0) continue;
      count_waiting(left, a, -1);
      count_waiting(came, a, 1);
    }
    for (Size s = 0; s < queues_.size(); ++s)
      if (left >> s & 1)
        queues_[s].remove(o);
      else if (came >> s & 1)
        queues_[s].insert(o);
  }
  for (Size s = 0; s < queues_.size(); ++s)
    std::erase_if(waiting_shapes_[s], [&](Id shape) { return waiting_[s][shape] == 0; });
}

void Workspace::drop_operation(Id operation) {
  std::uint16_t queues = 0;
  for (Size s = 0; s < queues_.size(); ++s)
    if (queues_[s].contains(operation)) {
      queues_[s].remove(operation);
      queues = static_cast<std::uint16_t>(queues | 1u << s);
    }
  if (stands_ && queues != 0) dropped_.push_back({operation, queues});
}

// So many of a request wait now.
void Workspace::pending_changed(Id request, Index now) {
  const Id operation = state.operation_of_request(request);
  touch(operation);
  if (!joined(request)) return;
  Ask& ask = asks_[operation][ask_of_[request]];
  const Index before = std::exchange(ask.pending, now);
  if (now > 0) first_waiting_[operation] = std::min(first_waiting_[operation], ask_of_[request]);
  const Stages queues = queues_of(operation);
  if (now > before) join_shape(queues, ask.shape);
  if ((before > 0) == (now > 0)) return;
  count_waiting(queues, ask, now > 0 ? 1 : -1);
  if (now == 0 && !waits(operation)) drop_operation(operation);
}

}  // namespace evenhand::ytsaurus
