#include <algorithm>

#include "evenhand/core/poll.h"
#include "run.h"

namespace evenhand::backendai {

Place Run::why_not(const Unit& unit, Id node) const {
  if (unit.request != kNoId) return where_.why_not(state_, unit.request, node);
  return unit.only_node == kNoId || unit.only_node == node ? Place::kAllowed : Place::kOtherNode;
}

bool Run::may_run(const Unit& unit, Id node) const {
  return state_.schedulable(node) && why_not(unit, node) == Place::kAllowed;
}

bool Run::takes_one_more(Id node) const {
  return set_.max_containers == 0 || containers_[node] < set_.max_containers;
}

bool Run::allowed(const Unit& unit, Id node) const {
  return takes_one_more(node) && may_run(unit, node);
}

bool Run::better_agent(Id a, Id b) const {
  return preferred(set_.agents, set_.resource_order, rooms_, a, b);
}

// The first node from `from` on, or the best one of all.
Id Run::choose_node(const Unit& unit, Size from) const {
  Id best = kNoId;
  for (Size i = from; i < nodes_.size(); ++i) {
    const Id n = nodes_[i];
    if (!rooms_.fits(unit.need, n) || !allowed(unit, n)) continue;
    if (set_.agents == NodeOrder::kCanonical) return n;
    if (best == kNoId || better_agent(n, best)) best = n;
  }
  return best;
}

bool Run::place(const Entry& entry, Entry* failed) {
  poll();
  placed_.clear();
  const bool anywhere = entry.suspended && !set_.keep_containers;
  const auto release_held = [&](Amount sign) {
    if (!anywhere) return;
    for (const Unit& u : entry.units) {
      const Id n = state_.node_of(u.slot);
      const Amount* held = state_.kept(u.slot);
      if (n != kNoId && held != nullptr) rooms_.add(held, n, sign);
    }
  };
  release_held(1);
  for (Size i = 0; i < entry.units.size(); ++i) {
    const Unit& unit = entry.units[i];
    Size from = 0;
    for (Index k = 0; k < unit.count; ++k) {
      const Id node = choose_node(unit, from);
      if (node == kNoId) {
        if (failed != nullptr) nearest(unit, *failed);  // beside those placed before
        unplace(entry);
        release_held(-1);
        return false;
      }
      if (set_.agents == NodeOrder::kCanonical)
        from = place_[node];  // those before have too little
      rooms_.take(unit.need, node);
      ++containers_[node];
      placed_.push_back({i, node});
    }
  }
  return true;
}

void Run::unplace(const Entry& entry) {
  for (const Placement& p : placed_) {
    rooms_.give(entry.units[p.unit].need, p.node);
    --containers_[p.node];
  }
  placed_.clear();
}

// Where a unit would come closest to fitting.
void Run::nearest(const Unit& unit, Entry& entry) const {
  Column<Amount> missing(width_);
  double least = 0;
  entry.failed = unit.request;
  entry.nodes = 0;
  std::ranges::fill(entry.missing, 0);
  for (const Id n : nodes_) {
    if (!allowed(unit, n)) continue;
    rooms_.lacks(unit.need, n, missing.data());
    double lack = 0;
    for (Size r = 0; r < width_; ++r)
      lack = std::max(lack, static_cast<double>(missing[r]) /
                                static_cast<double>(std::max<Amount>(state_.total()[r], 1)));
    if (entry.nodes++ == 0 || lack < least) {
      least = lack;
      entry.missing = missing;
    }
  }
}

// Of the nodes that come nearest: the right one that takes nothing new, else one that
// lacks only a tag.
Outcome Run::barred(const Unit& unit) const {
  if (nodes_.empty()) return Outcome::kNoNodes;
  Outcome why = Outcome::kWrongNode;
  for (const Id n : nodes_) {
    const Place place = why_not(unit, n);
    if (place == Place::kAllowed && state_.schedulable(n)) return Outcome::kStarted;
    if (place == Place::kAllowed)
      why = Outcome::kNodeNotSchedulable;
    else if (place == Place::kTagMissing && why == Outcome::kWrongNode)
      why = Outcome::kWrongTags;
  }
  return why;
}

Outcome Run::barred(Entry& entry) const {
  for (const Unit& unit : entry.units) {
    const Outcome why = barred(unit);
    if (why == Outcome::kStarted) continue;
    entry.failed = unit.request;
    entry.nodes = 0;
    std::ranges::fill(entry.missing, 0);
    return why;
  }
  return Outcome::kStarted;
}

}  // namespace evenhand::backendai
