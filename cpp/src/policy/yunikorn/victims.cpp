#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "cycles.h"

namespace evenhand::yunikorn {
namespace {

using Size = std::size_t;

constexpr float kFar = 1e30F;
constexpr Id kNever = std::bit_cast<Id>(1e20F);  // no victims of the node suffice
constexpr Size kNearby = 256;  // nodes that are looked at before all are

// Numbers from 0 on compare as their bits do, those below as less; columns of integers are compared
// many at once.
Id bits(float number) { return std::bit_cast<Id>(number); }

float no_more(Amount amount) {
  const auto out = static_cast<float>(amount);
  return static_cast<double>(out) > static_cast<double>(amount)
             ? std::nextafter(out, -std::numeric_limits<float>::infinity())
             : out;
}

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

// The cheapest victims with which the ask fits on a node, none of them in vain.
bool Cycles::victims_on(Id node, Id request, For what, const Live& live, Column<Id>& out) {
  out.clear();
  const Id leaf = leaf_of(request), asker = state_.operation_of_request(request);
  const Amount* wants = need(request);
  std::array<Amount, kMaxResources> lacks{};
  for (Size r = 0; r < width_; ++r) lacks[r] = wants[r] > 0 ? wants[r] - rooms_.at(node, r) : 0;
  std::vector<Short> shorts = short_;
  const auto lacking = [&](const std::array<Amount, kMaxResources>& of) {
    return std::any_of(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(width_),
                       [](Amount a) { return a > 0; });
  };
  const auto fits = [&] {
    return !lacking(lacks) &&
           std::ranges::none_of(shorts, [&](const Short& one) { return lacking(one.lacks); });
  };
  const auto below = [&](Id queue, Id top) {
    return std::ranges::find(part_.path(queue), top) != part_.path(queue).end();
  };
  const auto helps = [&](const std::array<Amount, kMaxResources>& of, const Amount* gives) {
    for (Size r = 0; r < width_; ++r)
      if (of[r] > 0 && gives[r] > 0) return true;
    return false;
  };
  const auto leaves = [&](Index i, Amount sign) {
    const Amount* gives = part_.row(part_.near, static_cast<Id>(i));
    for (Size r = 0; r < width_; ++r) lacks[r] -= sign * gives[r];
    for (Short& one : shorts)
      if (below(part_.near_queue[i], one.queue))
        for (Size r = 0; r < width_; ++r) one.lacks[r] -= sign * gives[r];
  };
  const auto count_given = [&](Id queue, const Amount* gives, Amount sign) {
    for (const Id q : part_.path(queue))
      for (Size r = 0; r < width_; ++r) part_.row(given_, q)[r] += sign * gives[r];
  };
  bool fitted = fits();
  for (Index i = 0; i < live.count[node] && !fitted; ++i) {
    const Index from = live.of[part_.on_node_from[node] + i];
    const Id queue = part_.near_queue[from], place = part_.on_node[from];
    const Amount* gives = part_.row(part_.near, static_cast<Id>(from));
    if (what == For::kInterQueue ? queue == leaf : part_.operation[place] == asker) continue;
    if (!helps(lacks, gives) && !std::ranges::any_of(shorts, [&](const Short& one) {
          return helps(one.lacks, gives) && below(queue, one.queue);
        }))
      continue;
    if (taken_[place] != 0 || !may_give(queue, gives, wants)) continue;
    if (pace_.on() && pace_.spared(state_, part_.slot[place]).why != Outcome::kTaken) continue;
    out.push_back(static_cast<Id>(from));
    count_given(queue, gives, 1);
    leaves(from, 1);
    fitted = fits();
  }
  for (const Id i : out) count_given(part_.near_queue[i], part_.row(part_.near, i), -1);
  if (!fitted) return false;
  for (Size i = out.size(); i-- > 0;) {  // from the one that was wanted last
    leaves(out[i], -1);
    if (fits())
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(i));
    else
      leaves(out[i], 1);
  }
  for (Id& one : out) one = part_.on_node[one];
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
    fewest = std::max(
        {fewest, bits(lacks * live.one[cell]), bits((lacks * live.all[cell] - 1) * kFar)});
  }
  return fewest;
}

