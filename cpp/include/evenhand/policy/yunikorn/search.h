// One attempt of today's preemption: victims for one ask.
//
// Source: YuniKorn core, pkg/scheduler/objects/preemption.go and predicates.go, release 1.9.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "evenhand/policy/yunikorn/settings.h"
#include "evenhand/policy/yunikorn/world.h"

namespace evenhand::yunikorn {

struct Ask {
  Id row = kNoId;  // as reservations name it
  Id queue = kNoId;
  Resource resources;
  double priority = 0;
};

enum class Failure : std::uint8_t {
  kNone,
  kQueueGuarantee,
  kNoNode,
  kAdditionalOverGuarantee,
  kNoVictims,
  kShortfall,
  kVictimReleased
};

// May an ask preempt now? Spans: since it came, and since its last attempt (kNoTime: never).
struct Waiting {
  bool may_preempt = true, triggered = false, needs_node = false;
  Time age = 0, since_attempt = kNoTime;
};
inline bool may_try(const Waiting& ask, Time delay, Time retry) noexcept {
  return ask.may_preempt && !ask.triggered && !ask.needs_node && ask.age >= delay &&
         (ask.since_attempt == kNoTime || ask.since_attempt >= retry);
}

// Has a reservation been in force for so long that it may be cancelled?
inline Time lasts(Time timeout) noexcept { return 2 * timeout + 2'000'000; }
inline bool outdated(Time age, Time timeout) noexcept { return age > lasts(timeout); }

// Whether an ask may stand on a node, beyond amounts: what a plug-in answers.
class Predicates {
 public:
  virtual ~Predicates() = default;
  virtual bool fits(Id node) const = 0;
  // The place from `start` on at which it fits once the victims up to there are gone; -1: never.
  virtual Index fits_after(Id node, std::span<const Id> victims, Index start) const = 0;
};

// A node with the victims that make room there.
struct Solution {
  Id node = kNoId;
  Index start = -1;  // place of the victim with which it fits; -1: it fits without any
  Column<Id> victims{};
};

struct Attempt {
  Failure failure = Failure::kNone;
  bool guarantee_holds = false;
  Id node = kNoId;
  Column<Id> victims;                        // in the order in which they leave
  std::vector<std::pair<Id, Id>> cancelled;  // reservations: node, ask

  bool success() const noexcept { return failure == Failure::kNone; }
};

// Score of a plug-in's answer, the lower the better. `allocations`: candidates of the node in
// order, nullptr where the node is unknown.
std::int64_t solution_score(const World& world, const std::span<const Id>* allocations,
                            bool success, Index index);
inline constexpr std::int64_t kOptedOutScore = std::int64_t{1} << 34;
inline constexpr std::int64_t kOriginatorScore = std::int64_t{1} << 33;
inline constexpr std::int64_t kNoSolution = std::int64_t{1} << 35;

class Search {
 public:
  Search(World& world, const Switches& switches, Time reservation_timeout);

  // Begins with an ask: who may be a victim of it. The parts below are of the last one.
  void begin(const Ask& ask);
  // Whether an attempt is sure to fail by guarantees, by a look at queues alone.
  bool in_vain() const;
  // All steps but the marking, after `begin`. `released`: victims that have gone meanwhile.
  Attempt attempt(bool nodes_tried, const Predicates* predicates = nullptr,
                  std::span<const Id> released = {});

  // --- parts
  Id fence_root() const noexcept { return fence_root_; }
  // Whether a queue is below the one where victims are looked for.
  bool below_fence(Id queue) const noexcept {
    return std::ranges::find(world_.path(queue), fence_root_) != world_.path(queue).end();
  }
  double highest(Id queue) const noexcept { return highest_[queue]; }  // of a leaf's candidates
  bool candidate(Id allocation) const noexcept {
    return world_.held().priority[allocation] <= highest_[world_.held().queue[allocation]] &&
           (world_.types(allocation) & ask_.resources.types) != 0 && !world_.barred(allocation);
  }
  Column<Id> candidates() const;
  Column<Id> snapshots() const;  // queues that are looked at
  Resource remaining_guaranteed(Id queue) const;
  Resource preemptible(Id queue) const;
  bool guarantee_check();
  std::vector<Solution> solutions(bool nodes_tried, std::vector<std::pair<Id, Id>>& cancelled);

 private:
  using Size = std::size_t;
  void look_for_candidates(Id queue, double priority, bool free);
  void keep_nodes(std::vector<std::pair<Id, Id>>& cancelled);
  bool fits(Id node) const { return fit_in(world_.nodes().free.row(node, width_), ask_.resources); }
  bool over_guarantee(Id queue) const;
  bool within_guarantee(Id queue, ResourceMask types) const;
  bool owed(const Resource& rest) const {  // all that it asks for
    const bool open =
        switches_.unguaranteed_types_open || (ask_.resources.types & ~rest.types) == 0;
    return !rest.nil && open && fit_in_actual(rest, ask_.resources);
  }
  bool take(Id allocation);
  void put_back(Id allocation) { move(allocation, 1); }
  void move(Id allocation, Amount sign) {
    world_.add(world_.held().queue[allocation], world_.held().resources[allocation], sign);
  }
  Index fewest(Id node) const;
  bool victims_on(Id node, bool all, Solution& out);
  bool order_of_removal(Id node, std::span<const Id> wanted, bool all, Solution& out);
  Solution first_node(bool nodes_tried);
  Solution best_node(std::vector<Solution> found, const Predicates& predicates) const;
  bool additional(const Solution& chosen, Column<Id>& more);
  Failure trim(const Solution& chosen, std::span<const Id> more, bool plugged,
               Column<Id>& victims) const;
  Failure cover_quota(std::span<const Id> more, Column<Id>& victims) const;

  World& world_;
  Switches switches_;
  Time reservation_timeout_;
  Size width_;
  Ask ask_;
  Id fence_root_ = kNoId;
  bool asker_guaranteed_ = false;
  Column<double> level_;                  // Q: of the ask as each queue of its path sees it
  Column<double> highest_;                // Q: priority up to which a leaf has candidates
  Column<std::uint8_t> on_path_, above_;  // Q: of the ask; what is taken for its ancestors
  Column<std::uint8_t> in_;               // N: nodes that are looked at
  Column<Id> chosen_;                     // scratch
};

}  // namespace evenhand::yunikorn
