// What it costs to preempt something, as a whole number of at least 1.
//
// Each victim costs 1 (an allocation, or a whole job); or the work that is lost: for each
// allocation the seconds since its last saved progress, or since its last start, times its
// dominant share of its node, rounded up, so that a whole node for a second is 1; or what
// the operation's row says. Never above kMostCost (cover.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "evenhand/core/beside.h"
#include "evenhand/model/cluster_state.h"

namespace evenhand {

enum class VictimCost : std::uint8_t { kVictims, kLostWork, kGiven };

struct VictimCosts {
  VictimCost kind;
  const Beside<Index>& given;  // by operation
  // N x R: what of a node's capacity others have; empty: nothing.
  std::span<const Amount> not_its_own = {};

  // Of one allocation, of several that go together; O(R) each.
  Index of(const ClusterState& state, Id slot) const;
  Index of(const ClusterState& state, Id operation, std::span<const Id> slots) const;
};

}  // namespace evenhand
