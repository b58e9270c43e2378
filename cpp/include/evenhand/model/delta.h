// A change of a cluster as a value: what callers send to whatever follows the cluster.
#pragma once

#include <span>

#include "evenhand/model/cluster_state.h"

namespace evenhand {

struct Delta {
  // Each is the delta of ClusterState with that name; its conditions hold here, too. Those
  // from kPutOperation on carry no cells: they say what changes to those that follow a state, and
  // the one that announces them carries them out.
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
    kSchedulable,
    kPutOperation,  // row: the one that it takes the place of, kNoId: none; likewise below
    kPutRequest,
    kPutNode,
    kStartRow,
    kReserve,
    kRemoveOperation,
    kRemoveRequest,
    kRemoveNode,
    kRelease,
    kStated,  // of an operation: what it uses and wants
    kCells,   // of an allocation: who it leaves for, priority, preemptible, note
    kAdvance  // of the clock
  };
  Kind kind;
  Id row = kNoId;                     // slot; kStart: operation; kPending: request; of a node
  Id node = kNoId;                    // kStart, kResume
  std::span<const Amount> amounts{};  // kStart, kPreempt, kSuspend (held), kResize, kCapacity; R
  Time time = kNoTime;                // kStart, kResume; kTouch: last start
  Time progress = kNoTime;            // kTouch
  Beneficiary beneficiary{};          // kPreempt
  Index count = 0;                    // kPending
  Id before = kNoId;                  // kPut..., of a new row: the one of its name that went for it
  bool schedulable = true;            // kSchedulable
};

// Carries out one that has all it needs. Returns the slot that it changes; kNoId: it changes no
// slot. O(R x depth).
Id apply(ClusterState& state, const Delta& delta);

}  // namespace evenhand
