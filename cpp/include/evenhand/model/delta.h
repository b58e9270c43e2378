// A change of a cluster as a value: what callers send to whatever follows the cluster.
#pragma once

#include <span>

#include "evenhand/model/cluster_state.h"

namespace evenhand {

struct Delta {
  // Each is the delta of ClusterState with that name; its conditions hold here, too.
  enum class Kind : std::uint8_t {
    kStart,
    kEnd,
    kPreempt,
    kSuspend,
    kResume,
    kTouch,
    kResize,
    kPending,
    kCapacity,
    kSchedulable
  };
  Kind kind;
  Id row;                             // slot; kStart: operation; last three: request or node
  Id node = kNoId;                    // kStart, kResume
  std::span<const Amount> amounts{};  // kStart, kSuspend (held), kResize, kCapacity; R
  Time time = kNoTime;                // kStart, kResume; kTouch: last start
  Time progress = kNoTime;            // kTouch
  Beneficiary beneficiary{};          // kPreempt
  Index count = 0;                    // kPending
  bool schedulable = true;            // kSchedulable
};

// Carries it out. Returns the slot that it changes; kNoId: it changes no slot. O(R x depth).
Id apply(ClusterState& state, const Delta& delta);

}  // namespace evenhand
