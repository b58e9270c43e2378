// Free room of every node over time, and when something fits for how long.
//
// Source: Grid Engine, resource reservation: what runs is taken to end, what is reserved begins and
// ends, and a job gets the first span in which there is room for it all through.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "evenhand/core/times.h"
#include "evenhand/model/tables.h"

namespace evenhand {

class Calendar {
 public:
  // Nodes so many; what is counted for the cluster has a row of its own behind them.
  Calendar(Time now, Id nodes, std::span<const ResourceScope> scope);

  Id shared() const noexcept { return nodes_; }
  // Room from now on, beside all that is added: R; of a node, or of `shared()`.
  void set(Id row, const Amount* free);
  // More (sign 1) or less of it from one instant until another. Without a node only what is
  // counted for the cluster. O(steps of the row x R).
  void add(Id node, const Amount* amounts, Time from, Time until, Amount sign);
  void take(Id node, const Amount* amounts, Time from, Time until) {
    add(node, amounts, from, until, -1);
  }
  void give(Id node, const Amount* amounts, Time from, Time until) {
    add(node, amounts, from, until, 1);
  }

  // Whether there is so much all the time; of what the row itself counts.
  bool fits(Id row, const Amount* need, Time from, Time until) const noexcept {
    return copies(row, need, from, until, 1) > 0;
  }
  // How often it fits there, at most `most` times.
  Index copies(Id row, const Amount* need, Time from, Time until, Index most) const noexcept;
  // The least that is free of what the row counts at any instant: R, no more than it says already.
  void least(Id row, Time from, Time until, Amount* free) const noexcept;
  // The first instant from `from` on since when it fits for so long; kForever: never. Gives up
  // once it would be `limit` or later.
  Time earliest(Id row, const Amount* need, Time from, Time duration,
                Time limit = kForever) const noexcept;
  // Instants at which the room of a row changes, ascending.
  std::span<const Time> steps(Id row) const noexcept { return rows_[at(row)].since; }

 private:
  struct Row {
    Column<Time> since;   // of each step; the first is the beginning
    Column<Amount> free;  // steps x R
  };

  bool counts(Id row, std::size_t r) const noexcept { return wide_[r] == (row == nodes_); }
  std::size_t cut(Row& row, Time instant);
  std::size_t step_at(const Row& row, Time instant) const noexcept;
  void add_row(Id row, const Amount* amounts, Time from, Time until, Amount sign);

  Id nodes_;
  std::size_t width_;
  Time now_;
  std::vector<bool> wide_;  // R
  std::vector<Row> rows_;   // N + 1
};

}  // namespace evenhand
