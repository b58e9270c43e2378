// Settings of Grid Engine's scheduling runs and preemption. Defaults are the preset "documented".
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "evenhand/core/beside.h"
#include "evenhand/place/calendar.h"
#include "evenhand/policy/gridengine/subordinates.h"
#include "evenhand/preempt/decision.h"
#include "evenhand/preempt/pace.h"

namespace evenhand::gridengine {

// How a preemption is asked for: a mode, or what the configuration says.
enum class Asked : std::uint8_t {
  kNothing,
  kTerminate,
  kRequeue,
  kCheckpoint,
  kPreempt,
  kEnhancedSuspend,
  kSuspend,
  kConfigured
};
inline Asked asked_for(Mode mode) noexcept {
  return static_cast<Asked>(static_cast<std::uint8_t>(mode) + 1);
}
inline Mode mode_of(Asked asked) noexcept {
  return static_cast<Mode>(static_cast<std::uint8_t>(asked) - 1);
}

// Letters of a job's state, as they are listed.
enum class JobState : std::uint8_t {
  kNone,
  kWaits,
  kRuns,
  kStopped,
  kPreempted,
  kEnhancedSuspended,
  kSuspended,
  kEnding,
  kRescheduled
};

inline constexpr std::size_t kModes = 6;

struct Settings {
  PaceSettings pace;
  bool automatic = false;
  Asked action = Asked::kConfigured;  // of all but manual requests; configured: the advisor
  Column<std::uint8_t> there{};       // Mode: that the system has; empty: all
  bool has(Mode mode) const noexcept {
    return there.empty() || there[static_cast<std::size_t>(mode)] != 0;
  }
  bool has_all() const noexcept {
    return std::ranges::all_of(there, [](std::uint8_t one) { return one != 0; });
  }
  Index max_reservation = 0, max_preemptees = 0;
  bool prioritize = false, keep_resources = false;
  bool partly = false;  // where the cap prevents a fit, as many as it allows
  bool backfilling = true;
  Time distance = 900 * kMicrosecondsPerSecond;  // 0: no test
  Time offset = 60 * kMicrosecondsPerSecond;     // DURATION_OFFSET
  Time default_duration = kForever;
  Time notify = 0;               // processes that are to end have so long
  Column<std::uint8_t> managed;  // R: licences that an outside manager counts; empty: none
  // By queue: rerunnable, has a suspend method, and the action for what runs there
  // (kNothing: as elsewhere).
  Column<std::uint8_t> rerun, has_method;
  Column<Asked> queue_action;
  Subordinates subordinates;  // suspend on subordinate; empty: none
  Index minimum_budget = 20'000;
};

// What rows set.
struct RowSettings {
  Beside<Id> queue = Absent(kNoId);                         // by allocation: none
  Beside<std::uint8_t> releases = Absent(std::uint8_t{0});  // likewise: lets go of the rest itself
  Beside<std::string> job_name = Absent(std::string());     // by operation: none

  // Settings of rows that came or changed, or are put without any.
  void put_allocations(std::span<const Id> of, const RowSettings& cells) {
    queue.put(of, cells.queue);
    releases.put(of, cells.releases);
  }
  void put_operations(std::span<const Id> of, const RowSettings& cells) {
    job_name.put(of, cells.job_name);
  }
};

}  // namespace evenhand::gridengine
