#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "cycles.h"

namespace evenhand::yunikorn {
namespace {

using Size = std::size_t;

constexpr float kFar = 1e30F;
constexpr Id kNever = std::bit_cast<Id>(1e20F);  // no victims of the node suffice
constexpr float kFewRounded = 1 - 0x1p-16F;      // sums of few rounded parts are less off
constexpr Size kNearby = 256;                    // nodes that are looked at before all are
constexpr Size kMoved = 64;  // nodes out of their order until they are sorted again

// Numbers from 0 on compare as their bits do, those below as less; columns of integers are compared
// many at once.
Id bits(float number) { return std::bit_cast<Id>(number); }

}  // namespace

// Do its queue, and those above it that the asker is not in, keep their guarantee and ideal share,
// and those that it is in their guarantee, with the ask in the place of what leaves?
bool Cycles::may_give(Id queue, const Amount* gives, const Amount* wants) const {
  for (const Id q : part_.path(queue)) {
    if (tight_[q] == 0) continue;
    const Amount *used = part_.row(usage_, q), *given = part_.row(given_, q);
    for (Size r = 0; r < width_; ++r) {
      if (gives[r] <= 0) continue;
      const Amount left = used[r] - given[r] - gives[r];
      if (asking_[q] != 0) {
        if (left + wants[r] < std::min(used[r], part_.row(part_.owed, q)[r])) return false;
      } else if (left < part_.row(keeps_, q)[r] || used[r] <= part_.row(dead_, q)[r]) {
        return false;
      }
    }
  }
  return true;
}

bool Cycles::anything_kept(Id queue) const {
  for (const Id q : part_.path(queue))
    if (tight_[q] != 0) return true;
  return false;
}

// Whether anything might leave for an ask, as far as queues alone say: the priorities of what runs
// there, and what they use beyond what they keep. O(queues x depth), once for a leaf.
bool Cycles::might_give(Id request, For what) {
  const Id leaf = leaf_of(request);
  if (what == For::kIntraQueue) return part_.lowest[leaf] < part_.ask_priority[request];
  std::int8_t& may = asks_may_[leaf];
  if (may >= 0) return may != 0;
  const auto among = [](std::span<const Id> path, Id queue) {
    return std::ranges::find(path, queue) != path.end();
  };
  const auto gives = [&](Id queue) {
    for (const Id q : part_.path(queue)) {
      if (among(part_.path(leaf), q)) return true;
      bool more = false;
      for (Size cell = at(q) * width_; cell < (at(q) + 1) * width_; ++cell)
        more = more || (usage_[cell] > keeps_[cell] && usage_[cell] > dead_[cell]);
      if (!more) return false;
    }
    return true;
  };
  may = 0;
  for (Id q = 0; q < part_.queues() && may == 0; ++q)
    if (q != leaf && part_.children[q] == part_.children[q + 1] && closed_[q] == 0 &&
        among(part_.path(q), fence_[leaf]) && gives(q))
      may = 1;
  return may != 0;
}

// The cheapest victims with which the ask fits on a node, none of them in vain; as places in
// `part_.on_node`.
bool Cycles::victims_on(Id node, Id request, For what, const Live& live, Column<Index>& out) {
  out.clear();
  const Id leaf = leaf_of(request), asker = state_.operation_of_request(request);
  const Amount* wants = need(request);
  std::array<Size, kMaxResources> types;  // that it asks for
  std::array<Amount, kMaxResources> lacks;
  Size count = 0, lacking = 0;
  for (Size r = 0; r < width_; ++r)
    if (wants[r] > 0) {
      types[count] = r;
      lacks[count] = wants[r] - rooms_.at(node, r);
      lacking += lacks[count++] > 0 ? 1U : 0U;
    }
  std::vector<Short> shorts = short_;
  for (const Short& one : shorts) lacking += one.lacking(width_);
  const auto below = [&](Id queue, Id top) {
    return std::ranges::find(part_.path(queue), top) != part_.path(queue).end();
  };
  // What leaves, or comes back.
  const auto leaves = [&](Index i, Amount sign) {
    const Amount* gives = part_.near.row(i, width_);
    lacking = 0;
    for (Size t = 0; t < count; ++t) {
      lacks[t] -= sign * gives[types[t]];
      lacking += lacks[t] > 0 ? 1U : 0U;
    }
    for (Short& one : shorts) {
      if (below(part_.near_queue[i], one.queue))
        for (Size r = 0; r < width_; ++r) one.lacks[r] -= sign * gives[r];
      lacking += one.lacking(width_);
    }
  };
  const auto helps = [&](Id queue, const Amount* gives) {
    for (Size t = 0; t < count; ++t)
      if (lacks[t] > 0 && gives[types[t]] > 0) return true;
    for (const Short& one : shorts)
      for (Size r = 0; r < width_; ++r)
        if (one.lacks[r] > 0 && gives[r] > 0 && below(queue, one.queue)) return true;
    return false;
  };
  const auto count_given = [&](Id queue, const Amount* gives, Amount sign) {
    for (const Id q : part_.path(queue))
      for (Size r = 0; r < width_; ++r) part_.row(given_, q)[r] += sign * gives[r];
  };
  const Id* of = live.of.data() + part_.on_node_from[node];
  bool kept = false;
  for (Index n = 0; n < live.count[node] && lacking > 0; ++n) {
    const Index i = of[n];
    const Id queue = part_.near_queue[i];
    const Amount* gives = part_.near.row(i, width_);
    if (!helps(queue, gives)) continue;
    const Id place = part_.on_node[i];
    if (what == For::kInterQueue ? queue == leaf || !below(queue, fence_[leaf])
                                 : part_.operation[place] == asker)
      continue;
    if (taken_[place] != 0) continue;
    if (pace_.on() && pace_.spared(state_, part_.slot[place]).why != Outcome::kTaken) continue;
    if (anything_kept(queue)) {
      if (!may_give(queue, gives, wants)) continue;
      count_given(queue, gives, 1);
      kept = true;
    }
    out.push_back(i);
    leaves(i, 1);
  }
  if (kept)
    for (const Index i : out)
      if (anything_kept(part_.near_queue[i]))
        count_given(part_.near_queue[i], part_.near.row(i, width_), -1);
  if (lacking > 0) return false;
  if (out.size() < 2) return true;
  for (Size i = out.size() - 1; i-- > 0;) {  // from the one that was wanted last but one
    const Index one = out[i];
    leaves(one, -1);
    if (lacking == 0)
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(i));
    else
      leaves(one, 1);
  }
  return true;
}

