// The published fair share method, segment by segment: the yardstick that the
// engine is measured against in the same run.
//
// What the scaling inputs use: weights, limits, demand and usage, gangs, FIFO
// pools, inferred and adjusted guarantees, burst and relaxed pools with volumes,
// the plain and the improved mode. Left out: tiers, FIFO reordering, promised
// guarantees, the handing around of free volume.
// Sums are quadratic in a pool's children, as published.
#pragma once

#include <cstdint>
#include <vector>

#include "operations.h"

namespace yardstick {

using Amounts = std::array<double, kResources>;  // whole numbers of quanta

enum class Integral : std::uint8_t { kNone, kBurst, kRelaxed };

struct Options {
  bool improved = false;
  bool improved_gap = false;
  bool gang_steps = false;
  double saturation_period = 86400;  // seconds
  double smooth_period = 60;
  double elapsed = -1;  // since the previous update; < 0: there was none
};

// Row 0 is the root; parents come before children.
struct Pool {
  int parent = -1;
  double weight = 1;
  bool fifo = false;
  bool gang_steps = true;
  std::uint32_t strong_given = 0;  // bit r: an amount is given
  Amounts strong{};
  std::uint32_t limited = 0;
  Amounts limits{};
  Integral integral = Integral::kNone;
  Amounts flow{}, burst{};
  double multiplier = 3;
  Vector volume{};  // quanta x seconds
  double last_ratio = 0;
};

struct Operation {
  int pool = 0;
  double weight = 1;
  Amounts demand{}, usage{};
  std::uint32_t limited = 0;
  Amounts limits{};
  bool gang = false;
  double fifo_start = 0;
};

struct Input {
  Options options;
  Amounts total{};
  std::size_t main_resource = 1;
  std::array<bool, kResources> rounded{};  // implied guarantees: rounded, else cut
  std::vector<Pool> pools;
  std::vector<Operation> operations;
};

// Total fair share of pools, then of operations.
std::vector<Vector> fair_share(const Input& input);

}  // namespace yardstick
