#include "evenhand/preempt/victims.h"

#include <algorithm>
#include <functional>

namespace evenhand {

void VictimSelector::add(Id candidate, const Amount* amounts) {
  candidates_.push_back(candidate);
  amounts_.insert(amounts_.end(), amounts, amounts + width_);
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
  taken_.clear();
  proof_ = {};
  if (!take_prefix(shortage)) {
    taken_.clear();
    return false;
  }
  considered_ = taken_.size();
  if (selection != VictimSelection::kPrefix) give_back();
  if (selection == VictimSelection::kMinimum) minimum(shortage, budget);
  proof_.cost = static_cast<Index>(taken_.size());
  return true;
}

// The least number of candidates whose largest amounts cover each resource alone.
Index VictimSelector::least_count(std::span<const Amount> shortage) {
  Index least = 0;
  for (std::size_t r = 0; r < width_; ++r) {
    if (shortage[r] <= 0) continue;
    scratch_.clear();
    for (std::size_t i = 0; i < candidates_.size(); ++i) scratch_.push_back(amounts(i)[r]);
    std::ranges::sort(scratch_, std::greater<>());
    Amount sum = 0;
    Index count = 0;
    while (sum < shortage[r]) sum += scratch_[static_cast<std::size_t>(count++)];
    least = std::max(least, count);
  }
  return least;
}

// For growing sizes: the first set of that size in the order of the candidates.
bool VictimSelector::minimum(std::span<const Amount> shortage, Index budget) {
  const std::vector<Id> known = taken_;
  const auto most = static_cast<Index>(known.size());
  proof_.lower_bound = least_count(shortage);
  std::vector<Amount> rest(width_);
  for (; proof_.lower_bound <= most; ++proof_.lower_bound) {
    const auto picks = static_cast<std::size_t>(proof_.lower_bound);
    // best_[i, m, r]: the most of r that m candidates from i on can free.
    const std::size_t n = candidates_.size();
    best_stride_ = (picks + 1) * width_;
    best_.assign((n + 1) * best_stride_, 0);
    for (std::size_t r = 0; r < width_; ++r) {
      scratch_.clear();  // the largest so far, descending
      for (std::size_t i = n; i-- > 0;) {
        const Amount amount = amounts(i)[r];
        scratch_.insert(std::ranges::upper_bound(scratch_, amount, std::greater<>()), amount);
        if (scratch_.size() > picks) scratch_.pop_back();
        Amount sum = 0;
        for (std::size_t m = 1; m <= picks; ++m) {
          if (m <= scratch_.size()) sum += scratch_[m - 1];
          best_[i * best_stride_ + m * width_ + r] = sum;
        }
      }
    }
    for (std::size_t r = 0; r < width_; ++r) rest[r] = std::max<Amount>(shortage[r], 0);
    taken_.clear();
    if (search(0, picks, rest, budget)) {
      proof_.proved = true;
      return true;
    }
    if (proof_.branches >= budget) break;
  }
  taken_ = known;
  proof_.proved = proof_.lower_bound >= most;
  return false;
}

bool VictimSelector::search(std::size_t from, std::size_t picks, std::vector<Amount>& rest,
                            Index budget) {
  if (std::ranges::all_of(rest, [](Amount a) { return a <= 0; })) return true;
  if (picks == 0) return false;
  const std::size_t last = candidates_.size();
  for (std::size_t i = from; i + picks <= last; ++i) {
    const Amount* best = best_.data() + i * best_stride_ + picks * width_;
    for (std::size_t r = 0; r < width_; ++r)
      if (best[r] < rest[r]) return false;  // nor can any later start
    // Same amounts at the same place would fail again.
    bool tried = false;
    for (std::size_t j = i; j-- > from && !tried;)
      tried = std::equal(amounts(j), amounts(j) + width_, amounts(i));
    if (tried) continue;
    if (++proof_.branches > budget) return false;
    const Amount* amount = amounts(i);
    for (std::size_t r = 0; r < width_; ++r) rest[r] -= amount[r];
    taken_.push_back(static_cast<Id>(i));
    if (search(i + 1, picks - 1, rest, budget)) return true;
    taken_.pop_back();
    for (std::size_t r = 0; r < width_; ++r) rest[r] += amount[r];
  }
  return false;
}

}  // namespace evenhand
