// When the planner is asked, and what becomes of its decisions.
#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <utility>

#include "evenhand/preempt/effects.h"
#include "evenhand/sim/engine.h"

namespace evenhand::sim {

// Something is not as it was; of a node, or kNoId: of what waits.
void Engine::changed(Id node) {
  // A tick at which it has been asked, or could have been, has passed.
  const Time from = asked_at_ == now_ ? now_ + 1 : now_;
  const auto earlier = [](Time& of, Time due) {
    if (of == kNoTime || due < of) of = due;
  };
  if (options_.drive == Options::Drive::kHeartbeats) {
    earlier(update_at_, tick(options_.second, from));
    earlier(wished_.update, update_at_);
    if (planner_->contended())
      look_at_all();
    else if (node != kNoId)
      look_at(node);
    return;
  }
  constexpr Time kLeast = 2;  // passes follow each other no faster, also that of a tick left out
  if (options_.drive == Options::Drive::kRuns)
    earlier(pass_at_, tick(options_.period, from));
  else
    earlier(pass_at_,
            std::max(now_, std::max(last_pass_, tick_before(options_.period, from)) + kLeast));
  earlier(wished_.pass, pass_at_);
  if (!options_.backfill) return;
  earlier(update_at_, tick(options_.second, from));
  earlier(wished_.update, update_at_);
}

void Engine::want(Id node, bool wanted) {
  grid_.want(node, options_.literal || wanted);
  std::uint8_t& wished = wished_.node[node];
  wished_.nodes += (wanted ? 1 : 0) - wished;
  wished = wanted ? 1 : 0;
}

void Engine::look_at(Id node) { want(node, !planner_->idle(node)); }

// At its first heartbeat that is not before an instant.
void Engine::look_from(Id node, Time time) {
  if (look_[node] == time) return;
  look_[node] = time;
  push(time, Phase::kLook, node, 0);
}

void Engine::look_at_all() {
  for (const Id node : grid_.nodes()) look_at(node);
}

// Nothing runs, or will come.
bool Engine::quiet() const noexcept {
  return running_count_ == 0 && away_count_ == 0 && heap_.empty() && nothing_comes();
}

// Nothing runs or waits, or will come.
bool Engine::empty() const { return quiet() && waits() == kNoId; }

// No node that is up would have room for any of what waits, if it was all free.
bool Engine::nothing_fits() const {
  const auto has_room = [&](const Amount* need, Id node) {
    return state_->schedulable(node) &&
           std::equal(need, need + width_, capacity_.row(node, width_), std::less_equal{});
  };
  for (Id q = 0; q < state_->requests().rows(); ++q) {
    if (!state_->requests().present(q) || state_->pending(q) <= 0) continue;
    const Amount* need = state_->requests().get_row(&RequestColumns::resources, q);
    for (const Id node : state_->nodes().in_order())
      if (has_room(need, node)) return false;
  }
  return true;
}

Id Engine::waits() const {
  for (Id q = 0; q < state_->requests().rows(); ++q)
    if (state_->requests().present(q) && state_->pending(q) > 0) return asked_[q].source;
  return kNoId;
}

void Engine::update() {
  planner_->update(now_, true);
  last_update_ = now_;
  ++log_.updates;
  const Time due = planner_->next_update();
  tried(false, due, wished_.update);
  wished_.update =
      due == kNoTime || empty() ? kNoTime : tick_after(options_.second, std::max(due - 1, now_));
  update_at_ = options_.literal ? now_ + options_.second : wished_.update;
  woken_.clear();
  if (planner_->wakes(woken_) || options_.literal) look_at_all();
  for (const Id node : woken_)
    if (node != kNoId) want(node, true);
  note_spells();
}

void Engine::decide() {
  if (options_.drive != Options::Drive::kHeartbeats) return pass();
  heartbeat(grid_.next().node);
}

void Engine::heartbeat(Id node) {
  grid_.done(now_, node);
  const bool idle = planner_->idle(node);
  if (idle) want(node, false);
  if (idle && !options_.literal) return;
  reach(node);
  ++log_.decided;
  planner_->decide({.kind = Trigger::Kind::kHeartbeats, .nodes = {&node, 1}});
  const bool decided = !planner_->decisions().rows().empty();
  if (decided) {
    vain_ = {};
    carry_out(true);
    look_at(node);
  } else if (!idle) {
    const Time due = empty() ? kNoTime : planner_->due_on(node);
    want(node, due != kNoTime && due <= now_);
    if (due != kNoTime && due > now_) look_from(node, due);
    if (due != kNoTime && wished_.update == kNoTime) {
      if (vain_.beats++ == 0) vain_.beating = now_;
    }
  }
}

// An update, a pass or a run has decided or not, and leads to another one that is due, or to none
// before something happens. One that nothing asked for (`wished`: when one was due) says nothing;
// nor does one that a checkpoint brought about while the same instant is waited for.
void Engine::tried(bool decided, Time due, Time wished) {
  if (decided) {
    vain_ = {};
  } else if (wished != kNoTime && wished <= now_) {
    if (vain_.since == kNoTime) vain_.since = now_;
    if (due != kNoTime && due <= now_) {
      ++vain_.tries;
    } else {
      vain_.tries = 0;
      if (due == kNoTime || due != vain_.due) ++vain_.later;
    }
    vain_.due = due;
  }
}

// Its heartbeats until now that were left out are made up for.
void Engine::reach(Id node) {
  Time& last = visited_[node];
  const Time first = last == kNoTime ? grid_.first(node, begin_) : last + options_.period;
  if (first < now_) planner_->passed(node, first, options_.period, now_ - options_.period);
  last = now_;
}

// Runs before an instant that were left out are made up for.
void Engine::reach_passes(Time until) {
  if (options_.drive != Options::Drive::kRuns || reached_ == kNoTime) return;
  const Time first = tick_after(options_.period, reached_);
  if (first >= until) return;
  reached_ = tick_before(options_.period, until);
  planner_->passed(kNoId, first, options_.period, reached_);
}

void Engine::catch_up() {
  const bool due = pass_at_ != kNoTime && pass_at_ <= now_;
  reach_passes(due ? now_ : now_ + 1);
}

Trigger Engine::poise() {
  drop_stale();
  go_to(next().time);
  planner_->keep_decisions(false);
  if (options_.drive == Options::Drive::kHeartbeats) {
    poised_ = grid_.next().node;
    reach(poised_);
    return {.kind = Trigger::Kind::kHeartbeats, .nodes = {&poised_, 1}};
  }
  reach_passes(now_);
  planner_->update(now_, true);
  last_update_ = now_;
  return {.main_pass = pass_at_ == now_, .backfill_pass = update_at_ == now_};
}

// Whether backfill passes, of which this is one, have decided nothing for a whole cycle of them.
bool Engine::repeats_for_ever(bool moved) {
  const Time cycle = moved ? kNoTime : planner_->cycle();
  if (cycle == kNoTime) {
    repeats_ = kNoTime;
    return false;
  }
  if (repeats_ == kNoTime) repeats_ = now_;
  const Time times = cycle / std::gcd(cycle, options_.second);
  return (now_ - repeats_) / options_.second >= times;
}

void Engine::pass() {
  const bool main = pass_at_ == now_, backfill = update_at_ == now_;
  reach_passes(now_);
  reached_ = now_;
  planner_->update(now_, true);
  last_update_ = now_;
  ++log_.decided;
  const bool repeats = options_.drive == Options::Drive::kRuns;
  planner_->decide({.main_pass = main,
                    .backfill_pass = backfill,
                    .every = repeats ? options_.period : kNoTime,
                    .tells = false});
  const bool decided = !planner_->decisions().rows().empty();
  const Time due = planner_->next_due();
  // Room that is only planned is planned anew each time: nothing has changed.
  const bool moved = std::ranges::any_of(planner_->decisions().rows(), [](const Decision& d) {
    return d.action != Action::kReserve || !d.soft;
  });
  // What runs may have to leave later, as for a quota, whatever waits.
  const bool again = backfill && repeats_for_ever(moved);
  const bool over = !decided && due != kNoTime && ((quiet() && nothing_fits()) || again);
  tried(moved, decided ? now_ : due, main ? wished_.pass : wished_.update);
  const auto follows = [&](Time period, Time& wished, Time& at) {
    wished = decided                  ? tick_after(period, now_)
             : due == kNoTime || over ? kNoTime
                                      : tick_after(period, std::max(due - 1, now_));
    at = options_.literal ? tick_after(period, now_) : wished;
  };
  if (main) {
    last_pass_ = now_;
    follows(options_.period, wished_.pass, pass_at_);
  }
  if (backfill) follows(options_.second, wished_.update, update_at_);
  if (!decided) return;
  carry_out(false);
}

Id Engine::write(const Decision& d, const Amount* freed) {
  DecisionLog& log = log_.decisions;
  const auto request = [&](Id row) { return row == kNoId ? kNoId : asked_[row].source; };
  const auto operation = [&](Id row) { return row == kNoId ? kNoId : owners_[row].source; };
  const Id row = log.time.rows();
  log.time.push_back(now_);
  log.action.push_back(d.action);
  log.stage.push_back(d.stage);
  log.reason.push_back(d.reason);
  log.mode.push_back(d.mode);
  log.allocation.push_back(
      d.action == Action::kPreempt || d.action == Action::kResume ? running_[d.slot].log : kNoId);
  log.operation.push_back(operation(d.operation));
  log.node.push_back(d.node);
  log.request.push_back(request(d.request));
  log.beneficiary_operation.push_back(operation(d.beneficiary.operation));
  log.beneficiary_request.push_back(request(d.beneficiary.request));
  log.step.push_back(d.step);
  log.within_fair_share.push_back(d.within_fair_share);
  log.grace.push_back(d.grace);
  if (freed == nullptr)
    log.freed.resize(log.freed.size() + width_, 0);
  else
    log.freed.insert(log.freed.end(), freed, freed + width_);
  return row;
}

// `done`: starts and victims are in the state already.
void Engine::carry_out(bool done) {
  const Decisions& decisions = planner_->decisions();
  const std::vector<Decision>& rows = decisions.rows();
  const bool victims =
      std::ranges::any_of(rows, [](const Decision& d) { return d.action == Action::kPreempt; });
  if (!done) decided_ = rows;
  const std::vector<Decision>& all = done ? rows : decided_;
  if (victims) {
    freed_ = decisions.amounts(0);
    kept_ = decisions.amounts(4);
  }
  if (std::ranges::any_of(rows, [](const Decision& d) { return d.action == Action::kReserve; }))
    needed_ = decisions.amounts(2);
  const Id first = log_.decisions.time.rows();
  for (std::size_t i = 0; i < all.size(); ++i)
    write(all[i], all[i].action == Action::kPreempt ? freed_.row(i, width_) : nullptr);
  const auto row = [first](std::size_t i) { return first + static_cast<Id>(i); };
  if (done)
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].action == Action::kStart) start(all[i], row(i));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Decision& d = all[i];
    if (d.action != Action::kPreempt) continue;
    if (state_->gone(d.slot) && !state_->away(d.slot)) continue;  // with another part of it
    if (stops(d.mode)) {
      suspend(d.slot, d, kept_.row(i, width_), row(i));
      continue;
    }
    if (!done) on({.kind = Delta::Kind::kPreempt, .row = d.slot, .beneficiary = d.beneficiary});
    const Fate fate = d.mode == Mode::kTerminate    ? Fate::kGone
                      : d.mode == Mode::kCheckpoint ? Fate::kSaved
                                                    : Fate::kWaitsAgain;
    if (!done && options_.planned_ends && d.until > now_)
      change({.kind = Delta::Kind::kCells, .row = d.slot}, [&] {
        state_->set_deadline(d.slot, d.until);
        return d.slot;
      });
    leave(d.slot, fate, d.until, row(i));
    if (done) changed(d.node);
  }
  if (done) return;
  // What starts there stands in room of what leaves, which is not counted twice. Before starts, as
  // they get the slots of victims that had no time to leave.
  for (const ClusterState::TakenRoom& t : planner_->handed())
    if (state_->leaving_at(t.allocation) != nullptr)
      change({.kind = Delta::Kind::kCells, .row = t.allocation}, [&] {
        state_->take_room(t.allocation, t.amounts);
        return t.allocation;
      });
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].action == Action::kResume) resume(all[i], row(i));
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].action == Action::kReserve) reserve(all[i], needed_.row(i, width_), row(i));
  for (const Decision& d : all)
    if (d.action == Action::kRelease) release(d.request, d.node);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].action == Action::kStart) start(all[i], row(i));
  changed(kNoId);
}

