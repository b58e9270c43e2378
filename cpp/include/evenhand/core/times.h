// Arithmetic on instants and spans that may be open, and on instants before the epoch.
//
// What never ends plus or minus anything never ends, and no sum leaves the range of times.
#pragma once

#include "evenhand/core/types.h"

namespace evenhand {

// The end of what never ends; as a span: for ever.
inline constexpr Time kForever = std::numeric_limits<Time>::max();

// When a span is over that begins then.
inline Time after(Time since, Time span) noexcept {
  return span == kForever || (span > 0 && since > kForever - span) ? kForever : since + span;
}

// How long it is from an instant until another; not negative for `kForever`.
inline Time between(Time from, Time until) noexcept {
  return until == kForever || (from < 0 && until > kForever + from) ? kForever : until - from;
}

// The last multiple of a step that is not later.
inline Time floor_to(Time instant, Time step) noexcept {
  const Time rest = instant % step;
  return instant - (rest < 0 ? rest + step : rest);
}

}  // namespace evenhand
