// What the heartbeats of one update work on: the cluster as it changes under their
// decisions, and indices that keep a heartbeat cheap.
#pragma once

#include <array>
#include <vector>

#include "evenhand/model/delta.h"
#include "evenhand/place/queue.h"
#include "evenhand/place/shapes.h"
#include "evenhand/place/where.h"
#include "evenhand/policy/ytsaurus/update.h"
#include "evenhand/preempt/decision.h"
#include "evenhand/preempt/victims.h"

namespace evenhand::ytsaurus {

// How protected an allocation is on a node, ascending; a stage names the lowest that
// it may take.
enum class Level : std::uint8_t {
  kSsdNonPreemptible,
  kSsdAggressivelyPreemptible,
  kNonPreemptible,
  kAggressivelyPreemptible,
  kPreemptible
};

struct StageRule {
  Stage stage;
  Level lowest;
  Reason reason;
};

// Preemptive stages in the order in which a node runs them.
std::vector<StageRule> stage_rules(const Settings& settings, bool ssd_node);

// Lowest level an allocation has.
Level level(Group group, bool aggressive_allowed, bool ssd);

inline constexpr int kStages = 9;

// What is counted of every stage.
enum class Tally : std::uint8_t { kRuns, kStarts, kVictims, kBackoffs };

class Desk {
 public:
  // The state is the caller's, outlives the desk and changes by the desk's methods only.
  Desk(ClusterState& state, Settings settings, RowSettings rows, Given given, Memory memory);
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  // Shares, statuses, groups and queues at the state's instant.
  void update(const VolumeMemory* volumes, bool keep);

  // Carries out a delta, of heartbeats or from outside; returns its slot. Which operations
  // may ask follows from the update: until the next one more requests make none join.
  Id on(const Delta& delta);
  // Decisions, counts and steps begin anew.
  void begin();

  Settings settings;
  RowSettings rows;
  Given given;
  Memory memory;
  ClusterState& state;
  Update last;
  GroupLists groups;
  Decisions decisions;
  VictimSelector selector;
  std::array<std::array<Index, 4>, kStages> counts{};  // by stage and Tally

  // --- what a heartbeat asks

  const std::vector<StageRule>& stages(Id node) const { return stages_[is_ssd_node(node)]; }
  Id pools() const noexcept { return static_cast<Id>(state.tables().pools.size()); }
  Group group(Id slot) const noexcept {
    const auto s = static_cast<std::size_t>(slot);
    if (s < given.groups.size() && given.groups[s] != 255)
      return static_cast<Group>(given.groups[s]);
    return groups.group(slot);
  }
  bool is_ssd_node(Id node) const {
    return settings.ssd_stages && at_or(rows.node_ssd, node, std::uint8_t{0});
  }
  bool graceful(Id operation) const {
    return at_or(rows.graceful, operation, std::uint8_t{0}) != 0;
  }
  // Immunity, beside the level: may a stage take work of this operation?
  struct Exposure {
    bool to_preemptive, to_stages, aggressive;
    bool to(Stage stage) const noexcept {
      return stage == Stage::kPreemptive ? to_preemptive : to_stages;
    }
  };
  Exposure exposure(Id operation) const noexcept {
    return exposure_[static_cast<std::size_t>(operation)];
  }
  // Element that shields an operation's work from a stage (older revisions); kNoId: none.
  Id shield(Id operation, Stage stage) const;
  Id parent_of(Id element) const noexcept {
    const Tables& t = state.tables();
    return element < pools() ? t.pools.parent[static_cast<std::size_t>(element)]
                             : t.operations.pool[static_cast<std::size_t>(element - pools())];
  }
  bool may_leave(Id slot) const {
    return slot >= state.slots_of_snapshot() ||
           at_or(state.tables().allocations.preemptible, slot, std::uint8_t{1}) != 0;
  }
  bool cpu_gap(Id slot) const noexcept;  // uses less cpu than its limit
  bool uses_ssd(Id slot) const { return at_or_new(rows.uses_ssd, slot); }

