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

  void touch(Id operation);      // its amounts changed, or those of its requests
  void touch_row(Id operation);  // its cells did, or it came or went
  // Is there anything that the last update does not know?
  bool stale() const noexcept { return stale_; }
  void set_stale() noexcept { stale_ = true; }

  // O(what was touched); O(operations) where rows were.
  const Tables& refresh(const RowSettings& rows);
  const Tables& tables() const noexcept { return *tables_; }
  // Of the last refresh: whether rows were touched before it.
  bool rows_changed() const noexcept { return rows_changed_; }
  // Of the last refresh: the operations beside which nothing has changed but the instant; nullptr:
  // more has.
  const Column<Id>* only_touched() const noexcept { return only_touched_ ? &refreshed_ : nullptr; }
  const PendingWork& work() const noexcept { return work_; }
  void clear_work(Id operation);

 private:
  void fit_work(std::size_t operations);
  void make();
  void copy_row(Id operation);
  void count_amounts(Id operation);
  void count_work(Id operation, const Amount* demand, const RowSettings& rows);
  void list_children();

  const ClusterState* state_;
  bool live_, made_ = false, counted_ = false, stale_ = true, rows_changed_ = true;
  bool children_stale_ = false;
  const Tables* tables_ = nullptr;
  Tables own_;
  PendingWork work_;
  Column<Id> touched_, touched_rows_, refreshed_;
  bool only_touched_ = false;
  Column<std::uint8_t> is_touched_;
};

struct Update {
  Time now = 0;
  FairShareResult* shares = nullptr;  // the engine's
  StarvationResult starvation;
  Column<Id> changed;  // elements whose shares or work changed, unless anything may have
  bool only_changed = false;
  Column<Priority> priority;  // O
  QueuePlaces places;

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
