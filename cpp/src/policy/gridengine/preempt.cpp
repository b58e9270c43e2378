// Who leaves so that a job can start.
#include <algorithm>
#include <tuple>

#include "run.h"

namespace evenhand::gridengine {

// A request that was accepted: those that it names in their order; those of a user without an
// action, or all, as few as can be.
Outcome Run::carry_out(Entry& entry, Asked ask) {
  Column<Id> named;
  for (Size i = 0; i < before_.providers.of.size(); ++i)
    if (before_.providers.of[i] == entry.operation)
      named.push_back(job_of(before_.providers.names[i]));
  const bool manual = !named.empty() && ask != Asked::kConfigured;
  return preempt(entry, named, ask, !manual,
                 manual ? Reason::kManualPreemption : Reason::kSemiAutomaticPreemption);
}

Outcome Run::judge(const Provider& p, const Question& question, Mode& mode) {
  if (p.why != Outcome::kTaken) return p.why;
  if (p.claimed) return Outcome::kAlreadyPreempting;
  if (p.operation == question.entry->operation) return Outcome::kSameOperation;
  if (p.priority >= question.entry->priority) return Outcome::kNotLowerPriority;
  if (pace_.on()) {
    const Spared spared = pace_.spared(state_, p.operation, p.start, p.end);
    if (question.attempt != nullptr) question.attempt->spared[p.operation] = spared;
    if (spared.why != Outcome::kTaken) return spared.why;
  }
  const std::optional<Mode> found = mode_for(p, question);
  if (!found) return Outcome::kActionNotAllowed;
  mode = *found;
  return Outcome::kTaken;
}

// Providers in the order in which they are wanted: of a request in that of their names.
Column<Id> Run::order_of(const Question& question) const {
  if (question.named.empty()) return in_order_;
  Column<Id> found;
  for (const Id o : question.named)
    if (o != kNoId && provider_of_[o] != kNoId) found.push_back(provider_of_[o]);
  return found;
}

bool Run::has_candidates(const Question& question) {
  return std::ranges::any_of(order_of(question), [&](Id i) {
    return verdict(providers_[at(i)], question) == Outcome::kTaken;
  });
}

// Why there is no candidate.
Outcome Run::none_may_leave(const Question& question) {
  const bool by_action = std::ranges::any_of(order_of(question), [&](Id i) {
    return verdict(providers_[at(i)], question) == Outcome::kActionNotAllowed;
  });
  return by_action ? Outcome::kNoJobAllowsAction : Outcome::kNoLowerPriority;
}

Column<Provider*> Run::candidates_for(const Question& question) {
  Column<Provider*> found;
  for (const Id i : order_of(question))
    if (verdict(providers_[at(i)], question) == Outcome::kTaken)
      found.push_back(&providers_[at(i)]);
  return found;
}

// Whether it would fit, had these gone and kept nothing beyond the ends that were planned: else no
// part of them suffices.
bool Run::may_fit_without(const Entry& entry, std::span<Provider* const> gone) {
  for (const Provider* p : gone) give(*p, 1, false);
  const bool may = place(entry, state_.now(), true);
  for (const Provider* p : gone) give(*p, -1, false);
  return may;
}

// One after the other, until it fits, by trying. What one keeps may be in the way of the job: if no
// beginning of them suffices, as few as can be.
Column<Provider*> Run::in_turn(const Entry& entry, const Column<Provider*>& candidates,
                               VictimSelection selection) {
  struct Trial : VictimTrial {
    Trial(Run& r, const Entry& e, const Column<Provider*>& c) : run(r), entry(e), all(c) {}
    void take(Id i) override { run.give(*all[i], 1); }
    void give_back(Id i) override { run.give(*all[i], -1); }
    bool suffices() override { return run.place(entry, run.state_.now(), true); }
    Run& run;
    const Entry& entry;
    const Column<Provider*>& all;
  } trial(*this, entry, candidates);
  if (!may_fit_without(entry, candidates)) return {};
  VictimQuestion question{.n = static_cast<Id>(candidates.size()),
                          .selection = selection,
                          .budget = set_.minimum_budget,
                          .in_the_way = true};
  std::vector<SpreadNeed> needs;
  if (selection == VictimSelection::kMinimum)
    for (const Unit& unit : entry.units) needs.push_back(spread(entry, unit, candidates));
  question.necessary = needs;
  // What covers the need of a job of one request suffices, unless room is planned for others.
  if (needs.size() == 1) question.spread = needs.data();
  const VictimSet set = choose_victims(trial, question);
  Column<Provider*> victims;
  for (const Id i : set.taken) {
    victims.push_back(candidates[i]);
    give(*candidates[i], -1);
  }
  return victims;
}

void Run::stays_free_there(Id node, Time until, Amount* free) const {
  for (Size r = 0; r < width_; ++r) free[r] = rooms_.at(node, r);
  calendar_.least(node, state_.now(), until, free);
}

void Run::stays_free(Id node, Time until, Amount* free) const {
  stays_free_there(node, until, free);
  calendar_.least(calendar_.shared(), state_.now(), until, free);
}

Column<Index> Run::copies_without(const Unit& unit, Time duration,
                                  const Column<Provider*>& candidates) {
  const Time now = state_.now(), until = after(now, duration);
  for (const Provider* p : candidates) give(*p, 1, false);
  Column<Index> copies(at(rooms_.nodes()), 0);
  for (const Id n : nodes_) copies[n] = calendar_.copies(n, unit.need, now, until, unit.count);
  for (const Provider* p : candidates) give(*p, -1, false);
  return copies;
}

SpreadNeed Run::spread(const Entry& entry, const Unit& unit, const Column<Provider*>& candidates) {
  const Column<Index> copies = copies_without(unit, entry.duration, candidates);
  const Id shared = rooms_.nodes();  // one site more: what the cluster shares
  const auto wide = [&](Size r) { return resources().scope[r] == ResourceScope::kCluster; };
  FreedByNode freed_on(at(shared) + 1, width_);
  for (Size i = 0; i < candidates.size(); ++i)
    for (const Id slot : candidates[i]->slots) {
      effect(*candidates[i], slot);
      const Id node = state_.node_of(slot);
      Amount* of_all = freed_on.add(static_cast<Id>(i), shared);
      for (Size r = 0; r < width_; ++r)
        if (wide(r)) of_all[r] += freed_[r];
      if (node == kNoId) continue;
      Amount* here = freed_on.add(static_cast<Id>(i), node);
      for (Size r = 0; r < width_; ++r)
        if (!wide(r)) here[r] += freed_[r];
    }
  SpreadNeed need(width_);
  need.copies = unit.count;
  const Time until = after(state_.now(), entry.duration);
  Column<Amount> lacks(width_, 0), levels, free(width_, 0);
  if (!nodes_.empty()) stays_free(nodes_[0], until, free.data());
  for (Size r = 0; !nodes_.empty() && r < width_; ++r)
    if (wide(r) && unit.need[r] > 0) lacks[r] = unit.need[r] * unit.count - free[r];
  if (std::ranges::any_of(lacks, [](Amount a) { return a > 0; }))
    need.add(freed_on.jobs(shared), freed_on.amounts(shared), lacks, true);
  for (const Id n : nodes_) {
    if (!may_start(entry, unit, n)) continue;
    levels.clear();
    stays_free_there(n, until, free.data());
    for (Index k = 1; k <= copies[n]; ++k) {
      for (Size r = 0; r < width_; ++r)
        lacks[r] =
            !wide(r) && unit.need[r] > 0 ? std::max<Amount>(unit.need[r] * k - free[r], 0) : 0;
      if (!freed_on.covers(n, lacks)) break;
      if (std::ranges::any_of(lacks, [](Amount a) { return a > 0; }))
        levels.insert(levels.end(), lacks.begin(), lacks.end());
      else
        --need.copies;
    }
    if (!levels.empty()) need.add(freed_on.jobs(n), freed_on.amounts(n), levels);
  }
  return need;
}

Column<Provider*> Run::choose(const Question& question, bool fewest) {
  const Entry& entry = *question.entry;
  if (!fewest) return in_turn(entry, candidates_for(question), VictimSelection::kIrreducible);
  bool shared_lacks = false;
  for (const Unit& u : entry.units)
    for (Size r = 0; !nodes_.empty() && r < width_; ++r)
      shared_lacks |= resources().scope[r] == ResourceScope::kCluster && u.need[r] > 0 &&
                      u.need[r] * u.count > rooms_.at(0, r);
  if (!shared_lacks && !simple(entry))
    if (std::optional<Column<Provider*>> found = over_hosts(question)) return *std::move(found);
  if (!simple(entry) || shared_lacks) {
    const Column<Provider*> candidates = candidates_for(question);
    if (simple(entry))
      if (std::optional<Column<Provider*>> found = with_shared(entry, candidates))
        return *std::move(found);
    return in_turn(entry, candidates, VictimSelection::kMinimum);
  }
  if (question.attempt != nullptr) question.attempt->order = Order::kOnOneHost;
  if (!question.named.empty()) return on_one_node(question, by_host(order_of(question)));
  if (!hosts_) hosts_ = by_host(in_order_);
  return on_one_node(question, *hosts_);
}

Outcome Run::preempt(Entry& entry, std::span<const Id> named, Asked action, bool fewest,
                     Reason reason) {
  find_providers();
  ++questions_;
  Question question{.entry = &entry,
                    .action = action,
                    .named = named,
                    .only_slots = true,
                    .forced = before_.forced[entry.operation] != 0};
  for (const Unit& u : entry.units)
    for (Size r = 0; r < width_; ++r) question.only_slots &= u.need[r] == 0 || is_slots(r);
  Attempt* attempt = nullptr;
  if (record_) {
    const Size rows = at(state_.operations().rows());
    attempts.push_back(
        {entry.operation, entry.units.front().request,
         Column<Outcome>(rows, named.empty() ? Outcome::kNotRunning : Outcome::kNotNamed)});
    attempt = question.attempt = &attempts.back();
    if (pace_.on()) attempt->spared.resize(rows);
  }
  // Of most providers nobody needs to know: only where something is written down of each.
  const auto all_asked = [&](Provider& p) {
    const Outcome why = verdict(p, question);
    if (attempt != nullptr) attempt->verdict[p.operation] = why;
  };
  if ((attempt != nullptr || pace_.on()) && named.empty())
    for (Provider& p : providers_) all_asked(p);
  else
    for (const Id o : named)
      if (o != kNoId && provider_of_[o] != kNoId) all_asked(providers_[at(provider_of_[o])]);
  if (attempt != nullptr) note_asked(*attempt, question);
  if (!has_candidates(question)) return none_may_leave(question);
  if (attempt != nullptr) {
    note_candidates(*attempt, question);
    if (!fewest) attempt->order = Order::kNamed;
  }
  WithinCaps caps(pace_);
  Column<Provider*> victims;
  for (;;) {
    victims = choose(question, fewest);
    if (victims.empty() || !pace_.has_caps()) break;
    Column<Id> operations;
    for (const Provider* p : victims) operations.push_back(p->operation);
    if (!caps.again(state_, operations, operations, {})) break;
    for (const auto& [operation, why] : caps.left_out()) {
      providers_[at(provider_of_[operation])].verdict = why.why;
      if (attempt == nullptr) continue;
      attempt->verdict[operation] = why.why;
      attempt->spared[operation] = why;
    }
  }
  if (attempt != nullptr)
    for (const Provider* p : candidates_for(question))
      attempt->verdict[p->operation] = victims.empty() ? Outcome::kNoStartInStage
                                       : std::ranges::find(victims, p) != victims.end()
                                           ? Outcome::kTaken
                                           : Outcome::kSparedFitsWithout;
  if (victims.empty()) {
    if (attempt != nullptr) {
      lacks_without(entry, question);
      attempt->counted.numbers.emplace_back("remaining", candidates_for(question).rows());
    }
    return Outcome::kNoRoomEvenWithVictims;
  }
  if (attempt != nullptr) note_wanted(*attempt, victims.rows());
  const Index left = set_.max_preemptees - preemptees_;
  if (static_cast<Index>(victims.size()) > left) {
    const bool some = left > 0 && set_.partly && !fewest;
    if (attempt != nullptr) {  // nothing is done for it, or too little
      for (Outcome& one : attempt->verdict)
        if (one == Outcome::kSparedFitsWithout)
          one = some ? Outcome::kMaxPreemptees : Outcome::kNoStartInStage;
      for (Size i = some ? at(static_cast<Id>(left)) : 0; i < victims.size(); ++i)
        attempt->verdict[victims[i]->operation] = Outcome::kMaxPreemptees;
    }
    if (!some) return Outcome::kMaxPreemptees;
    victims.resize(at(static_cast<Id>(left)));
    placed_.clear();
    if (all_taken_) note_victims(*attempt, victims, question);
    take(entry, victims, reason);
    return Outcome::kMaxPreemptees;
  }
  if (all_taken_) note_victims(*attempt, victims, question);
  for (const Provider* p : victims) give(*p, 1);
  place(entry, state_.now(), true);  // where it will start, as it looks now
  for (const Provider* p : victims) give(*p, -1);
  if (attempt != nullptr) {
    Column<Id> placed_on;
    for (const Placement& p : placed_) placed_on.push_back(p.node);
    attempt->job.nodes.emplace_back("placed_on", std::move(placed_on));
  }
  take(entry, victims, reason);
  return Outcome::kWaitsForVictims;
}

// What a job lacks even with all gone that may be preempted for it.
void Run::lacks_without(Entry& entry, const Question& question) {
  const Column<Provider*> all = candidates_for(question);
  for (const Provider* p : all) give(*p, 1);
  seen_nodes_ = -1;
  Entry without = entry;
  without.planned = false;
  without.best = kNoId;
  without.planned_for.clear();
  if (!place(entry, state_.now(), true, &without)) {
    if (simple(entry)) nearest(without, entry.units[0], false);
    entry.without.assign(1, std::move(without));
  }
  for (const Provider* p : all) give(*p, -1);
  seen_nodes_ = -1;
}

// What is freed counts once they have gone: until then it is there for none but the job that they
// leave for.
void Run::take(Entry& entry, std::span<Provider* const> victims, Reason reason) {
  const Id step = steps_++;
  const Time now = state_.now();
  begin_at_ = 0;
  Wanted wanted;
  if (set_.keep_resources) wanted = wanted_of(entry, victims);
  struct Noted {
    Decision made;
    const Amount* need;
    Column<Amount> free;
  };
  Column<Amount> limit(width_);
  for (Provider* p : victims) {
    std::vector<Noted> noted;  // what is recorded of its allocations
    Column<Amount> given(width_, 0);
    p->claimed = true;
    subordination_.leaves(p->operation);
    pace_.took(state_, p->operation);
    ++preemptees_;
    if (stops(p->mode)) memory.preempted_for.add(name_of(entry.operation), p->operation);
    ++tally.jobs;
    becomes_[p->operation] =
        static_cast<std::uint8_t>(p->mode == Mode::kPreempt           ? JobState::kPreempted
                                  : p->mode == Mode::kEnhancedSuspend ? JobState::kEnhancedSuspended
                                  : p->mode == Mode::kSuspend         ? JobState::kSuspended
                                  : p->mode == Mode::kTerminate       ? JobState::kEnding
                                                                      : JobState::kRescheduled);
    for (const Id slot : p->slots) {
      const Id node = state_.node_of(slot);
      const bool here = set_.keep_resources && node != kNoId && !wanted.at[node].empty();
      for (Size r = 0; set_.keep_resources && r < width_; ++r)
        limit[r] = resources().scope[r] == ResourceScope::kCluster ? wanted.shared[r]
                   : here                                          ? wanted.at[node][r]
                                                                   : 0;
      split(p->mode, resources(), set_.managed, state_.amounts(slot),
            set_.keep_resources ? limit.data() : nullptr, freed_.data(), kept_.data());
      for (Size r = 0; set_.keep_resources && r < width_; ++r)
        if (resources().scope[r] == ResourceScope::kCluster)
          wanted.shared[r] = limit[r];
        else if (here)
          wanted.at[node][r] = limit[r];
      const auto found = std::ranges::find(placed_, node, &Placement::node);
      const Unit& unit = entry.units[found == placed_.end() ? 0 : found->unit];
      Decision d{.action = Action::kPreempt, .stage = Stage::kSchedulingRun, .reason = reason};
      d.mode = p->mode;
      d.slot = slot;
      d.operation = p->operation;
      d.node = node;
      d.step = step;
      d.beneficiary = {entry.operation, unit.request};
      d.grace = stops(p->mode) ? 0 : set_.notify;
      d.until = now + d.grace;
      d.ran = now - state_.allocations().get(&AllocationColumns::start_time, slot,
                                             state_.last_start(slot));
      room_at(node);
      const bool used = node == kNoId || found != placed_.end();
      add(d, {freed_.data(), scratch_.data(), used ? unit.need : nullptr,
              state_.operation_usage(p->operation), kept_.data()});
      if (p->operation == watched_ || all_taken_)
        for (Size r = 0; r < width_; ++r) given[r] += freed_[r];
      if (slot == watched_slot_ || all_taken_)
        noted.push_back({d, used ? unit.need : nullptr, scratch_});
      ++tally.victims;
      const Time end = ends(slot);
      calendar_.give(node, freed_.data(), now, end);
      if (stops(p->mode)) calendar_.take(node, kept_.data(), end, kForever);
    }
    for (const Noted& one : noted) {
      Facts& facts = all_taken_ ? attempts.back().slots.emplace_back(one.made.slot, Facts{}).second
                                : attempts.back().job;
      note_lacks(facts, entry, one.made, one.need, one.free.data(), given);
    }
  }
  occupy(entry, now, after(now, entry.duration));
}

}  // namespace evenhand::gridengine