  // Where a request may run at all: tags, its node, SSD bans.
  enum class Place : std::uint8_t { kAllowed, kOtherNode, kTagMissing, kSsdOnly };
  Place why_not_on(Id request, Id node) const;
  bool allowed_on(Id request, Id node) const {
    return why_not_on(request, node) == Place::kAllowed;
  }
  // Do the limits of an operation and its pools hold with so much more, in every resource?
  bool within_limits(Id operation, const Amount* more, bool preemptive) const;
  // The most by which a limit would be exceeded with so much more, R; as if these victims
  // were still there.
  void lacking_limits(Id operation, const Amount* more, bool preemptive, Amount* lacking,
                      std::span<const Id> victims = {}) const;
  // The operation or the nearest pool above it that is over its limits; kNoId: none.
  Id over_limit(Id operation) const;
  Index elements_over_limit() const noexcept { return over_count_; }
  Id limited_from(Id element) const noexcept {
    return limited_from_[static_cast<std::size_t>(element)];
  }
  Id limited_above(Id element) const;
  const Amount* usage_of(Id element) const {
    return element < pools() ? state.pool_usage(element) : state.operation_usage(element - pools());
  }
  bool exceeds(Id element, const Amount* usage) const;

  bool within_fair_share(Id operation) const;

  const ServiceQueue& queue(Stage stage) const { return queues_[static_cast<std::size_t>(stage)]; }
  ServiceQueue::Entry entry(Stage stage, Id operation) {
    return queues_[static_cast<std::size_t>(stage)].entry(operation);
  }
  std::span<const ServiceQueue::Entry> in_order(Stage stage) {
    return queues_[static_cast<std::size_t>(stage)].entries();
  }
  const Shapes& shapes() const noexcept { return shapes_; }
  std::span<const Id> requests_of(Id operation) const noexcept {
    const Grouping& g = state.tables().requests_by_operation;
    const Index* offsets = g.offsets.data() + operation;
    return {g.items.data() + offsets[0], static_cast<std::size_t>(offsets[1] - offsets[0])};
  }
  std::span<const Id> requests_of_shape(Id shape) const;
  // Shapes that requests of a stage's candidates had at the update, and how many of
  // those wait now.
  std::span<const Id> waiting_shapes(Stage stage) const noexcept {
    return waiting_shapes_[static_cast<std::size_t>(stage)];
  }
  Index waiting(Stage stage, Id shape) const noexcept {
    return waiting_[static_cast<std::size_t>(stage)][static_cast<std::size_t>(shape)];
  }
  // A request that limits refused stays refused until some usage falls.
  bool refused_by_limits(Id request) const noexcept {
    return refused_at_[static_cast<std::size_t>(request)] == falls_;
  }
  void refuse_by_limits(Id request);

  // --- what a heartbeat does

  Id start_request(Id request, Id node);

  // --- scratch of a heartbeat, kept to spare allocations
  std::vector<Id> present;               // allocations on the node when it began
  std::vector<std::uint8_t> shape_fits;  // S; of fitting_shapes in a preemptive stage
  std::vector<Id> fitting_shapes;
  struct Wanted {
    std::uint8_t eagerness;
    Time time;
    Index rank;
    Id slot;
  };
  std::vector<Wanted> wanted;
  Id steps = 0;
  std::vector<ClusterState::TakenRoom> handed;  // room of leaving slots that was taken

 private:
  // Limits of an element; preemptive stages have some slack in pools.
  struct Limits {
    ResourceMask mask;
    const Amount *amounts, *slack;
    bool given(std::size_t r) const noexcept { return mask >> r & 1; }
    Amount at(std::size_t r) const noexcept {
      return amounts[r] + (slack == nullptr ? 0 : slack[r]);
    }
  };
  Limits limits_of(Id element, bool preemptive) const;
  bool at_or_new(const std::vector<std::uint8_t>& column, Id slot) const {
    return static_cast<std::size_t>(slot) < column.size() && column[static_cast<std::size_t>(slot)];
  }
  void build_queues();
  void build_limits();
  void build_exposure();
  void usage_changed(Id operation, bool fell);
  void check_over(Id element);
  void pending_changed(Id request, Index before);
  void drop_operation(Id operation);
  bool waits(Id operation) const;

  bool updated_ = false;
  FairShareEngine engine_;
  std::array<std::vector<StageRule>, 2> stages_;  // of plain nodes, of SSD nodes
  Shapes shapes_;
  Grouping by_shape_;
  std::vector<double> live_satisfaction_;  // O, in_billionths
  std::array<ServiceQueue, kStages> queues_;
  std::vector<Id> limited_, limited_from_;
  std::vector<std::uint8_t> over_;
  Index over_count_ = 0;
  std::array<std::vector<Index>, kStages> waiting_;
  std::array<std::vector<Id>, kStages> waiting_shapes_;
  std::vector<Index> refused_at_;
  std::vector<Exposure> exposure_;
  Index falls_ = 1;
  Where where_;
};

}  // namespace evenhand::ytsaurus
