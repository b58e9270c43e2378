// Who leaves so that a job gets its one place, and what the cluster shares beside it.
#include <algorithm>
#include <map>
#include <tuple>

#include "run.h"

namespace evenhand::gridengine {

// As few as can be, of those sets the first in the order of the candidates; nothing: what covers
// the need does not suffice, as room is planned for others.
//
// On each node those there and those elsewhere that free what is shared are one cover problem: of
// jobs elsewhere that free the same, the first ones, as many as a set without spare ones can have.
// A node is passed over if no set on it can be smaller than the best so far, or as small and
// before it. O(candidates + nodes) and an exact cover of the few that are left on a node.
//
// If what covers the need there does not suffice, nodes on which the job would not fit with all of
// them gone are left out.
std::optional<Column<Provider*>> Run::with_shared(const Entry& entry,
                                                  const Column<Provider*>& candidates) {
  if (auto found = with_shared(entry, candidates, {})) return found;
  return with_shared(entry, candidates, copies_without(entry.units[0], entry.duration, candidates));
}

// copies: by node; empty: on any.
std::optional<Column<Provider*>> Run::with_shared(const Entry& entry,
                                                  const Column<Provider*>& candidates,
                                                  View<const Index> copies) {
  const Unit& unit = entry.units[0];
  const auto wide = [&](Size r) { return resources().scope[r] == ResourceScope::kCluster; };
  const Size nodes = at(rooms_.nodes());
  const Time until = after(state_.now(), entry.duration);
  Column<Amount> shared(width_, 0), amounts(width_), lacks(width_);
  stays_free(nodes_[0], until, lacks.data());
  for (Size r = 0; r < width_; ++r)
    if (wide(r) && unit.need[r] > 0) shared[r] = std::max<Amount>(unit.need[r] - lacks[r], 0);

  // What each frees of it, no more than is missing; those that free the same together.
  Column<Amount> frees_wide(candidates.size() * width_, 0), most(width_, 0);
  std::map<Column<Amount>, Column<Id>> alike;
  Column<Id> sharers, order;
  for (Id i = 0; i < candidates.rows(); ++i) {
    order.push_back(static_cast<Id>(candidates[i] - providers_.data()));
    Amount* sum = frees_wide.row(i, width_);
    for (const Id slot : candidates[i]->slots) {
      effect(*candidates[i], slot);
      for (Size r = 0; r < width_; ++r)
        if (wide(r)) sum[r] += freed_[r];
    }
    bool any = false;
    for (Size r = 0; r < width_; ++r) {
      sum[r] = std::min(sum[r], shared[r]);
      most[r] = std::max(most[r], sum[r]);
      any |= sum[r] > 0;
    }
    if (!any) continue;
    sharers.push_back(i);
    alike[Column<Amount>(sum, sum + width_)].push_back(i);
  }
  const auto at_least = [&](const Amount* missing, const Amount* each) -> std::optional<Size> {
    Amount count = 0;
    for (Size r = 0; r < width_; ++r) {
      if (missing[r] <= 0) continue;
      if (each[r] <= 0) return std::nullopt;
      count = std::max(count, (missing[r] + each[r] - 1) / each[r]);
    }
    return static_cast<Size>(count);
  };
  const std::optional<Size> least_sharers = at_least(shared.data(), most.data());
  if (!least_sharers || *least_sharers > sharers.size()) return Column<Provider*>();

  const Hosts hosts = by_host(order, false);
  Column<Id> place(providers_.size(), kNoId);  // among the candidates
  for (Id i = 0; i < order.rows(); ++i) place[order[i]] = i;
  Column<Id> best, set, here;
  Column<Size> seen(candidates.size(), nodes);  // on which node last
  VictimSelector selector(width_);
  for (const Id n : nodes_) {
    const Id first = hosts.first[n], end = hosts.first[at(n) + 1];
    if (!may_start(entry, unit, n) || (!copies.empty() && copies[n] == 0)) continue;
    stays_free_there(n, until, lacks.data());
    for (Size r = 0; r < width_; ++r)
      lacks[r] = wide(r) || unit.need[r] <= 0 ? 0 : std::max<Amount>(unit.need[r] - lacks[r], 0);
    const std::optional<Size> least_here = at_least(lacks.data(), hosts.most.row(n, width_));
    if (!least_here || *least_here > at(end - first)) continue;
    here.clear();
    bool both = false;  // one job here may help with both
    for (Id k = first; k < end; ++k) {
      here.push_back(place[hosts.provider[k]]);
      seen[here.back()] = at(n);
      const Amount* own = frees_wide.row(here.back(), width_);
      both |= std::any_of(own, own + width_, [](Amount a) { return a > 0; });
    }
    const Size least = both ? std::max(*least_here, *least_sharers) : *least_here + *least_sharers;
    if (!best.empty() && least > best.size()) continue;
    if (!best.empty() && least == best.size() && !both) {
      set.assign(here.begin(), here.begin() + static_cast<std::ptrdiff_t>(*least_here));
      set.insert(set.end(), sharers.begin(),
                 sharers.begin() + static_cast<std::ptrdiff_t>(*least_sharers));
      std::ranges::sort(set);
      if (!std::ranges::lexicographical_compare(set, best)) continue;
    }
    set = here;
    for (const auto& [each, of] : alike) {
      Amount most_of_them = 0;
      for (Size r = 0; r < width_; ++r)
        if (each[r] > 0) most_of_them = std::max(most_of_them, (shared[r] + each[r] - 1) / each[r]);
      for (Size k = 0; k < of.size() && most_of_them > 0; ++k)
        if (seen[of[k]] != at(n)) {
          set.push_back(of[k]);
          --most_of_them;
        }
    }
    std::ranges::sort(set);
    selector.clear();
    for (const Id i : set) {
      std::ranges::fill(amounts, 0);
      if (seen[i] == at(n)) freed_on(*candidates[i], n, amounts.data());
      for (Size r = 0; r < width_; ++r)
        if (wide(r)) amounts[r] = frees_wide.row(i, width_)[r];
      selector.add(0, amounts.data());
    }
    for (Size r = 0; r < width_; ++r)
      if (wide(r)) lacks[r] = shared[r];
    if (!selector.select(VictimSelection::kMinimum, lacks, set_.minimum_budget)) continue;
    here.clear();
    for (const Id k : selector.taken()) here.push_back(set[k]);
    if (best.empty() || here.size() < best.size() ||
        (here.size() == best.size() && std::ranges::lexicographical_compare(here, best)))
      best = here;
  }
  Column<Provider*> victims;
  for (const Id i : best) victims.push_back(candidates[i]);
  for (const Provider* p : victims) give(*p, 1);
  const bool suffices = best.empty() || Run::place(entry, state_.now(), true);
  for (const Provider* p : victims) give(*p, -1);
  if (!suffices) return std::nullopt;
  return victims;
}

}  // namespace evenhand::gridengine
