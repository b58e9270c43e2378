// The fewest victims where nodes can be looked at one by one.
#include <algorithm>
#include <limits>

#include "run.h"

namespace evenhand::backendai {

std::vector<std::vector<Id>> Run::by_node(const std::vector<Candidate*>& candidates) const {
  std::vector<std::vector<Id>> on_node(at(rooms_.nodes()));
  for (Size i = 0; i < candidates.size(); ++i)
    for (const Id slot : candidates[i]->slots)
      if (const Id n = state_.node_of(slot); n != kNoId)
        if (on_node[at(n)].empty() || on_node[at(n)].back() != static_cast<Id>(i))
          on_node[at(n)].push_back(static_cast<Id>(i));
  return on_node;
}

void Run::offer(const std::vector<Candidate*>& candidates, const std::vector<Id>& here, Id node) {
  std::vector<Amount> sum(width_);
  selector_.clear();
  for (const Id i : here) {
    std::ranges::fill(sum, 0);
    for (const Id slot : candidates[at(i)]->slots)
      if (state_.node_of(slot) == node)
        for (Size r = 0; r < width_; ++r) sum[r] += freed(slot)[r];
    selector_.add(i, sum.data());
  }
}

// One request on one node: the fewest of each node, and of these the first in order.
VictimSet Run::fewest_on_one_node(const Entry& entry, const std::vector<Candidate*>& candidates) {
  const Unit& unit = entry.units.front();
  VictimSet best;
  best.proof.lower_bound = static_cast<Index>(candidates.size());
  const auto on_node = by_node(candidates);
  std::vector<Amount> shortage(width_);
  for (Id n = 0; n < rooms_.nodes(); ++n) {
    if (on_node[at(n)].empty() || !allowed(unit, n)) continue;
    offer(candidates, on_node[at(n)], n);
    rooms_.lacks(unit.need, n, shortage.data());
    if (!selector_.select(VictimSelection::kMinimum, shortage, set_.minimum_budget)) continue;
    const SelectionProof& proof = selector_.proof();
    best.proof.branches += proof.branches;
    best.proof.lower_bound = std::min(best.proof.lower_bound, proof.lower_bound);
    std::vector<Id> taken;
    for (const Id place : selector_.taken()) taken.push_back(on_node[at(n)][at(place)]);
    if (best.taken.empty() || taken.size() < best.taken.size() ||
        (taken.size() == best.taken.size() && taken < best.taken))
      best.taken = std::move(taken);
  }
  best.considered = candidates.size();
  best.proof.cost = static_cast<Index>(best.taken.size());
  best.proof.proved = best.proof.cost <= best.proof.lower_bound;
  for (const Id i : best.taken) give(*candidates[at(i)], 1);
  return best;
}

// One request, several times: copies on different nodes do not touch each other, so the
// fewest for so many copies on each node add up. Empty: that does not hold here (sessions
// on several nodes, resources of the whole cluster), or a node has too many choices.
std::vector<Id> Run::fewest_for_copies(const Entry& entry,
                                       const std::vector<Candidate*>& candidates) {
  constexpr Size kMostStates = 20'000'000;
  constexpr Index kNever = std::numeric_limits<Index>::max() / 2;
  const Unit& unit = entry.units.front();
  const auto copies = static_cast<Size>(unit.count);
  const auto nodes = at(rooms_.nodes());
  if (entry.units.size() != 1 || nodes * (copies + 1) > kMostStates) return {};
  for (Size r = 0; r < width_; ++r)
    if (unit.need[r] > 0 && state_.tables().resources.scope[r] == ResourceScope::kCluster)
      return {};
  for (const Candidate* c : candidates)
    if (std::ranges::any_of(c->slots, [&](Id slot) {
          return state_.node_of(slot) != state_.node_of(c->slots.front());
        }))
      return {};

  struct Step {
    Size from = 0;        // copies before this node
    std::int32_t on = 0;  // index into choices
  };
  const auto on_node = by_node(candidates);
  std::vector<std::vector<std::vector<Id>>> choices(nodes);  // by copies beyond what is free
  std::vector<Index> best(copies + 1, kNever), next;
  best[0] = 0;
  std::vector<std::vector<Step>> steps(nodes);
  std::vector<Amount> shortage(width_);
  for (Id n = 0; n < rooms_.nodes(); ++n) {
    Size free = 0;
    const bool may = allowed(unit, n);
    const Size most =
        !may ? 0
        : set_.max_containers == 0
            ? copies
            : std::min(copies, static_cast<Size>(set_.max_containers - containers_[at(n)]));
    const auto lacks = [&](Size k) {
      bool any = false;
      for (Size r = 0; r < width_; ++r) {
        const Amount needed = unit.need[r] * static_cast<Amount>(k);
        shortage[r] = needed > 0 ? std::max<Amount>(needed - rooms_.at(n, r), 0) : 0;
        any |= shortage[r] > 0;
      }
      return any;
    };
    while (free < most && !lacks(free + 1)) ++free;
    choices[at(n)].emplace_back();
    if (!on_node[at(n)].empty()) {
      offer(candidates, on_node[at(n)], n);
      for (Size k = free + 1; k <= most; ++k) {
        lacks(k);
        if (!selector_.select(VictimSelection::kMinimum, shortage, set_.minimum_budget)) break;
        if (!selector_.proof().proved) return {};
        std::vector<Id>& taken = choices[at(n)].emplace_back();
        for (const Id place : selector_.taken()) taken.push_back(on_node[at(n)][at(place)]);
      }
    }
    next.assign(copies + 1, kNever);
    steps[at(n)].resize(copies + 1);
    for (Size j = 0; j <= copies; ++j) {
      if (best[j] == kNever) continue;
      for (Size c = 0; c < choices[at(n)].size(); ++c) {
        const Size to = std::min(copies, j + free + c);
        const Index cost = best[j] + static_cast<Index>(choices[at(n)][c].size());
        if (cost >= next[to]) continue;
        next[to] = cost;
        steps[at(n)][to] = {j, static_cast<std::int32_t>(c)};
      }
    }
    best.swap(next);
  }
  std::vector<Id> fewest;
  if (best[copies] == kNever) return fewest;
  Size j = copies;
  for (Size n = nodes; n-- > 0;) {
    const std::vector<Id>& taken = choices[n][static_cast<Size>(steps[n][j].on)];
    fewest.insert(fewest.end(), taken.begin(), taken.end());
    j = steps[n][j].from;
  }
  std::ranges::sort(fewest);
  return fewest;
}

}  // namespace evenhand::backendai
