// The most room that any node of a block has: blocks without enough are passed over.
#pragma once

#include <algorithm>

#include "evenhand/place/rooms.h"

namespace evenhand {

// Nodes in an order of the caller's, so many to a block. A block is read again when it is asked for
// after one of its nodes has changed. O(blocks x R + nodes of a block x R) a search that finds room
// in the first block that may have it.
class RoomBlocks {
 public:
  static constexpr std::size_t kNodes = 32;

  RoomBlocks(std::size_t nodes, std::span<const ResourceScope> scope)
      : width_(scope.size()),
        most_((nodes + kNodes - 1) / kNodes * width_, 0),
        stale_((nodes + kNodes - 1) / kNodes, 1) {
    for (const ResourceScope s : scope) wide_.push_back(s == ResourceScope::kCluster);
  }

  std::size_t blocks() const noexcept { return stale_.size(); }
  static std::size_t block_of(std::size_t place) noexcept { return place / kNodes; }
  void changed(std::size_t place) noexcept { stale_[block_of(place)] = 1; }
  void all_changed() noexcept { std::ranges::fill(stale_, std::uint8_t{1}); }

  // R: of each resource the most of any node of a block.
  const Amount* most(std::size_t block, const Rooms& rooms, std::span<const Id> nodes) noexcept {
    Amount* most = most_.row(block, width_);
    if (stale_[block] == 0) return most;
    stale_[block] = 0;
    const std::size_t end = std::min(nodes.size(), (block + 1) * kNodes);
    for (std::size_t i = block * kNodes; i < end; ++i)
      for (std::size_t r = 0; r < width_; ++r)
        if (const Amount has = rooms.at(nodes[i], r); i == block * kNodes || has > most[r])
          most[r] = has;
    return most;
  }

  // Whether a node of the block may have so much; of what is counted for the cluster, whether it
  // is there.
  bool may_fit(const Amount* need, std::size_t block, const Rooms& rooms,
               std::span<const Id> nodes) noexcept {
    const Amount* has = most(block, rooms, nodes);
    for (std::size_t r = 0; r < width_; ++r)
      if (!wide_[r] && need[r] > 0 && need[r] > has[r]) return false;
    return true;
  }

 private:
  std::size_t width_;
  Column<Amount> most_;         // blocks x R
  Column<std::uint8_t> stale_;  // blocks
  std::vector<bool> wide_;      // R
};

}  // namespace evenhand
