// Settings of YuniKorn's scheduling: the seed's design ("documented") and today's preemption per
// ask
// ("upstream"). Each place where the running system is known to differ from what its documents say,
// or from what its users ask for, is a switch; off is the fixed behaviour.
#pragma once

#include <cstdint>
#include <vector>

#include "evenhand/core/column.h"
#include "evenhand/preempt/pace.h"

namespace evenhand::yunikorn {

enum class PolicyKind : std::uint8_t { kInterQueue, kIntraQueue };
// Columns of the cost of a victim, in the order in which they count.
enum class CostKey : std::uint8_t {
  kOptedOut,
  kOriginator,
  kPriority,
  kLiveTime,
  kLostWork,
  kUsers
};

struct Switches {
  bool gives_below_guarantee = false;      // law 2: only what is before the removal is looked at
  bool ancestors_by_path_text = false;     // root.a is taken for an ancestor of root.ab
  bool stops_at_unfitting_victim = false;  // a victim larger than what the asker is owed ends it
  bool ignores_free_room = false;          // the victims alone must cover the ask
  bool stops_at_any_type = false;          // one type that exceeds the ask ends the collection
  bool common_ancestors_lift_ask = false;  // offsets and fences of shared queues count for the ask
  bool unguaranteed_types_open = false;    // a guarantee of one type opens preemption for others
  bool disabled_queues_preempt = false;
  bool newest_before_lowest_priority = false;
  bool drops_predicate_victims = false;  // the trim keeps only what amounts need
  bool any_reservation_frees_node = false;
  bool quota_takes_opted_out_first = false;
  bool quota_takes_larger_excess = false;
  bool fair_max_by_position = false;
  bool required_node_ignores_free_room = false;
};

struct Settings {
  PaceSettings pace;
  bool per_ask = false;  // today's preemption; else cycles
  Switches switches;

  // Cycles.
  Index n_alloc = 100;
  Index ask_candidates = 100;
  double limit_share = 0.1;  // of the partition, where no amounts are given
  Column<Amount> limit;      // R; kNoLimit: none
  std::vector<PolicyKind> policies{PolicyKind::kInterQueue, PolicyKind::kIntraQueue};
  std::vector<CostKey> cost{CostKey::kOptedOut, CostKey::kOriginator, CostKey::kPriority,
                            CostKey::kLiveTime};
  double dead_zone = 0;
  bool shotgun = false;
  Time grace = 0;

  // Per ask.
  bool enabled = true;         // generic preemption of the partition
  bool quota_enabled = false;  // of queues above a lowered max
  Index attempts = 10;         // of a leaf in a pass
  Time retry = 15'000'000;     // between attempts of an ask
  bool asks_once = false;      // never again after a success
  Time reservation_timeout = 3'600'000'000;
  Time reservation_delay = 2'000'000;  // after which an ask that fits nowhere waits on a node

  // An hour of cycles, one every three seconds: an ask is left out of no more in a row.
  std::int64_t longest_wait = 1200;
};

inline constexpr Amount kNoLimit = -1;

}  // namespace evenhand::yunikorn
