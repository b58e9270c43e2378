#include <algorithm>
#include <limits>
#include <tuple>

#include "cycles.h"

namespace evenhand::yunikorn {

// The cheapest victims with which the ask fits on a node, none of them in vain.
bool Cycles::victims_on(Id node, Id request, For what, Size at_most, Column<Id>& out) {
  out.clear();
  std::array<Amount, kMaxResources> lacks{};
  const Amount* wants = need(request);
  for (Size r = 0; r < width_; ++r) {
    lacks[r] = wants[r] > 0 ? wants[r] - rooms_.at(node, r) : 0;
    if (within_ != kNoId) lacks[r] = std::max(lacks[r], quota_lack_[r]);
  }
  const auto lacking = [&] {
    return std::any_of(lacks.begin(), lacks.begin() + static_cast<std::ptrdiff_t>(width_),
                       [](Amount a) { return a > 0; });
  };
  for (Index i = live_from_[node]; i < live_from_[node + 1]; ++i) {
    const Amount* gives = live_amounts_.row(i, width_);
    const Amount* most = surplus_.row(live_queue_[i], width_);
    bool helps = false, within = true;
    for (Size r = 0; r < width_; ++r) {
      helps = helps || (lacks[r] > 0 && gives[r] > 0);
      within = within && (gives[r] == 0 || gives[r] <= most[r]);
    }
    if (!helps || !within) continue;
    const Id place = live_[i];
    if (eligible(place, request, what) != Outcome::kNotChosen) continue;
    if (pace_.on() && pace_.spared(state_, part_.slot[place]).why != Outcome::kTaken) continue;
    if (!give(place, request, what)) continue;
    out.push_back(place);
    for (Size r = 0; r < width_; ++r) lacks[r] -= gives[r];
    if (!lacking()) break;
  }
  for (const Id place : out) add_usage(part_.queue[place], part_.amounts.row(place, width_), 1);
  if (lacking()) return false;
  for (Size i = out.size(); i-- > 0;) {  // from the one that was wanted last
    const Amount* gives = part_.amounts.row(out[i], width_);
    bool spare = true;
    for (Size r = 0; r < width_; ++r) spare = spare && lacks[r] + gives[r] <= 0;
    if (!spare) continue;
    for (Size r = 0; r < width_; ++r) lacks[r] += gives[r];
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return out.size() <= at_most;
}

// Fewer victims, then cheaper ones, the dearest looked at first.
bool Cycles::cheaper(const Column<Id>& left, const Column<Id>& right) const {
  if (left.size() != right.size()) return left.size() < right.size();
  return std::lexicographical_compare(left.rbegin(), left.rend(), right.rbegin(), right.rend());
}

std::optional<Cycles::Found> Cycles::victims_for(Id request, For what) {
  const Amount* wants = need(request);
  const Id leaf = leaf_of(request);
  asking_.assign(at(part_.queues()), 0);
  within_ = kNoId;
  quota_lack_.assign(width_, 0);
  for (const Id q : part_.path(leaf)) {
    asking_[q] = 1;
    const Size cell = at(q) * width_;
    for (ResourceMask types = part_.limited[q]; types != 0; types &= types - 1) {
      const auto r = static_cast<Size>(std::countr_zero(types));
      const Amount over = usage_[cell + r] + leaving_[cell + r] + wants[r] - part_.most[cell + r];
      if (wants[r] <= 0 || over <= 0) continue;
      if (within_ == kNoId) within_ = q;
      quota_lack_[r] = std::max(quota_lack_[r], over);
    }
  }
  if (relist_) list_live(what);
  read_surplus(what);

  // The fewest victims that a node can do with, and the dearest of as many: the best first.
  struct Bound {
    Size least;
    Id dearest, node;
    bool operator<(const Bound& other) const noexcept {
      return std::tie(other.least, other.dearest, other.node) < std::tie(least, dearest, node);
    }
  };
  std::vector<Bound> bounds;
  const bool anywhere = this->anywhere(request);
  for (const Id node : part_.nodes) {
    const Amount* largest = live_largest_.row(node, width_);
    const Amount* sum = live_sum_.row(node, width_);
    Amount least = 1;
    bool can = true;
    for (Size r = 0; r < width_ && can; ++r) {
      Amount lack = wants[r] > 0 ? wants[r] - rooms_.at(node, r) : 0;
      if (within_ != kNoId) lack = std::max(lack, quota_lack_[r]);
      can = lack <= sum[r];
      if (can && lack > largest[r] * least) least = (lack + largest[r] - 1) / largest[r];
    }
    const Index from = live_from_[node];
    if (!can || least > live_from_[node + 1] - from) continue;
    if (!anywhere && !may_stand(request, node)) continue;
    bounds.push_back({static_cast<Size>(least), live_[from + least - 1], node});
  }
  std::make_heap(bounds.begin(), bounds.end());
  Found best;
  Column<Id> found;
  while (!bounds.empty()) {
    const Bound next = bounds.front();
    const Size most = best.node == kNoId ? std::numeric_limits<Size>::max() : best.victims.size();
    if (next.least > most || (next.least == most && next.dearest > best.victims.back())) break;
    std::pop_heap(bounds.begin(), bounds.end());
    bounds.pop_back();
    if (!victims_on(next.node, request, what, most, found)) continue;
    if (best.node == kNoId || cheaper(found, best.victims)) best = {next.node, found};
  }
  if (best.node == kNoId) return std::nullopt;
  return best;
}

// Has it anything above what it keeps? What is above it in the tree is not looked at.
bool Cycles::has_surplus(Id queue) const {
  for (Size r = 0; r < width_; ++r)
    if (usage_[at(queue) * width_ + r] > part_.keeps(queue, r)) return true;
  return false;
}

void Cycles::list_live(For what) {
  relist_ = false;
  const Index queues = part_.queues();
  gives_.assign(at(queues), 1);
  if (what == For::kInterQueue)
    for (Id q = 0; q < queues; ++q) gives_[q] = has_surplus(q) ? 1 : 0;
  const Id nodes = part_.on_node_from.rows() - 1;
  live_.clear();
  live_queue_.clear();
  live_amounts_.clear();
  live_from_.assign(1, 0);
  live_largest_.assign(at(nodes) * width_, 0);
  live_sum_.assign(at(nodes) * width_, 0);
  for (Id node = 0; node < nodes; ++node) {
    Amount* largest = live_largest_.row(node, width_);
    Amount* sum = live_sum_.row(node, width_);
    for (const Id place :
         slice(part_.on_node, part_.on_node_from[node], part_.on_node_from[node + 1])) {
      if (taken_[place] != 0 || gives_[part_.queue[place]] == 0) continue;
      live_.push_back(place);
      live_queue_.push_back(part_.queue[place]);
      const Amount* gives = part_.amounts.row(place, width_);
      live_amounts_.insert(live_amounts_.end(), gives, gives + width_);
      for (Size r = 0; r < width_; ++r) {
        largest[r] = std::max(largest[r], gives[r]);
        sum[r] += gives[r];
      }
    }
    live_from_.push_back(live_.rows());
  }
}

// The most that one allocation of each queue may have to leave for the ask.
void Cycles::read_surplus(For what) {
  const bool own = what == For::kIntraQueue;
  surplus_.assign(at(part_.queues()) * width_, std::numeric_limits<Amount>::max());
  for (Id queue = 0; queue < part_.queues() && !own; ++queue) {
    Amount* most = surplus_.row(queue, width_);
    for (const Id q : part_.path(queue)) {
      if (asking_[q] != 0) break;
      for (Size r = 0; r < width_; ++r)
        most[r] = std::min(most[r], usage_[at(q) * width_ + r] - part_.keeps(q, r));
    }
  }
}

}  // namespace evenhand::yunikorn
