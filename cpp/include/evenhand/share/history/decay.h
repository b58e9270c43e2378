// Usage that counts less the longer ago it was.
//
// All systems multiply by a constant per unit of time, so a rule is one rate:
//   exact        2^(-t / H)
//   Slurm        (1 - 0.693 / H)^t, t and H in seconds
//   Grid Engine  (1 - 60 ln 2 / H)^(t / 60), one factor per interval of 60 s
// Backend.AI counts age in whole days; its proposal in whole half-lives: `step`.
// Source: slurm.conf PriorityDecayHalfLife, sge sched_conf halftime, Backend.AI
// fair share calculator and proposal.
// Complexity: O(1) a factor, O(events x resources) an accumulation.
#pragma once

#include <span>

#include "evenhand/core/column.h"

namespace evenhand::history {

struct Decay {
  double rate = 0;  // halvings per second; 0 = never, infinity = forgotten at once
  double step = 0;  // seconds; > 0: only whole steps of age count

  // A half-life of 0 means no decay; Grid Engine's below 0, that only running
  // jobs count.
  static Decay exact(double half_life_s);
  static Decay slurm(double half_life_s);
  static Decay gridengine(double half_life_s, double interval_s);
  // Share of a usage that is left after `age` seconds (>= 0).
  double factor(double age) const noexcept;
};

// into[row[i]] += amount[i] * factor(age[i]) for every resource; amounts and
// `into` are row-major with `resources` columns. Events are added in order.
void accumulate(const Decay& decay, Index resources, View<const Id> row, View<const double> amount,
                View<const double> age, std::span<double> into);

}  // namespace evenhand::history
