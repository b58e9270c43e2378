// Victims on the agent that is chosen for each request, as release 26.8 takes them.
#include <algorithm>
#include <tuple>

#include "run.h"

namespace evenhand::backendai {

// Those of the left whose going makes room for the unit on a node, in order; none: all
// of them would not do. One that frees nothing of what is still missing is passed over.
Column<Candidate*> Run::collect(const Unit& unit, Id node, Column<Candidate*> left, Index budget,
                                MinimumQuestion* written) {
  Column<Amount> shortage(width_), held(width_);
  rooms_.lacks(unit.need, node, shortage.data());
  const auto held_here = [&](const Candidate& c) {
    std::ranges::fill(held, 0);
    for (const Id slot : c.slots)
      for (Size r = 0; r < width_; ++r)
        if (is_wide(r) || state_.node_of(slot) == node) held[r] += freed(slot)[r];
  };
  std::erase_if(left, [&](Candidate* c) {
    held_here(*c);
    double covered = 0;
    for (Size r = 0; r < width_; ++r)
      covered += static_cast<double>(std::min(held[r], shortage[r])) * resources().quantum[r];
    c->key = set_.order == VictimOrder::kFewestSessions ? -covered : units_of(held.data());
    return std::ranges::all_of(held, [](Amount a) { return a <= 0; });
  });
  sort(left);
  if (record_) {
    collected_.clear();
    for (const Candidate* c : left) collected_.push_back(c->operation);
  }
  selector_.clear();
  for (const Candidate* c : left) {
    held_here(*c);
    selector_.add(c->operation, held.data(), cost_of(*c));
    if (written == nullptr) continue;
    written->candidates.push_back(c->operation);
    written->costs.push_back(cost_of(*c));
    written->amounts.insert(written->amounts.end(), held.begin(), held.end());
  }
  selector_.skip_useless(true);
  const bool fits = selector_.select(set_.selection, shortage, budget);
  selector_.skip_useless(false);
  Column<Candidate*> chosen;
  if (written != nullptr) {
    written->kind = MinimumQuestion::Kind::kAmounts;
    written->budget = budget;
    written->node = node;
    written->shortage = shortage;
    written->multipliers.assign(selector_.multipliers().begin(), selector_.multipliers().end());
  }
  if (fits)
    for (const Id place : selector_.taken()) chosen.push_back(left[place]);
  return chosen;
}

Outcome Run::preempt_per_agent(Entry& entry, Attempt* attempt) {
  const Column<Candidate*> candidates = candidates_for(entry.operation, attempt);
  if (candidates.empty()) return unless_spared(entry, Outcome::kNoLowerPriority);
  // As group-wide: without those that are too many for the caps of their pools.
  WithinCaps caps(pace_);
  Agents found;
  MinimumQuestion question;  // the first: its bounds count, whatever the caps make of it
  const bool certifies = decisions.certifies() && set_.selection == VictimSelection::kMinimum;
  for (;;) {
    const bool first = caps.left_out().empty();
    Column<Candidate*> left;
    for (Candidate* c : candidates)
      if (const Spared* why = caps.left_out(c->operation); why == nullptr)
        left.push_back(c);
      else if (attempt != nullptr)
        attempt->verdict[c->operation] = why->why;
    found = on_agents(entry, std::move(left), caps.left(set_.minimum_budget), attempt,
                      certifies && first ? &question : nullptr);
    question.within_caps = !first;
    if (found.fits && within_caps(caps, found.victims, found.proof, attempt)) break;
    for (const Placement& p : found.placed) --containers_[p.node];
    if (!found.fits) break;
  }
  if (attempt != nullptr) {
    for (const Candidate* c : found.left)
      attempt->verdict[c->operation] =
          found.fits ? Outcome::kSparedFitsWithout : Outcome::kNoStartInStage;
    for (const Candidate* c : found.victims)
      attempt->verdict[c->operation] = found.fits ? Outcome::kTaken : Outcome::kNoStartInStage;
  }
  if (!found.fits) return unless_spared(entry, Outcome::kNoRoomEvenWithVictims);
  const SelectionProof& proof = caps.proof();
  placed_ = std::move(found.placed);
  if (attempt != nullptr)
    for (const Placement& p : placed_) attempt->nodes.push_back(p.node);
  tally.proof.cost += proof.cost;
  tally.proof.lower_bound += proof.lower_bound;
  tally.proof.branches += proof.branches;
  tally.proof.proved &= proof.proved;
  if (set_.selection == VictimSelection::kMinimum) decisions.prove(steps_, proof);
  if (certifies) {
    for (const Candidate* c : found.victims) question.taken.push_back(c->operation);
    decisions.asked(steps_, std::move(question));
  }
  take_victims(entry, found.victims, found.taken_for);
  return Outcome::kWaitsForVictims;
}

Run::Agents Run::on_agents(Entry& entry, Column<Candidate*> left, Index budget, Attempt* attempt,
                           MinimumQuestion* written) {
  const Column<Candidate*> all = written != nullptr ? left : Column<Candidate*>();
  if (attempt != nullptr) {
    attempt->place.assign(attempt->verdict.size(), 0);
    attempt->among = attempt->place;
  }
  Column<Candidate*> victims;
  Column<Size> taken_for;  // of each victim
  std::vector<Placement> placed;
  SelectionProof proof;  // for each copy on the agent that is chosen for it
  proof.first = true;
  Index collected = 0;
  bool fits = true;
  const auto credit = [&](Amount sign) {
    for (const Candidate* c : left) give(*c, sign);
  };
  for (Size u = 0; fits && u < entry.units.size(); ++u) {
    const Unit& unit = entry.units[u];
    for (Index k = 0; fits && k < unit.count; ++k) {
      Id node = choose_node(unit);
      if (node == kNoId) {
        // All that are left credited in full; of the nodes that then fit, those where the
        // order wants it, and of these the one that is chosen anyway.
        credit(1);
        Column<Id> able;
        for (const Id n : nodes_)
          if (rooms_.fits(unit.need, n) && allowed(unit, n)) able.push_back(n);
        if (able.empty()) nearest(unit, entry);
        credit(-1);
        double least = 0;
        Column<Id> narrowed;
        for (const Id n : able) {
          double key = 0;
          if (set_.order == VictimOrder::kFewestSessions)
            key = static_cast<double>(collect(unit, n, left, budget).size());
          else if (set_.order == VictimOrder::kSmallestResources)
            for (const Candidate* c : collect(unit, n, left, budget)) key += c->key;
          if (narrowed.empty() || key < least) {
            least = key;
            narrowed.clear();
          }
          if (key == least) narrowed.push_back(n);
        }
        credit(1);
        for (const Id n : narrowed)
          if (node == kNoId || better_agent(n, node)) node = n;
        credit(-1);
        if (node == kNoId) {
          fits = false;
          break;
        }
        const bool only = written != nullptr && collected == 0;
        const Column<Candidate*> gone = collect(unit, node, left, budget, only ? written : nullptr);
        for (Size i = 0; attempt != nullptr && i < collected_.size(); ++i) {
          attempt->place[collected_[i]] = static_cast<Index>(i) + 1;
          attempt->among[collected_[i]] = collected_.rows();
        }
        for (Candidate* c : gone) {
          give(*c, 1);
          victims.push_back(c);
          taken_for.push_back(u);
          std::erase(left, c);
        }
        // For another copy less might go, were those that went before others.
        const SelectionProof& part = selector_.proof();
        proof.lower_bound = collected == 0 ? part.lower_bound : proof.lower_bound;
        proof.root_bound = collected == 0 ? part.root_bound : proof.root_bound;
        proof.first = collected == 0 && part.first;
        proof.cost += part.cost;
        proof.branches += part.branches;
        proof.spent |= part.spent;
        ++collected;
      }
      rooms_.take(unit.need, node);
      ++containers_[node];
      placed.push_back({u, node});
    }
  }
  for (const Candidate* c : victims) give(*c, -1);
  for (const Placement& p : placed) rooms_.give(entry.units[p.unit].need, p.node);
  if (written != nullptr && collected > 1) {  // one copy after the other: no one question
    *written = {};
    written->budget = budget;
    for (const Candidate* c : all) {
      written->candidates.push_back(c->operation);
      written->costs.push_back(cost_of(*c));
    }
  }
  proof.proved = proof.lower_bound == proof.cost;
  proof.first &= proof.proved;
  return {fits, std::move(victims), std::move(left), std::move(taken_for), std::move(placed),
          proof};
}

}  // namespace evenhand::backendai
