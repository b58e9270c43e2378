#include "evenhand/preempt/victims.h"

#include <algorithm>

#include "evenhand/core/poll.h"

namespace evenhand {

void VictimSelector::add(Id candidate, const Amount* amounts, Index cost) {
  candidates_.push_back(candidate);
  amounts_.insert(amounts_.end(), amounts, amounts + width_);
  costs_.push_back(cost);
}

bool VictimSelector::take_prefix(std::span<const Amount> shortage) {
  surplus_.assign(width_, 0);
  bool covered = true;
  for (std::size_t r = 0; r < width_; ++r) {
    surplus_[r] = -std::max<Amount>(shortage[r], 0);
    covered &= surplus_[r] >= 0;
  }
  for (std::size_t i = 0; !covered && i < candidates_.size(); ++i) {
    bool helps = !skip_useless_;
    for (std::size_t r = 0; !helps && r < width_; ++r) helps = surplus_[r] < 0 && amounts(i)[r] > 0;
    if (!helps) continue;
    covered = true;
    for (std::size_t r = 0; r < width_; ++r) {
      surplus_[r] += amounts(i)[r];
      covered &= surplus_[r] >= 0;
    }
    taken_.push_back(static_cast<Id>(i));
  }
  return covered;
}

void VictimSelector::give_back() {
  for (std::size_t k = taken_.size(); k-- > 0;) {
    const Amount* amount = amounts(static_cast<std::size_t>(taken_[k]));
    bool spare = true;
    for (std::size_t r = 0; r < width_; ++r) spare &= surplus_[r] >= amount[r];
    if (!spare) continue;
    for (std::size_t r = 0; r < width_; ++r) surplus_[r] -= amount[r];
    taken_.erase(taken_.begin() + static_cast<std::ptrdiff_t>(k));
  }
}

bool VictimSelector::select(VictimSelection selection, std::span<const Amount> shortage,
                            Index budget) {
  poll();
  taken_.clear();
  proof_ = {};
  if (!take_prefix(shortage)) {
    taken_.clear();
    return false;
  }
  considered_ = taken_.size();
  if (selection != VictimSelection::kPrefix) give_back();
  if (selection == VictimSelection::kMinimum)
    cover_.solve(amounts_, costs_, shortage, budget, ties_, taken_, proof_);
  proof_.cost = 0;
  bool most = false;
  for (const Id i : taken_) {
    proof_.cost += costs_[i];
    most |= costs_[i] >= kMostCost;
  }
  if (most) proof_.doubt();
  return true;
}

}  // namespace evenhand
