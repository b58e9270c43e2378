#include "evenhand/policy/ytsaurus/heartbeat.h"

#include <algorithm>
#include <span>

#include "node_work.h"
#include "observer.h"

namespace evenhand::ytsaurus {
namespace {

// Requests of a stage that were looked at on a node, and which of them starts.
struct Choice {
  Id request = kNoId;
  Id operation = kNoId;
};

// Observer: sees each stage before and after; decides nothing.
template <class Observer>
class Heartbeat {
 public:
  Heartbeat(Workspace& workspace, Id node, Observer observer)
      : workspace_(workspace), work_(workspace, node), node_(node), observer_(observer) {}

  void run() {
    observed(Stage::kGraceful, [&] { graceful_pass(); });
    observed(Stage::kRegular, [&] {
      if (workspace_.state.schedulable(node_)) regular_stage();
    });
    preemptive_stages();
    observed(Stage::kLimitRepair, [&] {
      if (!workspace_.settings.repair_in_stage) repair_limits();
    });
    observed(Stage::kOvercommit, [&] { overcommit_pass(); });
  }

 private:
  using Size = std::size_t;

  template <class Pass>
  void observed(Stage stage, Pass&& pass) {
    observer_.before(workspace_, work_, stage);
    pass();
    observer_.after(workspace_, work_, stage, kNoLevel);
  }

  static constexpr Level kNoLevel = Level::kPreemptible;

  Index& count(Stage stage, Tally what) { return workspace_.counts[at(stage)][at(what)]; }

  // --- graceful mode: asked to leave whether or not its room is wanted

  void graceful_pass() {
    if (workspace_.rows.graceful.empty()) return;
    for (const Id slot : work_.graceful_victims()) {
      work_.victim(slot, {.stage = Stage::kGraceful,
                          .reason = Reason::kGracefulPreemption,
                          .grace = workspace_.settings.graceful_timeout,
                          .step = work_.next_step()});
      ++count(Stage::kGraceful, Tally::kVictims);
    }
  }

  // --- free room

  void regular_stage() {
    const ServiceQueue& queue = workspace_.queue(Stage::kRegular);
    if (queue.empty()) return;
    ++count(Stage::kRegular, Tally::kRuns);
    mark_fitting_shapes(Stage::kRegular, work_.room());
    bool few = fitting_requests() * 8 < queue.size() && !work_.has_promises();
    while (!workspace_.fitting_shapes.empty() || work_.has_promises()) {
      const Choice choice = few ? first_of_few() : first_in_queue(few);
      if (choice.request == kNoId) break;
      work_.start(
          choice.request,
          {.stage = Stage::kRegular, .reason = Reason::kFitsFreeRoom, .step = work_.next_step()});
      ++count(Stage::kRegular, Tally::kStarts);
      if (few) fitting_requests();
    }
  }

  void mark_fitting_shapes(Stage stage, const Amount* room) {
    workspace_.fitting_shapes.clear();
    for (const Id shape : workspace_.waiting_shapes(stage))
      if (workspace_.waiting(stage, shape) > 0 && workspace_.shapes().fits(shape, room))
        workspace_.fitting_shapes.push_back(shape);
  }

  // Drops what fits no more; returns how many requests have a shape that does.
  Size fitting_requests() {
    Size requests = 0;
    std::erase_if(workspace_.fitting_shapes, [&](Id shape) {
      const bool fits = workspace_.waiting(Stage::kRegular, shape) > 0 &&
                        workspace_.shapes().fits(shape, work_.room());
      if (fits) requests += static_cast<Size>(workspace_.waiting(Stage::kRegular, shape));
      return !fits;
    });
    return requests;
  }

  // Where room is plenty, the queue's front fits. If it does not, few may be left that
  // do: they are compared with each other instead.
  Choice first_in_queue(bool& few) {
    constexpr Size kFront = 64;
    const Size length = workspace_.queue(Stage::kRegular).size();
    if (work_.has_promises()) return first_among(length);
    if (const Choice choice = first_among(kFront); choice.request != kNoId || length <= kFront)
      return choice;
    few = fitting_requests() * 8 < length;
    return few ? first_of_few() : first_among(length);
  }

