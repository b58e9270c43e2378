// Scalar vocabulary of the whole library.
//
// Amounts are integers in the resource's declared quantum, times are integer
// microseconds: sums of them are exact whatever the order, so equality and
// ties mean something. Shares are doubles derived from amounts.
#pragma once

#include <cstdint>
#include <limits>

namespace evenhand {

using Id = std::int32_t;             // row in a table, -1 where there is none
using Index = std::int64_t;          // position or count
using Amount = std::int64_t;         // quanta of a resource
using Time = std::int64_t;           // microseconds of any epoch
using ResourceMask = std::uint32_t;  // bit r: resource r

inline constexpr Id kNoId = -1;
inline constexpr int kMaxResources = 16;
// The largest amount accepted and the largest sum formed: the sum of two such
// values still fits, so a check after each addition is enough.
inline constexpr Amount kMaxAmount = Amount{1} << 60;
inline constexpr Time kNoTime = std::numeric_limits<Time>::min();
inline constexpr Time kMicrosecondsPerSecond = 1'000'000;

}  // namespace evenhand
