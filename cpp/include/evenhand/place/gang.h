// Free room as a trial sees it, and where a pending job would be placed in it.
//
// Source: Slurm, choice of nodes without topology: runs of consecutive usable nodes of one weight;
// the least weight first; a run that suffices beats one that does not; the smallest of those (the
// first on ties), else the largest first, and so on.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "evenhand/place/rooms.h"

namespace evenhand {

// What is free, with the jobs that are there: a copy is a trial.
struct Occupancy {
  Rooms rooms;
  Column<std::int32_t> occupants;   // N: allocations
  Column<std::int32_t> exclusives;  // N: of jobs that take whole nodes
};

struct Spot {
  Id request;
  Id node;  // kNoId: needs no node
};

// How a place is chosen among the nodes that will do.
struct NodeChoice {
  // With how many cpus a node counts: those that the job takes there, or all that are free, in
  // whole steps.
  bool counts_taken = false;
  Amount step = 1;
  bool first_for_one = false;          // a job of one node gets the first that will do
  View<const std::int64_t> weights{};  // N, nodes of little weight first; none: all are alike
};

// The requests of one pending job: each of a request's count takes another node.
class JobRequest {
 public:
  struct Part {
    Id request;
    Index count;
    bool takes_node;
    const Amount* amounts;              // R
    Column<std::uint8_t> own;           // N: its own, or empty where it is
    View<const std::uint8_t> shared{};  // that of others, which outlives this

    // N: whether it may be placed on a node, 0 or 1.
    View<const std::uint8_t> allowed() const noexcept { return own.empty() ? shared : own; }
  };

  JobRequest() = default;
  JobRequest(const ResourceSpace& resources, std::span<const Id> order, std::size_t rows,
             bool whole_nodes, std::vector<Part> parts, const NodeChoice& choice = {}) {
    reset(resources, order, rows, whole_nodes, std::move(parts), choice);
  }
  // order: of the nodes, of which there are so many rows, canonical; it outlives this.
  void reset(const ResourceSpace& resources, std::span<const Id> order, std::size_t rows,
             bool whole_nodes, std::vector<Part> parts, const NodeChoice& choice = {});
  // To be filled anew, where this is used again.
  std::vector<Part> take_parts() noexcept { return std::move(parts_); }

  std::span<const Part> parts() const noexcept { return parts_; }
  bool whole_nodes() const noexcept { return whole_nodes_; }
  // Trials look at the nodes only that have a 1 here (N), all without; it must outlive them.
  void look_at(const std::uint8_t* open) noexcept { open_ = open; }
  bool touches(Id node) const noexcept {
    return looks_at(node) && std::ranges::any_of(parts_, [node](const Part& part) {
             return part.takes_node && part.allowed()[node] != 0;
           });
  }
  bool allows(const Part& part, Id node) const noexcept {
    return part.allowed()[node] != 0 && looks_at(node);
  }
  const Column<Amount>& licences() const noexcept { return licences_; }  // R
  bool licences_fit(const Occupancy& room) const noexcept;
  // Of what the node has itself: the rest is asked of all parts at once.
  bool fits(const Part& part, const Occupancy& room, Id node) const noexcept;

  // A trial: starts from a room, is notified of nodes where something changed, and knows
  // cheaply when placing is worth while.
  void begin(const Occupancy& room);
  void changed(const Occupancy& room, Id node);
  bool may_fit(const Occupancy& room) const noexcept;

  // All or nothing, parts one after the other; nodes of a part ascending. O(N R).
  bool place(const Occupancy& room, std::vector<Spot>& spots) const;

 private:
  bool looks_at(Id node) const noexcept { return open_ == nullptr || open_[node] != 0; }
  // Nodes that follow one another in canonical order, of one weight.
  struct Stretch {
    Index begin, size;
    Amount cpus;
    std::int64_t weight;
  };
  // Which nodes from `begin` to before `end` have room for one copy, a byte each, and how many. O(N
  // R).
  Index find_usable(const Part& part, const Occupancy& room, Id begin, Id end,
                    std::uint8_t* usable) const noexcept;
  bool pick(const Part& part, const Column<std::uint8_t>& usable, const Occupancy& room,
            Column<Id>& nodes) const;
  void pick_first(const Column<std::uint8_t>& usable, Column<Id>& nodes) const;
  Amount counted(const Part& part, const Occupancy& room, Id node) const noexcept;
  std::int64_t weight(Id node) const noexcept {
    return choice_.weights.empty() ? 0 : choice_.weights[node];
  }

  View<const Id> order_;
  std::size_t nodes_ = 0;
  bool whole_nodes_ = false;
  const std::uint8_t* open_ = nullptr;  // N
  Id cpu_ = kNoId;                      // the resource whose least waste is wanted
  NodeChoice choice_;
  bool one_node_ = false;
  std::vector<Part> parts_;
  Column<Amount> licences_;
  Column<std::uint8_t> of_node_;         // R
  Column<Column<std::uint8_t>> usable_;  // parts x N
  Column<Index> usable_count_;
  // Of one placing.
  mutable Column<std::uint8_t> now_usable_;
  mutable std::vector<Stretch> stretches_;
  mutable Column<Id> chosen_;
};

}  // namespace evenhand
