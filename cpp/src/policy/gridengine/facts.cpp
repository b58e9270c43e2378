// What a recorder is told: what was compared where a job was left waiting, spared or preempted.
#include <algorithm>

#include "run.h"

namespace evenhand::gridengine {
namespace {

template <class T>
double code(T value) {
  return static_cast<double>(value);
}

void append_facts(Facts& to, const Facts& more) {
  const auto append = [](auto& all, const auto& own) {
    all.insert(all.end(), own.begin(), own.end());
  };
  append(to.numbers, more.numbers);
  append(to.times, more.times);
  append(to.operations, more.operations);
  append(to.allocations, more.allocations);
  append(to.nodes, more.nodes);
  append(to.amounts, more.amounts);
  append(to.words, more.words);
}

bool nothing(const Column<Amount>& amounts) {
  return std::ranges::all_of(amounts, [](Amount a) { return a <= 0; });
}

}  // namespace

// A job is preempted as a whole: which part of it keeps it, if not the one that is asked about.
void Run::note_part(const Provider& p) {
  const auto keeps = [&](Id slot) {
    if (p.why == Outcome::kAlreadyPreempting) return state_.leaving(slot);
    if (p.why == Outcome::kNotRunning) return !state_.running(slot);
    return state_.running(slot) &&
           state_.allocations().get(&AllocationColumns::preemptible, slot, std::uint8_t{1}) == 0;
  };
  if (p.why == Outcome::kTaken || keeps(watched_slot_)) return;
  for (const Id slot : state_.allocations_of(p.operation))
    if (keeps(slot) && (part_ == kNoId || slot < part_)) part_ = slot;
}

void Run::note_start(Facts& facts, const Entry& entry) const {
  if (!entry.at) return;
  facts.numbers.emplace_back("never", *entry.at == kForever);
  facts.numbers.emplace_back("near", entry.near);
  facts.numbers.emplace_back("forced", entry.forced);
  if (*entry.at == kForever) return;
  facts.times.emplace_back("starts_at", *entry.at);
  facts.times.emplace_back("away", between(state_.now(), *entry.at));
}

void Run::note_provider(Facts& facts, const Provider& p, const Question& question) const {
  facts.operations.emplace_back("asks", question.entry->operation);
  facts.numbers.emplace_back("priority", p.priority);
  facts.numbers.emplace_back("beneficiary_priority", question.entry->priority);
  note_start(facts, *question.entry);
}

void Run::note_asked(Attempt& a, const Question& question) {
  a.counted.numbers.emplace_back("preemptees", preemptees_);
  if (watched_ == kNoId || provider_of_[watched_] == kNoId) return;
  const Provider& p = providers_[at(provider_of_[watched_])];
  note_provider(a.job, p, question);
  if (part_ != kNoId) a.job.allocations.emplace_back("other", part_);
  if (a.verdict[watched_] == Outcome::kActionNotAllowed) note_action(a.job, p, question);
}

void Run::note_action(Facts& facts, const Provider& p, const Question& question) const {
  const bool requested = question.action != Asked::kConfigured;
  facts.numbers.emplace_back("requested", requested);
  facts.numbers.emplace_back("asked", code(requested ? question.action : p.action));
  if (p.action_queue != kNoId)
    facts.words.emplace_back("action_queue", set_.subordinates.names[at(p.action_queue)]);
  facts.numbers.emplace_back("all_actions", set_.has_all());
  NotAllowed why{};
  if (mode_for(p, question, &why))
    facts.numbers.emplace_back("why_mode", code(why_mode(p, question)));
  else
    facts.numbers.emplace_back("not_allowed", code(why));
}

void Run::note_candidates(Attempt& a, const Question& question) {
  const Column<Provider*> all = candidates_for(question);
  const auto found = std::ranges::find(all, watched_, &Provider::operation);
  if (watched_ == kNoId || found == all.end()) return;
  a.job.numbers.emplace_back("place", code(found - all.begin() + 1));
  a.job.numbers.emplace_back("candidates", code(all.size()));
  note_action(a.job, **found, question);
}

// Of every job that is taken what is noted of a watched one.
void Run::note_victims(Attempt& a, const Column<Provider*>& victims, const Question& question) {
  const Column<Provider*> all = candidates_for(question);
  std::vector<Size> places(at(state_.operations().rows()));
  for (Size i = 0; i < all.size(); ++i) places[at(all[i]->operation)] = i + 1;
  for (const Provider* p : victims) {
    Facts facts;
    note_provider(facts, *p, question);
    facts.numbers.emplace_back("place", code(places[at(p->operation)]));
    facts.numbers.emplace_back("candidates", code(all.size()));
    note_action(facts, *p, question);
    a.jobs.emplace_back(p->operation, std::move(facts));
  }
}

void Run::note_wanted(Attempt& a, Index wanted) const {
  a.counted.numbers.emplace_back("wanted", wanted);
  a.counted.numbers.emplace_back("enough", wanted + preemptees_);
  a.counted.numbers.emplace_back("too_many", wanted > set_.max_preemptees - preemptees_);
}

// What of all that is to start there is missing, where an allocation is that leaves for it; of what
// the cluster shares only what its job gives back.
void Run::note_lacks(Facts& facts, const Entry& entry, const Decision& made, const Amount* need,
                     const Amount* free, View<const Amount> given) const {
  const auto there = std::ranges::count(placed_, made.node, &Placement::node);
  const Index copies = std::max<Index>(there, 1);
  Column<Amount> missing(width_, kUnsaid);
  bool any = false, uses = false;
  for (Size r = 0; r < width_; ++r) {
    const bool wide = resources().scope[r] == ResourceScope::kCluster;
    Amount all = 0;
    for (const Unit& u : entry.units) all += u.need[r] * u.count;
    const Amount own = need != nullptr ? need[r] : 0, lacks = (wide ? all : own * copies) - free[r];
    uses |= own > 0;
    if (lacks <= 0 || (wide && given[r] <= 0)) continue;
    missing[r] = lacks;
    any = true;
  }
  facts.numbers.emplace_back("placed", !placed_.empty());
  facts.numbers.emplace_back("uses_node", uses);
  if (any && !placed_.empty()) facts.amounts.emplace_back("missing", std::move(missing));
  if (made.grace > 0) facts.times.emplace_back("grace", made.grace);
}

// O: jobs that leave for one, by this run or already.
std::vector<Column<Id>> Run::leaving_for() const {
  std::vector<Column<Id>> found(at(state_.operations().rows()));
  const auto leaves = [&](Id job, Id asks) {
    if (asks >= 0) found[at(asks)].push_back(job);
  };
  for (const Decision& d : decisions.rows())
    if (d.action == Action::kPreempt) leaves(d.operation, d.beneficiary.operation);
  for (const Leaving& l : state_.leaving())
    leaves(state_.operation_of(l.slot), l.beneficiary.operation);
  return found;
}

// Which list suspends the queue of a job, if one alone may.
void Run::note_suspended(Facts& facts, Id operation) const {
  const Subordinates& s = set_.subordinates;
  const Id own = subordination_.queue_of_job(operation);
  facts.words.emplace_back("queue", s.names[at(own)]);
  if (std::ranges::count(s.below, own) != 1) return;
  const auto pair = std::ranges::find(s.below, own) - s.below.begin();
  facts.words.emplace_back("by_queue", s.names[at(s.above[at(static_cast<Id>(pair))])]);
  facts.numbers.emplace_back("slots", code(s.used[at(static_cast<Id>(pair))]));
}

// `lacking`: the same, with all gone that it may preempt.
void Run::note_entry(Event& event, const Entry& entry, const Entry& lacking) const {
  Facts& facts = event.facts;
  bool own = false;  // a stopped part lacks something itself; its job resumes as a whole
  for (Size i = 0; i < entry.units.size() && !entry.unit_missing.empty(); ++i) {
    const Amount* missing = entry.unit_missing.row(i, width_);
    const Column<Amount> row(missing, missing + width_);
    if (entry.units[i].slot != watched_slot_ || nothing(row)) continue;
    event.missing = row;
    own = true;
  }
  if (!own && lacking.failed_slot != kNoId && lacking.failed_slot != watched_slot_)
    facts.allocations.emplace_back("other", lacking.failed_slot);
  if (!own && lacking.planned) {
    facts.numbers.emplace_back("planned", code(lacking.planned_for.size()));
    if (!lacking.planned_for.empty())
      facts.operations.emplace_back("planned_for", lacking.planned_for[0]);
    if (lacking.planned_for.size() > 1)
      facts.numbers.emplace_back("planned_more", code(lacking.planned_for.size() - 1));
  }
  note_start(facts, entry);
  if (!entry.preemptee) {
    const bool closed =
        entry.outcome == Outcome::kSubordinateQueueSuspended ||
        (entry.outcome == Outcome::kNoRoomEvenWithVictims && nothing(event.missing));
    if (closed)
      note_suspended(facts, entry.operation);
    else
      event.node = lacking.best;
    if (entry.failed == event.request && entry.nodes > 1)
      facts.numbers.emplace_back("tried_several", 1);
    if (lacking.failed != kNoId && lacking.failed != event.request)
      facts.requests.emplace_back("other", lacking.failed);
    if (entry.duration != kForever) facts.times.emplace_back("lasts", entry.duration);
    facts.numbers.emplace_back("priority", entry.priority);
    facts.numbers.emplace_back("reserve", entry.reserve);
    facts.numbers.emplace_back("full", entry.full);
    if (!entry.reserved_on.empty()) {
      facts.nodes.emplace_back("reserved_on", entry.reserved_on);
      facts.times.emplace_back("since", *entry.at);
    }
    std::vector<std::string> named;
    for (Size i = 0; i < before_.providers.of.size(); ++i)
      if (before_.providers.of[i] == entry.operation)
        named.push_back(before_.providers.names[i].text);
    if (!named.empty()) facts.lists.emplace_back("named", std::move(named));
    return;
  }
  const bool closed = entry.outcome == Outcome::kSubordinateQueueSuspended;
  const Id of = closed && lacking.failed_slot != kNoId ? lacking.failed_slot : watched_slot_;
  const Id node = !own && !closed && lacking.best != kNoId ? lacking.best : state_.node_of(of);
  if (node != kNoId) facts.hosts.emplace_back("at", node);
  if (entry.behind != kNoId)
    facts.operations.emplace_back("behind", queue[at(entry.behind)].operation);
}

// Why no job was looked for that could leave: settings, or what waits needs none.
void Run::note_unseen(Facts& facts, Id operation, std::span<const Column<Id>> leaving) const {
  const Refusals waits = refusals();
  facts.numbers.emplace_back("refused", code(waits.request.size()));
  facts.numbers.emplace_back("requested", std::ranges::any_of(operations_, [&](Id o) {
                               return asked(o) != Asked::kNothing;
                             }));
  const auto first = [&](Outcome why, auto&& also) {
    for (Size i = 0; i < waits.request.size(); ++i) {
      const Id q = waits.request[i], asks = q == kNoId ? kNoId : state_.operation_of_request(q);
      if (waits.rule[i] == why && asks != kNoId && asks != operation && also(asks)) return q;
    }
    return kNoId;
  };
  Id served = first(Outcome::kWaitsForVictims, [&](Id asks) { return !leaving[at(asks)].empty(); });
  if (served != kNoId)
    facts.jobs.emplace_back("victims", leaving[at(state_.operation_of_request(served))]);
  else if (set_.automatic)
    served = first(Outcome::kWaitsForReservation, [](Id) { return true; });
  if (served == kNoId) return;
  facts.requests.emplace_back("served", served);
  facts.operations.emplace_back("served_operation", state_.operation_of_request(served));
}

void Run::report_taken(Recorder& recorder) const {
  const std::vector<Column<Id>> leaving = leaving_for();
  std::vector<const Decision*> made(at(state_.slots()));
  for (const Decision& d : decisions.rows())
    if (d.action == Action::kPreempt) made[at(d.slot)] = &d;
  const auto push = [&](Id slot, Id asks) -> Facts& {
    recorder.events.push_back({state_.node_of(slot), Stage::kSchedulingRun, Outcome::kTaken,
                               state_.operation_of(slot), asks, slot, Column<Amount>(width_, 0)});
    return recorder.events.back().facts;
  };
  for (const Attempt& a : attempts) {
    std::vector<const Facts*> of(at(state_.operations().rows()));
    for (const auto& [operation, facts] : a.jobs) of[at(operation)] = &facts;
    for (const auto& [slot, own] : a.slots) {
      Facts& facts = push(slot, a.request);
      append_facts(facts, a.counted);
      append_facts(facts, *of[at(state_.operation_of(slot))]);
      append_facts(facts, a.job);
      append_facts(facts, own);
      facts.numbers.emplace_back("order", code(a.order));
      if (a.request == kNoId) continue;
      const Column<Id>& jobs = leaving[at(state_.operation_of_request(a.request))];
      if (!jobs.empty()) facts.jobs.emplace_back("victims", jobs);
    }
  }
  for (Id slot = 0; slot < static_cast<Id>(made.size()); ++slot)
    if (made[at(slot)] != nullptr && subordination_.verdict(slot).outcome == Outcome::kTaken &&
        subordination_.stops(made[at(slot)]->operation))
      note_stops(push(slot, kNoId), slot);
}

// Which job of its queue stops first.
void Run::note_stops(Facts& facts, Id slot) const {
  const Subordinates& s = set_.subordinates;
  const Id own = subordination_.queue_of(slot);
  if (own == kNoId || s.parent[own] == kNoId) return;
  facts.words.emplace_back("own_queue", s.names[at(own)]);
  facts.numbers.emplace_back("longest", s.longest[own]);
}

void Run::report(Recorder& recorder) const {
  if (recorder.all_taken) return report_taken(recorder);
  const auto [request, slot] = std::pair(recorder.request, recorder.slot);
  const Id operation =
      request != kNoId ? state_.operation_of_request(request) : state_.operation_of(slot);
  const Column<Amount> zero(width_, 0);
  std::vector<Event>& events = recorder.events;
  const auto push = [&](Id node, Outcome why, Id asks, const Column<Amount>& missing,
                        const Spared& spared) -> Event& {
    events.push_back({node, Stage::kSchedulingRun, why, operation, asks, slot, missing, spared});
    return events.back();
  };
  const bool waits = slot == kNoId || state_.away(slot);
  for (const Entry& e : queue) {
    if (!waits || e.operation != operation || e.preemptee != (slot != kNoId)) continue;
    const bool without = e.outcome == Outcome::kNoRoomEvenWithVictims && !e.without.empty();
    const Entry& lacking = without ? e.without[0] : e;
    note_entry(
        push(kNoId, e.outcome, request, lacking.missing.empty() ? zero : lacking.missing, {}), e,
        lacking);
  }
  for (const Attempt& a : attempts) {
    if (waits && a.operation != operation) continue;
    if (waits)
      recorder.stands(a.verdict);
    else
      push(state_.node_of(slot), a.verdict[operation], a.request, zero,
           a.spared.empty() ? Spared{} : a.spared[operation]);
    if (events.empty()) continue;
    Facts& facts = events.back().facts;
    append_facts(facts, a.counted);
    append_facts(facts, a.job);
    facts.numbers.emplace_back("order", code(a.order));
  }
  const std::vector<Column<Id>> leaving = leaving_for();
  for (Event& event : events) {
    if (event.request == kNoId) continue;
    const Column<Id>& jobs = leaving[at(state_.operation_of_request(event.request))];
    if (!jobs.empty()) event.facts.jobs.emplace_back("victims", jobs);
  }
  if (slot == kNoId) return;
  if (events.empty() && !waits) note_unseen(recorder.unseen, operation, leaving);
  const auto [outcome, count] = subordination_.verdict(slot);
  if (outcome != Outcome::kTaken) {
    push(state_.node_of(slot), outcome, kNoId, zero,
         {outcome, count.queue, kNoTime, count.count, count.most});
  } else if (subordination_.stops(operation)) {
    note_stops(push(state_.node_of(slot), outcome, kNoId, zero, {}).facts, slot);
  }
}

}  // namespace evenhand::gridengine