  bool may_start(Id request, bool preemptive) {
    if (!workspace_.allowed_on(request, node_)) return false;
    if (!preemptive && workspace_.refused_by_limits(request)) return false;
    const Id operation = work_.operation_of(request);
    if (workspace_.within_limits(operation, work_.need(request), preemptive)) return true;
    if (!preemptive) workspace_.refuse_by_limits(request);
    return false;
  }

  Choice first_of_few() {
    Choice best;
    ServiceQueue::Entry best_entry{};
    for (const Id shape : workspace_.fitting_shapes)
      workspace_.for_requests_of_shape(shape, [&](const Workspace::Ask& ask) {
        const Id q = ask.request, o = work_.operation_of(q);
        if (ask.pending == 0 || !workspace_.queue(Stage::kRegular).contains(o)) return;
        const ServiceQueue::Entry entry = workspace_.entry(Stage::kRegular, o);
        if (best.request != kNoId && (ServiceQueue::before(best_entry, entry) ||
                                      (o == best.operation && workspace_.before(best.request, q))))
          return;
        if (!may_start(q, false)) return;
        best = {q, o};
        best_entry = entry;
      });
    return best;
  }

  Choice first_among(Size entries) {
    const auto fits_alone = [&](Id shape) {
      return shape == kNoId || work_.has_promises() ||
             workspace_.shapes().fits(shape, work_.room());
    };
    Choice found;
    workspace_.in_order(Stage::kRegular, entries, [&](const ServiceQueue::Entry& entry) {
      if (!fits_alone(workspace_.only_shape(entry.operation))) return false;
      for (const Workspace::Ask& ask : workspace_.waiting_of(entry.operation)) {
        if (ask.pending == 0) continue;
        const bool fits = work_.has_promises() ? work_.fits_with_promise(ask.request)
                                               : workspace_.shapes().fits(ask.shape, work_.room());
        if (!fits || !may_start(ask.request, false)) continue;
        found = {ask.request, entry.operation};
        return true;
      }
      return false;
    });
    return found;
  }

  // --- room of victims

  void preemptive_stages() {
    const bool starts = workspace_.state.schedulable(node_);
    const Time last = workspace_.memory.last_preemptive[node_];
    if (last != kNoTime && workspace_.state.now() <= last + workspace_.settings.backoff) {
      ++count(Stage::kPreemptive, Tally::kBackoffs);
      observer_.backed_off(workspace_, work_);
      return;
    }
    // Renewed by trying, not by succeeding.
    workspace_.memory.last_preemptive.set(node_, workspace_.state.now());
    for (const StageRule& rule : workspace_.stages(node_)) {
      observer_.before(workspace_, work_, rule.stage);
      const bool started = run_stage(rule, starts);
      observer_.after(workspace_, work_, rule.stage, rule.lowest);
      if (started && workspace_.settings.one_start_per_heartbeat) return;
    }
  }

  bool run_stage(const StageRule& rule, bool starts) {
    const ServiceQueue& queue = workspace_.queue(rule.stage);
    const bool repairs = workspace_.settings.repair_in_stage;
    if (queue.empty() && !(repairs && rule.stage == Stage::kPreemptive)) return false;
    ++count(rule.stage, Tally::kRuns);
    work_.collect_eligible(rule);
    const Choice choice = starts ? find_candidate(rule) : Choice{};
    if (choice.request == kNoId) {
      if (repairs && rule.stage == Stage::kPreemptive) work_.repair_in_stage();
      return false;
    }
    const Id step = work_.next_step();
    const Beneficiary beneficiary{choice.operation, choice.request};
    for (const Id slot : work_.chosen()) {
      work_.victim(slot, {.stage = rule.stage,
                          .reason = rule.reason,
                          .grace = workspace_.settings.preemption_timeout,
                          .step = step,
                          .beneficiary = beneficiary,
                          .needed = work_.need(choice.request)});
      ++count(rule.stage, Tally::kVictims);
    }
    const bool alone = work_.chosen().empty();
    if (!alone && workspace_.settings.victim_selection == VictimSelection::kMinimum) {
      workspace_.decisions.prove(step, work_.proof());
      workspace_.decisions.asked(step, workspace_.question);
    }
    work_.start(choice.request,
                {.stage = rule.stage,
                 .reason = alone ? Reason::kFitsFreeRoom : Reason::kFitsAfterPreemption,
                 .step = step});
    ++count(rule.stage, Tally::kStarts);
    if (repairs) work_.repair_in_stage();
    return true;
  }

