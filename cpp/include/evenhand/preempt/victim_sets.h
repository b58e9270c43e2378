// Which victims, where whether a set suffices is a question of its own: whole sessions or
// jobs on many nodes, requests that must all be placed.
//
// The same three selections as on one node (victims.h), over any test of a set.
#pragma once

#include <span>
#include <vector>

#include "evenhand/preempt/minimum_question.h"
#include "evenhand/preempt/spread_cover.h"
#include "evenhand/preempt/victims.h"

namespace evenhand {

// What a choice asks of its caller, which knows the cluster. Candidates are 0 .. n - 1 in the order
// in which they are wanted.
class VictimTrial {
 public:
  virtual ~VictimTrial() = default;
  virtual void take(Id candidate) = 0;       // as if it had gone
  virtual void give_back(Id candidate) = 0;  // undoes a take
  virtual bool suffices() = 0;               // would it fit now?
};

struct VictimSet {
  Column<Id> taken;  // ascending
  std::size_t considered = 0;
  SelectionProof proof;
};

struct VictimQuestion {
  Id n = 0;  // candidates
  VictimSelection selection = VictimSelection::kIrreducible;
  Index budget = 0;              // branches of kMinimum
  View<const Index> costs = {};  // n, at least 1; of kMinimum; empty: 1 each
  // A set may suffice though a larger one does not: what has gone may be in the way, too.
  bool in_the_way = false;
  // Where it says exactly which sets suffice, it is what kMinimum is found by (spread_cover.h).
  const SpreadNeed* spread = nullptr;
  // Else sets are tried one by one, from the best bound of these on: each says which sets
  // cannot suffice.
  std::span<const SpreadNeed> necessary = {};
  // What a candidate can help with (n x width); less of it
  // than this in sum (width) never suffices.
  std::span<const Amount> amounts = {}, shortage = {};
  // Where it is wanted: how kMinimum was found, and what proves the first bound. What the
  // candidates are called is the caller's to say.
  MinimumQuestion* written = nullptr;
};

// Chooses; leaves the trial with the chosen ones taken, or with none if no prefix
// suffices. `prefix`: n tests; `irreducible`: twice as many; `minimum`: at most `budget`
// branches more, after which the best set that was found stands, the irreducible one if
// none is cheaper. Where some may be `in_the_way` and no prefix suffices, any selection takes the
// cheapest set that does, if it is found within the budget.
VictimSet choose_victims(VictimTrial& trial, const VictimQuestion& question);

// Another set (ascending), without those it does not need, if it suffices and costs less than
// one that choose_victims left in the trial.
void take_cheaper(VictimTrial& trial, const VictimQuestion& question, Column<Id> other,
                  VictimSet& set);

}  // namespace evenhand
