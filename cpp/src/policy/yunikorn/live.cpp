#include "live.h"

#include <algorithm>
#include <cmath>

#include "cycles.h"

namespace evenhand::yunikorn {
namespace {

constexpr std::size_t kBlock = 64;
constexpr float kNothing = 1e30F;         // of what has nothing: a part of it
constexpr float kRounded = 1 - 0x1p-20F;  // a quotient of rounded amounts is less off

}  // namespace

// What may leave, as things are now.
void Cycles::see_victims() {
  if (std::exchange(seen_, true)) return;
  list_victims();
  if (room_.empty()) see_nodes();
  of_need_.assign(at(part_.needs), 0);
  for (const Id request : part_.asks)
    if (pending_[request] > 0) of_need_[part_.need_of[request]] += pending_[request];
  const Size queues = at(part_.queues());
  tight_.assign(queues, 0);
  single_.assign(queues, 0);
  exhausted_.assign(queues, 0);
  most_alone_.assign(queues * width_, 0);
  for (Id q = 1; q < part_.queues(); ++q) read_queue(q);
  off_ = part_.near_stays;
  for (Id i = 0; i < off_.rows(); ++i)
    if (taken_[part_.on_node[i]] != 0 || closed_[part_.near_queue[i]] != 0) off_[i] = 1;
}

void Cycles::see_nodes() {
  const Size nodes = at(state_.nodes().rows());
  nodes_ = (nodes + kBlock - 1) / kBlock * kBlock;
  room_.assign(nodes_ * width_, 0);
  changed_.assign(nodes, 0);
  removed_.assign(nodes, 0);
  usable_.assign(nodes, 0);
  node_place_.assign(nodes, 0);
  for (Size i = 0; i < part_.nodes.size(); ++i) {
    const Id node = part_.nodes[i];
    usable_[node] = 1;
    node_place_[node] = static_cast<Index>(i);
    room_changed(node);
  }
}

// Where an ask finds what may leave for it; nullptr: nothing may.
Live* Cycles::live_for(Id request, For what) {
  const Id leaf = leaf_of(request);
  if (what == For::kIntraQueue) {
    const double priority = part_.ask_priority[request];
    if (part_.of_queue_from[leaf] == part_.of_queue_from[leaf + 1]) return nullptr;
    if (own_ == nullptr || own_->above != leaf || own_->below_priority != priority) {
      own_ = std::make_unique<Live>();
      own_->above = leaf;
      own_->below_priority = priority;
      own_->within = true;
      list_all(*own_);
    }
    return own_.get();
  }
  Id above = 0;  // the first above it whose share holds back what leaves alone
  for (const Id q : part_.path(leaf).subspan(1))
    if (q != 0 && single_[q] != 0) {
      above = q;
      break;
    }
  for (const auto& one : lives_)
    if (one->above == above) return one.get();
  lives_.push_back(std::make_unique<Live>());
  lives_.back()->above = above;
  list_all(*lives_.back());
  return lives_.back().get();
}

void Cycles::list_all(Live& live) {
  live.asking.assign(at(part_.queues()), 0);
  for (const Id q : part_.path(live.above)) live.asking[q] = 1;
  live.most.resize(at(part_.queues()) * width_);
  for (Id leaf = 0; leaf < part_.queues(); ++leaf) read_most(live, leaf);
  live.count.assign(changed_.size(), 0);
  live.of.resize(part_.on_node.size());
  live.one.assign(nodes_ * width_, kNothing);
  live.all.assign(nodes_ * width_, kNothing);
  live.nth.assign(nodes_ * Live::kPlaces, Live::kNone);
  live.listed.assign(changed_.size(), 0);
  for (const Id node : part_.nodes) list(live, node);
}

// What one allocation of a queue that leaves alone may have at most, of all that asks below a queue
// might want.
void Cycles::read_most(Live& live, Id leaf) {
  float* most = part_.row(live.most, leaf);
  const auto all = [&](float amount) { std::fill_n(most, width_, amount); };
  all(std::numeric_limits<float>::infinity());
  if (live.within) {
    if (leaf != live.above) all(-1);
    return;
  }
  for (const Id q : part_.path(leaf)) {
    if (live.asking[q] != 0) return;
    if (exhausted_[q] != 0) return all(-1);
    if (single_[q] == 0) continue;
    for (Size r = 0; r < width_; ++r)
      most[r] = std::min(most[r], no_less(part_.row(most_alone_, q)[r]));
  }
}

void Cycles::list(Live& live, Id node) {
  switch (width_) {
    case 2:
      return list_wide<2>(live, node);
    case 3:
      return list_wide<3>(live, node);
    case 4:
      return list_wide<4>(live, node);
    default:
      return list_wide<0>(live, node);
  }
}

// Without branches: what may leave is as good as drawn. `kWidth` 0: any.
template <std::size_t kWidth>
void Cycles::list_wide(Live& live, Id node) {
  const Size width = kWidth == 0 ? width_ : kWidth;
  live.listed[node] = tick_;
  const Index from = part_.on_node_from[node], to = part_.on_node_from[node + 1];
  if (from == to) return;
  const auto places = [](Index count) { return std::min(at(count), Live::kPlaces); };
  const Size before = places(live.count[node]);
  Index count = 0;
  std::array<float, kWidth == 0 ? kMaxResources : kWidth> largest{}, sum{};
  Id* of = live.of.data() + from;
  const float *gives = part_.near_least.row(from, width), *most = live.most.data();
  for (Index i = from; i < to; ++i, gives += width) {
    const float* limit = most + at(part_.near_queue[i]) * width;
    bool open = off_[i] == 0;
    for (Size r = 0; r < width; ++r) open &= gives[r] <= limit[r];
    if (live.within) open &= part_.priority[part_.on_node[i]] < live.below_priority;
    of[count] = static_cast<Id>(i);
    count += open ? 1 : 0;
    const float times = open ? 1 : 0;
    for (Size r = 0; r < width; ++r) {
      const float counted = times * gives[r];
      largest[r] = std::max(largest[r], counted);
      sum[r] += counted;
    }
  }
  live.count[node] = count;
  live.any = live.any || count > 0;
  const Size now = places(count);
  for (Size i = 0; i < now; ++i) live.nth[i * nodes_ + at(node)] = part_.on_node[of[i]];
  for (Size i = now; i < before; ++i) live.nth[i * nodes_ + at(node)] = Live::kNone;
  if (count == 0 && before == 0) return;
  // Each addition of the sum is rounded.
  const float rounded = 1 - static_cast<float>(count + 4) * 0x1p-22F;
  for (Size r = 0; r < width; ++r) {
    live.one[r * nodes_ + at(node)] = largest[r] > 0 ? kRounded / largest[r] : kNothing;
    live.all[r * nodes_ + at(node)] = sum[r] > 0 ? std::max(rounded, 0.0F) / sum[r] : kNothing;
  }
}

// How much of what a queue uses it may give: less than what is on some node, less than what some
// allocation has, or nothing.
void Cycles::read_queue(Id queue) {
  bool tight = false, single = false, exhausted = false;
  const Amount *used = part_.row(usage_, queue), *kept = part_.row(keeps_, queue),
               *largest = part_.row(part_.largest, queue), *least = part_.row(part_.least, queue),
               *together = part_.row(part_.together, queue), *dead = part_.row(dead_, queue);
  for (Size r = 0; r < width_; ++r) {
    const Amount more = used[r] <= dead[r] ? -1 : used[r] - kept[r];
    part_.row(most_alone_, queue)[r] = std::max<Amount>(more, 0);
    if (largest[r] <= 0) continue;
    tight = tight || more < together[r];
    single = single || more < largest[r];
    exhausted = exhausted || (least[r] > 0 && more < least[r]);
  }
  tight_[queue] = tight ? 1 : 0;
  single_[queue] = single ? 1 : 0;
  exhausted_[queue] = exhausted ? 1 : 0;
}

void Cycles::has_left(Id place) {
  ++tick_;
  const Id node = part_.node[place];
  off_[part_.near_of[place]] = 1;
  changed_[node] = removed_[node] = tick_;
  uses(part_.queue[place]);
}

void Cycles::room_changed(Id node) {
  if (node == kNoId || room_.empty()) return;  // what leaves may stand on no node
  changed_[node] = ++tick_;
  for (Size r = 0; r < width_; ++r) {
    if (state_.tables().resources.scope[r] != ResourceScope::kCluster) {
      room_[r * nodes_ + at(node)] = no_less(rooms_.at(node, r));
      continue;
    }
    all_changed_ = tick_;
    std::fill_n(room_.begin() + static_cast<std::ptrdiff_t>(r * nodes_), nodes_,
                no_less(rooms_.at(node, r)));
  }
}

// What a queue and those above it use has changed: what is known of nodes that have something of
// theirs holds only if they have more than enough to give, before and after. A queue above both a
// victim and its ask may have more to give afterwards, and less of something else.
void Cycles::uses(Id leaf) {
  if (!seen_) {
    std::ranges::fill(asks_may_, -1);
    return;
  }
  ++tick_;
  for (const Id q : part_.path(leaf)) {
    if (q == 0) break;
    std::array<Amount, kMaxResources> before;
    std::copy_n(part_.row(most_alone_, q), width_, before.begin());
    const bool was_tight = tight_[q] != 0, was_single = single_[q] != 0,
               was_exhausted = exhausted_[q] != 0;
    read_queue(q);
    if (!was_tight && tight_[q] == 0) continue;
    const Amount* after = part_.row(most_alone_, q);
    bool more = false;
    for (Size r = 0; r < width_; ++r) more = more || after[r] > before[r];
    const bool none = !was_exhausted && exhausted_[q] != 0;
    const bool some = was_single && exhausted_[q] == 0 && (more || was_exhausted);
    if (q != leaf) {
      all_changed_ = tick_;
      if (some) lives_.clear();
      if (!none) continue;
      all_removed_ = tick_;
      for (const auto& live : lives_)
        for (Id below = 0; below < part_.queues(); ++below) read_most(*live, below);
      continue;
    }
    const auto may_not_any_more = [&](Id place) {
      const Amount* gives = part_.row(part_.amounts, place);
      bool now = true, then = off_[part_.near_of[place]] == 0;
      for (Size r = 0; r < width_; ++r) {
        now &= gives[r] <= after[r];
        then &= gives[r] <= before[r];
      }
      return then && !now;
    };
    const Index from = part_.of_queue_from[q], to = part_.of_queue_from[q + 1];
    const auto nodes = slice(part_.of_queue_node, from, to);
    for (const Id node : nodes) changed_[node] = tick_;
    if (none) {
      for (const Id node : nodes) removed_[node] = tick_;
    } else if (single_[q] != 0) {
      bool any = false;
      for (Size r = 0; r < width_; ++r)
        any = any || after[r] < std::min(before[r], part_.row(part_.largest, q)[r]);
      for (Index i = from; any && i < to; ++i)
        if (may_not_any_more(part_.of_queue[i])) removed_[part_.of_queue_node[i]] = tick_;
    }
    if (was_single || single_[q] != 0)
      for (const auto& live : lives_) read_most(*live, q);
    if (!some) continue;
    for (const auto& live : lives_) {
      for (auto& one : live->order) one.clear();
      for (const Id node : nodes)
        if (usable_[node] != 0) list(*live, node);
    }
  }
}

}  // namespace evenhand::yunikorn