// How many victims each node needs at least, as far as amounts say, as bits of a number.
void Cycles::bound(const Live& live, const Amount* wants) {
  fewest_.assign(nodes_, 0);
  Id* fewest = fewest_.data();
  for (Size r = 0; r < width_; ++r) {
    if (wants[r] <= 0) continue;
    const float wanted = no_more(wants[r]);
    const float *room = room_.data() + r * nodes_, *one = live.one.data() + r * nodes_,
                *all = live.all.data() + r * nodes_;
    for (Size n = 0; n < nodes_; ++n) {
      const float lacks = wanted - room[n];
      const Id least = bits(lacks * one[n]), never = bits((lacks * all[n] - 1) * kFar);
      const Id more = least > never ? least : never;
      fewest[n] = fewest[n] > more ? fewest[n] : more;
    }
  }
}

Id Cycles::bound_of(const Live& live, Id node, const Amount* wants) const {
  Id fewest = 0;
  for (Size r = 0; r < width_; ++r) {
    if (wants[r] <= 0) continue;
    const Size cell = r * nodes_ + at(node);
    const float lacks = no_more(wants[r]) - room_[cell];
    fewest =
        std::max({fewest, bits(lacks * live.one[cell]), bits((lacks * live.all[cell] - 1) * kFar)});
  }
  return fewest;
}

