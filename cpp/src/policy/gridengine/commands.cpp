// Requests of persons: accepted and remembered for the next scheduling run, or refused.
#include <algorithm>

#include "run.h"

namespace evenhand::gridengine {

// A job of that name or number, one task, all tasks of a number, or all jobs that are called so.
Column<Id> Run::jobs_named(const std::string& name) const {
  const LiveTable<OperationColumns>& rows = state_.operations();
  if (const Id one = rows.find(name); one != kNoId) return {one};
  Column<Id> found;
  for (const Id o : operations_) {
    const std::string_view own = rows.keys().name(o);
    if (own.size() > name.size() + 1 && own.starts_with(name) && own[name.size()] == '.')
      found.push_back(o);
  }
  if (!found.empty()) return found;
  for (const Id o : operations_)
    if (!name.empty() && rows_.job_name[o] == name) found.push_back(o);
  // Of several jobs of a name those that run are meant.
  Column<Id> running;
  for (const Id o : found)
    if (std::ranges::any_of(state_.allocations_of(o), [&](Id s) { return state_.running(s); }))
      running.push_back(o);
  return running.empty() ? found : running;
}

// kTaken: it is accepted.
Outcome Run::refused(const Trigger::Command& c, Id consumer, Column<Id>& providers, Asked& asked) {
  if (!reserves()) return Outcome::kReservationDisabled;
  if (set_.max_preemptees == 0) return Outcome::kPreemptionDisabled;
  bool waits = false, reserve = false;
  if (consumer != kNoId)
    for (const Id q : state_.requests_of(consumer)) {
      if (state_.pending(q) == 0) continue;
      waits = true;
      reserve |= state_.requests().get(&RequestColumns::reserve, q) != 0;
    }
  if (!waits) return Outcome::kConsumerNotPending;
  if (!reserve) return Outcome::kConsumerWithoutReservation;
  find_providers();
  const auto provider = [&](Id o) -> const Provider* {
    return provider_of_[o] == kNoId ? nullptr : &providers_[at(provider_of_[o])];
  };
  const auto owned = [&](Id o) {
    return state_.operations().text(&OperationColumns::user, o) == c.user && !c.user.empty();
  };
  const bool named = !c.providers.empty();
  if (!named && !c.manager) {  // a user's own jobs, as if they were listed in the usual order
    for (const Id i : in_order_)
      if (const Provider& p = providers_[at(i)];
          owned(p.operation) && p.priority < priority(consumer))
        providers.push_back(p.operation);
    if (providers.empty()) return Outcome::kProviderNotRunning;
    std::erase_if(providers, [&](Id o) {
      return (c.mode == Mode::kCheckpoint && !provider(o)->checkpointable) ||
             (c.mode == Mode::kRequeue && !provider(o)->rerunnable);
    });
    if (providers.empty())
      return c.mode == Mode::kCheckpoint ? Outcome::kProviderNotCheckpointable
                                         : Outcome::kProviderNotRerunnable;
  }
  for (const std::string& name : c.providers) {
    const Column<Id> jobs = jobs_named(name);
    if (jobs.empty()) return Outcome::kProviderNotRunning;
    for (const Id o : jobs)
      if (std::ranges::find(providers, o) == providers.end()) providers.push_back(o);
  }
  const auto any = [&](auto&& wrong) {
    return std::ranges::any_of(providers, [&](Id o) { return wrong(o, provider(o)); });
  };
  if (any([](Id, const Provider* p) {
        return p == nullptr ||
               (p->why != Outcome::kTaken && p->why != Outcome::kNotPreemptibleFlag);
      }))
    return Outcome::kProviderNotRunning;
  if (!c.manager && any([&](Id o, const Provider*) { return !owned(o); }))
    return Outcome::kNotOwner;
  if (any([&](Id, const Provider* p) { return p->priority >= priority(consumer); }))
    return Outcome::kProviderNotLowerPriority;
  asked = c.mode ? asked_for(*c.mode) : named ? Asked::kPreempt : Asked::kConfigured;
  if (asked == Asked::kCheckpoint && any([&](Id, const Provider* p) { return !p->checkpointable; }))
    return Outcome::kProviderNotCheckpointable;
  if (asked == Asked::kRequeue && !(c.force && c.manager) &&
      any([&](Id, const Provider* p) { return !p->rerunnable; }))
    return Outcome::kProviderNotRerunnable;
  return Outcome::kTaken;
}

void Run::accept(std::span<const Trigger::Command> commands) {
  pace_.begin(state_);  // what is remembered is of this instant
  for (Size i = 0; i < commands.size(); ++i) {
    const Trigger::Command& c = commands[i];
    const Column<Id> found = jobs_named(c.consumer);
    const Id consumer = found.size() == 1 ? found[0] : kNoId;
    Column<Id> providers;
    Asked asked = Asked::kNothing;
    const Outcome rule = refused(c, consumer, providers, asked);
    if (rule != Outcome::kTaken) {
      Id request = kNoId;
      if (consumer != kNoId)
        for (const Id q : in_order(state_.requests(), state_.requests_of(consumer)))
          if (request == kNoId && state_.pending(q) > 0) request = q;
      commands_.request.push_back(request);
      commands_.rule.push_back(rule);
      commands_.command.push_back(static_cast<Index>(i));
      commands_.nodes.push_back(0);
      commands_.missing.insert(commands_.missing.end(), width_, 0);
      continue;
    }
    Column<RowName> named;
    for (const Id o : providers) named.push_back(name_of(o));
    memory.replace(consumer, asked, c.force && c.manager, std::move(named));
  }
}

}  // namespace evenhand::gridengine
