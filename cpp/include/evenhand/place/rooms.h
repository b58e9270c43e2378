// Free room of every node, as it changes while a plan tries things out.
#pragma once

#include <vector>

#include "evenhand/model/cluster_state.h"

namespace evenhand {

// Room that no allocation uses, that nothing that is leaving has, and that no hard reservation
// in force keeps. Resources that are counted for the whole cluster have one row of their
// own. May be negative.
class Rooms {
 public:
  // Without reservations: what is free of work, whatever may use it. O(N R).
  explicit Rooms(const ClusterState& state, bool with_reservations = true);
  // Rows as they are now, without reservations: of a node; of what the cluster shares. O(R).
  void read(const ClusterState& state, Id node) noexcept;
  void read_shared(const ClusterState& state) noexcept;

  Id nodes() const noexcept { return nodes_; }
  std::size_t width() const noexcept { return width_; }
  const Amount* of_nodes() const noexcept { return room_.data(); }  // N x R
  Amount at(Id node, std::size_t r) const noexcept {
    return room_[static_cast<std::size_t>(cluster_[r] ? nodes_ : node) * width_ + r];
  }
  bool fits(const Amount* need, Id node) const noexcept {
    for (std::size_t r = 0; r < width_; ++r)
      if (need[r] > 0 && need[r] > at(node, r)) return false;
    return true;
  }
  // Without a node: only what is counted for the cluster.
  void add(const Amount* amounts, Id node, Amount sign) noexcept {
    for (std::size_t r = 0; r < width_; ++r)
      if (node != kNoId || cluster_[r])
        room_[static_cast<std::size_t>(cluster_[r] ? nodes_ : node) * width_ + r] +=
            sign * amounts[r];
  }
  void take(const Amount* amounts, Id node) noexcept { add(amounts, node, -1); }
  void give(const Amount* amounts, Id node) noexcept { add(amounts, node, 1); }
  // Room that is there both now and in another state of the same nodes.
  void keep_least(const Rooms& other) noexcept {
    for (std::size_t i = 0; i < room_.size(); ++i)
      if (other.room_[i] < room_[i]) room_[i] = other.room_[i];
  }
  // What a node lacks for amounts, R; true if anything.
  bool lacks(const Amount* need, Id node, Amount* missing) const noexcept;

 private:
  std::size_t width_;
  Id nodes_;
  Column<std::uint8_t> cluster_;  // R
  Column<Amount> room_;           // (N + 1) x R
};

// Whether a reservation is in force now, hard and of room on a node. One that was for an
// allocation that has ended is none any more.
bool keeps_room(const ClusterState& state, Id reservation) noexcept;
// The operation whose request it is for; kNoId: none.
Id reserved_for(const ClusterState& state, Id reservation) noexcept;

// What hard reservations in force keep is added to a room (sign 1), or taken off again: of
// those that `pick` takes by the operation whose request they are for (kNoId: none).
template <class Pick>
void add_reserved(Rooms& to, const ClusterState& state, Amount sign, Pick pick) {
  const LiveTable<ReservationColumns>& rows = state.reservations();
  for (Id i = 0; i < rows.rows(); ++i)
    if (keeps_room(state, i) && pick(reserved_for(state, i)))
      to.add(rows.get_row(&ReservationColumns::resources, i),
             rows.get(&ReservationColumns::node, i, kNoId), sign);
}

}  // namespace evenhand
