// When a simulated system acts, and what is written down.
#pragma once

#include "evenhand/core/types.h"

namespace evenhand::sim {

// Ticks are begin + offset + k * period, as long as the run lasts.
struct Options {
  enum class Drive : std::uint8_t {
    kHeartbeats,  // of every node, spread over the period; updates at ticks of their own
    kPasses,      // over the queue after every event and at ticks; backfill at ticks of its own
    kRuns         // over the queue at ticks
  };
  Drive drive = Drive::kHeartbeats;
  Time period = 10 * kMicrosecondsPerSecond;  // of heartbeats, main passes, runs
  Time second = kMicrosecondsPerSecond;       // of updates or backfill passes
  Time requeue_delay = 0;                     // before what was requeued waits again
  bool backfill = false;                      // whether there are backfill passes
  bool whole_operations = false;              // when a part is lost, the rest is, too
  bool planned_ends = false;                  // written into the rows of what runs
  bool saved_progress = false;                // likewise, at each checkpoint
  bool literal = false;        // every tick is visited, whether or not anything is due
  Time series_every = 0;       // of samples; 0: none
  Index series_evenly = 0;     // so many samples, then spans get longer; 0: they never do
  Index give_up_after = 1000;  // turns of an operation without end
};

}  // namespace evenhand::sim
