#include "evenhand/place/rooms.h"

#include <algorithm>

namespace evenhand {

using Size = std::size_t;

bool in_force(const ReservationColumns& v, Id row, Time now) noexcept {
  const Time from = at_or(v.from, row, kNoTime), until = at_or(v.until, row, kNoTime);
  return (from == kNoTime || from <= now) && (until == kNoTime || now < until);
}

bool keeps_room(const ReservationColumns& v, Id row, Time now) noexcept {
  return v.node[static_cast<Size>(row)] != kNoId && !at_or(v.soft, row, std::uint8_t{0}) &&
         in_force(v, row, now);
}

Rooms::Rooms(const ClusterState& s, bool with_reservations)
    : width_(s.width()), nodes_(static_cast<Id>(s.tables().nodes.size())) {
  const Tables& t = s.tables();
  cluster_.resize(width_);
  for (Size r = 0; r < width_; ++r)
    cluster_[r] = t.resources.scope[r] == ResourceScope::kCluster ? 1 : 0;
  room_.assign((static_cast<Size>(nodes_) + 1) * width_, 0);
  for (Id n = 0; n < nodes_; ++n)
    for (Size r = 0; r < width_; ++r)
      room_[static_cast<Size>(n) * width_ + r] =
          s.node_capacity(n)[r] - s.node_used(n)[r] - s.node_left(n)[r];
  for (Size r = 0; r < width_; ++r)
    room_[static_cast<Size>(nodes_) * width_ + r] =
        t.resources.capacity[r] - s.pool_usage(0)[r] - s.all_left()[r];
  if (with_reservations) add_reserved(*this, s, -1, [](Id) { return true; });
}

bool Rooms::lacks(const Amount* need, Id node, Amount* missing) const noexcept {
  bool any = false;
  for (Size r = 0; r < width_; ++r) {
    missing[r] = need[r] > 0 ? std::max<Amount>(need[r] - at(node, r), 0) : 0;
    any |= missing[r] > 0;
  }
  return any;
}

}  // namespace evenhand
