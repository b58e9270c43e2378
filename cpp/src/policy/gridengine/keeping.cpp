// What preemptees give up where they keep what their preemptor does not take.
#include "run.h"

namespace evenhand::gridengine {

// What must come free where the job is to start, and of what the cluster shares, for it to have
// room as long as it lasts. More than it needs where a host is over what it has; what it does not
// need is not wanted.
Run::Wanted Run::wanted_of(const Entry& entry, std::span<Provider* const> victims) {
  Wanted wanted{Column<Column<Amount>>(at(rooms_.nodes()) + 1), Column<Amount>(width_, 0)};
  const auto want = [&](Id node, const Unit& u) {
    Column<Amount>& sum = wanted.at[node];
    sum.resize(width_, 0);
    for (Size r = 0; r < width_; ++r) sum[r] += u.need[r];
  };
  for (const Unit& u : entry.units)
    for (Size r = 0; r < width_; ++r)
      if (resources().scope[r] == ResourceScope::kCluster) wanted.shared[r] += u.need[r] * u.count;
  for (const Placement& p : placed_) want(p.node, entry.units[p.unit]);
  for (const Provider* p : victims)  // too few leave for it to start: as if it were there
    for (const Id slot : p->slots)
      if (const Id n = state_.node_of(slot); placed_.empty() && n != kNoId && wanted.at[n].empty())
        want(n, entry.units[0]);
  // What stops does not end when it was to end.
  const auto stays = [&](Amount sign) {
    for (const Provider* p : victims)
      for (const Id slot : p->slots)
        if (stops(p->mode))
          calendar_.add(state_.node_of(slot), state_.amounts(slot), ends(slot), kForever, -sign);
  };
  stays(1);
  const Time until = after(state_.now(), entry.duration);
  Column<Amount> free(width_, 0);
  const auto beside = [&](Id node, Column<Amount>& sum, ResourceScope scope) {
    stays_free(node, until, free.data());
    for (Size r = 0; r < width_; ++r)
      if (sum[r] > 0 && resources().scope[r] == scope) sum[r] -= free[r];
  };
  for (const Id n : nodes_)
    if (!wanted.at[n].empty()) beside(n, wanted.at[n], ResourceScope::kNode);
  if (!nodes_.empty()) beside(nodes_[0], wanted.shared, ResourceScope::kCluster);
  stays(-1);
  return wanted;
}

}  // namespace evenhand::gridengine
