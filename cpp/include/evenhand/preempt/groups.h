// Allocation groups: how protected an operation's running allocations are.
//
// Source: YTsaurus, preemptible allocation lists. An operation's allocations stand
// in the order of their last jobs; two cuts split them into non-preemptible,
// aggressively preemptible and preemptible ones. A cut is the longest prefix whose
// cumulative usage stays within fair share x threshold.
//
// Bounds are turned into integers once an update, so that a cut compares exact sums
// and gives the same groups from any history. A start, an end or a changed size
// costs O(R) and O(R) for each allocation that changes its group.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "evenhand/model/cluster_state.h"

namespace evenhand {

enum class Group : std::uint8_t {
  kNonPreemptible,
  kAggressivelyPreemptible,
  kPreemptible,
  kNone = 255
};

class GroupLists {
 public:
  struct Options {
    double aggressive_threshold = 0.2, threshold = 1.0;  // factors on the fair share
    // Which side the allocation that crosses a bound falls on: true: the less safe one.
    bool on_bound_preemptible = false;
    bool saved_progress_counts = false;  // the order follows saved progress, too
    // A usage threshold protects a prefix; else all of an operation that is below it.
    bool usage_threshold_protects_prefix = false;
  };

  GroupLists() = default;
  GroupLists(const ClusterState& state, Options options);

  // Time by which an allocation is ordered.
  Time order_time(const ClusterState& state, Id slot) const;

  // Fair share and demand of an update (R each), and the usage below which work is
  // protected (R, negative: unset; nullptr: none is set). Where the fair share equals
  // the demand nothing is unconditionally preemptible.
  void set_bounds(Id operation, const double* fair, const double* demand,
                  const Amount* usage_threshold);

  // Amounts that shares are of; bounds that are set later are turned with them.
  void set_total(const Column<Amount>& total) { total_ = total; }
  // There are so many operations now; new ones have no bounds: nothing of theirs is safe.
  void fit(std::size_t operations);

  // Follow the state's deltas; the groups hold after the next refresh.
  void add(const ClusterState& state, Id slot);
  void remove(const ClusterState& state, Id slot);  // with the amounts it was added with
  // The last one that was removed and not put back, where nothing was added since that has not
  // been removed again.
  void put_back(const ClusterState& state, Id slot);
  void refresh(const ClusterState& state);
  std::size_t changed() const noexcept { return dirty_.size(); }  // operations, at most
  void refresh(const ClusterState& state, Id operation) {
    if (lists_[operation].dirty) settle(state, operation);
  }
  // What is changed from here on stays as it is cut by then: in a heartbeat.
  void hold() noexcept { ++held_; }
  // Those that have not changed since.
  void refresh_unheld(const ClusterState& state);
  void refresh_unheld(const ClusterState& state, Id operation) {
    if (lists_[operation].changed_at != held_) refresh(state, operation);
  }

