// What one request or allocation met where a plan looked at it: the answer to "why
// not". Filled by running a plan again with a recorder.
#pragma once

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

struct Event {
  Id node;
  Stage stage;
  Outcome outcome;
  Id operation, request, slot;
  Column<Amount> missing;      // R: room, or what a limit lacks
  Spared spared{};             // what the pace compared
  Group group = Group::kNone;  // of the allocation, where its group decided
};

// Follows one request (slot = kNoId) or one allocation (request = kNoId).
struct Recorder {
  Id request = kNoId, slot = kNoId;
  std::vector<Event> events;
};

}  // namespace evenhand