// Might so many victims of a node do? Each covers a part of what the ask lacks in each resource, at
// most all of it; those that cover most must cover everything together.
bool Cycles::may_do(Id node, const Amount* wants, const Live& live, Size victims) const {
  constexpr Size kMost = 8;
  if (victims > kMost) return true;
  std::array<Size, kMaxResources> types;
  std::array<float, kMaxResources> of_lack;
  Size count = 0;
  for (Size r = 0; r < width_; ++r)
    if (const Amount lacks = wants[r] - rooms_.at(node, r); wants[r] > 0 && lacks > 0) {
      types[count] = r;
      of_lack[count++] = 1 / static_cast<float>(lacks);
    }
  std::array<float, kMost> best{};  // the largest first
  const Id* of = live.of.data() + part_.on_node_from[node];
  for (Index n = 0; n < live.count[node]; ++n) {
    const Amount* gives = part_.near.row(of[n], width_);
    float covers = 0;
    for (Size t = 0; t < count; ++t)
      covers += std::min(static_cast<float>(gives[types[t]]) * of_lack[t], 1.0F);
    for (Size i = 0; i < victims; ++i) {
      const float more = std::max(best[i], covers);
      covers = std::min(best[i], covers);
      best[i] = more;
    }
  }
  float all = 0;
  for (Size i = 0; i < victims; ++i) all += best[i];
  return all >= static_cast<float>(count) * kFewRounded;
}

void Cycles::add_cost(Cost& to, Id place) const {
  const Size columns = set_.cost.size();
  for (Size i = 0; i < columns; ++i) to.sum[i] += part_.cost[at(place) * columns + i];
}

// What so many victims of a node cost at least together.
Cost Cycles::least_cost(Id node, const Live& live, Size victims) const {
  Cost out;
  const Id* of = live.of.data() + part_.on_node_from[node];
  const auto count = static_cast<Index>(std::min(victims, at(live.count[node])));
  for (Index n = 0; n < count; ++n) add_cost(out, part_.on_node[of[n]]);
  return out;
}

