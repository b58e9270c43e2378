// Which running jobs give way to a pending one.
//
// Source: Slurm, select plugins (cons_tres and linear): candidates are added in order
// until the job fits; the last one is then moved to the front, the others behind it by
// how many of the chosen nodes they have, and so on; at the end victims are those
// considered that touch a chosen node. What is freed is whole jobs.
#pragma once

#include <vector>

#include "evenhand/policy/slurm/workspace.h"
#include "evenhand/preempt/victim_sets.h"

namespace evenhand::slurm {

struct Choice {
  bool fits = false;
  std::vector<Spot> spots;
  Column<Index> victims;     // in Workspace::running, in the order in which they were wanted
  Column<Index> considered;  // likewise, those that were added, victims included
  SelectionProof proof;      // of `minimum`
  std::size_t searched = 0;  // the first of the victims, which the search chose
};

// candidates: rows of Workspace::running in the order in which they are wanted; all may be
// preempted by the job, and count. Only those whose mode ends them are taken, or those
// that are suspended if `suspends`. `base`: the room before; `budget`: branches of `minimum`;
// `written`: what that was asked, where it is wanted.
// Reordered passes cost O(candidates R + N R) each.
Choice choose(const Workspace& workspace, JobRequest& job_request, const Occupancy& base,
              const Column<Index>& candidates, bool suspends, Index budget,
              MinimumQuestion* written = nullptr);

// Whether a job's leaving changes anything for a pending one: where it may be placed, or a licence.
bool matters(const Workspace& workspace, const JobRequest& job_request, const RunningJob& job);

}  // namespace evenhand::slurm
