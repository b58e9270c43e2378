// Heartbeats of nodes, spread over a period, and which nodes are to be asked at their next one.
//
// The heartbeat of the i-th of n nodes is at begin + i * period / n, and every period after.
// Finding the next one costs O(n / 64) at most.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "evenhand/core/column.h"

namespace evenhand::sim {

class HeartbeatGrid {
 public:
  HeartbeatGrid() = default;
  // nodes: in their order.
  HeartbeatGrid(Column<Id> nodes, Time begin, Time period)
      : nodes_(std::move(nodes)),
        begin_(begin),
        period_(period),
        wanted_((nodes_.size() + 63) / 64, 0),
        from_(begin) {
    Id rows = 0;
    for (const Id node : nodes_) rows = std::max(rows, node + 1);
    place_.assign(at(rows), kNoId);
    for (Id i = 0; i < nodes_.rows(); ++i) place_[nodes_[i]] = i;
  }

  const Column<Id>& nodes() const noexcept { return nodes_; }
  bool empty() const noexcept { return count_ == 0; }
  bool wants(Id node) const noexcept {
    const Id i = place_[node];
    return (wanted_[i / 64] >> (i % 64) & 1) != 0;
  }
  void want(Id node, bool wanted) noexcept {
    const Id i = place_[node];
    const std::uint64_t bit = std::uint64_t{1} << (i % 64);
    std::uint64_t& word = wanted_[i / 64];
    if (((word & bit) != 0) == wanted) return;
    if (wanted || node == next_.node) known_ = false;
    count_ += wanted ? 1 : -1;
    word ^= bit;
  }
  // Heartbeats before this instant have been, also of those that are wanted now.
  void go_to(Time time) noexcept {
    if (time <= from_) return;
    known_ = known_ && (next_.node == kNoId || time <= next_.time);
    from_ = time;
    first_ = 0;
  }
  // The one that was next has been.
  void done(Time time, Id node) noexcept {
    from_ = time;
    first_ = place_[node] + 1;
    known_ = false;
  }

  struct Tick {
    Time time = kNoTime;
    Id node = kNoId;
  };
  // The next one that is wanted; kNoTime: none is.
  Tick next() const noexcept {
    if (!std::exchange(known_, true)) next_ = find_next();
    return next_;
  }
  // The first heartbeat of a node that is not before an instant.
  Time first(Id node, Time from) const noexcept {
    const Time at = begin_ + offset(place_[node]);
    return from <= at ? at : at + (from - at + period_ - 1) / period_ * period_;
  }

 private:
  Tick find_next() const noexcept {
    if (count_ == 0) return {};
    const Time phase = (from_ - begin_) % period_, base = from_ - phase;
    // The first place whose heartbeat is not before this instant.
    const Id n = nodes_.rows();
    Id first = static_cast<Id>(static_cast<double>(phase) / static_cast<double>(period_) * n);
    first = std::min(first, n);
    while (first > 0 && offset(first - 1) >= phase) --first;
    while (first < n && offset(first) < phase) ++first;
    while (first < n && offset(first) == phase && first < first_) ++first;
    if (const Id place = find(first); place != kNoId) return {base + offset(place), nodes_[place]};
    const Id place = find(0);
    return {base + period_ + offset(place), nodes_[place]};
  }
  Time offset(Id place) const noexcept {
    const auto n = static_cast<Time>(nodes_.size());  // place * period / n, which may not overflow
    return period_ / n * place + period_ % n * place / n;
  }
  // The first wanted place from one on.
  Id find(Id from) const noexcept {
    if (from >= nodes_.rows()) return kNoId;
    std::size_t word = at(from) / 64;
    std::uint64_t rest = wanted_[word] & ~std::uint64_t{0} << (from % 64);
    while (rest == 0) {
      if (++word == wanted_.size()) return kNoId;
      rest = wanted_[word];
    }
    return static_cast<Id>(word * 64) + static_cast<Id>(std::countr_zero(rest));
  }

  Column<Id> nodes_, place_;
  Time begin_ = 0, period_ = 1;
  Column<std::uint64_t> wanted_;
  Index count_ = 0;
  Time from_ = 0;  // no heartbeat before it is to come,
  Id first_ = 0;   // nor at it of places before this one
  mutable Tick next_;
  mutable bool known_ = false;
};

}  // namespace evenhand::sim
