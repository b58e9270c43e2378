#include "evenhand/place/rooms.h"

#include <algorithm>

namespace evenhand {

using Size = std::size_t;

bool keeps_room(const ClusterState& state, Id i) noexcept {
  using V = ReservationColumns;
  const LiveTable<V>& rows = state.reservations();
  if (!rows.present(i) || rows.get(&V::node, i, kNoId) == kNoId || rows.get(&V::soft, i) != 0)
    return false;
  const Time from = rows.get(&V::from, i, kNoTime), until = rows.get(&V::until, i, kNoTime);
  if ((from != kNoTime && from > state.now()) || (until != kNoTime && until <= state.now()))
    return false;
  const Id slot = rows.get(&V::allocation, i, kNoId);
  return slot == kNoId || !state.gone(slot) || state.away(slot);
}

Id reserved_for(const ClusterState& state, Id i) noexcept {
  const Id request = state.reservations().get(&ReservationColumns::request, i, kNoId);
  return request == kNoId ? kNoId : state.operation_of_request(request);
}

Rooms::Rooms(const ClusterState& s, bool with_reservations)
    : width_(s.width()), nodes_(s.nodes().rows()) {
  const Tables& t = s.tables();
  cluster_.resize(width_);
  for (Size r = 0; r < width_; ++r)
    cluster_[r] = t.resources.scope[r] == ResourceScope::kCluster ? 1 : 0;
  room_.assign((static_cast<Size>(nodes_) + 1) * width_, 0);
  for (Id n = 0; n < nodes_; ++n) read(s, n);
  read_shared(s);
  if (with_reservations) add_reserved(*this, s, -1, [](Id) { return true; });
}

void Rooms::read(const ClusterState& s, Id node) noexcept {
  const Amount *has = s.node_capacity(node), *used = s.node_used(node), *left = s.node_left(node);
  Amount* room = room_.row(node, width_);
  for (Size r = 0; r < width_; ++r) room[r] = has[r] - used[r] - left[r];
}

void Rooms::read_shared(const ClusterState& s) noexcept {
  Amount* room = room_.row(nodes_, width_);
  for (Size r = 0; r < width_; ++r)
    room[r] = s.tables().resources.capacity[r] - s.pool_usage(0)[r] - s.all_left()[r];
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
