// What one request or allocation met in each stage of each heartbeat: the answer to
// "why not". Filled by running a plan again with a recorder.
#pragma once

#include <vector>

#include "evenhand/core/types.h"
#include "evenhand/preempt/decision.h"

namespace evenhand::ytsaurus {

enum class Outcome : std::uint8_t {
  // Of a request.
  kStarted,
  kNoRoomEvenWithVictims,
  kNoFreeRoom,
  kLimits,
  kWrongTags,
  kWrongNode,
  kNodeNotSchedulable,
  kBackoff,
  kStageTaken,
  kNotStarving,
  kNotAggressivelyStarving,
  kGracefulWhileNormal,
  kUnschedulable,
  kCountExhausted,
  kNoHeartbeat,
  kSsdOnly,
  kWithinFairShareOnly,
  kPenaltyTooHigh,
  // Of an allocation.
  kTaken,
  kNotRunning,
  kAlreadyPreempting,
  kProtectedGroup,
  kAggressiveNotAllowed,
  kOperationStarving,
  kGracefulOperation,
  kNotPreemptible,
  kSparedFitsWithout,
  kGivenBack,
  kNoStartInStage,
  kOtherNode,
  kNoViolation
};

struct Event {
  Id node;
  Stage stage;
  Outcome outcome;
  Id operation, request, slot;
  std::vector<Amount> missing;  // R: room, or what a limit lacks
};

// Follows one request (slot = kNoId) or one allocation (request = kNoId).
struct Recorder {
  Id request = kNoId, slot = kNoId;
  std::vector<Event> events;
};

}  // namespace evenhand::ytsaurus
