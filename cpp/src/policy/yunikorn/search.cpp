#include "evenhand/policy/yunikorn/search.h"

#include <algorithm>
#include <limits>
#include <string_view>

namespace evenhand::yunikorn {
namespace {

constexpr double kNobody = -std::numeric_limits<double>::infinity();
constexpr double kAnybody = std::numeric_limits<double>::infinity();

}  // namespace

Search::Search(World& world, const Switches& switches, Time reservation_timeout)
    : world_(world),
      switches_(switches),
      reservation_timeout_(reservation_timeout),
      width_(world.nodes().width) {}

void Search::begin(const Ask& ask) {
  const Queues& queues = world_.queues();
  ask_ = ask;
  const Size count = at(queues.rows());
  level_.assign(count, kNobody);
  highest_.assign(count, kNobody);
  on_path_.assign(count, 0);
  above_.assign(count, 0);
  fence_root_ = kNoId;
  asker_guaranteed_ = ask.queue != kNoId && queues.guaranteed[ask.queue].any();
  if (ask.queue == kNoId) return;

  const std::string_view own = queues.path[at(ask.queue)];
  for (Id q = 0; q < queues.rows(); ++q)
    above_[q] = switches_.ancestors_by_path_text && own.starts_with(queues.path[at(q)]);
  const std::span<const Id> path = world_.path(ask.queue);
  for (const Id q : path) on_path_[q] = above_[q] = 1;

  double level = ask.priority;
  for (auto q = path.rbegin(); q != path.rend(); ++q) {
    const auto offset = static_cast<double>(queues.offset[*q]);
    level = queues.priority_fence[*q] != 0 ? offset : level + offset;
    level_[*q] = level;
    if (fence_root_ != kNoId) continue;
    const Resource& most = world_.effective_max(*q);
    if (queues.parent[*q] == kNoId || queues.policy[*q] == QueuePolicy::kFence ||
        (most.any() && !existing_at_least(most, add(queues.allocated[*q], ask.resources))))
      fence_root_ = *q;
  }
  if (queues.policy[ask.queue] == QueuePolicy::kDisabled && !switches_.disabled_queues_preempt)
    return;
  look_for_candidates(fence_root_, level_[fence_root_], false);
}

// Priorities up to which leaves have candidates, depth first.
void Search::look_for_candidates(Id queue, double priority, bool free) {
  const Queues& queues = world_.queues();
  if (queue == ask_.queue) return;
  if (queues.leaf[queue] != 0) {
    if (queues.policy[queue] == QueuePolicy::kDisabled) return;
    const Resource rest = remaining_guaranteed(queue);
    if (!rest.nil && !any_negative(rest, rest.types)) return;
    highest_[queue] = free ? kAnybody : priority;
    return;
  }
  if (on_path_[queue] != 0 && !switches_.common_ancestors_lift_ask)
    for (const Id c : world_.children(queue))  // as all in this queue are seen
      if (on_path_[c] != 0) priority = level_[c];
  for (const Id c : world_.children(queue)) {
    const auto offset = static_cast<double>(queues.offset[c]);
    if (on_path_[c] != 0)
      look_for_candidates(c, level_[c], free);
    else if (queues.priority_fence[c] == 0)
      look_for_candidates(c, priority - offset, free);
    else if (offset <= priority)
      look_for_candidates(c, priority, true);
  }
}

Column<Id> Search::candidates() const {
  Column<Id> out;
  for (Id a = 0; a < world_.held().rows(); ++a)
    if (candidate(a)) out.push_back(a);
  return out;
}

Column<Id> Search::snapshots() const {
  Column<std::uint8_t> seen = on_path_;
  for (const Id a : candidates())
    for (const Id q : world_.path(world_.held().queue[a])) seen[q] = 1;
  Column<Id> out;
  for (Id q = 0; q < seen.rows(); ++q)
    if (seen[q] != 0) out.push_back(q);
  return out;
}

// What it is still owed; no resource: no guarantee applies. An ancestor that it shares with the
// asker is taken out where both have a guarantee.
Resource Search::remaining_guaranteed(Id queue) const {
  const Queues& queues = world_.queues();
  Resource rest;
  for (const Id q : world_.path(queue)) {
    const Resource& guaranteed = queues.guaranteed[q];
    if (!rest.any() && !guaranteed.any()) {
      rest = {};
      continue;
    }
    Resource own = guaranteed;
    const Resource& used = queues.allocated[q];
    const Resource& leaves = queues.preempting[q];
    each_type(own.types & used.types, [&](Size r) { own.v[r] -= used.v[r] - leaves.v[r]; });
    if (ask_.queue != kNoId && queues.parent[q] != kNoId && own.any()) {
      if (q == ask_.queue) {
        rest = merge_missing(own, rest);
        continue;
      }
      if (above_[q] != 0 && asker_guaranteed_) {
        rest = {};
        continue;
      }
    }
    rest = min_all(own, rest);
  }
  return rest;
}

Resource Search::preemptible(Id queue) const {
  const Queues& queues = world_.queues();
  if (queue == kNoId || !queues.allocated[queue].any()) return {};
  Resource own = sub_existing(queues.allocated[queue], queues.preempting[queue]);
  each_type(queues.guaranteed[queue].types, [&](Size r) {
    if (own.has(static_cast<int>(r))) own.v[r] -= queues.guaranteed[queue].v[r];
  });
  own = signed_part(own, 1);
  own.nil = false;
  return own.any() ? min_existing(own, preemptible(queues.parent[queue])) : own;
}

bool Search::within_guarantee(Id queue, ResourceMask types) const {
  const Resource rest = remaining_guaranteed(queue);
  if (rest.nil) return false;
  if (!switches_.unguaranteed_types_open && (types & ~rest.types) != 0) return false;
  return !any_negative(rest, types);
}

// No guarantee applies to it, whatever leaves, or nothing is a candidate.
bool Search::in_vain() const {
  const Resource rest = remaining_guaranteed(ask_.queue);
  const auto gives = [](double highest) { return highest > kNobody; };
  return !owed(rest) && (rest.nil || std::ranges::none_of(highest_, gives));
}

// Could the asker be within its guarantee once all candidates have gone? Each that goes can only
// help, so they are looked at together.
bool Search::guarantee_check() {
  const Resource rest = remaining_guaranteed(ask_.queue);
  const ResourceMask types = ask_.resources.types;
  if (owed(rest)) return true;
  chosen_.clear();
  for (Id leaf = 0; leaf < world_.queues().rows(); ++leaf)
    if (highest_[leaf] > kNobody)
      for (const Id a : world_.of_queue(leaf))
        if (candidate(a)) chosen_.push_back(a);
  world_.add(ask_.queue, ask_.resources, 1);
  for (const Id a : chosen_) move(a, -1);
  const bool holds = !chosen_.empty() && within_guarantee(ask_.queue, types);
  for (const Id a : chosen_) put_back(a);
  world_.add(ask_.queue, ask_.resources, -1);
  return holds;
}

// Nodes that are looked at: those that are not reserved for others. A reservation is cancelled if
// the other ask is less important and has waited for long.
void Search::keep_nodes(std::vector<std::pair<Id, Id>>& cancelled) {
  const NodeRooms& nodes = world_.nodes();
  in_.assign(at(nodes.rows()), 1);
  Column<std::uint8_t> kept, freed;
  const Reserved& reserved = world_.reserved();
  for (Id i = 0; i < reserved.rows(); ++i) {
    if (reserved.ask[i] == ask_.row && ask_.row != kNoId) continue;
    const Id node = reserved.node[i];
    const bool cancels = reserved.required[i] == 0 && reserved.triggered[i] == 0 &&
                         reserved.priority[i] < ask_.priority &&
                         outdated(reserved.age[i], reservation_timeout_);
    Column<std::uint8_t>& which = cancels ? freed : kept;
    if (which.empty()) which.assign(at(nodes.rows()), 0);
    which[node] = 1;
    if (cancels) cancelled.emplace_back(node, reserved.ask[i]);
  }
  for (Id n = 0; n < nodes.rows(); ++n) {
    const bool taken = !kept.empty() && kept[n] != 0 &&
                       !(switches_.any_reservation_frees_node && !freed.empty() && freed[n] != 0);
    if (taken || nodes.schedulable[n] == 0 ||
        !fit_in(nodes.capacity.row(n, width_), ask_.resources))
      in_[n] = 0;
  }
}

bool Search::over_guarantee(Id queue) const {
  const Resource rest = remaining_guaranteed(queue);
  return rest.nil || any_negative(rest, ask_.resources.types);
}

// Removes a victim if its queue can give it; else nothing changes.
bool Search::take(Id allocation) {
  const Id queue = world_.held().queue[allocation];
  if (!over_guarantee(queue)) return false;
  move(allocation, -1);
  if (switches_.gives_below_guarantee) return true;
  // Nothing that it gives may be owed to it, or to a queue above it that the asker is not in.
  const Queues& queues = world_.queues();
  const Resource& gives = world_.held().resources[allocation];
  for (const Id q : world_.path(queue)) {
    if (on_path_[q] != 0) continue;
    const Resource& owed = queues.guaranteed[q];
    const bool enough = every_type(gives.types & owed.types, [&](Size r) {
      return queues.allocated[q].v[r] - queues.preempting[q].v[r] >= owed.v[r];
    });
    if (!enough) {
      put_back(allocation);
      return false;
    }
  }
  return true;
}

// A lower bound of the place of the victim with which the ask fits; -1: it fits as it is.
Index Search::fewest(Id node) const {
  const Amount* free = world_.nodes().free.row(node, width_);
  const Amount* largest = world_.largest(node);
  Index most = 0;
  bool never = false;
  each_type(ask_.resources.types, [&](Size r) {
    const Amount lacking = ask_.resources.v[r] - std::max<Amount>(free[r], 0);
    if (lacking <= 0) return;
    if (largest[r] == 0)
      never = true;
    else
      most = std::max<Index>(most, (ask_.resources.v[r] - free[r] + largest[r] - 1) / largest[r]);
  });
  return never ? std::numeric_limits<Index>::max() : most - 1;
}

// Victims on a node, in two passes: those that reduce what the ask lacks come first. `all`: the
// list goes on behind the one with which it fits.
bool Search::victims_on(Id node, bool all, Solution& out) {
  out = {node, -1, {}};
  if (fits(node)) return true;
  const Held& held = world_.held();
  const Amount* free = world_.nodes().free.row(node, width_);
  std::array<Amount, kMaxResources> available{};
  std::copy_n(free, width_, available.begin());
  Column<Id> head, tail, moved;
  bool fitted = false;
  for (const Id v : world_.on_node(node)) {
    if (!candidate(v) || !take(v)) continue;
    const Resource& gives = held.resources[v];
    const Resource owed = remaining_guaranteed(ask_.queue);
    if (owed.nil || !fit_in_actual(owed, gives)) {
      put_back(v);
      if (owed.nil || switches_.stops_at_unfitting_victim) break;
      continue;
    }
    const bool helps = !every_type(ask_.resources.types & gives.types, [&](Size r) {
      const Amount lacking = std::max<Amount>(ask_.resources.v[r] - available[r], 0);
      return lacking == std::max<Amount>(ask_.resources.v[r] - available[r] - gives.v[r], 0);
    });
    if (!helps) {
      put_back(v);
      tail.push_back(v);
      continue;
    }
    world_.add(ask_.queue, gives, 1);
    moved.push_back(v);
    head.push_back(v);
    each_type(gives.types, [&](Size r) { available[r] += gives.v[r]; });
    if (!all && !fitted && fit_in(available.data(), ask_.resources)) {
      fitted = true;  // the rest of the list is seldom needed
      break;
    }
  }
  for (const Id v : moved) {
    world_.add(ask_.queue, held.resources[v], -1);
    put_back(v);
  }
  if (fitted && order_of_removal(node, head, all, out)) return true;
  if (fitted) return victims_on(node, true, out);
  head.insert(head.end(), tail.begin(), tail.end());
  return order_of_removal(node, head, all, out);
}

bool Search::order_of_removal(Id node, std::span<const Id> wanted, bool all, Solution& out) {
  std::array<Amount, kMaxResources> available{};
  std::copy_n(world_.nodes().free.row(node, width_), width_, available.begin());
  out.victims.clear();
  out.start = -1;
  for (const Id v : wanted) {
    if (!take(v)) continue;
    each_type(world_.held().resources[v].types,
              [&](Size r) { available[r] += world_.held().resources[v].v[r]; });
    out.victims.push_back(v);
    if (out.start < 0 && fit_in(available.data(), ask_.resources)) {
      out.start = out.victims.rows() - 1;
      if (!all) break;
    }
  }
  for (const Id v : out.victims) put_back(v);
  return out.start >= 0;
}

std::vector<Solution> Search::solutions(bool nodes_tried,
                                        std::vector<std::pair<Id, Id>>& cancelled) {
  keep_nodes(cancelled);
  std::vector<Solution> found;
  for (const Id n : world_.nodes().order) {
    Solution one;
    if (in_[n] != 0 && victims_on(n, true, one) && (!nodes_tried || one.start >= 0))
      found.push_back(std::move(one));
  }
  std::ranges::stable_sort(found, {}, &Solution::start);
  return found;
}

// Without a plug-in: the fewest victims, then the first node. Nodes that cannot do with fewer
// than the best so far are passed over.
Solution Search::first_node(bool nodes_tried) {
  Solution best{kNoId, std::numeric_limits<Index>::max(), {}};
  Index least = std::numeric_limits<Index>::max();
  Column<Index> bound(in_.size());
  for (Id n = 0; n < in_.rows(); ++n) {
    bound[n] = in_[n] == 0 ? std::numeric_limits<Index>::max() : fewest(n);
    if (bound[n] < 0 && nodes_tried) bound[n] = std::numeric_limits<Index>::max();
    least = std::min(least, bound[n]);
  }
  Solution one;
  for (const Id n : world_.nodes().order) {
    if (best.start <= least) break;
    if (bound[n] >= best.start) continue;
    if (victims_on(n, false, one) && one.start < best.start) best = one;
  }
  return best;
}

std::int64_t solution_score(const World& world, const std::span<const Id>* allocations,
                            bool success, Index index) {
  if (!success || allocations == nullptr) return kNoSolution;
  if (index < 0) return 0;
  if (index >= static_cast<Index>(allocations->size())) return kNoSolution;
  std::int64_t bits = 0;
  for (Index i = 0; i <= index; ++i) {
    const Id a = (*allocations)[at(i)];
    if (world.held().allows[a] == 0) bits |= kOptedOutScore;
    if (world.held().originator[a] != 0) bits |= kOriginatorScore;
  }
  return bits + index + 1;
}

// With a plug-in: batches of nodes, until one needs neither originators nor who opted out.
Solution Search::best_node(std::vector<Solution> found, const Predicates& predicates) const {
  constexpr Size kBatch = 10;
  Solution best;
  std::int64_t least = kNoSolution;  // of an answer that is a success it may be that, too
  for (Size from = 0; from < found.size(); from += kBatch) {
    for (Size i = from; i < std::min(found.size(), from + kBatch); ++i) {
      Solution& one = found[i];
      Column<Id> own;
      for (const Id a : world_.on_node(one.node))
        if (candidate(a)) own.push_back(a);
      const std::span<const Id> candidates(own);
      const Index index =
          one.victims.empty() ? -1 : predicates.fits_after(one.node, one.victims, one.start);
      const bool success = one.victims.empty() ? predicates.fits(one.node) : index >= 0;
      const std::int64_t score =
          solution_score(world_, own.empty() ? nullptr : &candidates, success, index);
      if (!success || (best.node != kNoId && score >= least)) continue;
      least = score;
      best = one;
      if (index >= 0) best.victims.resize(at(index + 1));
    }
    if (least < (std::int64_t{1} << 32)) break;
  }
  return best;
}

}  // namespace evenhand::yunikorn
