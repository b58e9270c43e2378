// What the heartbeats of one update work on: the cluster as it changes under their
// decisions, and indices that keep a heartbeat cheap.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "evenhand/model/delta.h"
#include "evenhand/place/queue.h"
#include "evenhand/place/shapes.h"
#include "evenhand/place/where.h"
#include "evenhand/policy/ytsaurus/update.h"
#include "evenhand/preempt/decision.h"
#include "evenhand/preempt/pace.h"
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

// What a copy of a workspace copies: all but the state that it works on.
class WorkspaceData {
 public:
  // Immunity, beside the level: may a stage take work of this operation?
  struct Exposure {
    bool to_preemptive, to_stages, aggressive;
    bool to(Stage stage) const noexcept {
      return stage == Stage::kPreemptive ? to_preemptive : to_stages;
    }
  };
  // A request that takes part since the last update.
  struct Ask {
    Id request, shape;
    Index pending;
  };

  Settings settings;
  RowSettings rows;
  Given given;
  Memory memory;
  Update last;
  GroupLists groups;
  Decisions decisions;
  Pace pace;
  std::array<std::array<Index, 4>, kStages> counts{};  // by stage and Tally

  // --- scratch of a heartbeat, kept to spare allocations
  Column<Id> present;               // allocations on the node when it began
  Column<std::uint8_t> shape_fits;  // S; of fitting_shapes in a preemptive stage
  Column<Id> fitting_shapes;
  struct Wanted {
    std::uint8_t eagerness;
    Time time;
    Index rank;
    Id slot;
  };
  std::vector<Wanted> wanted;
  Id steps = 0;
  std::vector<ClusterState::TakenRoom> handed;  // room of leaving slots that was taken

 protected:
  WorkspaceData(const ClusterState& state, bool live, Settings set, RowSettings own, Given g,
                Memory m);
  WorkspaceData(const WorkspaceData&) = default;

  using Stages = std::uint16_t;  // a bit each
  static constexpr Stages kAllStages = (1u << kStages) - 1;
  // What has been done since `begin`.
  struct Done {
    Id slot, operation;
    Id request;  // started; kNoId: it must leave
  };
  struct Dropped {
    Id operation;
    Stages queues;
  };

  bool live_, updated_ = false, keeps_ = false;
  bool limited_ = false, whole_usage_counts_ = false;
  Column<Amount> total_;  // of the last update
  ShareInputs inputs_;
  FairShareEngine engine_;
  std::array<std::vector<StageRule>, 2> stages_;  // of plain nodes, of SSD nodes
  Shapes shapes_;
  Column<Column<Ask>> asks_;          // O: in canonical order
  mutable Column<Id> first_waiting_;  // O: of its asks, none before this place waits
  Column<Id> only_shape_;             // O
  Column<Id> ask_of_;                 // request -> place in asks_; kNoId: it takes no part
  Column<Column<Id>> by_shape_;       // shape -> requests that take part
  Column<Id> shape_place_;            // request -> its place there
  Column<Id> stated_;        // nodes with a clock of their own, which counts at each update
  Column<Id> newly_stated_;  // such that came since the last trigger: at the next one, too
  // Memory of nodes that have gone since the last trigger: last preemptive, overcommitted since.
  std::map<std::string, std::pair<Time, Time>, std::less<>> gone_nodes_;
  Column<Id> came_;  // requests that join at the next update
  // What waits beside what did when nodes were last looked at: in which stages, and shapes of
  // the regular one.
  Stages joined_ = kAllStages;
  Column<Id> joined_shapes_;
  Column<double> live_satisfaction_;  // O, in_billionths
  Column<Id> resatisfied_;            // by the last update: operations whose own it changed
  std::array<ServiceQueue, kStages> queues_;
  Column<Id> limited_from_;
  Column<std::uint8_t> over_;
  Index over_count_ = 0;
  std::array<Column<Index>, kStages> waiting_;
  std::array<Column<Id>, kStages> waiting_shapes_;
  Column<Index> refused_at_;
  Column<Id> held_by_caps_;  // by the last trigger
  Column<Exposure> exposure_;
  Index falls_ = 1;
  Where where_;
  // Of settings that share the run: which of the starvation's others, and which cuts, each has.
  struct Cuts {
    std::array<double, 2> factors;
    bool alike = true;
  };
  SharedSettings shared_;
  Column<Id> starves_as_, is_cut_as_;
  std::vector<Cuts> cuts_;
  bool cuts_apart_ = false;
  // Of a change that is being carried out.
  Id limited_before_ = kNoId;
  std::vector<Done> done_;
  std::vector<Dropped> dropped_;
  ClusterState::Mark begun_{0};
  bool stands_ = false;
};