// Nodes by the place of the so-manieth that may leave, from 0 on, as it was at some time; it only
// rises until they are sorted again.
std::span<const std::uint64_t> Cycles::nodes_by(Live& live, Size column) const {
  std::vector<std::uint64_t>& out = live.order[column];
  if (!out.empty()) return out;
  for (const Id node : part_.nodes) {
    const Id place = live.nth[column * nodes_ + at(node)];
    if (place != Live::kNone)
      out.push_back(std::uint64_t{static_cast<std::uint32_t>(place)} << 32U |
                    static_cast<std::uint32_t>(node));
  }
  std::ranges::sort(out);
  return out;
}

// Nodes are searched by how few victims they need at least; of as many, those alone whose so-manieth
// victim is cheaper than the dearest of the best so far.
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
  Live* live = live_for(request, what);
  if (live == nullptr) return false;
  for (const Id q : part_.path(leaf)) asking_[q] = 1;

  const bool anywhere = Where::anywhere(state_, request);
  Column<Live::Known>* known = nullptr;
  if (what == For::kInterQueue && anywhere && !credited_ && short_.empty() && !pace_.on()) {
    const bool gives = exhausted_[leaf] == 0 &&
                       part_.of_queue_from[leaf] != part_.of_queue_from[leaf + 1];
    known = &live->known[std::int64_t{part_.need_of[request]} * (part_.queues() + 1) +
                         (gives ? leaf + 1 : 0)];
    if (known->empty()) known->resize(changed_.size());
  }
  Found best;
  Size level = 1;  // victims
  const auto most = [&] { return bits(static_cast<float>(level)); };
  const auto column = [&] { return std::min(level, Live::kPlaces) - 1; };
  // Is the node done with? It is not if it needs more victims than was thought.
  const auto search = [&](Id n) {
    if (live->listed[n] < std::max(removed_[n], all_removed_)) {
      list(*live, n);
      if (bound_of(*live, n, wants) > most()) return false;
    }
    if (!anywhere && where_.why_not(state_, request, n) != Place::kAllowed) return true;
    Live::Known here;
    if (known != nullptr) here = (*known)[n];
    if (here.at < std::max(changed_[n], all_changed_)) {
      const bool fits = victims_on(n, request, what, *live, victims_);
      here = {tick_, fits ? static_cast<Index>(victims_.size()) : 0, fits ? victims_.back() : kNoId};
      if (known != nullptr) (*known)[n] = here;
    }
    const Found found{n, here.victims, here.dearest};
    if (here.victims > 0 && found.better_than(best)) best = found;
    return true;
  };
  const auto cheap_enough = [&](std::uint64_t one) {
    return best.node == kNoId || at(best.victims) > level ||
           static_cast<Id>(one >> 32U) < best.dearest;
  };

  // One victim often does, and then few nodes have cheaper ones.
  victims_.clear();
  Column<Id> done;
  Size looked = 0;
  bool found_all = false;
  for (const std::uint64_t one : nodes_by(*live, 0)) {
    found_all = !cheap_enough(one);
    if (found_all || ++looked > kNearby) break;
    const auto n = static_cast<Id>(one & 0xFFFFFFFFU);
    if (bound_of(*live, n, wants) <= most() && search(n)) done.push_back(n);
  }
  if (!found_all) {
    bound(*live, wants);
    for (const Id n : done) fewest_[n] = kNever;
  }
  while (!found_all) {
    Id least = kNever;
    const Id* fewest = fewest_.data();
    for (Size n = 0; n < nodes_; ++n) least = least < fewest[n] ? least : fewest[n];
    if (least >= kNever) break;
    level = std::max(static_cast<Size>(std::ceil(std::bit_cast<float>(least))), Size{1});
    if (best.node != kNoId && level > at(best.victims)) break;
    for (const std::uint64_t one : nodes_by(*live, column())) {
      found_all = !cheap_enough(one);
      if (found_all) break;
      const auto n = static_cast<Id>(one & 0xFFFFFFFFU);
      if (fewest_[n] > most()) continue;
      fewest_[n] = search(n) ? kNever : bound_of(*live, n, wants);
    }
    if (best.node != kNoId && at(best.victims) <= level) break;
    const Id passed = most();
    for (Id& one : fewest_) one = one <= passed ? kNever : one;  // fewer than so many leave there
  }
  node = best.node;
  if (node != kNoId) victims_on(node, request, what, *live, victims_);
  for (const Id q : part_.path(leaf)) asking_[q] = 0;
  return node != kNoId;
}

}  // namespace evenhand::yunikorn
