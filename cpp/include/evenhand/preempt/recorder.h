// What one request or allocation met where a plan looked at it: the answer to "why
// not". Filled by running a plan again with a recorder.
#pragma once

#include <vector>

#include "evenhand/core/types.h"
#include "evenhand/preempt/decision.h"

namespace evenhand {

enum class Outcome : std::uint8_t {
  // Of a request on a node.
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
  // Of an allocation on a node.
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
  kNoViolation,
  // Of work that is started and preempted whole, in a scheduling run.
  kBehindFirstWaiting,
  kWaitsForVictims,
  kPreemptionDisabled,
  kNoLowerPriority,
  kPriorityChangeDisabled,
  kPriorityOutOfRange,
  kNotLowerPriority,
  kAboveThreshold,
  kSystemWork,
  kSuspendDoesNotSuit,
  kOtherScope,
  kRanTooShort,
  kFreesNothingUseful,
  kNotFirstInQueue,
  kSystemDoesNotPreempt,
  kMaxContainers,
  kOtherRequestWaits,
  kNoNodes,
  kNodeOutsidePartition,
  kLicensesMissing,
  kNotEligibleYet,
  kPreemptionBackoff,
  kSameOperation,
  kTierNotLower,
  kQosNotListed,
  kPreemptModeOff,
  kAboveMinExemptPriority,
  kSuspendNotAllowed,
  kOutsidePartition,
  kOffChosenNodes,
  kNobodyMayGo,
  kPartitionWithoutNodes,
  kLargerThanNodes,
  kDryRunNamesNobody,
  kWholeNodeInUse,
  kReservedForOthers,
  kNoRoomToGoOn,
  kRoomHeld,
  kPartitionDown,
  kPartitionTimeLimit,
  kWaitsForNextPass
};

// Requests that still wait, and what stands in their way where they came furthest.
struct Refusals {
  std::vector<Id> request;
  std::vector<Outcome> rule;
  std::vector<Index> nodes;     // on which it might run
  std::vector<Amount> missing;  // n x R, on the best of them
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

}  // namespace evenhand