void Engine::start(const Decision& d, Id row) {
  Id slot = d.slot;
  if (slot == kNoId || options_.drive != Options::Drive::kHeartbeats) {
    const Index pending = state_->pending(d.request);
    on({.kind = Delta::Kind::kPending, .row = d.request, .count = pending - 1});
    const Amount* each = state_->requests().get_row(&RequestColumns::resources, d.request);
    slot = on({.kind = Delta::Kind::kStart,
               .row = d.operation,
               .node = d.node,
               .amounts = {each, width_},
               .time = now_});
    if (pending > 1)
      release(d.request, d.node);
    else
      for (const Id reservation : std::exchange(asked_[d.request].reserved, {}))
        change({.kind = Delta::Kind::kRelease, .row = reservation}, [&] {
          state_->release(reservation);
          return reservation;
        });
  }
  log_.decisions.allocation[row] = log_.allocations.request.rows();
  track(slot, d.request, d.node);
  take_saved(slot);
  const Asked& asked = asked_[d.request];
  if (asked.cells)
    change({.kind = Delta::Kind::kCells, .row = slot}, [&] {
      state_->set_started(
          slot, d.request,
          asked.duration == kNoTime || !options_.planned_ends ? kNoTime : now_ + asked.duration);
      return slot;
    });
  const Id node = d.node;
  if (node == kNoId) {
    begin_work(slot);
  } else {
    waiting_[node].push_back(slot);
    begin_waiting(node);
  }
  if (options_.drive == Options::Drive::kHeartbeats) changed(kNoId);
}