class Workspace : public WorkspaceData {
 public:
  // The state is the caller's and outlives the workspace, which hears of all its changes. live: it
  // may have rows that are not the snapshot's, and what heartbeats do is taken back.
  Workspace(ClusterState& state, bool live, Settings settings, RowSettings rows, Given given,
            Memory memory);
  // Another one that stands where this one does, of a copy of its state; nothing of a trigger
  // stands.
  Workspace(const Workspace& other, ClusterState& state);
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  // Shares, statuses, groups and queues at the state's instant.
  void update(const VolumeMemory* volumes, bool keep);

  // Around a change of the state, by heartbeats or from outside. Which operations and requests
  // may ask follows from the update: until the next one none joins. O(R x depth).
  void before(const Delta& delta);
  void after(const Delta& delta, Id row);
  void rows_came(ClusterState::Table table, std::span<const Id> rows, const RowSettings& cells);
  // Decisions, counts and steps begin anew.
  void begin();
  // A heartbeat of a node: whether there was one since `begin`. O(1).
  bool visits_again(Id node) {
    if (at(node) >= visited_.size()) visited_.resize(at(node) + 1, 0);
    return std::exchange(visited_[node], begun_times_) == begun_times_;
  }
  // The way back to `begin`, but for the memory and what was counted: O(decisions x depth).
  void take_back();
  // Whether there is no way back from here on.
  void keep_decisions(bool keep) noexcept { keeps_ = keep; }
  // Would a heartbeat of this node decide nothing now? O(shapes that wait + allocations here), or
  // less.
  bool idle(Id node);
  // Of a node whose heartbeat has decided nothing: now: it did not try all that it can; else when
  // the pace lets go of something.
  Time due_on(Id node) const {
    const bool stages = has_candidates() || (settings.repair_in_stage && over_count_ > 0);
    const bool tried = memory.overcommitted_since[node] == kNoTime &&
                       (memory.last_preemptive[node] == state.now() || !stages);
    return tried ? pace.due() : state.now();
  }
  // May what happens on one node let another decide something? Limits of operations and pools, and
  // whatever is judged by all that an operation has.
  bool contended() const noexcept { return limited_ || (whole_usage_counts_ && has_candidates()); }
  // May nodes that were idle before the last update decide something now? Any of them, or those
  // that are added to `nodes`. Asked once after it.
  bool wakes(Column<Id>& nodes);
  bool has_candidates() const noexcept;  // of a preemptive stage

  // Other settings share the run from here on, until they are apart: before the first update.
  // false: they cannot, as something reads them otherwise.
  bool share(SharedSettings settings);
  bool separated() const noexcept { return last.starvation.others.apart || cuts_apart_; }
  Column<Id> apart() const;  // rows of them that lead to something else
  // These rows of them remain, which are alike so far; the first of them leads.
  void become(const Column<Id>& rows);
  // Before a heartbeat: are groups there the same under all of them, as far as it reads them?
  void compare_groups(Id node);

  // Does the last update know all that there is?
  bool stale() const noexcept { return inputs_.stale(); }
  const PendingWork& work() const noexcept { return inputs_.work(); }
  const Tables& inputs() const noexcept { return inputs_.tables(); }  // of the last update
  const Tables& listed_inputs() { return inputs_.list_children(); }   // with lists of children

