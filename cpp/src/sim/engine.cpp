// What happens next, and when it does.
#include "evenhand/sim/engine.h"

#include <algorithm>
#include <utility>

#include "evenhand/core/poll.h"

namespace evenhand::sim {

Engine::Engine(std::shared_ptr<ClusterState> state, std::shared_ptr<Planner> planner,
               Workload workload, Options options, Came came)
    : state_(std::move(state)),
      planner_(std::move(planner)),
      shared_work_(std::make_shared<const Workload>(std::move(workload))),
      work_(*shared_work_),
      options_(options),
      came_(std::move(came)),
      turns_(options.give_up_after),
      width_(state_->width()),
      begin_(state_->now()),
      now_(begin_),
      first_operation_(state_->operations().snapshot_rows()),
      first_request_(state_->requests().snapshot_rows()) {
  planner_->keep_decisions(true);
  read_start();
  if (options_.drive == Options::Drive::kHeartbeats) {
    grid_ = HeartbeatGrid(work_.heartbeats.empty() ? state_->nodes().in_order() : work_.heartbeats,
                          begin_, options_.period);
    visited_.assign(at(state_->nodes().rows()), kNoTime);
    look_.assign(at(state_->nodes().rows()), kNoTime);
    wished_.node.assign(at(state_->nodes().rows()), 0);
    wished_.update = update_at_ = begin_;
  } else {
    wished_.pass = pass_at_ = begin_;
    if (options_.backfill) wished_.update = update_at_ = begin_;
  }
}

std::unique_ptr<Engine> Engine::copy() const {
  std::unique_ptr<Engine> out(new Engine(*this));
  out->state_ = std::make_shared<ClusterState>(*state_);
  out->planner_ = planner_->copy(out->state_);
  return out;
}

void Engine::push(Time time, Phase phase, Id row, std::uint32_t token) {
  heap_.push_back({time, static_cast<std::uint64_t>(phase) << 56 | pushed_++, row, token});
  std::ranges::push_heap(heap_, std::greater{});
}

Engine::Event Engine::pop() {
  std::ranges::pop_heap(heap_, std::greater{});
  const Event event = heap_.back();
  heap_.pop_back();
  return event;
}

bool Engine::stale(const Event& event) const noexcept {
  if (event.phase() == Phase::kLook) return look_[event.row] != event.time;
  return event.phase() != Phase::kAgain && running_[event.row].token != event.token;
}

void Engine::drop_stale() {
  const auto in_vain = [this](const Event& event) {
    return event.phase() == Phase::kLook && running_count_ == 0 && away_count_ == 0 &&
           nothing_comes() && waits() == kNoId;
  };
  while (!heap_.empty() && (stale(heap_.front()) || in_vain(heap_.front()))) pop();
}

// Ticks from an instant on, and after it.
Time Engine::tick(Time period, Time from) const noexcept {
  return begin_ + (std::max(from, begin_) - begin_ + period - 1) / period * period;
}
Time Engine::tick_after(Time period, Time from) const noexcept { return tick(period, from + 1); }
// kNoTime: there was none.
Time Engine::tick_before(Time period, Time until) const noexcept {
  return until <= begin_ ? kNoTime : begin_ + (until - 1 - begin_) / period * period;
}

Engine::Next Engine::next() const {
  Next found{kNoTime, Phase::kNever};
  const auto offer = [&](Time time, Phase phase) {
    if (time == kNoTime) return;
    if (const Next one{time, phase}; found.time == kNoTime || one.before(found)) found = one;
  };
  if (!heap_.empty()) offer(heap_.front().time, heap_.front().phase());
  if (node_events_ < work_.event_time.rows())
    offer(std::max(work_.event_time[node_events_], begin_), Phase::kNode);
  if (arrived_ < arrivals_.rows())
    offer(std::max(work_.rows.tables().requests.submit_time[arrivals_[arrived_]], begin_),
          Phase::kArrival);
  if (options_.drive == Options::Drive::kHeartbeats) {
    offer(update_at_, Phase::kUpdate);
    offer(grid_.next().time, Phase::kDecide);
  } else {
    offer(pass_at_, Phase::kDecide);
    offer(update_at_, Phase::kDecide);
  }
  return found;
}

bool Engine::nothing_comes() const noexcept {
  return arrived_ == arrivals_.rows() && node_events_ == work_.event_time.rows();
}

bool Engine::in_turns() const {
  if (turns_.found() == kNoId || !nothing_comes()) return false;
  return std::ranges::none_of(heap_, [&](const Event& event) {
    return event.phase() == Phase::kEnd && !stale(event) &&
           running_[event.row].began < turns_.middle();
  });
}

bool Engine::in_vain() const {
  constexpr Time kDay = 86'400 * kMicrosecondsPerSecond;
  constexpr Index kClocks = 8;  // of a row: instants from which on it may decide something else
  const Index rows = state_->operations().rows() + state_->requests().rows() + state_->slots();
  const bool by_beats = vain_heartbeats() >= options_.give_up_after && now_ - vain_.beating >= kDay;
  return (vain_.tries >= options_.give_up_after || by_beats ||
          vain_.later >= options_.give_up_after + kClocks * rows) &&
         nothing_comes() && std::ranges::all_of(heap_, [&](const Event& event) {
           // Checkpoints end nothing; what the pace lets go of has been tried as often.
           return event.phase() == Phase::kSaved || event.phase() == Phase::kLook || stale(event);
         });
}

bool Engine::done() const {
  return next().phase == Phase::kNever || asleep() || (in_vain() && waits() == kNoId);
}

// Every tick is visited, and none can decide anything any more.
bool Engine::asleep() const noexcept {
  return options_.literal && heap_.empty() && nothing_comes() && wished_.update == kNoTime &&
         wished_.pass == kNoTime && wished_.nodes == 0;
}

void Engine::go_to(Time time) {
  if (time == now_) return;
  sample(time);
  now_ = time;
  state_->advance(time);
  if (options_.drive == Options::Drive::kHeartbeats) grid_.go_to(time);
}

bool Engine::run(Time until, std::size_t most, bool guarded) {
  // A step is not left in the middle.
  const Poll wanted = current_poll;
  const Polling quiet(nullptr);
  for (std::size_t steps = 0;; ++steps) {
    if (steps % kBetweenPolls == 0 && wanted != nullptr) wanted();
    drop_stale();
    const Next found = next();
    if (found.phase == Phase::kNever || (until != kNoTime && found.time > until)) break;
    if (until == kNoTime && asleep()) break;
    if (steps == most) return false;
    if (guarded && in_vain()) break;
    if (guarded && turns_.found() != kNoId) {
      if (in_turns()) break;
      if (nothing_comes()) turns_.progressed();  // what will end by itself is waited for
    }
    ++steps_;
    step(found);
    if (planner_->separated()) return false;
  }
  if (until != kNoTime && until > now_) go_to(until);
  return true;
}

void Engine::step(const Next& next) {
  go_to(next.time);
  if (next.phase >= Phase::kUpdate)
    asked_at_ = now_;
  else if (next.phase != Phase::kSaved && next.phase != Phase::kLook) {
    vain_ = {};
    repeats_ = kNoTime;
  }
  switch (next.phase) {
    case Phase::kEnd: {
      ++log_.events;
      return end(pop().row, Outcome::kCompleted);
    }
    case Phase::kNode:
      ++log_.events;
      return node_event(node_events_++);
    case Phase::kGrace: {
      ++log_.events;
      return end(pop().row, Outcome::kAborted);
    }
    case Phase::kAgain:
      return queue_again(pop().row);
    case Phase::kSaved:
      return saved(pop().row);
    case Phase::kLook: {
      const Id node = pop().row;
      look_[node] = kNoTime;
      return want(node, true);
    }
    case Phase::kArrival:
      ++log_.events;
      return arrive(arrivals_[arrived_++]);
    case Phase::kUpdate:
      return update();
    case Phase::kDecide:
      return decide();
    case Phase::kNever:
      return;
  }
}

}  // namespace evenhand::sim
