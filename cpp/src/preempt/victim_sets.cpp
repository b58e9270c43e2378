#include "evenhand/preempt/victim_sets.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "evenhand/core/poll.h"

namespace evenhand {
namespace {

using Size = std::size_t;

// Sets in the order of the candidates, those that cannot suffice left out.
class CheapestSearch {
 public:
  CheapestSearch(VictimTrial& trial, const VictimQuestion& question, SelectionProof& proof)
      : trial_(trial),
        q_(question),
        n_(static_cast<Size>(question.n)),
        width_(question.shortage.size()),
        shortage_(question.shortage.begin(), question.shortage.end()),
        by_worth_(n_ * width_),
        proof_(proof) {
    for (Size r = 0; r < width_; ++r) {
      const auto begin = by_worth_.begin() + static_cast<std::ptrdiff_t>(r * n_);
      std::iota(begin, begin + question.n, 0);
      std::stable_sort(begin, begin + question.n, [&](Id a, Id b) {
        return worth(static_cast<Size>(a), r) > worth(static_cast<Size>(b), r);
      });
    }
  }

  // Candidates from one on never suffice for less, were parts of them to be had.
  Index least(Size from) const {
    double most = 0;
    for (Size r = 0; r < width_; ++r) {
      Amount left = shortage_[r];
      double cost = 0;
      for (Size k = r * n_; left > 0; ++k) {
        if (k == (r + 1) * n_) return kNever;
        const auto i = static_cast<Size>(by_worth_[k]);
        if (i < from || amount(i, r) == 0) continue;
        const double part =
            static_cast<double>(std::min(left, amount(i, r))) / static_cast<double>(amount(i, r));
        cost += part * static_cast<double>(q_.costs[i]);
        left -= amount(i, r);
      }
      most = std::max(most, cost);
    }
    return static_cast<Index>(std::ceil(most * (1 - static_cast<double>(n_ + 8) * 0x1p-51)));
  }

  // The first set of at most this cost that suffices, taken in the trial; false: none, or
  // the budget is spent.
  bool find(Index cost, Column<Id>& taken) {
    taken.clear();
    return search(0, cost, taken);
  }

 private:
  static constexpr Index kNever = std::int64_t{1} << 60;

  Amount amount(Size i, Size r) const { return q_.amounts[i * width_ + r]; }
  double worth(Size i, Size r) const {
    return static_cast<double>(amount(i, r)) / static_cast<double>(q_.costs[i]);
  }

  bool search(Size from, Index room, Column<Id>& taken) {
    if (std::ranges::all_of(shortage_, [](Amount s) { return s <= 0; }) && trial_.suffices())
      return true;
    for (Size i = from; i < n_; ++i) {
      if (least(i) > room) return false;  // nor can any later start
      if (q_.costs[i] > room) continue;
      if (++proof_.branches > q_.budget) return false;
      poll();
      for (Size r = 0; r < width_; ++r) shortage_[r] -= amount(i, r);
      trial_.take(static_cast<Id>(i));
      taken.push_back(static_cast<Id>(i));
      if (search(i + 1, room - q_.costs[i], taken)) return true;
      taken.pop_back();
      trial_.give_back(static_cast<Id>(i));
      for (Size r = 0; r < width_; ++r) shortage_[r] += amount(i, r);
      if (proof_.branches > q_.budget) return false;
    }
    return false;
  }

