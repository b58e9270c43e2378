// Which victims, where whether a set suffices is a question of its own: whole sessions or
// jobs on many nodes, requests that must all be placed.
//
// The same three selections as on one node (victims.h), over any test of a set.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "evenhand/preempt/victims.h"

namespace evenhand {

// What a choice asks of whoever knows the cluster. Candidates are 0 .. n - 1 in the order
// in which they are wanted.
class VictimTrial {
 public:
  virtual ~VictimTrial() = default;
  virtual void take(Id candidate) = 0;       // as if it had gone
  virtual void give_back(Id candidate) = 0;  // undoes a take
  virtual bool suffices() = 0;               // would it fit now?
};

struct VictimSet {
  std::vector<Id> taken;  // ascending
  std::size_t considered = 0;
  SelectionProof proof;
};

// Chooses among n candidates; leaves the trial with the chosen ones taken, or with none
// if no prefix suffices. `amounts` (n x width): what a candidate can help with; `shortage`
// (width): less of it than this in sum never suffices. Both only bound the search for the
// fewest. `prefix`: n tests; `irreducible`: twice as many; `minimum`: at most `budget`
// branches more, after which the irreducible set stands; or `fewest`, a smallest set that
// is known from elsewhere, then without ties by the order.
VictimSet choose_victims(VictimTrial& trial, Id n, VictimSelection selection,
                         std::span<const Amount> amounts, std::span<const Amount> shortage,
                         Index budget, std::span<const Id> fewest = {});

}  // namespace evenhand
