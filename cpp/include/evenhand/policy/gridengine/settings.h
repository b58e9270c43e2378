// Settings of Grid Engine's scheduling runs and preemption. Defaults are the preset "documented".
#pragma once

#include <span>
#include <string>
#include <vector>

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
  Index max_reservation = 0, max_preemptees = 0;
  bool prioritize = false, keep_resources = false;
  bool partly = true;  // where the cap prevents a fit, as many as it allows
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

// What rows set; a cell each, empty: the default in every row.
struct RowSettings {
  Column<Id> queue;                   // by allocation; kNoId: none
  Column<std::uint8_t> releases;      // by allocation: lets go of the rest itself
  std::vector<std::string> job_name;  // by operation; empty: none

  // Settings of rows that came or changed.
  void allocations_came(std::span<const Id> rows, const RowSettings& cells);
  void operations_came(std::span<const Id> rows, const RowSettings& cells);
};

}  // namespace evenhand::gridengine
