// What an allocation gives back when it is preempted, and what it keeps.
//
// Source: Univa Grid Engine, preemption: six actions; processes that end give back all, those that
// are stopped what the action is said to free. One table, also for systems whose suspension is one
// of its rows.
#pragma once

#include <span>

#include "evenhand/model/tables.h"
#include "evenhand/preempt/decision.h"

namespace evenhand {

// What is held, as far as the actions differ in it.
enum class HeldKind : std::uint8_t { kSlots, kMemory, kOther, kManagedLicense };
inline constexpr std::size_t kHeldKinds = 4;

inline HeldKind held_kind(ResourceKind kind, bool managed) noexcept {
  if (managed) return HeldKind::kManagedLicense;
  if (kind == ResourceKind::kSlots) return HeldKind::kSlots;
  return kind == ResourceKind::kMemory ? HeldKind::kMemory : HeldKind::kOther;
}

// Whether a mode stops processes, which then exist on and may keep something.
inline bool stops(Mode mode) noexcept {
  return mode == Mode::kPreempt || mode == Mode::kEnhancedSuspend || mode == Mode::kSuspend;
}

// The table: is a resource of this kind free once the action is done?
// `available`: the manager says that it is, after preemption. Slots and licences that an outside
// manager counts are free of whatever has stopped.
bool frees(Mode mode, HeldKind kind, bool available) noexcept;

// Splits what is held (R) into what is freed and kept. managed: R, nonzero: licences of an outside
// manager; empty: none. wanted: R, no more than this is freed of what is stopped, but for such
// licences, and what is freed is taken off it; nullptr: all that the mode frees.
void split(Mode mode, const ResourceSpace& resources, View<const std::uint8_t> managed,
           const Amount* held, Amount* wanted, Amount* freed, Amount* kept) noexcept;

}  // namespace evenhand
