#include "observer.h"

#include <algorithm>

#include "evenhand/starve/relation.h"

namespace evenhand::ytsaurus {
namespace {

bool is_preemptive(Stage stage) { return stage >= Stage::kPreemptive && stage <= Stage::kFullHost; }

}  // namespace

void RecordingObserver::add(const NodeWork& work, const Workspace& workspace, Stage stage,
                            Outcome outcome, const Amounts* missing, const Spared* spared) {
  Event event{work.node(), stage, outcome, kNoId, recorder_->request, recorder_->slot, {}};
  if (spared != nullptr) event.spared = *spared;
  if (event.request != kNoId) event.operation = work.operation_of(event.request);
  if (event.slot != kNoId) {
    event.operation = workspace.state.operation_of(event.slot);
    event.request = work.last_started();
  }
  event.missing.assign(workspace.state.width(), 0);
  if (missing != nullptr)
    std::copy_n(missing->begin(), workspace.state.width(), event.missing.begin());
  recorder_->events.push_back(std::move(event));
}

void RecordingObserver::before(Workspace& workspace, const NodeWork&, Stage) {
  decisions_before_ = workspace.decisions.rows().size();
  if (recorder_->request != kNoId) pending_before_ = workspace.pending(recorder_->request);
  if (recorder_->slot != kNoId) running_before_ = workspace.state.running(recorder_->slot);
}

void RecordingObserver::after(Workspace& workspace, const NodeWork& work, Stage stage,
                              Level lowest) {
  if (recorder_->all_taken) return all_taken_after(workspace, work, stage);
  if (recorder_->request != kNoId) request_after(workspace, work, stage);
  if (recorder_->slot != kNoId && workspace.state.node_of(recorder_->slot) == work.node())
    allocation_after(workspace, work, stage, lowest);
}

void RecordingObserver::all_taken_after(const Workspace& workspace, const NodeWork& work,
                                        Stage stage) {
  const auto& rows = workspace.decisions.rows();
  for (std::size_t i = decisions_before_; i < rows.size(); ++i) {
    if (rows[i].action != Action::kPreempt) continue;
    recorder_->slot = rows[i].slot;
    add(work, workspace, stage, Outcome::kTaken);
    if (is_preemptive(stage)) add_place(workspace, work);
  }
  recorder_->slot = kNoId;
}

void RecordingObserver::backed_off(Workspace& workspace, const NodeWork& work) {
  if (recorder_->all_taken) return;
  if (recorder_->request != kNoId) {
    pending_before_ = workspace.pending(recorder_->request);
    if (!barred(workspace, work, Stage::kPreemptive)) {
      if (may_preempt(workspace, work.operation_of(recorder_->request))) {
        add(work, workspace, Stage::kPreemptive, Outcome::kBackoff);
        const Time last = workspace.memory.last_preemptive[work.node()];
        Facts& facts = recorder_->events.back().facts;
        facts.times.emplace_back("last_attempt", last);
        facts.times.emplace_back("until", last + workspace.settings.backoff);
      } else {
        add(work, workspace, Stage::kPreemptive, Outcome::kNotStarving);
      }
    }
  } else if (workspace.state.node_of(recorder_->slot) == work.node()) {
    add(work, workspace, Stage::kPreemptive, Outcome::kNoStartInStage);
  }
}

bool RecordingObserver::may_preempt(const Workspace& workspace, Id operation) const {
  return std::ranges::any_of(stage_rules(workspace.settings, true), [&](const StageRule& rule) {
    return workspace.queue(rule.stage).contains(operation);
  });
}

// The lowest element that would be over its limits with so much more, what it uses and may use.
void RecordingObserver::add_limits(const Workspace& workspace, Id operation, const Amount* more,
                                   bool preemptive) {
  const std::size_t width = workspace.state.width();
  for (Id e = workspace.limited_from(workspace.pools() + operation); e != kNoId;
       e = workspace.limited_above(e)) {
    const Amount* used = workspace.usage_of(e);
    const Workspace::Limits limits = workspace.limits_of(e, preemptive);
    Column<Amount> uses(width, kUnsaid), most(width, kUnsaid);
    bool over = false;
    for (std::size_t r = 0; r < width; ++r) {
      if (!limits.given(r) || used[r] + more[r] <= limits.at(r)) continue;
      uses[r] = used[r];
      most[r] = limits.at(r);
      over = true;
    }
    if (!over) continue;
    Facts& facts = recorder_->events.back().facts;
    if (e < workspace.pools())
      facts.pools.emplace_back("element", e);
    else
      facts.operations.emplace_back("element", e - workspace.pools());
    facts.amounts.emplace_back("used", std::move(uses));
    facts.amounts.emplace_back("limit", std::move(most));
    return;
  }
}

// The part of its operation's fair share within which a plain stage takes nothing of it; 0: none.
double RecordingObserver::spared_within(const Workspace& workspace, const Decision& taken) {
  const auto computed = [](std::uint8_t group) { return group == 255; };
  if (taken.group == Group::kNonPreemptible ||
      !std::ranges::all_of(workspace.given.groups, computed))
    return 0;
  // Of what it wants and has no share of it has all the share, and nothing is within a part of
  // that.
  const Id element = workspace.pools() + taken.operation;
  const double *fair = workspace.last.fair_share(element),
               *wants = workspace.last.demand_share(element);
  for (std::size_t r = 0; r < workspace.state.width(); ++r)
    if (fair[r] <= kShareTolerance && wants[r] > fair[r] + kShareTolerance) return 0;
  if (taken.stage == Stage::kPreemptive) return workspace.settings.preemption_threshold;
  const auto e = static_cast<std::size_t>(element);
  const bool aggressive = workspace.last.starvation.effective.allow_aggressive[e] != 0;
  if (taken.stage != Stage::kAggressive || !aggressive) return 0;
  return workspace.settings.aggressive_preemption_threshold;
}

// Of a victim: within which part of its fair share it would be safe, and its place in the order
// of the stage, among what it might take.
void RecordingObserver::add_place(const Workspace& workspace, const NodeWork& work) {
  const Id slot = recorder_->slot;
  Facts& facts = recorder_->events.back().facts;
  const auto& rows = workspace.decisions.rows();
  const auto taken = std::ranges::find(rows, slot, &Decision::slot);
  if (taken == rows.end()) return;
  if (const double within = spared_within(workspace, *taken); within != 0)
    facts.numbers.emplace_back("within", within);
  const auto wanted = work.looked_at();
  const auto place = std::ranges::find(wanted, slot);
  if (place == wanted.end()) return;
  facts.times.emplace_back("began", workspace.state.last_start(slot));
  facts.numbers.emplace_back("place", static_cast<double>(place - wanted.begin() + 1));
  facts.numbers.emplace_back("candidates", static_cast<double>(work.candidates()));
}

// Repair within a stage decides, too, and starts nothing.
bool RecordingObserver::started_since(const Workspace& workspace) const {
  const auto& rows = workspace.decisions.rows();
  return std::any_of(rows.begin() + static_cast<std::ptrdiff_t>(decisions_before_), rows.end(),
                     [](const Decision& d) { return d.action == Action::kStart; });
}

bool RecordingObserver::lacks(const Amount* least, const Amount* room, std::size_t width,
                              Amounts& missing) const {
  bool any = false;
  for (std::size_t r = 0; r < width; ++r) {
    missing[r] = std::max<Amount>(least[r] - room[r], 0);
    any |= missing[r] > 0;
  }
  return any;
}

bool RecordingObserver::barred(Workspace& workspace, const NodeWork& work, Stage stage) {
  const Id q = recorder_->request, o = work.operation_of(q);
  const auto bar = [&](Outcome outcome) {
    add(work, workspace, stage, outcome);
    return true;
  };
  if (pending_before_ == 0) return bar(Outcome::kCountExhausted);
  if (!workspace.work().schedulable[o]) return bar(Outcome::kUnschedulable);
  if (!workspace.queue(Stage::kRegular).contains(o) && workspace.pending(q) > 0)
    return bar(Outcome::kGracefulWhileNormal);
  if (!workspace.state.schedulable(work.node())) return bar(Outcome::kNodeNotSchedulable);
  switch (workspace.why_not_on(q, work.node())) {
    case Workspace::Place::kAllowed:
      return false;
    case Workspace::Place::kOtherNode:
      return bar(Outcome::kWrongNode);
    case Workspace::Place::kTagMissing:
      return bar(Outcome::kWrongTags);
    case Workspace::Place::kSsdOnly:
      return bar(Outcome::kSsdOnly);
  }
  return false;
}

void RecordingObserver::request_after(Workspace& workspace, const NodeWork& work, Stage stage) {
  if (stage != Stage::kRegular && !is_preemptive(stage)) return;
  const Id q = recorder_->request, o = work.operation_of(q);
  const std::size_t width = workspace.state.width();
  if (workspace.pending(q) < pending_before_) {
    add(work, workspace, stage, Outcome::kStarted);
    return;
  }
  if (barred(workspace, work, stage)) return;
  Amounts missing{};
  if (stage == Stage::kRegular) {
    if (!work.fits_with_promise(q) &&
        lacks(work.least_room(q), work.with_promise(work.room(), q).data(), width, missing))
      return add(work, workspace, stage, Outcome::kNoFreeRoom, &missing);
  } else if (!workspace.queue(stage).contains(o)) {
    // A stage for special nodes has nothing to say of a request that does not need them.
    if (stage == Stage::kAggressive)
      add(work, workspace, stage, Outcome::kNotAggressivelyStarving);
    else if (stage == Stage::kPreemptive && !may_preempt(workspace, o))
      add(work, workspace, stage, Outcome::kNotStarving);
    return;
  } else if (!work.fits_with_promise_and_victims(q) &&
             lacks(work.least_room(q), work.with_promise(work.room_with_victims(), q).data(), width,
                   missing)) {
    Amounts even_so{};
    const bool by_pace = workspace.pace.on() &&
                         (work.fits_with_promise_and_spared(q) ||
                          !lacks(work.least_room(q), work.room_with_spared(), width, even_so));
    return add(work, workspace, stage,
               by_pace ? Outcome::kVictimsSpared : Outcome::kNoRoomEvenWithVictims, &missing,
               by_pace ? work.first_spared() : nullptr);
  }
  if (!workspace.within_limits(o, work.need(q), is_preemptive(stage))) {
    workspace.lacking_limits(o, work.need(q), is_preemptive(stage), missing.data());
    add(work, workspace, stage, Outcome::kLimitsOfOperationOrPool, &missing);
    return add_limits(workspace, o, work.need(q), is_preemptive(stage));
  }
  if (started_since(workspace)) return add(work, workspace, stage, Outcome::kStageTaken);
  if (workspace.held_by_caps(q))
    return add(work, workspace, stage, Outcome::kVictimsSpared, nullptr, work.first_spared());
  if (stage == Stage::kFullHost) {
    const bool beyond = work.full_host(q) == NodeWork::FullHost::kBeyondFairShare;
    add(work, workspace, stage, beyond ? Outcome::kWithinFairShareOnly : Outcome::kPenaltyTooHigh);
  }
}

void RecordingObserver::allocation_after(Workspace& workspace, const NodeWork& work, Stage stage,
                                         Level lowest) {
  const Id slot = recorder_->slot;
  if (!running_before_) {
    if (stage == Stage::kRegular)
      add(work, workspace, stage,
          workspace.state.leaving(slot) ? Outcome::kAlreadyPreempting : Outcome::kNotRunning);
    return;
  }
  if (!workspace.state.running(slot)) {
    add(work, workspace, stage, Outcome::kTaken);
    if (is_preemptive(stage)) add_place(workspace, work);
    return;
  }
  if (stage == Stage::kRegular) return;
  if (const Spared* spared = work.spared(slot, stage); spared != nullptr)
    return add(work, workspace, stage, spared->why, nullptr, spared);
  if (stage == Stage::kGraceful) return;
  if (!is_preemptive(stage)) {
    const Id o = workspace.state.operation_of(slot);
    const bool over =
        stage == Stage::kOvercommit ? work.overcommitted() : workspace.over_limit(o) != kNoId;
    if (!over) add(work, workspace, stage, Outcome::kNoViolation);
    return;
  }
  const Outcome why = left_alone(workspace, work, stage, lowest);
  add(work, workspace, stage, why);
  recorder_->events.back().group = workspace.group(slot);
  if (why == Outcome::kOperationStarving)
    add_exposure(workspace, workspace.state.operation_of(slot));
}

// What keeps a stage from taking anything of an operation.
void RecordingObserver::add_exposure(const Workspace& workspace, Id operation) {
  Facts& facts = recorder_->events.back().facts;
  const auto e = static_cast<std::size_t>(workspace.pools() + operation);
  const bool starves = workspace.last.starvation.clocks.starvation[e] != Starvation::kNonStarving;
  if (starves && !workspace.settings.allow_preemption_from_starving)
    facts.operations.emplace_back("starves", operation);
  else if (!workspace.rows.allow_normal.empty())
    for (Id p = workspace.state.pool_of(operation); p != kNoId; p = workspace.parent_of(p))
      if (workspace.rows.allow_normal[p] == 0) return void(facts.pools.emplace_back("pool", p));
}

void name_started(const Workspace& workspace, Recorder& recorder) {
  std::vector<const Decision*> first(static_cast<std::size_t>(workspace.state.nodes().rows()));
  for (const Decision& d : workspace.decisions.rows())
    if (d.action == Action::kStart && d.stage != Stage::kRegular && d.request != kNoId &&
        d.node != kNoId && first[static_cast<std::size_t>(d.node)] == nullptr)
      first[static_cast<std::size_t>(d.node)] = &d;
  for (Event& event : recorder.events) {
    if (event.outcome != Outcome::kStageTaken) continue;
    const Decision* started = first[static_cast<std::size_t>(event.node)];
    if (started == nullptr) continue;
    event.facts.requests.emplace_back("started", started->request);
    event.facts.operations.emplace_back("operation", started->operation);
  }
}

Outcome RecordingObserver::left_alone(Workspace& workspace, const NodeWork& work, Stage stage,
                                      Level lowest) const {
  const Id slot = recorder_->slot, o = workspace.state.operation_of(slot);
  if (workspace.graceful(o)) return Outcome::kGracefulOperation;
  if (!workspace.exposure(o).to(stage)) return Outcome::kOperationStarving;
  if (!workspace.may_leave(slot)) return Outcome::kNotPreemptibleFlag;
  const Group group = workspace.group(slot);
  const auto e = static_cast<std::size_t>(workspace.pools() + o);
  const bool aggressive = workspace.last.starvation.effective.allow_aggressive[e] != 0;
  const bool ssd = workspace.is_ssd_node(work.node()) && workspace.uses_ssd(slot);
  if (level(group, aggressive, ssd) < lowest)
    return level(group, true, ssd) < lowest ? Outcome::kProtectedGroup
                                            : Outcome::kAggressiveNotAllowed;
  if (!started_since(workspace)) return Outcome::kNoStartInStage;
  const auto wanted = work.looked_at();
  const auto place = std::ranges::find(wanted, slot) - wanted.begin();
  return static_cast<std::size_t>(place) < workspace.selector.considered()
             ? Outcome::kGivenBack
             : Outcome::kSparedFitsWithout;
}

}  // namespace evenhand::ytsaurus
