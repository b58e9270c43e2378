// Free room as a trial sees it, and where a pending job would be placed in it.
//
// Source: Slurm, choice of nodes without topology and with equal weights: runs of
// consecutive usable nodes; a run that suffices beats one that does not; the smallest of
// those (the first on ties), else the largest first, and so on.
#pragma once

#include <span>
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

// The requests of one pending job: each of a request's count takes another node.
class JobRequest {
 public:
  struct Part {
    Id request;
    Index count;
    bool takes_node;
    const Amount* amounts;         // R
    Column<std::uint8_t> allowed;  // N
  };

  // order: of the nodes, of which there are so many rows, canonical; it outlives this.
  JobRequest(const ResourceSpace& resources, std::span<const Id> order, std::size_t rows,
             bool whole_nodes, std::vector<Part> parts);

  std::span<const Part> parts() const noexcept { return parts_; }
  bool whole_nodes() const noexcept { return whole_nodes_; }
  // Trials look at the nodes only that have a byte here, all without; it must outlive them.
  void look_at(const std::uint8_t* open) noexcept { open_ = open; }
  bool touches(Id node) const noexcept { return touched_[node] != 0 && looks_at(node); }
  bool allows(const Part& part, Id node) const noexcept {
    return part.allowed[node] != 0 && looks_at(node);
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
  bool pick(const Column<std::uint8_t>& usable, const Occupancy& room, Index count,
            Column<Id>& nodes) const;

  View<const Id> order_;
  std::size_t nodes_;
  bool whole_nodes_;
  const std::uint8_t* open_ = nullptr;  // N
  Id cpu_ = kNoId;                      // the resource whose least waste is wanted
  Column<Part> parts_;
  Column<std::uint8_t> touched_;
  Column<Amount> licences_;
  Column<std::uint8_t> of_node_;         // R
  Column<Column<std::uint8_t>> usable_;  // parts x N
  Column<Index> usable_count_;
};

}  // namespace evenhand
