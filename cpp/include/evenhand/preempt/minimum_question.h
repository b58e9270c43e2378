// What a search for the victims that cost least was asked, and what proves its answer.
//
// Written down only where somebody wants to check the answer (Trigger::certificates): a plan that
// is asked for nothing but decisions keeps none of it.
#pragma once

#include <cstdint>
#include <utility>

#include "evenhand/core/column.h"
#include "evenhand/preempt/spread_cover.h"
#include "evenhand/preempt/spread_need.h"

namespace evenhand {

struct MinimumQuestion {
  enum class Kind : std::uint8_t {
    kAmounts,  // amounts on one node: multipliers prove the first bound
    kJobs,     // jobs on many nodes: parts of their costs do
    kSets      // sets of jobs, tried one by one: nothing but the search proves anything
  };

  Kind kind = Kind::kSets;
  Index budget = 0;
  bool slots = false;        // candidates are allocations; else operations
  Column<Id> candidates;     // in the order in which they are wanted
  Column<Index> costs;       // of each
  Column<Id> taken;          // of the candidates, in their order
  bool within_caps = false;  // others were taken first, that were beyond the caps of pools
  Index root_bound = 0;      // of the cost; what multipliers or parts prove
  Index branches = 0;
  // kAmounts
  Id node = kNoId;
  Column<Amount> amounts, shortage;  // n x R, R
  Column<double> multipliers;        // R
  // kJobs
  SpreadNeed need;
  SpreadProof proof;
};

// The question of a step.
struct StepQuestion {
  Id step;
  MinimumQuestion question;
};

}  // namespace evenhand
