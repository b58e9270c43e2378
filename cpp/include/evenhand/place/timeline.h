// Spans of time, and the nodes that are kept for no job during each.
//
// Source: Slurm, backfill plugin: a list of spans that follow each other, in each the nodes, whole,
// that no planned start takes.
#pragma once

#include <cstdint>
#include <vector>

#include "evenhand/core/column.h"

namespace evenhand {

// A set of nodes, 64 a word.
using NodeSet = Column<std::uint64_t>;

NodeSet node_set(Id nodes);
inline void put(NodeSet& set, Id node) noexcept {
  set[static_cast<std::size_t>(node) / 64] |= std::uint64_t{1}
                                              << (static_cast<unsigned>(node) % 64);
}
inline bool has(const NodeSet& set, Id node) noexcept {
  return (set[static_cast<std::size_t>(node) / 64] >> (static_cast<unsigned>(node) % 64) & 1) != 0;
}

class Timeline {
 public:
  Timeline(Time begin, Time end, const NodeSet& free);

  Index size() const noexcept { return static_cast<Index>(begin_.size()); }
  // Takes off a set the nodes that are kept for a job from `since` until `end`; returns when more
  // of some nodes may be free, kNoTime: never. O(spans N / 64).
  Time open(Time since, Time end, const NodeSet& among, NodeSet& set) const noexcept;
  // When the next span after an instant begins; kNoTime: none does.
  Time next(Time after) const noexcept;
  // Whether any of the nodes is kept at any time of [begin, end).
  bool taken(const NodeSet& nodes, Time begin, Time end) const noexcept;
  // Likewise, at any time at all.
  bool ever_taken(const NodeSet& nodes) const noexcept;
  // Keeps nodes during [begin, end).
  void keep(const NodeSet& nodes, Time begin, Time end);

 private:
  void cut(Time at);
  const std::uint64_t* free(std::size_t slot) const noexcept {
    return free_.data() + slot * words_;
  }

  std::size_t words_;
  Column<Time> begin_, end_;
  Column<std::uint64_t> free_;  // spans x words
};

}  // namespace evenhand