  VictimTrial& trial_;
  const VictimQuestion& q_;
  Size n_, width_;
  Column<Amount> shortage_;
  Column<Id> by_worth_;  // width x n
  SelectionProof& proof_;
};

Index cost_of(const VictimQuestion& q, std::span<const Id> taken) {
  Index sum = 0;
  for (const Id i : taken) sum += q.costs[i];
  return sum;
}

void say_cost(const VictimQuestion& q, VictimSet& set) {
  set.proof.cost = cost_of(q, set.taken);
  set.proof.proved |= set.proof.lower_bound == set.proof.cost;
  if (std::ranges::any_of(set.taken, [&](Id i) { return q.costs[i] >= kMostCost; }))
    set.proof.doubt();
}

// From the last to the first, what is not needed.
void give_back_spare(VictimTrial& trial, Column<Id>& taken) {
  for (Size k = taken.size(); k-- > 0;) {
    trial.give_back(taken[k]);
    if (trial.suffices())
      taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(k));
    else
      trial.take(taken[k]);
  }
}

// A set to begin with: some that would do for parts of what is wanted, then what frees
// most of what is short for its cost until it suffices, without those it does not need, the
// dearest first. None: what was tried does not suffice. Leaves none taken.
Column<Id> quick_set(VictimTrial& trial, const VictimQuestion& q,
                     const Column<std::uint8_t>& some) {
  const Size n = static_cast<Size>(q.n), width = q.shortage.size();
  Column<double> worth(n, 0);
  for (Size i = 0; i < n; ++i)
    for (Size r = 0; r < width; ++r)
      if (q.shortage[r] > 0)
        worth[i] = std::max(worth[i], static_cast<double>(q.amounts[i * width + r]) /
                                          static_cast<double>(q.shortage[r]) /
                                          static_cast<double>(q.costs[i]));
  Column<Id> order(n), taken;
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](Id a, Id b) {
    return some[a] != some[b] ? some[a] > some[b] : worth[a] > worth[b];
  });
  bool fits = false;
  for (Size k = 0; !fits && k < n; ++k) {
    trial.take(order[k]);
    taken.push_back(order[k]);
    const bool more = k + 1 < n && some[order[k + 1]];
    fits = !more && trial.suffices();
  }
  std::ranges::stable_sort(taken, [&](Id a, Id b) { return q.costs[a] < q.costs[b]; });
  if (fits) give_back_spare(trial, taken);
  for (const Id i : taken) trial.give_back(i);
  std::ranges::sort(taken);
  if (!fits) taken.clear();
  return taken;
}

// Where all cost the same, growing costs; else always less than the best.
void try_sets(VictimTrial& trial, const VictimQuestion& q, VictimSet& set) {
  SelectionProof& proof = set.proof;
  Column<Id> best = set.taken, found;
  for (const Id i : best) trial.give_back(i);
  const bool same = std::ranges::all_of(q.costs, [](Index cost) { return cost == 1; });
  CheapestSearch search(trial, q, proof);
  Index most = cost_of(q, best);
  proof.root_bound = proof.lower_bound = std::clamp<Index>(search.least(0), 1, most);
  Column<std::uint8_t> some(at(q.n), 0);
  for (const SpreadNeed& need : q.necessary) {
    SelectionProof part;
    Column<Id> taken;
    const Index budget = (q.budget - proof.branches) / 4;  // most of it is for the sets
    if (!SpreadCover().solve(need, q.costs, budget, taken, part, false)) continue;
    proof.branches += part.branches;
    for (const Id i : taken) some[i] = 1;
    proof.root_bound = std::max(proof.root_bound, std::min(part.root_bound, most));
    proof.lower_bound = std::max(proof.lower_bound, std::min(part.lower_bound, most));
  }
  const auto begin_with = [&] {
    if (proof.lower_bound >= most) return;
    found = quick_set(trial, q, some);
    if (found.empty() || cost_of(q, found) >= most) return;
    best = found;
    most = cost_of(q, best);
  };
  begin_with();
  if (std::ranges::any_of(some, [](std::uint8_t of_part) { return of_part != 0; })) {
    some.assign(some.size(), 0);
    begin_with();
  }
  while (proof.lower_bound < most && proof.branches <= q.budget) {
    const Index target = same ? proof.lower_bound : most - 1;
    if (search.find(target, found)) {
      give_back_spare(trial, found);  // a later one may do without an earlier one
      for (const Id i : found) trial.give_back(i);
      best = found;
      most = cost_of(q, best);
    } else if (proof.branches <= q.budget) {
      proof.lower_bound = target + 1;
    }
  }
  proof.proved = proof.lower_bound == most;
  // Of the sets of this cost the first in order, as far as the budget goes.
  if (proof.proved && search.find(most, set.taken)) {
    proof.first = true;
  } else {
    set.taken = best;
    for (const Id i : best) trial.take(i);
  }
  proof.spent = proof.branches > q.budget;
  proof.branches = std::min(proof.branches, q.budget);
}

