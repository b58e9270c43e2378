// One update: shares, statuses, starvation and what the heartbeats read of them.
#pragma once

#include <vector>

#include "evenhand/place/queue.h"
#include "evenhand/policy/ytsaurus/settings.h"
#include "evenhand/starve/starvation.h"

namespace evenhand::ytsaurus {

enum class Priority : std::uint8_t { kNone, kNormal, kAggressive };

// What shares are computed from, with the rows of a state: its pools, and operations with their
// amounts. Rows that have gone are there without any amount and are in no pool. Of a state that
// nothing has changed these are its tables; else a copy of the columns that matter, kept from
// update to update, so that the next one costs what has changed.
class ShareInputs {
 public:
  // live: the state may have rows that are not the snapshot's.
  ShareInputs(const ClusterState& state, bool live) : state_(&state), live_(live) {}

  // A copy is of a copy of the state from here on, between updates.
  void refer(const ClusterState& state);

  void touch(Id operation);      // its amounts changed, or those of its requests
  void touch_row(Id operation);  // its cells did, or it came or went
  // Is there anything that the last update does not know?
  bool stale() const noexcept { return stale_; }
  void set_stale() noexcept { stale_ = true; }

  // O(what was touched, and the children of its pools). The tables' lists of children are not of
  // it: see `list_children`.
  void refresh(const RowSettings& rows);
  const Tables& tables() const noexcept { return *tables_; }
  const Tables* known() const noexcept { return tables_; }  // nullptr: before any refresh
  const Tables& list_children();                            // O(operations) where rows were touched
  // Of the last refresh: whether rows were touched before it, and which; nullptr: any may.
  bool rows_changed() const noexcept { return all_rows_ || !moved_.empty(); }
  const Column<Id>* moved() const noexcept { return all_rows_ ? nullptr : &moved_; }
  // Of each pool, as the tables list them, but for pools without operations below; nullptr: they
  // do.
  const Column<Column<Id>>* children() const noexcept { return made_ ? &children_ : nullptr; }
  // What is not as it was at the refresh before, but for the instant.
  const TreeDelta& delta() const noexcept { return delta_; }
  const PendingWork& work() const noexcept { return work_; }
  void clear_work(Id operation);

 private:
  void fit_work(std::size_t operations);
  void make();
  void copy_row(Id operation);
  void count_amounts(Id operation);
  void count_work(Id operation, const Amount* demand, const RowSettings& rows);
  void list_rows();
  void list(Id element, Id pool);
  void unlist(Id element, Id pool);
  bool stands_before(Id element, Id other) const;

  const ClusterState* state_;
  bool live_, made_ = false, counted_ = false, stale_ = true, all_rows_ = true;
  bool children_stale_ = false;
  const Tables* tables_ = nullptr;
  Tables own_;
  PendingWork work_;
  Column<Id> touched_, touched_rows_, refreshed_, moved_, went_, came_;
  Column<std::uint8_t> is_touched_;
  Column<Column<Id>> children_;  // P
  Column<Index> below_;          // P: operations
  Column<Id> listed_in_;         // O: pool; kNoId: none
  Column<Index> pool_place_;     // P: among the tables' children
  TreeDelta delta_;
};

struct Update {
  Time now = 0;
  FairShareResult* shares = nullptr;  // the engine's
  StarvationResult starvation;
  Column<Id> changed;  // elements whose shares or work changed, unless anything may have
  bool only_changed = false;
  Column<Id> requeued;        // then, operations whose work or priority changed
  Column<Priority> priority;  // O
  QueuePlaces places;
  bool moved_places = false;  // by operations that came or went

  const double* fair_share(Id element) const noexcept { return row(shares->total, element); }
  const double* demand_share(Id element) const noexcept {
    return row(shares->demand_share, element);
  }

 private:
  const double* row(const Column<double>& matrix, Id element) const noexcept {
    return matrix.data() +
           static_cast<std::size_t>(element) * static_cast<std::size_t>(shares->resource_count);
  }
};

// Computes an update after the one before it, whose clocks continue; the engine keeps share
// functions between calls if `keep`.
void update(Update& update, const ClusterState& state, ShareInputs& inputs,
            const Settings& settings, const RowSettings& rows, const Given& given,
            FairShareEngine& engine, const VolumeMemory* volumes, bool keep);

}  // namespace evenhand::ytsaurus