  Group group(Id slot) const noexcept { return kGroups[inside_[slot]]; }
  Index slots() const noexcept { return static_cast<Index>(inside_.size()); }
  // Has work of an operation come to stand beyond a cut since this was last asked of it, or may it
  // have?
  bool take_exposed(const ClusterState& state, Id operation) {
    List& list = lists_[operation];
    if (std::exchange(list.may_expose, false)) refresh(state, operation);
    return std::exchange(list.exposed, false);
  }
  // Visits, for each cut, its factor and amounts of usage that decide where it lies: it stays as
  // long as the bound does on its side of all of them. false: it may lie elsewhere anyway.
  template <class Visit>
  bool for_deciding(const ClusterState& state, Id operation, Visit&& visit) const {
    const List& list = lists_[operation];
    for (int c = 0; c < 2 && list.head != kNoId; ++c) {
      if (c == 1 && list.nothing_beyond) continue;
      const Cut& cut = list.cuts[at(c)];
      if (cut.extra > 0) return false;
      const double factor = c == 0 ? options_.aggressive_threshold : options_.threshold;
      const Amount* within = sums_.data() + cut_row(operation, c);
      visit(factor, within);
      const Id beside = options_.on_bound_preemptible ? cut.first_beyond
                        : cut.count == 0              ? kNoId
                        : cut.first_beyond == kNoId   ? list.tail
                                                      : previous_[cut.first_beyond];
      if (beside == kNoId) continue;
      std::array<Amount, kMaxResources> other{};
      const Amount* its = state.amounts(beside);
      for (std::size_t r = 0; r < width_; ++r)
        other[r] = options_.on_bound_preemptible ? within[r] + its[r] : within[r] - its[r];
      visit(factor, other.data());
    }
    return true;
  }
  // Those of an operation that stand beyond a cut.
  template <class Visit>
  void for_beyond(Id operation, int cut, Visit&& visit) const {
    for (Id slot = lists_[operation].cuts[at(cut)].first_beyond; slot != kNoId; slot = next_[slot])
      visit(slot);
  }
  // Allocations of an operation in order, and where its cuts lie.
  Column<Id> in_order(Id operation) const;
  std::array<Index, 2> cuts(Id operation) const;
  // Where they would lie under other factors (of the first, of the second), with this fair share of
  // the last update. O(R x allocations of the operation).
  std::array<Index, 2> cuts_under(const ClusterState& state, Id operation, const double* fair,
                                  const std::array<double, 2>& factors) const;
  // Other factors from here on; all bounds are to be set anew, and more may be exposed.
  void set_factors(const std::array<double, 2>& factors);

  std::size_t memory_bytes() const noexcept;

 private:
  // Bits of inside_: within the first cut, within the second; 4: in no list.
  static constexpr std::array<Group, 5> kGroups{Group::kPreemptible, Group::kNonPreemptible,
                                                Group::kAggressivelyPreemptible,
                                                Group::kNonPreemptible, Group::kNone};
  static constexpr std::uint8_t kOutside = 4;

  struct Cut {
    Id first_beyond = kNoId;
    Index count = 0;
    Index extra = 0;  // the last ones of them lie on the bound, not below it
  };
  struct List {
    Id head = kNoId, tail = kNoId;
    std::array<Cut, 2> cuts;
    ResourceMask open = 0;        // resources that count; none: any that stays below will do
    bool nothing_beyond = false;  // of the second cut
    bool has_usage_threshold = false;
    bool bounds_changed = false;
    bool dirty = false;
    bool listed = false;      // in dirty_
    bool may_expose = false;  // bounds have fallen: a refresh will tell
    bool exposed = true;      // something stands beyond a cut that has not before
    Index changed_at = 0;
  };

  std::size_t cut_row(Id operation, int cut) const noexcept {
    return (2 * at(operation) + static_cast<std::size_t>(cut)) * width_;
  }
  void link_after(List& list, Id before, Id slot);
  void link(const ClusterState& state, Id operation, Id before, Id slot);
  void settle(const ClusterState& state, Id operation);
  void mark_dirty(Id operation);
  bool below(Id operation, int cut, const Amount* first_beyond, const Amount* used,
             const Amount* more) const noexcept;
  bool on_bound(const double* bound, const Amount* used, const Amount* more) const noexcept;
  bool protected_whole(const ClusterState& state, Id operation) const noexcept;
  void advance(const ClusterState& state, List& list, int cut, Amount* used);
  void retreat(const ClusterState& state, List& list, int cut, Amount* used);
  template <class Below>
  void recut(const ClusterState& state, Id operation, int cut, Below&& below);

  std::size_t width_ = 0;
  Options options_;
  Column<Amount> total_;
  Column<List> lists_;
  Column<Amount> sums_;             // O x 2 x R: usage within each cut
  Column<Amount> below_;            // O x 2 x R: usage under this amount is below the bound
  Column<double> bounds_;           // O x 2 x R: as shares
  Column<Amount> usage_threshold_;  // O x R, or empty: no operation has one
  Column<Id> next_, previous_;
  Column<std::uint8_t> inside_;
  Index held_ = 0;
  Column<Id> dirty_;  // those among them may have been refreshed alone
};

}  // namespace evenhand