  Choice find_candidate(const StageRule& rule) {
    mark_fitting_shapes(rule.stage, work_.room_with_victims());
    if (workspace_.fitting_shapes.empty() && !work_.has_promises()) return {};
    Column<std::uint8_t>& fits = workspace_.shape_fits;
    fits.resize(workspace_.shapes().size(), 0);
    for (const Id shape : workspace_.fitting_shapes) fits[shape] = 1;
    const Choice choice = first_candidate(rule);
    for (const Id shape : workspace_.fitting_shapes) fits[shape] = 0;
    return choice;
  }

  Choice first_candidate(const StageRule& rule) {
    Choice found;
    const Size all = workspace_.queue(rule.stage).size();
    workspace_.in_order(rule.stage, all, [&](const ServiceQueue::Entry& entry) {
      for (const Workspace::Ask& ask : workspace_.waiting_of(entry.operation)) {
        const Id q = ask.request;
        if (ask.pending == 0) continue;
        if (!workspace_.shape_fits[ask.shape] &&
            !(work_.has_promises() && work_.fits_with_promise_and_victims(q)))
          continue;
        if (!may_start(q, true) || !work_.choose(rule, q)) continue;
        found = {q, entry.operation};
        return true;
      }
      return false;
    });
    return found;
  }

  // --- violated limits, node over its resources

  void repair_limits() {
    if (workspace_.elements_over_limit() == 0) return;
    ++count(Stage::kLimitRepair, Tally::kRuns);
    for (const NodeWork::Repair& repair : work_.limit_repairs()) {
      work_.victim(repair.slot, {.stage = Stage::kLimitRepair,
                                 .reason = Reason::kResourceLimitsViolated,
                                 .grace = workspace_.settings.preemption_timeout,
                                 .step = work_.next_step(),
                                 .violated = repair.violated});
      ++count(Stage::kLimitRepair, Tally::kVictims);
    }
  }

  void overcommit_pass() {
    Beside<Time>& clock = workspace_.memory.overcommitted_since;
    if (!work_.overcommitted()) return clock.set(node_, kNoTime);
    const Time now = workspace_.state.now(), delay = workspace_.settings.overcommit_delay;
    if (clock[node_] == kNoTime) clock.set(node_, now);
    const Time since = clock[node_];
    if (delay > 0 && now <= since + delay) return;
    ++count(Stage::kOvercommit, Tally::kRuns);
    for (const Id slot : work_.beyond_capacity()) {
      work_.victim(slot, {.stage = Stage::kOvercommit,
                          .reason = Reason::kResourceOvercommit,
                          .grace = workspace_.settings.preemption_timeout,
                          .step = work_.next_step()});
      ++count(Stage::kOvercommit, Tally::kVictims);
    }
    if (!work_.overcommitted()) clock.set(node_, kNoTime);
  }

  Workspace& workspace_;
  NodeWork work_;
  Id node_;
  [[no_unique_address]] Observer observer_;
};

}  // namespace

void heartbeat(Workspace& workspace, Id node, Recorder* recorder) {
  const std::span<const Id> here = workspace.state.on_node(node);
  if (workspace.groups.changed() <= here.size())
    workspace.groups.refresh(workspace.state);
  else  // groups of operations that do not run here can wait
    for (const Id slot : here)
      workspace.groups.refresh(workspace.state, workspace.state.operation_of(slot));
  workspace.compare_groups(node);
  workspace.groups.hold();
  if (recorder == nullptr)
    Heartbeat<NoObserver>(workspace, node, {}).run();
  else
    Heartbeat<RecordingObserver>(workspace, node, RecordingObserver(*recorder)).run();
}

}  // namespace evenhand::ytsaurus
