// Which heartbeats would decide nothing.
#include <algorithm>
#include <array>
#include <utility>

#include "evenhand/policy/ytsaurus/workspace.h"

namespace evenhand::ytsaurus {
namespace {

using Size = std::size_t;

}  // namespace

bool Workspace::has_candidates() const noexcept {
  for (const Stage stage : {Stage::kPreemptive, Stage::kAggressive, Stage::kSsdPreemptive,
                            Stage::kSsdAggressive, Stage::kFullHost})
    if (!queue(stage).empty()) return true;
  return false;
}

// Whatever shields it.
bool Workspace::may_take(const StageRule& rule, Id slot, bool ssd_node) {
  const Id operation = state.operation_of(slot);
  const Exposure its = exposure(operation);
  if (!its.to(rule.stage) || !may_leave(slot)) return false;
  const Group group = this->group(slot);
  return group != Group::kNone &&
         level(group, its.aggressive, ssd_node && uses_ssd(slot)) >= rule.lowest;
}

// Where it has work that a stage may take, whatever shields it; of an operation that is as exposed
// as it was: if there is more of it than when it was last asked.
void Workspace::wake_where_it_runs(Id operation, bool more_only, Column<Id>& nodes) {
  if (state.allocations_of(operation).empty()) return;
  const Exposure its = exposure(operation);
  bool preemptible = false, aggressive = false;
  for (const StageRule& rule : stages_[0]) {
    if (queue(rule.stage).empty() || !its.to(rule.stage)) continue;
    preemptible = true;
    aggressive |= its.aggressive && rule.lowest <= Level::kAggressivelyPreemptible;
  }
  if (!preemptible) return;
  if (!groups.take_exposed(state, operation) && more_only) return;
  groups.refresh(state, operation);
  groups.for_beyond(operation, aggressive ? 0 : 1,
                    [&](Id slot) { nodes.push_back(state.node_of(slot)); });
}

// What is free of a node for any request; false: it has less than is used of it.
bool Workspace::free_room(Id node, Amount* room) const noexcept {
  const Amount *capacity = state.node_capacity(node), *used = state.node_used(node);
  const Amount* left = state.node_left(node);
  const ResourceSpace& resources = state.tables().resources;
  for (Size r = 0; r < state.width(); ++r) {
    if (resources.scope[r] == ResourceScope::kCluster) {
      room[r] = resources.capacity[r] - state.pool_usage(0)[r];
    } else {
      room[r] = capacity[r] - used[r];
      if (room[r] < 0) return false;
    }
    room[r] -= left[r];
  }
  return true;
}

// Where requests that have joined fit, or may be promised room.
void Workspace::wake_where_it_fits(View<const Id> shapes, Column<Id>& nodes) const {
  std::array<Amount, kMaxResources> room{};
  const ResourceSpace& resources = state.tables().resources;
  Size first = 0;  // resource of each node: most nodes lack what all shapes need of it
  while (first < state.width() && resources.scope[first] == ResourceScope::kCluster) ++first;
  Amount least = kAnyRoom;
  if (first < state.width()) {
    least = shapes_.least_room(shapes[0])[first];
    for (const Id shape : shapes) least = std::min(least, shapes_.least_room(shape)[first]);
  }
  const auto is_full = [&](Id node) {
    return first < state.width() && state.node_capacity(node)[first] -
                                            state.node_used(node)[first] -
                                            state.node_left(node)[first] <
                                        least;
  };
  for (Id node = 0; node < state.nodes().rows(); ++node)
    if (!is_full(node) && state.schedulable(node) && free_room(node, room.data()) &&
        std::ranges::any_of(shapes, [&](Id shape) { return shapes_.fits(shape, room.data()); }))
      nodes.push_back(node);
  for (const Leaving& leaving : state.leaving()) nodes.push_back(state.node_of(leaving.slot));
}

bool Workspace::wakes(Column<Id>& nodes) {
  const Stages joined = std::exchange(joined_, Stages{0});
  const Column<Id> shapes = std::exchange(joined_shapes_, {});
  if (contended() || over_count_ > 0 || !rows.graceful.empty() || last.starvation.all) return true;
  if (!shapes.empty()) wake_where_it_fits(shapes, nodes);
  if (!has_candidates()) return false;
  if (shares_groups()) return true;  // others may stand beyond their cuts
  if (settings.ssd_stages || settings.full_host_stage || !given.groups.empty()) return true;
  if (joined & ~(1u << at(Stage::kRegular))) {
    for (Id o = 0; o < state.operations().rows(); ++o) wake_where_it_runs(o, false, nodes);
    return false;
  }
  for (const Id e : last.starvation.looked_at)
    if (e >= pools()) wake_where_it_runs(e - pools(), true, nodes);
  for (const Id e : last.starvation.changed)
    if (e >= pools()) wake_where_it_runs(e - pools(), false, nodes);
  for (const Id o : *inputs_.moved()) wake_where_it_runs(o, false, nodes);
  return false;
}

bool Workspace::idle(Id node) {
  if (over_count_ > 0 || memory.overcommitted_since[node] != kNoTime || !rows.graceful.empty())
    return false;
  const bool waits = state.schedulable(node) && !queue(Stage::kRegular).empty();
  if (waits && state.has_leaving(node)) return false;
  std::array<Amount, kMaxResources> room{};
  if (!free_room(node, room.data())) return false;
  if (!waits) return true;
  for (const Id shape : waiting_shapes(Stage::kRegular))
    if (waiting(Stage::kRegular, shape) > 0 && shapes_.fits(shape, room.data())) return false;
  if (!has_candidates()) return true;
  if (shares_groups()) return false;
  const bool ssd_node = is_ssd_node(node);
  for (const Id slot : state.on_node(node))
    if (state.running(slot)) groups.refresh(state, state.operation_of(slot));
  for (const StageRule& rule : stages(node))
    if (!queue(rule.stage).empty() && may_serve(rule, node, room, ssd_node)) return false;
  return true;
}

// Whether some request would fit with all that a stage may take, whatever shields it.
bool Workspace::may_serve(const StageRule& rule, Id node, std::array<Amount, kMaxResources> room,
                          bool ssd_node) {
  bool takes = false;
  for (const Id slot : state.on_node(node)) {
    if (!state.running(slot) || !may_take(rule, slot, ssd_node)) continue;
    takes = true;
    const Amount* amounts = state.amounts(slot);
    for (Size r = 0; r < state.width(); ++r) room[r] += amounts[r];
  }
  if (!takes) return false;
  return std::ranges::any_of(waiting_shapes(rule.stage), [&](Id shape) {
    return waiting(rule.stage, shape) > 0 && shapes_.fits(shape, room.data());
  });
}

}  // namespace evenhand::ytsaurus
