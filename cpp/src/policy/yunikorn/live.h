// What of each node's allocations may leave for askers below a queue, and how few of them might do.
//
// Most nodes are never searched: columns of nodes give, for an ask, the fewest victims that each
// needs at least, and the place of the last of as many. They are as of an instant; a node in which
// something has left since is listed again when it is searched. What a search of a node gave is
// known until something there changes: its room, its allocations, or what their queues may give.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "partition.h"

namespace evenhand::yunikorn {

using Tick = std::int64_t;

// What victims cost together: sums of the columns of the cost, of which the first counts first.
struct Cost {
  static constexpr std::size_t kColumns = 6;
  std::array<double, kColumns> sum{};

  // Whole numbers are what they are; sums of others that differ by their rounding alone are equal.
  int compare(const Cost& other) const noexcept {
    for (std::size_t i = 0; i < kColumns; ++i) {
      const double one = sum[i], two = other.sum[i];
      const bool whole = std::trunc(one) == one && std::trunc(two) == two;
      const double off = whole ? 0 : 1e-9 * std::max({1.0, std::abs(one), std::abs(two)});
      if (std::abs(one - two) > off) return one < two ? -1 : 1;
    }
    return 0;
  }
};

struct Costs {
  std::vector<Cost> rows;
  Id add() {
    rows.emplace_back();
    return static_cast<Id>(rows.size() - 1);
  }
};

struct Known {  // of a node, for asks of the same kind
  Tick at = -1;
  Index victims = 0;  // 0: it cannot be; below it: more than so many
  Id cost = kNoId;    // of the victims, among `KnownNodes::costs`
};

// What is known of some nodes. A kind of asks: the same amounts; the leaf queue, if something there
// might leave; the first queue above whose share holds anything back; the fence.
class KnownNodes {
 public:
  Costs costs;

  Id of(const std::array<Id, 4>& kind) {
    return kinds_.try_emplace(kind, static_cast<Id>(kinds_.size())).first->second;
  }
  // Until the next call.
  Known& at(Id kind, Id node) {
    if (2 * count_ >= cells_.size()) grow();
    Cell& cell = find(std::uint64_t{static_cast<std::uint32_t>(kind)} << 32U |
                      static_cast<std::uint32_t>(node));
    return cell.known;
  }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
  struct Cell {
    std::uint64_t key = kEmpty;
    Known known;
  };

  Cell& find(std::uint64_t key) {
    std::size_t i = key * 0x9E3779B97F4A7C15U >> shift_;
    while (cells_[i].key != key && cells_[i].key != kEmpty) i = (i + 1) & (cells_.size() - 1);
    if (cells_[i].key == kEmpty) {
      cells_[i].key = key;
      ++count_;
    }
    return cells_[i];
  }
  void grow() {
    std::vector<Cell> before(std::max<std::size_t>(4 * cells_.size(), 1024));
    before.swap(cells_);
    shift_ = 64 - static_cast<unsigned>(std::bit_width(cells_.size() - 1));
    count_ = 0;
    for (const Cell& cell : before)
      if (cell.key != kEmpty) find(cell.key).known = cell.known;
  }

  std::map<std::array<Id, 4>, Id> kinds_;
  std::vector<Cell> cells_;
  std::size_t count_ = 0;
  unsigned shift_ = 64;
};

// Nodes by a place, from the least on; sorted as far as they are looked at.
class NodesByPlace {
 public:
  struct Node {
    Id place, node;
  };
  bool empty() const noexcept { return rows_.empty(); }
  std::size_t size() const noexcept { return rows_.size(); }
  void clear() { rows_.clear(); }
  void fill(std::span<const Id> nodes, const Id* places, Id none) {
    rows_.resize(nodes.size());
    std::size_t count = 0;
    for (const Id node : nodes) {
      const Id place = places[node];
      rows_[count] = std::uint64_t{static_cast<std::uint32_t>(place)} << 32U |
                     static_cast<std::uint32_t>(node);
      count += place != none ? 1U : 0U;
    }
    rows_.resize(count);
    sorted_ = 0;
  }
  Node operator[](std::size_t i) {
    if (i >= sorted_) sort_more();
    return {static_cast<Id>(rows_[i] >> 32U), static_cast<Id>(rows_[i] & 0xFFFFFFFFU)};
  }

 private:
  void sort_more() {
    const auto from = rows_.begin() + static_cast<std::ptrdiff_t>(sorted_);
    sorted_ = std::min(rows_.size(), std::max<std::size_t>(4 * sorted_, 128));
    const auto to = rows_.begin() + static_cast<std::ptrdiff_t>(sorted_);
    if (to != rows_.end()) std::nth_element(from, to, rows_.end());
    std::sort(from, to);
  }

  std::vector<std::uint64_t> rows_;
  std::size_t sorted_ = 0;
};

struct Live {
  static constexpr std::size_t kPlaces = 12;
  static constexpr Id kNone = std::numeric_limits<Id>::max();

  Id above = 0;                 // what this queue and those above it keep is not looked at
  double below_priority = 0;    // within a queue: of what may leave
  bool within = false;          // the queue itself gives
  Column<std::uint8_t> asking;  // Q: `above` and what is above it
  Column<float> most;           // Q x R: of leaf queues: what of theirs may leave has no more

  bool any = false;        // some node had live ones when it was listed
  Column<Index> count;     // N: how many of a node are live
  Column<Id> of;           // places in `on_node`, from where those of the node begin there
  Column<float> one, all;  // R x N: a part of the largest, and of all, no more than it is
  Column<Id> nth;          // kPlaces x N: of the n-th cheapest; kNone: there are fewer
  std::array<NodesByPlace, kPlaces> order;  // nodes by that, as it was when they were put here
  Column<Tick> listed;                      // N
  KnownNodes known;
};

}  // namespace evenhand::yunikorn
