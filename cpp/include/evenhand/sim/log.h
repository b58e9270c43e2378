// What a run writes down, as columns. Rows of operations and requests: those of the start snapshot,
// then those of the workload; rows of nodes are those of the start snapshot.
#pragma once

#include "evenhand/core/column.h"
#include "evenhand/preempt/decision.h"
#include "evenhand/starve/starvation.h"

namespace evenhand::sim {

// How a run of an allocation ended.
enum class Outcome : std::uint8_t {
  kRunning,    // it has not
  kCompleted,  // its work is done
  kPreempted,  // it had to leave at once
  kAborted,    // it had to leave, and its time to do so ran out
  kSuspended,  // it keeps its progress, and perhaps room
  kLostNode,   // its node went down
  kLostPart    // another allocation of a request that is of use only as a whole was interrupted
};

struct AllocationLog {
  Column<Id> request, operation, node;
  Column<Time> start, end;  // kNoTime: it runs
  Column<Time> began;       // when its work did: later than it started where others left for it
  Column<Outcome> outcome;
  Column<std::uint8_t> requeued;  // it waits again
  Column<Time> kept, lost;        // work
  Column<Id> decision;            // that ended it; kNoId: none
  Column<Id> resumed_from;        // the run before of the same work; kNoId: none
};

struct OperationLog {
  Column<Time> submit, first_start, end;  // kNoTime: not yet
  Column<Time> run, lost;                 // allocation time, and what was lost of it
  Column<Index> preempted, completed, lost_count, unfinished;
  Column<double> shortfall;  // without what it has lacked since that last changed
};

struct DecisionLog {
  Column<Time> time;
  Column<Action> action;
  Column<Stage> stage;
  Column<Reason> reason;
  Column<Mode> mode;
  Column<Id> allocation, operation, node, request;
  Column<Id> beneficiary_operation, beneficiary_request, step;
  Column<std::int8_t> within_fair_share;
  Column<Time> grace;
  Column<Amount> freed;  // n x R
};

// What a sample says of a pool.
struct PoolSample {
  double usage = 0, fair_share = 0, demand = 0, guarantee = 0;  // dominant shares
  Index starving = 0, running = 0, waiting = 0;
  friend bool operator==(const PoolSample&, const PoolSample&) = default;
};

// Pools of which a sample says something else than the one before; all pools of the first.
struct SeriesLog {
  Column<Index> sample;
  Column<Id> pool;
  Column<PoolSample> values;
};

// How long an element starved at a level.
struct SpellLog {
  Column<Id> pool, operation;  // either; kNoId
  Column<Time> from, until;    // kNoTime: it still does
  Column<Starvation> level;
};

struct Log {
  AllocationLog allocations;
  OperationLog operations;
  DecisionLog decisions;
  SeriesLog series;
  SpellLog spells;
  Index updates = 0, decided = 0, events = 0;  // updates, triggers and all else that was done

  // Makes room for so many runs, and decisions that start them.
  void reserve(std::size_t starts, std::size_t width) {
    const auto each = [starts](auto&... columns) { (columns.reserve(starts), ...); };
    AllocationLog& a = allocations;
    each(a.request, a.operation, a.node, a.start, a.end, a.began, a.outcome, a.requeued, a.kept,
         a.lost, a.decision, a.resumed_from);
    DecisionLog& d = decisions;
    each(d.time, d.action, d.stage, d.reason, d.mode, d.allocation, d.operation, d.node, d.request,
         d.beneficiary_operation, d.beneficiary_request, d.step, d.within_fair_share, d.grace);
    d.freed.reserve(starts * width);
  }
};

}  // namespace evenhand::sim