// It keeps its progress, and a part of its room.
void Engine::suspend(Id slot, const Decision& d, const Amount* kept, Id row) {
  Running& r = running_[slot];
  const Column<Amount> holds(kept, kept + width_);
  AllocationLog& log = log_.allocations;
  const Time all = progress(slot);
  if (all > r.done && !endless(r.request))
    turns_.progressed();
  else
    turns_.lost(log.operation[r.log], now_);
  log.end[r.log] = now_;
  log.outcome[r.log] = Outcome::kSuspended;
  log.kept[r.log] = all;
  log.decision[r.log] = row;
  OperationLog& sums = log_.operations;
  const Id owner = log.operation[r.log];
  ++sums.preempted[owner];
  if (r.began != kNoTime) {
    sums.run[owner] += now_ - r.began;
    hold(slot, state_->amounts(slot), -1);
  } else if (d.node != kNoId) {
    std::erase(waiting_[d.node], slot);
  }
  on({.kind = Delta::Kind::kSuspend, .row = slot, .amounts = holds});
  hold(slot, holds.data(), 1);
  r.done = all;
  r.began = kNoTime;
  ++r.token;
  --running_count_;
  ++away_count_;
  if (d.node != kNoId) begin_waiting(d.node);
}

// What had kept all it has was only stopped: it has not started anew.
void Engine::resume(const Decision& d, Id row) {
  const Id slot = d.slot;
  const Amount *holds = state_->kept(slot), *all = state_->amounts(slot);
  const bool kept_all = holds != nullptr && std::equal(holds, holds + width_, all);
  if (holds != nullptr) hold(slot, holds, -1);
  const Running before = running_[slot];
  const Time stopped = log_.allocations.end[before.log];
  --away_count_;
  on({.kind = Delta::Kind::kResume, .row = slot, .node = d.node, .time = now_});
  log_.decisions.allocation[row] = log_.allocations.request.rows();
  track(slot, before.request, d.node);
  Running& r = running_[slot];
  r.done = before.done;
  r.saved = before.saved;
  log_.allocations.kept[r.log] = r.done;
  log_.allocations.resumed_from[r.log] = before.log;
  const auto cells = [&](auto&& set) {
    change({.kind = Delta::Kind::kCells, .row = slot}, [&] {
      set();
      return slot;
    });
  };
  if (before.request == kNoId) {
    // Of the start: what was left to do until its planned end is left yet.
    const Time planned = state_->allocations().get(&AllocationColumns::planned_end, slot, kNoTime);
    if (planned != kNoTime) {
      const Time left = std::max<Time>(planned - (stopped == kNoTime ? begin_ : stopped), 0);
      cells([&] { state_->set_planned_end(slot, now_ + left); });
      push(now_ + left, Phase::kEnd, slot, r.token);
    }
  } else if (options_.planned_ends) {
    const Asked& asked = asked_[before.request];
    const Time planned = asked.duration == kNoTime ? kNoTime : now_ + asked.duration - r.done;
    cells([&] {
      if (kept_all)
        state_->set_planned_end(slot, planned);
      else
        state_->set_started(slot, before.request, planned);
    });
  }
  begin_work(slot);
}