// Nodes are searched by how few victims they need at least; of as many, those alone that may cost
// no more than the best so far: by their so-manieth victim, then by the sum of so many.
bool Cycles::victims_for(Id request, For what, Id& node) {
  const Amount* wants = need(request);
  const Id leaf = leaf_of(request);
  short_.clear();
  for (const Id q : part_.path(leaf)) {
    Short over{q, {}};
    bool any = false;
    for (ResourceMask types = part_.limited[q]; types != 0; types &= types - 1) {
      const auto r = static_cast<Size>(std::countr_zero(types));
      const Size cell = at(q) * width_ + r;
      if (wants[r] <= 0) continue;
      over.lacks[r] = usage_[cell] + leaving_[cell] + wants[r] - part_.most[cell];
      any = any || over.lacks[r] > 0;
    }
    if (any && q == leaf && what == For::kInterQueue) return false;  // nothing there may leave
    if (any) short_.push_back(over);
  }
  if (!seen_ && !might_give(request, what)) return false;
  see_victims();
  Live* live = live_for(request, what);
  if (live == nullptr || !live->any) return false;
  for (const Id q : part_.path(leaf)) asking_[q] = 1;

  const bool anywhere = this->anywhere(request);
  std::optional<Id> known;
  if (what == For::kInterQueue && of_need_[part_.need_of[request]] > 1 && anywhere && !credited_ &&
      short_.empty() && !pace_.on()) {
    const bool gives =
        exhausted_[leaf] == 0 && part_.of_queue_from[leaf] != part_.of_queue_from[leaf + 1];
    Id held = 0;  // the first above it whose share holds anything back
    for (const Id q : part_.path(leaf).subspan(1))
      if (q != 0 && tight_[q] != 0) {
        held = q;
        break;
      }
    known = live->known.of({part_.need_of[request], gives ? leaf : kNoId, held, fence_[leaf]});
  }
  Found best;
  Size level = 1;  // victims
  const auto as_few = [&](Size count) { return best.node != kNoId && at(best.victims) <= count; };
  const auto most = [&] { return bits(static_cast<float>(level)); };
  const auto column = [&] { return std::min(level, Live::kPlaces) - 1; };
  // False: it needs more victims than are looked for.
  const auto search = [&](Id n) {
    if (!anywhere && !may_stand(request, n)) return true;
    Known before, &here = known ? live->known.at(*known, n) : before;
    Costs& costs = known ? live->known.costs : own_costs_;
    if (here.at < std::max(changed_[n], all_changed_)) here = {-1, 0, here.cost};
    if (here.at < 0 || here.victims < 0) {
      if (at(std::max<Index>(-here.victims, 0)) >= level) return false;
      if (!may_do(n, wants, *live, level)) {
        here = {tick_, -static_cast<Index>(level), here.cost};
        return false;
      }
      if (as_few(level) && least_cost(n, *live, level).compare(best.cost) > 0) return true;
      const bool fits = victims_on(n, request, what, *live, leaving_there_);
      here.at = tick_;
      here.victims = fits ? static_cast<Index>(leaving_there_.size()) : 0;
      if (fits) {
        if (here.cost == kNoId) here.cost = costs.add();
        Cost& cost = costs.rows[at(here.cost)] = {};
        for (const Index i : leaving_there_) add_cost(cost, part_.on_node[i]);
      }
    }
    if (here.victims <= 0) return true;
    const Found found{n, here.victims, node_place_[n], costs.rows[at(here.cost)]};
    if (found.better_than(best)) best = found;
    return true;
  };
  // May a node whose so-manieth victim is at a place cost no more than the best?
  const auto cheap_enough = [&](Id place) {
    if (!as_few(level)) return true;
    Cost least;
    for (Size i = 1; i < level; ++i) add_cost(least, 0);  // the cheapest of all
    add_cost(least, place);
    return least.compare(best.cost) <= 0;
  };
  // Searches nodes in their order until no other may be better. `fewest`: of a node.
  const auto search_in_order = [&](Size most_nodes, auto&& fewest, auto&& done) {
    const Id* nth = live->nth.data() + column() * nodes_;
    Size looked = 0, moved = 0;
    NodesByPlace& order = live->order[column()];
    if (order.empty()) order.fill(part_.nodes, nth, Live::kNone);
    for (Size i = 0; i < order.size(); ++i) {
      const auto [place, n] = order[i];
      if (!cheap_enough(place) || ++looked > most_nodes) break;
      if (fewest(n) > most()) continue;
      if (live->listed[n] < std::max(removed_[n], all_removed_)) list(*live, n);
      moved += nth[n] != place ? 1U : 0U;
      const Id needs = bound_of(*live, n, wants);
      if (needs > most())
        done(n, needs);
      else if (nth[n] != Live::kNone && cheap_enough(nth[n]))
        done(n, search(n) ? kNever : bits(static_cast<float>(level + 1)));
    }
    if (moved > std::max(kMoved, looked / 8)) order.clear();
    return best.node != kNoId && looked <= most_nodes && at(best.victims) <= level;
  };

  // One victim often does, and then few nodes have cheaper ones.
  victims_.clear();
  own_costs_.rows.clear();
  Column<Id> searched;
  bool found_all = search_in_order(
      kNearby, [&](Id n) { return bound_of(*live, n, wants); },
      [&](Id n, Id needs) {
        if (needs == kNever) searched.push_back(n);
      });
  if (!found_all) {
    bound(*live, wants);
    for (const Id n : searched) fewest_[n] = kNever;
  }
  while (!found_all) {
    Id least = kNever;
    const Id* fewest = fewest_.data();
    for (Size n = 0; n < nodes_; ++n) least = least < fewest[n] ? least : fewest[n];
    if (least >= kNever) break;
    level = std::max(static_cast<Size>(std::ceil(std::bit_cast<float>(least))), Size{1});
    if (best.node != kNoId && level > at(best.victims)) break;
    found_all = search_in_order(
        nodes_, [&](Id n) { return fewest_[n]; }, [&](Id n, Id needs) { fewest_[n] = needs; });
    if (found_all) break;
    const Id passed = most();
    for (Id& one : fewest_) one = one <= passed ? kNever : one;  // fewer than so many leave there
  }
  node = best.node;
  if (node != kNoId) {
    victims_on(node, request, what, *live, leaving_there_);
    for (const Index i : leaving_there_) victims_.push_back(part_.on_node[i]);
  }
  for (const Id q : part_.path(leaf)) asking_[q] = 0;
  return node != kNoId;
}

}  // namespace evenhand::yunikorn