  ClusterState& state;
  VictimSelector selector;
  MinimumQuestion question;  // of the last choice, where certificates are wanted

  // --- what a heartbeat asks

  const std::vector<StageRule>& stages(Id node) const { return stages_[is_ssd_node(node)]; }
  Id pools() const noexcept { return static_cast<Id>(state.tables().pools.size()); }
  Group group(Id slot) const noexcept {
    const auto s = static_cast<std::size_t>(slot);
    if (s < given.groups.size() && given.groups[s] != 255)
      return static_cast<Group>(given.groups[s]);
    return groups.group(slot);
  }
  bool is_ssd_node(Id node) const { return settings.ssd_stages && rows.node_ssd[node] != 0; }
  bool graceful(Id operation) const { return rows.graceful[operation] != 0; }
  Exposure exposure(Id operation) const noexcept { return exposure_[operation]; }
  // Element that shields an operation's work from a stage (older revisions); kNoId: none.
  Id shield(Id operation, Stage stage) const;
  Id parent_of(Id element) const noexcept {
    return element < pools() ? state.pools().parent[element] : state.pool_of(element - pools());
  }
  bool may_leave(Id slot) const {
    return state.allocations().get(&AllocationColumns::preemptible, slot, std::uint8_t{1}) != 0;
  }
  bool cpu_gap(Id slot) const noexcept;  // uses less cpu than its limit
  bool uses_ssd(Id slot) const { return rows.uses_ssd[slot] != 0; }

  // Where a request may run at all: tags, its node, SSD bans.
  enum class Place : std::uint8_t { kAllowed, kOtherNode, kTagMissing, kSsdOnly };
  Place why_not_on(Id request, Id node);
  bool allowed_on(Id request, Id node) { return why_not_on(request, node) == Place::kAllowed; }
  // Do the limits of an operation and its pools hold with so much more, in every resource?
  bool within_limits(Id operation, const Amount* more, bool preemptive) const;
  // The most by which a limit would be exceeded with so much more, R; `gone`: what elements used
  // more at an earlier instant, E x R, or nothing.
  void lacking_limits(Id operation, const Amount* more, bool preemptive, Amount* lacking,
                      std::span<const Amount> gone = {}) const;
  // The operation or the nearest pool above it that is over its limits; kNoId: none.
  Id over_limit(Id operation) const;
  Index elements_over_limit() const noexcept { return over_count_; }
  Id limited_from(Id element) const noexcept { return limited_from_[element]; }
  Id limited_above(Id element) const;
  const Amount* usage_of(Id element) const {
    return element < pools() ? state.pool_usage(element) : state.operation_usage(element - pools());
  }
  bool exceeds(Id element, const Amount* usage) const;

  bool within_fair_share(Id operation) const;
  // 1: a pool above uses at most its strong guarantee in all that it is guaranteed; 0: none of
  // those that have one; -1: none has one.
  std::int8_t pool_within_guarantee(Id operation) const;

