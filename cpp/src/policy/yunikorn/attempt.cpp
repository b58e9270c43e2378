#include <algorithm>

#include "evenhand/policy/yunikorn/search.h"

namespace evenhand::yunikorn {

// Victims on any node, also one that is not looked at, that make room in the quota once those of
// the chosen node have gone.
bool Search::additional(const Solution& chosen, Column<Id>& more) {
  Column<std::uint8_t> seen;
  if (!chosen.victims.empty()) seen.assign(at(world_.held().rows()), 0);
  for (const Id v : chosen.victims) {
    move(v, -1);
    seen[v] = 1;
  }
  for (const Id v : world_.in_order()) {
    if ((!seen.empty() && seen[v] != 0) || !candidate(v)) continue;
    if (!take(v)) continue;
    const Resource& gives = world_.held().resources[v];
    const Resource left = remaining_guaranteed(ask_.queue);
    if (left.nil || !fit_in_actual(left, gives)) {
      put_back(v);
      if (left.nil || switches_.stops_at_unfitting_victim) break;
      continue;
    }
    world_.add(ask_.queue, gives, 1);
    if (same(left, remaining_guaranteed(ask_.queue))) {
      world_.add(ask_.queue, gives, -1);
      put_back(v);
    } else {
      more.push_back(v);
    }
  }
  const bool holds = more.empty() || within_guarantee(ask_.queue, ask_.resources.types);
  for (const Id v : more) {
    world_.add(ask_.queue, world_.held().resources[v], -1);
    put_back(v);
  }
  for (const Id v : chosen.victims) put_back(v);
  return holds;
}

// Of the victims found so far, those that are needed for what the ask lacks on its node.
Failure Search::trim(const Solution& chosen, std::span<const Id> more, bool plugged,
                     Column<Id>& victims) const {
  const bool alone = switches_.ignores_free_room;  // the victims must cover all of the ask
  Column<Id> list = chosen.victims;
  if (alone) list.insert(list.end(), more.begin(), more.end());
  if (alone && list.empty()) return Failure::kNoVictims;
  Resource wants = ask_.resources;
  const Amount* free = world_.nodes().free.row(chosen.node, width_);
  if (!alone)
    each_type(wants.types, [&](Size r) {
      wants.v[r] = std::max<Amount>(wants.v[r] - std::max<Amount>(free[r], 0), 0);
    });
  const auto lacks = [&](const Resource& total) {
    if (switches_.stops_at_any_type) return existing_larger(wants, total);
    return !every_type(wants.types, [&](Size r) { return total.v[r] >= wants.v[r]; });
  };
  const bool fitted = fits(chosen.node);
  Resource total;
  total.nil = false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Id v = list[i];
    if (!fitted && world_.held().node[v] != chosen.node) continue;
    const bool judged = plugged && i < chosen.victims.size();  // without it predicates do not hold
    if (lacks(total) || (judged && !switches_.drops_predicate_victims)) victims.push_back(v);
    add_to(total, world_.held().resources[v]);
  }
  return lacks(total) && (alone || !fitted) ? Failure::kShortfall : Failure::kNone;
}

Attempt Search::attempt(bool nodes_tried, const Predicates* predicates,
                        std::span<const Id> released) {
  Attempt out;
  const auto fail = [&out](Failure failure) {
    out.failure = failure;
    out.node = kNoId;
    out.victims.clear();
    return out;
  };
  out.guarantee_holds = guarantee_check();
  if (!out.guarantee_holds) return fail(Failure::kQueueGuarantee);
  Solution chosen;
  if (predicates == nullptr) {
    keep_nodes(out.cancelled);
    chosen = first_node(nodes_tried);
  } else {
    chosen = best_node(solutions(nodes_tried, out.cancelled), *predicates);
  }
  if (chosen.node == kNoId) return fail(Failure::kNoNode);
  Column<Id> more;
  if (!additional(chosen, more)) return fail(Failure::kAdditionalOverGuarantee);
  out.node = chosen.node;
  Failure found = trim(chosen, more, predicates != nullptr, out.victims);
  if (found == Failure::kNone && !switches_.ignores_free_room)
    found = cover_quota(more, out.victims);
  if (found != Failure::kNone) return fail(found);
  for (const Id v : out.victims)
    if (std::ranges::find(released, v) != released.end()) return fail(Failure::kVictimReleased);
  return out;
}

// What the ask lacks below the maxima of its queues, no more.
Failure Search::cover_quota(std::span<const Id> more, Column<Id>& victims) const {
  const Queues& queues = world_.queues();
  const auto lacking = [&](Id queue) {  // of its own maximum
    const Resource& most = queues.max[queue];
    Resource used = add(queues.allocated[queue], ask_.resources);
    add_to(used, queues.preempting[queue], -1);
    for (const Id v : victims)
      if (std::ranges::find(world_.path(world_.held().queue[v]), queue) !=
          world_.path(world_.held().queue[v]).end())
        add_to(used, world_.held().resources[v], -1);
    Resource out;
    each_type(most.types & ask_.resources.types, [&](Size r) {
      if (used.v[r] > most.v[r]) out.set(static_cast<int>(r), used.v[r] - most.v[r]);
    });
    return out;
  };
  for (const Id queue : world_.path(ask_.queue)) {
    Resource missing = lacking(queue);
    for (const Id v : more) {
      if (!missing.any()) break;
      const std::span<const Id> path = world_.path(world_.held().queue[v]);
      if (std::ranges::find(victims, v) != victims.end() ||
          (world_.held().resources[v].types & missing.types) == 0 ||
          std::ranges::find(path, queue) == path.end())
        continue;
      victims.push_back(v);
      missing = lacking(queue);
    }
    if (missing.any()) return Failure::kShortfall;
  }
  return victims.empty() ? Failure::kNoVictims : Failure::kNone;
}

}  // namespace evenhand::yunikorn
