// Fair share of every pool and operation by vector HDRF (hierarchical dominant
// resource fairness over vectors), as YTsaurus defines it.
// Cost: n log n in the vertices of the share functions, about 13 an operation.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "evenhand/core/column.h"
#include "evenhand/model/tables.h"
#include "evenhand/share/calm_shares.h"

namespace evenhand {

struct FairShareOptions {
  int main_resource = kNoId;  // missing guarantees are implied from it; kNoId: none are
  bool step_function_for_gang = false;
  bool fifo_reordering = false;
  bool improved = false;  // children that jump together jump one after the other
  double integral_pool_capacity_saturation_period_s = 86400;
  double integral_smooth_period_s = 60;
  // Behaviour of older revisions.
  bool fifo_truncation = false;
  bool limit_strong_before_scaling = false;

  friend bool operator==(const FairShareOptions&, const FairShareOptions&) = default;
};

enum class FairShareIssue : std::uint8_t {
  kGuaranteesOvercommitStrongPlusFlow,
  kGuaranteesOvercommitStrongPlusBurst,
  kNestedPromisedGuaranteePools,
  kPriorityPoolsWithoutDonor,
};

struct FairShareDiagnostic {
  FairShareIssue issue;
  Column<Id> pools;        // rows
  Column<double> numbers;  // overcommit: R amounts wanted, in quanta
};

// Volumes in quanta x seconds, P x R, and what the update leaves for the next.
struct VolumeColumns {
  Column<double> overflow, acceptable, accepted_free, children_overflow;
  Column<double> accumulated;       // after the update
  Column<double> last_share_ratio;  // P, after the update
};

// What an earlier update left of the volumes; stands in for the tables' columns.
struct VolumeMemory {
  Time updated = kNoTime;
  Column<double> accumulated;       // P x R, quanta x seconds
  Column<double> last_share_ratio;  // P
};

// Matrices are row-major with R columns; E = pools + operations, P = pools.
struct FairShareResult {
  Index pool_count = 0, operation_count = 0;
  int resource_count = 0;
  Column<double> usage_share, demand_share;                    // E x R
  Column<double> limits_share;                                 // E x R
  Column<double> total;                                        // E x R
  Column<double> promised;                                     // E x R, or empty: no pool opted in
  Column<double> strong_share;                                 // P x R
  Column<double> strong_share_priority, strong_share_regular;  // P x R
  Column<double> integral_share;                               // P x R, proposed
  Column<Amount> inferred_guarantee;                           // P x R
  Column<double> flow_ratio, burst_ratio, total_flow_ratio, total_burst_ratio;  // P
  VolumeColumns volume;
  Column<Id> fifo_index, effective_fifo_index;  // operations; kNoId: none
  std::vector<FairShareDiagnostic> diagnostics;

  // A later operation row, or one that stands for another operation now, has no share yet.
  void clear_operation(Index operation);
};

// How the tree of an update differs from that of the one before.
struct TreeDelta {
  // Of each pool, in order, its operations and the pools that have operations below them;
  // nullptr: what the tables list. Always given, or never.
  const Column<Column<Id>>* children = nullptr;
  // Whether beside the instant nothing differs but what follows.
  bool only = false;
  View<const Id> touched{};       // what these operations want and use,
  View<const Id> went{}, came{};  // these among them have gone, and then these have come
};

// Fair shares of one tree over time. An update with `keep` set leaves the share
// functions of all pools for the next one, which builds only those again whose
// inputs changed: for one operation the pools on its way to the root. The result
// has the same bits as that of an engine that starts afresh.
class FairShareEngine {
 public:
  FairShareEngine();
  ~FairShareEngine();
  FairShareEngine(const FairShareEngine& other);  // see `refer`
  FairShareEngine(FairShareEngine&&) noexcept;
  FairShareEngine& operator=(FairShareEngine&&) noexcept;

  // keep: about 80 bytes a vertex of the pools' functions stay. delta: nullptr: anything may
  // differ from the update before.
  FairShareResult& update(const Tables& tables, const FairShareOptions& options,
                          const VolumeMemory* memory = nullptr, bool keep = true,
                          const TreeDelta* delta = nullptr);
  // The tables and lists that a copy will be updated with are these from here on, equal to those
  // that the last update was of.
  void refer(const Tables* tables, const Column<Column<Id>>* children) noexcept;
  // Whether the next update, where only so much differs, costs what changes: O(children of the
  // pools above it). It reads no lists of the tables then.
  bool follows(const FairShareOptions& options) const;
  // Elements whose usage, demand or share the last update changed, but for operations whose share
  // alone moved within its bounds in `calm`; nullptr: compare with `before`, which is of that
  // update then.
  const Column<Id>* changed() const;
  // Empty at first, and after each update that does not say what has changed.
  CalmShares& calm();
  // Of the last update; what is written into its `total` is read by no later update.
  FairShareResult& result();
  const FairShareResult& before() const;  // of the update before

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

// One full update.
FairShareResult fair_share(const Tables& tables, const FairShareOptions& options,
                           const VolumeMemory* memory = nullptr);

// Parts of the fair shares, or of the promised ones (E x R; empty if no pool opted
// in): strong = min(total, strong share), integral = min(rest, proposed integral
// share), weight proportional = what remains. The strong part of the root's fair
// share is what its children have of theirs; its promised share is split as any
// pool's.
struct ShareParts {
  Column<double> strong, integral, weight_proportional;  // E x R
};
ShareParts split_parts(const Tables& tables, const FairShareResult& result, bool promised);

}  // namespace evenhand