  const ServiceQueue& queue(Stage stage) const { return queues_[at(stage)]; }
  ServiceQueue::Entry entry(Stage stage, Id operation) {
    return queues_[at(stage)].entry(operation);
  }
  // Visits at most so many that wait, in order, until a visit returns true.
  template <class Visit>
  void in_order(Stage stage, std::size_t most, Visit&& visit) {
    queues_[at(stage)].walk(most, std::forward<Visit>(visit));
  }
  const Shapes& shapes() const noexcept { return shapes_; }
  // Of an operation, in canonical order.
  std::span<const Ask> requests_of(Id operation) const noexcept { return asks_[operation]; }
  // From the first that waits on.
  std::span<const Ask> waiting_of(Id operation) const noexcept {
    const std::span<const Ask> asks = asks_[operation];
    Id& first = first_waiting_[operation];
    while (at(first) < asks.size() && asks[at(first)].pending == 0) ++first;
    return asks.subspan(at(first));
  }
  // That of all of an operation's requests; kNoId: there are several, or none.
  Id only_shape(Id operation) const noexcept { return only_shape_[operation]; }
  // How many of a request wait; of one that takes no part: none.
  Index pending(Id request) const noexcept {
    return joined(request) ? asks_[state.operation_of_request(request)][ask_of_[request]].pending
                           : 0;
  }
  bool before(Id request, Id other) const noexcept {  // in canonical order
    const LiveKeys& keys = state.requests().keys();
    return keys.rank(request) < keys.rank(other);
  }
  template <class Visit>
  void for_requests_of_shape(Id shape, Visit&& visit) const {
    for (const Id q : by_shape_[shape]) visit(asks_[state.operation_of_request(q)][ask_of_[q]]);
  }
  // Shapes that requests of a stage's candidates had at the update, and how many of
  // those wait now.
  std::span<const Id> waiting_shapes(Stage stage) const noexcept {
    return waiting_shapes_[at(stage)];
  }
  Index waiting(Stage stage, Id shape) const noexcept { return waiting_[at(stage)][shape]; }
  // A request that limits refused stays refused until some usage falls.
  bool refused_by_limits(Id request) const noexcept { return refused_at_[request] == falls_; }
  void refuse_by_limits(Id request);
  // What a stage may take makes room for the request, but for caps on victims.
  bool held_by_caps(Id request) const noexcept {
    return std::ranges::find(held_by_caps_, request) != held_by_caps_.end();
  }
  void hold_by_caps(Id request) {
    if (!held_by_caps(request)) held_by_caps_.push_back(request);
  }

  // --- what a heartbeat does

  Id start_request(Id request, Id node);
  void preempt(Id slot, Beneficiary beneficiary);

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

 private:
  Column<std::int64_t> visited_;  // N: in which of `begun_times_` last
  std::int64_t begun_times_ = 0;
  bool joined(Id request) const noexcept {
    return request < ask_of_.rows() && ask_of_[request] != kNoId;
  }
  void list_others(const SharedSettings& settings);
  bool shares_groups() const noexcept { return cuts_.size() > 1; }
  void fit_asks(std::size_t operations) {
    asks_.resize(operations);
    first_waiting_.resize(operations, 0);
    only_shape_.resize(operations, kNoId);
  }
  void join_requests();
  void join_request(Id request);
  Stages stages_of(Id operation) const;
  Stages queues_of(Id operation) const;
  void build_queues();
  void follow_queues();
  void count_waiting(Stages stages, const Ask& ask, Index more);
  void build_limits();
  void build_exposure(bool all);
  Exposure exposure_of(Id operation) const;
  void limit_operation(Id operation);
  void follow_share(Id operation);
  void resatisfy(Id operation);
  void set_bounds(Id operation);
  void stay_calm(Id operation);
  void operation_changed(Id operation, bool fresh, Id instead_of);
  Time stated_since(Id node) const;
  void node_goes(Id node);
  void node_came(Id node, bool fresh);
  void leave_request(Id request);
  // What is taken back is as the last update knows it.
  void touch(Id operation) {
    if (!stands_) inputs_.touch(operation);
  }
  void usage_changed(Id operation, bool fell);
  void check_over(Id element);
  void check_limits(Id operation);
  void pending_changed(Id request, Index now);
  void drop_operation(Id operation);
  bool waits(Id operation) const;

  void join_shape(Stages stages, Id shape);
  bool free_room(Id node, Amount* room) const noexcept;
  void wake_where_it_fits(View<const Id> shapes, Column<Id>& nodes) const;
  void wake_where_it_runs(Id operation, bool more_only, Column<Id>& nodes);
  bool may_serve(const StageRule& rule, Id node, std::array<Amount, kMaxResources> room,
                 bool ssd_node);
  bool may_take(const StageRule& rule, Id slot, bool ssd_node);
};

}  // namespace evenhand::ytsaurus
