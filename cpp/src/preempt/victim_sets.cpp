#include "evenhand/preempt/victim_sets.h"

namespace evenhand {
namespace {

using Size = std::size_t;

// Sets of one size in the order of the candidates, those that cannot suffice left out.
class FewestSearch {
 public:
  FewestSearch(VictimTrial& trial, Id n, std::span<const Amount> amounts,
               std::span<const Amount> shortage, Index budget, SelectionProof& proof)
      : trial_(trial),
        n_(static_cast<Size>(n)),
        amounts_(amounts),
        width_(shortage.size()),
        shortage_(shortage.begin(), shortage.end()),
        budget_(budget),
        proof_(proof) {}

  // Fewer than so many never suffice: the largest amounts of each resource alone.
  Index least() const {
    Index count = 1;
    std::vector<Amount> largest(n_);
    for (Size r = 0; r < width_; ++r) {
      for (Size i = 0; i < n_; ++i) largest[i] = amounts_[i * width_ + r];
      std::ranges::sort(largest, std::greater<>());
      Amount sum = 0;
      Size k = 0;
      while (k < n_ && sum < shortage_[r]) sum += largest[k++];
      count = std::max(count, static_cast<Index>(k));
    }
    return count;
  }

  // The first set of this size that suffices, taken in the trial; false: none, or the
  // budget is spent.
  bool find(Size picks, std::vector<Id>& taken) {
    bound(picks);
    taken.clear();
    return search(0, picks, taken);
  }

 private:
  Amount best(Size from, Size picks, Size r) const {
    return best_[(from * stride_ + picks) * width_ + r];
  }

  // best: the most that so many candidates from one on can give, by resource.
  void bound(Size picks) {
    stride_ = picks + 1;
    best_.assign((n_ + 1) * stride_ * width_, 0);
    std::vector<Amount> largest;
    for (Size r = 0; r < width_; ++r) {
      largest.clear();
      for (Size i = n_; i-- > 0;) {
        const Amount amount = amounts_[i * width_ + r];
        largest.insert(std::ranges::upper_bound(largest, amount, std::greater<>()), amount);
        if (largest.size() > picks) largest.pop_back();
        Amount sum = 0;
        for (Size m = 1; m <= picks; ++m) {
          if (m <= largest.size()) sum += largest[m - 1];
          best_[(i * stride_ + m) * width_ + r] = sum;
        }
      }
    }
  }

  bool search(Size from, Size picks, std::vector<Id>& taken) {
    if (picks == 0) return trial_.suffices();
    for (Size i = from; i + picks <= n_; ++i) {
      for (Size r = 0; r < width_; ++r)
        if (best(i, picks, r) < shortage_[r]) return false;  // nor can any later start
      if (++proof_.branches > budget_) return false;
      for (Size r = 0; r < width_; ++r) shortage_[r] -= amounts_[i * width_ + r];
      trial_.take(static_cast<Id>(i));
      taken.push_back(static_cast<Id>(i));
      if (search(i + 1, picks - 1, taken)) return true;
      taken.pop_back();
      trial_.give_back(static_cast<Id>(i));
      for (Size r = 0; r < width_; ++r) shortage_[r] += amounts_[i * width_ + r];
      if (proof_.branches > budget_) return false;
    }
    return false;
  }

  VictimTrial& trial_;
  Size n_;
  std::span<const Amount> amounts_;
  Size width_;
  std::vector<Amount> shortage_;
  Index budget_;
  SelectionProof& proof_;
  Size stride_ = 0;
  std::vector<Amount> best_;
};

void search_fewest(VictimTrial& trial, Id n, std::span<const Amount> amounts,
                   std::span<const Amount> shortage, Index budget, std::span<const Id> smallest,
                   VictimSet& set) {
  std::vector<Id> known = set.taken;
  SelectionProof& proof = set.proof;
  if (known.empty()) {
    proof.proved = proof.first = true;
    return;
  }
  for (const Id i : known) trial.give_back(i);
  if (!smallest.empty()) known.assign(smallest.begin(), smallest.end());
  const auto most = static_cast<Index>(known.size());
  FewestSearch search(trial, n, amounts, shortage, budget, proof);
  proof.lower_bound = smallest.empty() ? search.least() : most;
  for (; proof.lower_bound < most; ++proof.lower_bound) {
    if (search.find(static_cast<Size>(proof.lower_bound), set.taken)) {
      proof.proved = proof.first = true;
      return;
    }
    if (proof.branches > budget) break;
  }
  proof.proved = proof.lower_bound == most;
  // Of the sets of this size the first in order, as far as the budget goes.
  if (proof.proved && search.find(known.size(), set.taken)) {
    proof.first = true;
    return;
  }
  set.taken = known;
  for (const Id i : known) trial.take(i);
}

}  // namespace

VictimSet choose_victims(VictimTrial& trial, Id n, VictimSelection selection,
                         std::span<const Amount> amounts, std::span<const Amount> shortage,
                         Index budget, std::span<const Id> fewest) {
  VictimSet set;
  bool fits = trial.suffices();
  for (Id i = 0; !fits && i < n; ++i) {
    trial.take(i);
    set.taken.push_back(i);
    fits = trial.suffices();
  }
  set.considered = set.taken.size();
  if (!fits) {
    for (const Id i : set.taken) trial.give_back(i);
    set.taken.clear();
    return set;
  }
  if (selection != VictimSelection::kPrefix)
    for (Size k = set.taken.size(); k-- > 0;) {
      trial.give_back(set.taken[k]);
      if (trial.suffices())
        set.taken.erase(set.taken.begin() + static_cast<std::ptrdiff_t>(k));
      else
        trial.take(set.taken[k]);
    }
  if (selection == VictimSelection::kMinimum)
    search_fewest(trial, n, amounts, shortage, budget, fewest, set);
  set.proof.cost = static_cast<Index>(set.taken.size());
  return set;
}

}  // namespace evenhand