void find_cheapest(VictimTrial& trial, const VictimQuestion& q, VictimSet& set) {
  if (set.taken.empty()) {
    set.proof.proved = set.proof.first = true;
    return;
  }
  if (q.spread == nullptr) return try_sets(trial, q, set);
  const Column<Id> known = set.taken;
  SpreadCover cover;
  cover.solve(*q.spread, q.costs, q.budget, set.taken, set.proof);
  for (const Id i : known) trial.give_back(i);
  for (const Id i : set.taken) trial.take(i);
  if (trial.suffices()) {
    if (q.written == nullptr) return;
    q.written->kind = MinimumQuestion::Kind::kJobs;
    q.written->need = *q.spread;
    q.written->proof = cover.prove(q.budget);
    return;
  }
  for (const Id i : set.taken) trial.give_back(i);  // it does not say exactly what suffices:
  for (const Id i : known) trial.take(i);           // nothing that it proved counts
  set.taken = known;
  set.proof = {};
  try_sets(trial, q, set);
}

// Where no prefix suffices: sets of growing cost, the first that does.
void search_any(VictimTrial& trial, const VictimQuestion& q, VictimSet& set) {
  CheapestSearch search(trial, q, set.proof);
  Index most = 0;
  for (const Index cost : q.costs) most += cost;
  for (Index cost = std::max<Index>(search.least(0), 1);
       cost <= most && set.proof.branches <= q.budget; ++cost) {
    if (!search.find(cost, set.taken)) continue;
    set.proof.proved = set.proof.first = true;
    set.proof.lower_bound = cost;
    break;
  }
  set.proof.spent = set.proof.branches > q.budget;
  set.proof.branches = std::min(set.proof.branches, q.budget);
}

}  // namespace

VictimSet choose_victims(VictimTrial& trial, const VictimQuestion& question) {
  VictimSet set;
  VictimQuestion q = question;
  const Column<Index> ones(q.costs.empty() ? static_cast<Size>(q.n) : 0, 1);
  if (q.costs.empty()) q.costs = ones;
  bool fits = trial.suffices();
  for (Id i = 0; !fits && i < q.n; ++i) {
    trial.take(i);
    set.taken.push_back(i);
    fits = trial.suffices();
  }
  set.considered = set.taken.size();
  if (!fits) {
    for (const Id i : set.taken) trial.give_back(i);
    set.taken.clear();
    if (q.in_the_way) search_any(trial, q, set);
    return set;
  }
  if (q.selection != VictimSelection::kPrefix) give_back_spare(trial, set.taken);
  if (q.selection == VictimSelection::kMinimum) find_cheapest(trial, q, set);
  say_cost(q, set);
  if (q.written != nullptr) {
    q.written->budget = q.budget;
    q.written->costs.assign(q.costs.begin(), q.costs.end());
  }
  return set;
}

void take_cheaper(VictimTrial& trial, const VictimQuestion& question, Column<Id> other,
                  VictimSet& set) {
  for (const Id i : set.taken) trial.give_back(i);
  for (const Id i : other) trial.take(i);
  const bool suffices = trial.suffices();
  if (suffices) give_back_spare(trial, other);
  if (suffices && cost_of(question, other) < set.proof.cost) {
    set.taken = std::move(other);
    set.proof.first = false;
    say_cost(question, set);
    return;
  }
  for (const Id i : other) trial.give_back(i);
  for (const Id i : set.taken) trial.take(i);
}

}  // namespace evenhand
