// Victims in one order over all nodes of the group, until the session fits as a whole.
#include <algorithm>

#include "run.h"

namespace evenhand::backendai {

// Does it free something that is asked for, where it can still be placed? What is counted
// for the cluster helps from anywhere.
bool Run::useful_on(const Candidate& c, const Entry& entry,
                    const Column<std::uint8_t>& usable) const {
  return std::ranges::any_of(c.slots, [&](Id slot) {
    const Id node = state_.node_of(slot);
    const bool here = node != kNoId && usable[node];
    return std::ranges::any_of(entry.units, [&](const Unit& u) {
      for (Size r = 0; r < width_; ++r)
        if (u.need[r] > 0 && freed(slot)[r] > 0 && (here || is_wide(r))) return true;
      return false;
    });
  });
}

// Of what its nodes lack for the largest request, the part that it frees.
double Run::shortfall_covered(const Candidate& c, const Entry& entry) const {
  double sum = 0;
  for (const Id slot : c.slots) {
    const Id node = state_.node_of(slot);
    for (Size r = 0; r < width_; ++r) {
      if (node == kNoId && !is_wide(r)) continue;
      Amount lacking = 0;
      for (const Unit& u : entry.units) lacking = std::max(lacking, u.need[r] - rooms_.at(node, r));
      const Amount part = std::min(freed(slot)[r], lacking);
      sum += static_cast<double>(part) * resources().quantum[r];
    }
  }
  return sum;
}

VictimSet Run::choose(const Entry& entry, const Column<Candidate*>& candidates,
                      const Column<std::uint8_t>& usable, Index budget, MinimumQuestion* written) {
  struct Trial : VictimTrial {
    Trial(Run& r, const Entry& e, const Column<Candidate*>& c) : run(r), entry(e), all(c) {}
    void take(Id i) override { run.give(*all[i], 1); }
    void give_back(Id i) override { run.give(*all[i], -1); }
    bool suffices() override {
      if (!run.place(entry)) return false;
      run.unplace(entry);
      return true;
    }
    Run& run;
    const Entry& entry;
    const Column<Candidate*>& all;
  } trial(*this, entry, candidates);

  VictimQuestion question{
      .n = static_cast<Id>(candidates.size()), .selection = set_.selection, .budget = budget};
  if (set_.selection != VictimSelection::kMinimum) return choose_victims(trial, question);
  Column<Index> costs;
  for (const Candidate* c : candidates) costs.push_back(cost_of(*c));
  question.costs = costs;
  question.written = written;
  std::vector<SpreadNeed> needs;
  for (const Unit& unit : entry.units) needs.push_back(spread(unit, candidates));
  if (needs.size() == 1) {
    question.spread = needs.data();
    return choose_victims(trial, question);
  }
  question.necessary = needs;
  // All needs together must find room on the usable nodes together.
  Column<Amount> shortage(width_, 0), amounts(candidates.size() * width_, 0);
  for (const Unit& u : entry.units)
    for (Size r = 0; r < width_; ++r) shortage[r] += u.need[r] * u.count;
  for (const Id n : nodes_)
    for (Size r = 0; usable[n] && r < width_; ++r)
      if (resources().scope[r] == ResourceScope::kNode)
        shortage[r] -= std::max<Amount>(rooms_.at(n, r), 0);
  for (Size r = 0; r < width_; ++r)
    if (resources().scope[r] == ResourceScope::kCluster && !nodes_.empty())
      shortage[r] -= rooms_.at(0, r);
  for (Size i = 0; i < candidates.size(); ++i)
    for (const Id slot : candidates[i]->slots)
      for (Size r = 0; r < width_; ++r) amounts[i * width_ + r] += freed(slot)[r];
  question.amounts = amounts;
  question.shortage = shortage;
  return choose_victims(trial, question);
}

// Which sets of candidates make room for the copies of one request.
SpreadNeed Run::spread(const Unit& unit, const Column<Candidate*>& candidates) const {
  const std::vector<ResourceScope>& scope = resources().scope;
  const Id shared = rooms_.nodes();  // one site more: what the cluster shares
  FreedByNode freed_on(at(shared) + 1, width_);
  for (Size i = 0; i < candidates.size(); ++i)
    for (const Id slot : candidates[i]->slots) {
      const Id node = state_.node_of(slot);
      Amount* of_all = freed_on.add(static_cast<Id>(i), shared);
      for (Size r = 0; r < width_; ++r)
        if (is_wide(r)) of_all[r] += freed(slot)[r];
      if (node == kNoId) continue;
      Amount* here = freed_on.add(static_cast<Id>(i), node);
      for (Size r = 0; r < width_; ++r)
        if (!is_wide(r)) here[r] += freed(slot)[r];
    }
  SpreadNeed need(width_);
  need.copies = unit.count;
  Column<Amount> lacks(width_, 0), levels;
  for (Size r = 0; !nodes_.empty() && r < width_; ++r)
    if (scope[r] == ResourceScope::kCluster && unit.need[r] > 0)
      lacks[r] = unit.need[r] * unit.count - rooms_.at(0, r);
  if (std::ranges::any_of(lacks, [](Amount a) { return a > 0; }))
    need.add(freed_on.jobs(shared), freed_on.amounts(shared), lacks, true);
  for (const Id n : nodes_) {
    if (!allowed(unit, n)) continue;
    Index most = unit.count;
    if (set_.max_containers > 0) most = std::min(most, set_.max_containers - containers_[n]);
    levels.clear();
    for (Index k = 1; k <= most; ++k) {
      for (Size r = 0; r < width_; ++r)
        lacks[r] = scope[r] == ResourceScope::kNode && unit.need[r] > 0
                       ? std::max<Amount>(unit.need[r] * k - rooms_.at(n, r), 0)
                       : 0;
      if (!freed_on.covers(n, lacks)) break;
      if (std::ranges::any_of(lacks, [](Amount a) { return a > 0; }))
        levels.insert(levels.end(), lacks.begin(), lacks.end());
      else
        --need.copies;
    }
    if (!levels.empty()) need.add(freed_on.jobs(n), freed_on.amounts(n), levels, false, n);
  }
  return need;
}

Outcome Run::preempt_group_wide(Entry& entry, Attempt* attempt) {
  Column<Candidate*> candidates = candidates_for(entry.operation, attempt);
  if (candidates.empty()) return unless_spared(entry, Outcome::kNoLowerPriority);
  for (const Candidate* c : candidates) give(*c, 1);
  Column<std::uint8_t> usable(at(rooms_.nodes()), 0);
  for (const Id n : nodes_)
    usable[n] = std::ranges::any_of(
        entry.units, [&](const Unit& u) { return rooms_.fits(u.need, n) && allowed(u, n); });
  const bool enough = place(entry, &entry);  // else: what fails even so, and what it lacks
  if (enough) unplace(entry);
  for (const Candidate* c : candidates) give(*c, -1);

  std::erase_if(candidates, [&](const Candidate* c) {
    if (useful_on(*c, entry, usable)) return false;
    if (attempt != nullptr)
      attempt->verdict[c->operation] =
          enough ? Outcome::kFreesNothingUseful : Outcome::kNoStartInStage;
    return true;
  });
  if (set_.order == VictimOrder::kFewestSessions)
    for (Candidate* c : candidates) c->key = -shortfall_covered(*c, entry);
  sort(candidates);
  note_places(attempt, candidates);
  // A set that goes beyond the caps of pools is not taken: another is looked for without those of
  // its victims that are too many, the last wanted ones.
  WithinCaps caps(pace_);
  VictimSet set;
  MinimumQuestion question;  // the first: its bounds count, whatever the caps make of it
  const bool certifies = decisions.certifies() && set_.selection == VictimSelection::kMinimum;
  for (;;) {
    const bool first = caps.left_out().empty();
    set = choose(entry, candidates, usable, caps.left(set_.minimum_budget),
                 certifies && first ? &question : nullptr);
    if (certifies && first)
      for (const Candidate* c : candidates) question.candidates.push_back(c->operation);
    question.within_caps = !first;
    if (set.taken.empty()) break;
    Column<Candidate*> victims;
    for (const Id i : set.taken) victims.push_back(candidates[i]);
    if (within_caps(caps, victims, set.proof, attempt)) break;
    for (const Candidate* c : victims) give(*c, -1);
    std::erase_if(candidates, [&](const Candidate* c) {
      const Spared* why = caps.left_out(c->operation);
      if (why != nullptr && attempt != nullptr) attempt->verdict[c->operation] = why->why;
      return why != nullptr;
    });
  }
  set.proof = caps.proof();
  mark_spared(attempt, candidates, set);
  if (set.taken.empty()) return unless_spared(entry, Outcome::kNoRoomEvenWithVictims);
  place(entry);  // where it will start, as it looks now
  for (const Placement& p : placed_) rooms_.give(entry.units[p.unit].need, p.node);
  if (attempt != nullptr)
    for (const Placement& p : placed_) attempt->nodes.push_back(p.node);

  Column<Candidate*> victims;
  for (const Id i : set.taken) victims.push_back(candidates[i]);
  for (const Candidate* c : victims) give(*c, -1);  // not free until they have gone
  tally.proof.cost += set.proof.cost;
  tally.proof.lower_bound += set.proof.lower_bound;
  tally.proof.branches += set.proof.branches;
  tally.proof.proved &= set.proof.proved;
  if (set_.selection == VictimSelection::kMinimum) decisions.prove(steps_, set.proof);
  if (certifies) {
    for (const Candidate* c : victims) question.taken.push_back(c->operation);
    decisions.asked(steps_, std::move(question));
  }
  take_victims(entry, victims, {});
  return Outcome::kWaitsForVictims;
}

}  // namespace evenhand::backendai
