// A living cluster: one state, and the planners that follow it. Every change goes through here,
// so that each of them hears of it before and after.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "evenhand/policy/planner.h"

namespace evenhand {

class LiveCluster {
 public:
  explicit LiveCluster(ClusterState state)
      : state_(std::make_shared<ClusterState>(std::move(state))) {}
  // A copy has a state of its own, and no planner follows it.
  LiveCluster(const LiveCluster& other) : LiveCluster(ClusterState(*other.state_)) {}
  LiveCluster& operator=(const LiveCluster&) = delete;

  const ClusterState& state() const noexcept { return *state_; }
  const std::shared_ptr<ClusterState>& shared() const noexcept { return state_; }

  // A planner that was made of `shared()` hears of every change from here on.
  void attach(const std::shared_ptr<Planner>& planner) { planners_.push_back(planner); }
  bool followed() const {
    return std::ranges::any_of(planners_, [](const auto& one) { return !one.expired(); });
  }
  // What no planner can follow: those that there are must be made anew.
  void drop() {
    settle();
    each([](Planner& planner) { planner.leave(); });
    planners_.clear();
  }

  // Nothing stands of what planners have decided.
  void settle() {
    each([](Planner& planner) { planner.take_back(); });
  }

  // Carries out `act`, which makes the change that the delta names and returns its row, after
  // `settle`.
  template <class Act>
  Id change(const Delta& delta, Act&& act) {
    settle();
    each([&](Planner& planner) { planner.before(delta); });
    const Id row = act(*state_);
    each([&](Planner& planner) { planner.after(delta, row); });
    return row;
  }
  Id on(const Delta& delta) {
    return change(delta, [&](ClusterState& state) { return apply(state, delta); });
  }

 private:
  template <class Visit>
  void each(Visit&& visit) {
    bool gone = false;
    for (const std::weak_ptr<Planner>& one : planners_)
      if (const std::shared_ptr<Planner> planner = one.lock())
        visit(*planner);
      else
        gone = true;
    if (gone) std::erase_if(planners_, [](const auto& one) { return one.expired(); });
  }

  std::shared_ptr<ClusterState> state_;
  std::vector<std::weak_ptr<Planner>> planners_;
};

}  // namespace evenhand
