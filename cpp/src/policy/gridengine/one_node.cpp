// Who leaves so that a job that needs one place gets it, as few as can be.
#include <algorithm>
#include <functional>
#include <utility>

#include "run.h"

namespace evenhand::gridengine {

Hosts Run::by_host(std::span<const Id> order, bool largest) const {
  Hosts out;
  const Size nodes = at(rooms_.nodes());
  out.first.assign(nodes + 1, 0);
  out.most.assign(nodes * width_, 0);
  // Each of its nodes once.
  Column<Id> seen(nodes, kNoId);
  const auto visit = [&](auto&& act) {
    std::ranges::fill(seen, kNoId);
    for (const Id i : order)
      for (const Id slot : providers_[at(i)].slots)
        if (const Id n = state_.node_of(slot); n != kNoId && std::exchange(seen[n], i) != i)
          act(n, i);
  };
  visit([&](Id n, Id) { ++out.first[at(n) + 1]; });
  for (Size n = 0; n < nodes; ++n) out.first[n + 1] += out.first[n];
  out.provider.resize(at(out.first.back()));
  out.priority.resize(at(out.first.back()));
  Column<Id> next(out.first.begin(), out.first.end() - 1);
  Column<Amount> has(out.provider.size() * width_), of_one;
  visit([&](Id n, Id i) {
    const Provider& p = providers_[at(i)];
    out.spread |= std::ranges::any_of(p.slots, [&](Id slot) { return state_.node_of(slot) != n; });
    out.priority[next[n]] = p.priority;
    Amount* const sum = has.row(next[n], width_);
    out.provider[next[n]++] = i;
    for (const Id slot : p.slots)
      for (Size r = 0; r < width_ && state_.node_of(slot) == n; ++r)
        sum[r] += state_.amounts(slot)[r];
    for (Size r = 0; r < width_; ++r)
      out.most.row(n, width_)[r] = std::max(out.most.row(n, width_)[r], sum[r]);
  });
  if (largest) out.largest.resize(out.provider.size() * width_);
  for (Size n = 0; largest && n < nodes; ++n)
    for (Size r = 0; r < width_; ++r) {
      of_one.clear();
      for (Id i = out.first[n]; i < out.first[n + 1]; ++i) of_one.push_back(has.row(i, width_)[r]);
      std::ranges::sort(of_one, std::greater<>());
      Amount all = 0;
      for (Size k = 0; k < of_one.size(); ++k)
        out.largest.row(out.first[n] + static_cast<Id>(k), width_)[r] = all += of_one[k];
    }
  for (Size n = 0; n < nodes; ++n)
    std::sort(out.priority.begin() + out.first[n], out.priority.begin() + out.first[n + 1]);
  return out;
}

void Run::freed_on(const Provider& p, Id node, Amount* sum) const {
  std::fill_n(sum, width_, 0);
  const std::uint8_t* free = frees_.row(p.mode, width_);
  for (const Id slot : p.slots) {
    if (state_.node_of(slot) != node) continue;
    const Amount* held = state_.amounts(slot);
    for (Size r = 0; r < width_; ++r) sum[r] += free[r] != 0 ? held[r] : 0;
  }
}

bool Run::fits_on(const Entry& entry, Id node) const {
  const Time now = state_.now(), until = after(now, entry.duration);
  const Unit& unit = entry.units[0];
  return calendar_.fits(calendar_.shared(), unit.need, now, until) &&
         fits_at(unit, node, now, until, true);
}

bool Run::fits_without(const Entry& entry, std::span<Provider* const> victims, Id node, bool keep) {
  for (const Provider* p : victims) give(*p, 1, keep);
  const bool fits = fits_on(entry, node);
  for (const Provider* p : victims) give(*p, -1, keep);
  return fits;
}

// Where room is planned for others, or what is stopped keeps some of it: by trying. lacks: R;
// freed: what each there gives back, x R.
Column<Provider*> Run::fewest_on(const Entry& entry, const Column<Provider*>& on, Id node,
                                 View<const Amount> lacks, View<const Amount> freed,
                                 Index& budget) {
  struct Trial : VictimTrial {
    Trial(Run& r, const Entry& e, const Column<Provider*>& c, Id n)
        : run(r), entry(e), all(c), node(n) {}
    void take(Id i) override { run.give(*all[i], 1); }
    void give_back(Id i) override { run.give(*all[i], -1); }
    bool suffices() override { return run.fits_on(entry, node); }
    Run& run;
    const Entry& entry;
    const Column<Provider*>& all;
    Id node;
  } trial(*this, entry, on, node);
  if (!fits_without(entry, on, node, false)) return {};
  const VictimSet set = choose_victims(trial, {.n = on.rows(),
                                               .selection = VictimSelection::kMinimum,
                                               .budget = budget,
                                               .in_the_way = true,
                                               .amounts = freed,
                                               .shortage = lacks});
  budget -= set.proof.branches;
  Column<Provider*> found;
  for (const Id i : set.taken) {
    found.push_back(on[i]);
    give(*on[i], -1);
  }
  return found;
}

// Of a job that needs one place, and nothing of what the cluster shares that is missing: as few as
// can be on one node; of as many those whose highest priority is lowest, on the first node.
//
// Nodes that cannot be better than the best so far are passed over unseen: by the lowest
// priorities there are on them, and by the most that so many jobs there could free.
Column<Provider*> Run::on_one_node(const Question& question, const Hosts& hosts) {
  const Entry& entry = *question.entry;
  const Unit& unit = entry.units[0];
  Column<Provider*> best, on, set;
  double best_highest = 0;
  Column<Amount> lacks(width_), sum(width_), freed;
  const auto highest = [](const Column<Provider*>& of) {
    double found = of.front()->priority;
    for (const Provider* p : of) found = std::max(found, p->priority);
    return found;
  };
  const auto better = [&](const Column<Provider*>& than) {
    return best.empty() ||
           std::pair(than.size(), highest(than)) < std::pair(best.size(), best_highest);
  };
  // No set of so many on a node is better.
  const auto beaten = [&](Size least, Id first) {
    return !best.empty() &&
           (least > best.size() ||
            (least == best.size() && hosts.priority[at(first) + least - 1] >= best_highest));
  };
  VictimSelector selector(width_);
  Index budget = set_.minimum_budget;  // of all nodes
  for (const Id n : nodes_) {
    const Id first = hosts.first[n], end = hosts.first[at(n) + 1];
    if (first == end || hosts.priority[first] >= entry.priority || beaten(1, first) ||
        !may_start(entry, unit, n))
      continue;
    rooms_.lacks(unit.need, n, lacks.data());
    Size least = 1;
    for (Size r = 0; r < width_; ++r)
      while (least <= at(end - first) &&
             hosts.largest.row(first + static_cast<Id>(least) - 1, width_)[r] < lacks[r])
        ++least;
    if (least > at(end - first) || beaten(least, first)) continue;
    on.clear();
    for (Id i = first; i < end; ++i)
      if (Provider& p = providers_[at(hosts.provider[i])]; verdict(p, question) == Outcome::kTaken)
        on.push_back(&p);
    set.clear();
    const auto covers = [&](const Provider* p) {
      freed_on(*p, n, sum.data());
      for (Size r = 0; r < width_; ++r)
        if (sum[r] < lacks[r]) return false;
      return true;
    };
    if (const auto one = std::ranges::find_if(on, covers); one != on.end()) {
      set.push_back(*one);
    } else {
      least = std::max<Size>(least, 2);
      if (on.size() < least || beaten(least, first)) continue;
      selector.clear();
      freed.clear();
      for (const Provider* p : on) {
        freed_on(*p, n, sum.data());
        freed.insert(freed.end(), sum.begin(), sum.end());
        selector.add(0, sum.data());
      }
      const auto cover = [&](Size i, Size j) {
        for (Size r = 0; r < width_; ++r)
          if (freed[i * width_ + r] + freed[j * width_ + r] < lacks[r]) return false;
        return true;
      };
      for (Size i = 0; least == 2 && set.empty() && i < on.size(); ++i)
        for (Size j = i + 1; set.empty() && j < on.size(); ++j)
          if (cover(i, j)) set = {on[i], on[j]};
      if (set.empty()) {
        if (beaten(std::max<Size>(least, 3), first) ||
            !selector.select(VictimSelection::kMinimum, lacks, set_.minimum_budget))
          continue;
        for (const Id i : selector.taken()) set.push_back(on[i]);
      }
    }
    if (!better(set)) continue;
    if (!fits_without(entry, set, n)) {
      freed.clear();
      for (const Provider* p : on) {
        freed_on(*p, n, sum.data());
        freed.insert(freed.end(), sum.begin(), sum.end());
      }
      set = fewest_on(entry, on, n, lacks, freed, budget);
    }
    if (set.empty() || !better(set)) continue;
    best = set;
    best_highest = highest(best);
  }
  return best;
}

}  // namespace evenhand::gridengine
