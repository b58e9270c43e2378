// What one request or allocation met where a plan looked at it: the answer to "why
// not". Filled by running a plan again with a recorder.
#pragma once

#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "evenhand/core/column.h"
#include "evenhand/preempt/decision.h"
#include "evenhand/preempt/pace.h"

namespace evenhand {

// Requests that still wait, and what stands in their way where they came furthest.
struct Refusals {
  Column<Id> request;
  std::vector<Outcome> rule;
  Column<Index> nodes;      // on which it might run
  Column<Amount> missing;   // n x R, on the best of them
  Column<Index> command{};  // whose refusal it is, -1: a request's; empty: all are requests'
};

// An amount that is not said: of a resource that decided nothing.
inline constexpr Amount kUnsaid = std::numeric_limits<Amount>::min();

// What was compared, by name.
struct Facts {
  template <class T>
  using Named = std::vector<std::pair<const char*, T>>;
  Named<double> numbers{};
  Named<Time> times{};
  Named<Id> operations{}, requests{}, allocations{}, pools{}, hosts{};
  // Several: nodes, allocations, operations.
  Named<Column<Id>> nodes{}, slots{}, jobs{};
  Named<Column<Amount>> amounts{};  // R each
  Named<std::string> words{};
  Named<std::vector<std::string>> lists{};
  Named<std::pair<const char*, Id>> settings{};  // a table of the settings, and a row of it
};

struct Event {
  Id node;
  Stage stage;
  Outcome outcome;
  Id operation, request, slot;
  Column<Amount> missing;      // R: room, or what a limit lacks
  Spared spared{};             // what the pace compared
  Group group = Group::kNone;  // of the allocation, where its group decided
  Facts facts{};
};

// Follows one request (slot = kNoId) or one allocation (request = kNoId); or of every allocation
// that is taken that it is (where jobs are preempted as a whole, perhaps of one of the job's
// alone).
struct Recorder {
  Id request = kNoId, slot = kNoId;
  std::vector<Event> events;
  Facts unseen{};  // of what was not looked at: why not
  // Of a request for which victims were looked for: what became of how many running jobs, by
  // outcome; the last time.
  std::array<Index, 256> stood{};
  bool all_taken = false;

  // Counts them anew.
  void stands(const Column<Outcome>& verdicts) {
    stood = {};
    for (const Outcome one : verdicts) ++stood[static_cast<std::uint8_t>(one)];
  }
};

}  // namespace evenhand
