// Which elements are below their fair share, since when, and which starve.
//
// Source: YTsaurus, scheduling status and starvation of pools and operations.
// One pass over the elements: O(E R).
#pragma once

#include <vector>

#include "evenhand/model/tables.h"
#include "evenhand/share/fair_share.h"
#include "evenhand/starve/settings.h"

namespace evenhand {

// A share that falls short of the demand by no more is as good as it.
inline constexpr double kCovers = 1e-4;

enum class Status : std::uint8_t { kNormal, kBelowFairShare };
enum class Starvation : std::uint8_t { kNonStarving, kStarving, kAggressivelyStarving };

// What the next update continues from; empty columns: everything is fresh.
struct StarvationClocks {
  Column<Time> since;             // E; start of the deficit, kNoTime: none
  Column<Starvation> starvation;  // E
};

// What an operation still wants.
struct PendingWork {
  Column<Index> allocations;         // O: allocations that wait
  Column<Amount> smallest;           // O x R: least of a resource in one of them
  Column<std::uint8_t> schedulable;  // O: may get anything at all
};

// When a deficit is so old that the state of an element may follow.
struct DeficitDue {
  Time instant;  // right after it
  Id element;
  friend bool operator>(const DeficitDue& a, const DeficitDue& b) noexcept {
    return a.instant > b.instant;
  }
};

// Other settings of the tree: are the states under them the same so far? Where rows have no own.
struct OtherStarvation {
  struct Clock {
    double tolerance;
    Column<Time> since;  // E
  };
  struct One {
    Id clock;
    Time timeout, aggressive_timeout;
    bool alike = true;
  };
  std::vector<Clock> clocks;  // by tolerance, ascending; empty: there are none
  std::vector<One> all;
  Column<std::uint8_t> in_deficit;  // E: under any of them
  bool apart = false;               // some are not alike any more

  void fit(std::size_t elements) {
    for (Clock& clock : clocks) clock.since.resize(elements, kNoTime);
    in_deficit.resize(elements, 0);
  }
  void forget(std::size_t element) {
    if (element >= in_deficit.size()) return;
    for (Clock& clock : clocks) clock.since[element] = kNoTime;
    in_deficit[element] = 0;
  }
};

struct StarvationResult {
  EffectiveSettings effective;
  Column<Status> status;    // E
  StarvationClocks clocks;  // E, after the update
  // Nearest element, itself included, that starves (aggressively); kNoId: none. E.
  Column<Id> lowest_starving, lowest_aggressive;

  OtherStarvation others{};
  Time also_after = kNoTime;      // age of a deficit at which an element is looked at, too
  std::vector<DeficitDue> due{};  // a heap, earliest first; some are no more so
  // Of the last update: elements that were looked at unless all were, and those whose state
  // changed.
  Column<Id> looked_at{}, changed{};
  bool all = true;
};

// Continues the clocks in `result`, under the settings there that hold for these tables
// (`inherit`). given (E or empty; kUnset: computed) stands in the place of computed states; the
// clocks continue. `of`: elements whose shares or pending work differ from the update before, where
// nothing else does; nullptr: all may.
void starvation(const Tables& tables, const FairShareResult& shares, const StarvationSettings& tree,
                const PendingWork& work, Time now, const Column<std::int8_t>& given,
                StarvationResult& result, const Column<Id>* of = nullptr);

// The earliest instant of `due`, from `now` on; kNoTime: there is none.
Time next_due(const Tables& tables, const StarvationSettings& tree, const PendingWork& work,
              Time now, StarvationResult& result);

// The state that follows from a status.
void check_starvation(Status status, Time now, double timeout, double aggressive_timeout,
                      bool aggressive, Time& since, Starvation& state);

}  // namespace evenhand
