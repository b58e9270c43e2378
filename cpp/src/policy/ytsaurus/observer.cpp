#include "observer.h"

#include <algorithm>

namespace evenhand::ytsaurus {
namespace {

bool is_preemptive(Stage stage) { return stage >= Stage::kPreemptive && stage <= Stage::kFullHost; }

}  // namespace

void RecordingObserver::add(const NodeWork& work, const Desk& desk, Stage stage, Outcome outcome,
                            const Amounts* missing) {
  Event event{work.node(), stage, outcome, kNoId, recorder_->request, recorder_->slot, {}};
  if (event.request != kNoId) event.operation = work.operation_of(event.request);
  if (event.slot != kNoId) {
    event.operation = desk.state.operation_of(event.slot);
    event.request = work.last_started();
  }
  event.missing.assign(desk.state.width(), 0);
  if (missing != nullptr) std::copy_n(missing->begin(), desk.state.width(), event.missing.begin());
  recorder_->events.push_back(std::move(event));
}

void RecordingObserver::before(Desk& desk, const NodeWork&, Stage) {
  decisions_before_ = desk.decisions.rows().size();
  if (recorder_->request != kNoId) pending_before_ = desk.pending(recorder_->request);
  if (recorder_->slot != kNoId) running_before_ = desk.state.running(recorder_->slot);
}

void RecordingObserver::after(Desk& desk, const NodeWork& work, Stage stage, Level lowest) {
  if (recorder_->request != kNoId) request_after(desk, work, stage);
  if (recorder_->slot != kNoId && desk.state.node_of(recorder_->slot) == work.node())
    allocation_after(desk, work, stage, lowest);
}

void RecordingObserver::backed_off(Desk& desk, const NodeWork& work) {
  if (recorder_->request != kNoId) {
    pending_before_ = desk.pending(recorder_->request);
    if (!barred(desk, work, Stage::kPreemptive))
      add(work, desk, Stage::kPreemptive,
          may_preempt(desk, work.operation_of(recorder_->request)) ? Outcome::kBackoff
                                                                   : Outcome::kNotStarving);
  } else if (desk.state.node_of(recorder_->slot) == work.node()) {
    add(work, desk, Stage::kPreemptive, Outcome::kNoStartInStage);
  }
}

bool RecordingObserver::may_preempt(const Desk& desk, Id operation) const {
  return std::ranges::any_of(stage_rules(desk.settings, true), [&](const StageRule& rule) {
    return desk.queue(rule.stage).contains(operation);
  });
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

bool RecordingObserver::barred(Desk& desk, const NodeWork& work, Stage stage) {
  const Id q = recorder_->request, o = work.operation_of(q);
  const auto bar = [&](Outcome outcome) {
    add(work, desk, stage, outcome);
    return true;
  };
  if (pending_before_ == 0) return bar(Outcome::kCountExhausted);
  if (!desk.work().schedulable[static_cast<std::size_t>(o)]) return bar(Outcome::kUnschedulable);
  if (!desk.queue(Stage::kRegular).contains(o) && desk.pending(q) > 0)
    return bar(Outcome::kGracefulWhileNormal);
  if (!desk.state.schedulable(work.node())) return bar(Outcome::kNodeNotSchedulable);
  switch (desk.why_not_on(q, work.node())) {
    case Desk::Place::kAllowed:
      return false;
    case Desk::Place::kOtherNode:
      return bar(Outcome::kWrongNode);
    case Desk::Place::kTagMissing:
      return bar(Outcome::kWrongTags);
    case Desk::Place::kSsdOnly:
      return bar(Outcome::kSsdOnly);
  }
  return false;
}

void RecordingObserver::request_after(Desk& desk, const NodeWork& work, Stage stage) {
  if (stage != Stage::kRegular && !is_preemptive(stage)) return;
  const Id q = recorder_->request, o = work.operation_of(q);
  const std::size_t width = desk.state.width();
  if (desk.pending(q) < pending_before_) {
    add(work, desk, stage, Outcome::kStarted);
    return;
  }
  if (barred(desk, work, stage)) return;
  Amounts missing{};
  if (stage == Stage::kRegular) {
    if (!work.fits_with_promise(q) && lacks(work.least_room(q), work.room(), width, missing))
      return add(work, desk, stage, Outcome::kNoFreeRoom, &missing);
  } else if (!desk.queue(stage).contains(o)) {
    // A stage for special nodes has nothing to say of a request that does not need them.
    if (stage == Stage::kAggressive)
      add(work, desk, stage, Outcome::kNotAggressivelyStarving);
    else if (stage == Stage::kPreemptive && !may_preempt(desk, o))
      add(work, desk, stage, Outcome::kNotStarving);
    return;
  } else if (!work.fits_with_promise_and_victims(q) &&
             lacks(work.least_room(q), work.room_with_victims(), width, missing)) {
    return add(work, desk, stage, Outcome::kNoRoomEvenWithVictims, &missing);
  }
  if (!desk.within_limits(o, work.need(q), is_preemptive(stage))) {
    desk.lacking_limits(o, work.need(q), is_preemptive(stage), missing.data());
    return add(work, desk, stage, Outcome::kLimitsOfOperationOrPool, &missing);
  }
  if (desk.decisions.rows().size() > decisions_before_)
    return add(work, desk, stage, Outcome::kStageTaken);
  if (stage == Stage::kFullHost) {
    const bool beyond = work.full_host(q) == NodeWork::FullHost::kBeyondFairShare;
    add(work, desk, stage, beyond ? Outcome::kWithinFairShareOnly : Outcome::kPenaltyTooHigh);
  }
}

void RecordingObserver::allocation_after(Desk& desk, const NodeWork& work, Stage stage,
                                         Level lowest) {
  const Id slot = recorder_->slot;
  if (!running_before_) {
    if (stage == Stage::kRegular)
      add(work, desk, stage,
          desk.state.leaving(slot) ? Outcome::kAlreadyPreempting : Outcome::kNotRunning);
    return;
  }
  if (!desk.state.running(slot)) return add(work, desk, stage, Outcome::kTaken);
  if (stage == Stage::kRegular || stage == Stage::kGraceful) return;
  if (!is_preemptive(stage)) {
    add(work, desk, stage, Outcome::kNoViolation);
    return;
  }
  add(work, desk, stage, left_alone(desk, work, stage, lowest));
}

Outcome RecordingObserver::left_alone(Desk& desk, const NodeWork& work, Stage stage,
                                      Level lowest) const {
  const Id slot = recorder_->slot, o = desk.state.operation_of(slot);
  if (desk.graceful(o)) return Outcome::kGracefulOperation;
  if (!desk.exposure(o).to(stage)) return Outcome::kOperationStarving;
  if (!desk.may_leave(slot)) return Outcome::kNotPreemptibleFlag;
  const Group group = desk.group(slot);
  const auto e = static_cast<std::size_t>(desk.pools() + o);
  const bool aggressive = desk.last.starvation.effective.allow_aggressive[e] != 0;
  const bool ssd = desk.is_ssd_node(work.node()) && desk.uses_ssd(slot);
  if (level(group, aggressive, ssd) < lowest)
    return level(group, true, ssd) < lowest ? Outcome::kProtectedGroup
                                            : Outcome::kAggressiveNotAllowed;
  if (desk.decisions.rows().size() == decisions_before_) return Outcome::kNoStartInStage;
  const auto wanted = work.looked_at();
  const auto place = std::ranges::find(wanted, slot) - wanted.begin();
  return static_cast<std::size_t>(place) < desk.selector.considered() ? Outcome::kGivenBack
                                                                      : Outcome::kSparedFitsWithout;
}

}  // namespace evenhand::ytsaurus