// One reservation of a request on a node ends, if there is any: room was kept there for what starts
// or waits no more.
void Engine::release(Id request, Id node) {
  std::vector<Id>& own = asked_[request].reserved;
  const LiveTable<ReservationColumns>& rows = state_->reservations();
  for (Id i = 0; i < rows.rows(); ++i) {
    if (!rows.present(i) || rows.get(&ReservationColumns::request, i, kNoId) != request ||
        rows.get(&ReservationColumns::node, i, kNoId) != node)
      continue;
    std::erase(own, i);
    change({.kind = Delta::Kind::kRelease, .row = i}, [&] {
      state_->release(i);
      return i;
    });
    return;
  }
}

// Room on a node is kept for a request until it starts or goes.
void Engine::reserve(const Decision& d, const Amount* amounts, Id number) {
  if (d.soft) return;  // others may use it
  ReservationColumns one;
  std::string name = std::to_string(number);
  name.insert(0, 1, 'r');
  one.names.text.push_back(name);
  one.request.push_back(kNoId);
  one.allocation.push_back(kNoId);
  one.node.push_back(kNoId);
  one.resources.assign(amounts, amounts + width_);
  one.from.push_back(d.at);
  one.soft.push_back(d.soft);
  asked_[d.request].reserved.push_back(change({.kind = Delta::Kind::kReserve}, [&] {
    return state_->reserve(one, 0, d.request, kNoId, d.node, -2);
  }));
}

}  // namespace evenhand::sim
