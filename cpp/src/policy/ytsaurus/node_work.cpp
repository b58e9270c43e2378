#include "node_work.h"

#include <algorithm>

#include "evenhand/preempt/blocking.h"

namespace evenhand::ytsaurus {
namespace {

using Size = std::size_t;

}  // namespace

NodeWork::NodeWork(Desk& desk, Id node) : desk_(desk), node_(node), width_(desk.state.width()) {
  const std::span<const Id> here = desk.state.on_node(node);
  desk.present.assign(here.begin(), here.end());
  refresh_room();
}

void NodeWork::refresh_room() {
  const ClusterState& s = desk_.state;
  const ResourceSpace& resources = s.tables().resources;
  const Amount *capacity = s.node_capacity(node_), *used = s.node_used(node_);
  const Amount* left = s.node_left(node_);
  const bool held = !desk_.settings.freed_room_at_once;
  for (Size r = 0; r < width_; ++r) {
    const bool cluster = resources.scope[r] == ResourceScope::kCluster;
    room_[r] = cluster ? resources.capacity[r] - s.pool_usage(0)[r] : capacity[r] - used[r];
    if (held) room_[r] -= cluster ? s.all_left()[r] : left[r];
  }
  promises_.clear();
  if (!held || !s.has_leaving(node_)) return;
  for (const Id slot : s.on_node(node_)) {
    if (!s.leaving(slot)) continue;
    const Leaving* l = s.leaving_at(slot);
    if (l == nullptr) continue;
    Promise promise{l->beneficiary, {}};
    promise.amounts = l->left;
    promises_.push_back(promise);
  }
}

bool NodeWork::is_promised_to(const Beneficiary& b, Id request) const {
  return b.request == kNoId ? b.operation == operation_of(request) : b.request == request;
}

// What the request may use beside the free room.
NodeWork::Amounts NodeWork::promised(Id request) const {
  Amounts sum{};
  for (const Promise& p : promises_)
    if (is_promised_to(p.beneficiary, request))
      for (Size r = 0; r < width_; ++r) sum[r] += p.amounts[r];
  return sum;
}

NodeWork::Amounts NodeWork::room_for(Id request) const {
  Amounts room = room_;
  if (request == kNoId || promises_.empty()) return room;
  const Amounts more = promised(request);
  for (Size r = 0; r < width_; ++r) room[r] += more[r];
  return room;
}

bool NodeWork::fits_with_promise(Id request) const {
  const Amounts room = room_for(request);
  return desk_.shapes().fits(desk_.shapes().of(request), room.data());
}

bool NodeWork::fits_with_promise_and_victims(Id request) const {
  Amounts room = promised(request);
  for (Size r = 0; r < width_; ++r) room[r] += room_with_victims_[r];
  return desk_.shapes().fits(desk_.shapes().of(request), room.data());
}

std::vector<Id> NodeWork::graceful_victims() const {
  std::vector<Id> slots;
  for (const Id slot : desk_.present)
    if (desk_.state.running(slot) && desk_.graceful(desk_.state.operation_of(slot)) &&
        desk_.group(slot) == Group::kPreemptible && desk_.may_leave(slot))
      slots.push_back(slot);
  sort_as_wanted(slots);
  return slots;
}

void NodeWork::collect_eligible(const StageRule& rule) {
  const ClusterState& s = desk_.state;
  const bool ssd_node = desk_.is_ssd_node(node_);
  const bool shields = desk_.settings.check_starvation || desk_.settings.check_satisfaction;
  eligible_.clear();
  shielded_.clear();
  room_with_victims_ = room_;
  for (const Id slot : desk_.present) {
    if (!s.running(slot)) continue;
    const Id operation = s.operation_of(slot);
    const Desk::Exposure exposure = desk_.exposure(operation);
    if (!exposure.to(rule.stage)) continue;
    const Group group = desk_.group(slot);
    if (level(group, exposure.aggressive, ssd_node && desk_.uses_ssd(slot)) < rule.lowest ||
        group == Group::kNone || !desk_.may_leave(slot))
      continue;
    if (const Id shield = shields ? desk_.shield(operation, rule.stage) : kNoId; shield == kNoId)
      eligible_.push_back(slot);
    else if (desk_.settings.conditional_preemption && shield < desk_.pools())
      shielded_.push_back({slot, shield});
    else
      continue;
    const Amount* amounts = s.amounts(slot);
    for (Size r = 0; r < width_; ++r) room_with_victims_[r] += amounts[r];
  }
}

// First the most preemptible group, among protected ones those that leave cpu idle,
// then the newest; equal times by canonical order, last first.
bool NodeWork::less_wanted(const Desk::Wanted& a, const Desk::Wanted& b) noexcept {
  if (a.eagerness != b.eagerness) return a.eagerness < b.eagerness;
  return a.time != b.time ? a.time < b.time : a.rank < b.rank;
}

Desk::Wanted NodeWork::wanted(Id slot, bool idle_cpu_first) const {
  const Group group = desk_.group(slot);
  const bool gap = idle_cpu_first && group != Group::kPreemptible && desk_.cpu_gap(slot);
  return {static_cast<std::uint8_t>(2 * static_cast<int>(group) + gap),
          desk_.groups.order_time(desk_.state, slot), desk_.state.rank(slot), slot};
}

void NodeWork::sort_as_wanted(std::vector<Id>& slots, bool idle_cpu_first) const {
  std::vector<Desk::Wanted>& order = desk_.wanted;
  order.clear();
  for (const Id slot : slots) order.push_back(wanted(slot, idle_cpu_first));
  std::ranges::sort(order, [](const auto& a, const auto& b) { return less_wanted(b, a); });
  std::ranges::transform(order, slots.begin(), &Desk::Wanted::slot);
}

bool NodeWork::choose(const StageRule& rule, Id request) {
  std::vector<Desk::Wanted>& heap = desk_.wanted;  // the most wanted on top
  heap.clear();
  for (const Id slot : eligible_) heap.push_back(wanted(slot));
  const Id asker = desk_.pools() + operation_of(request);
  for (const Shielded& s : shielded_)
    if (stands_in(asker, s.pool, [&](Id e) { return desk_.parent_of(e); }))
      heap.push_back(wanted(s.slot));
  std::ranges::make_heap(heap, less_wanted);
  const Amounts promise = promised(request);
  Amounts shortage{};
  for (Size r = 0; r < width_; ++r) shortage[r] = least_room(request)[r] - room_[r] - promise[r];
  // Greedy selections look at no more than what covers the shortage.
  VictimSelector& selector = desk_.selector;
  selector.clear();
  wanted_.clear();
  Amounts rest = shortage;
  const auto lacks = [&] {
    return std::any_of(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(width_),
                       [](Amount a) { return a > 0; });
  };
  const bool all = desk_.settings.victim_selection == VictimSelection::kMinimum;
  const VictimCosts costs{desk_.settings.victim_cost, desk_.rows.preemption_cost};
  while (!heap.empty() && (all || lacks())) {
    std::ranges::pop_heap(heap, less_wanted);
    const Id slot = heap.back().slot;
    heap.pop_back();
    const Amount* amounts = desk_.state.amounts(slot);
    for (Size r = 0; r < width_; ++r) rest[r] -= amounts[r];
    selector.add(slot, amounts, all ? costs.of(desk_.state, slot) : 1);
    wanted_.push_back(slot);
  }
  chosen_.clear();
  if (!selector.select(desk_.settings.victim_selection, {shortage.data(), width_},
                       desk_.settings.minimum_budget))
    return false;
  for (const Id position : selector.taken())
    chosen_.push_back(wanted_[static_cast<Size>(position)]);
  return rule.stage != Stage::kFullHost || full_host(request) == FullHost::kAllowed;
}

Amount NodeWork::running_gpus(Id slot) const {
  return desk_.state.amounts(slot)[desk_.settings.gpu];
}

// Run time counts from here, however many jobs an allocation has had.
Time NodeWork::began(Id slot) const {
  const ClusterState& s = desk_.state;
  return s.allocations().get(&AllocationColumns::start_time, slot, s.last_start(slot));
}

// Nothing but a special stage may take it.
bool NodeWork::is_protected(Id slot) const {
  const auto e = static_cast<Size>(desk_.pools() + desk_.state.operation_of(slot));
  const Level l =
      level(desk_.group(slot), desk_.last.starvation.effective.allow_aggressive[e] != 0, false);
  return l == Level::kNonPreemptible;
}

// A whole host's worth of GPUs may cost protected work, within a budget of time x GPUs,
// while the operation stays within its fair share.
NodeWork::FullHost NodeWork::full_host(Id request) const {
  const Settings& set = desk_.settings;
  const Amount* wanted = need(request);
  const ClusterState& s = desk_.state;
  const Id operation = operation_of(request);
  const double* fair = desk_.last.fair_share(desk_.pools() + operation);
  for (Size r = 0; r < width_; ++r)
    if (const Amount total = desk_.inputs().total[r]; total > 0)
      if (static_cast<double>(s.operation_usage(operation)[r] + wanted[r]) /
              static_cast<double>(total) >
          fair[r] + 1e-9)
        return FullHost::kBeyondFairShare;
  for (const Id slot : desk_.present)
    if (s.running(slot) && running_gpus(slot) == set.full_host_gpus && is_protected(slot))
      return FullHost::kOccupied;
  double penalty = 0;
  for (const Id slot : chosen_)
    if (is_protected(slot))
      penalty += static_cast<double>(s.now() - began(slot)) / kMicrosecondsPerSecond *
                 static_cast<double>(running_gpus(slot));
  return penalty <= set.full_host_max_penalty ? FullHost::kAllowed : FullHost::kPenalty;
}

void NodeWork::repair_in_stage() {
  const ClusterState& s = desk_.state;
  if (desk_.elements_over_limit() == 0) return;
  sort_as_wanted(eligible_);
  for (const Id slot : eligible_) {
    if (!s.running(slot)) continue;
    if (const Id violated = desk_.over_limit(s.operation_of(slot)); violated != kNoId)
      victim(slot, {.stage = Stage::kLimitRepair,
                    .reason = Reason::kResourceLimitsViolated,
                    .grace = desk_.settings.preemption_timeout,
                    .step = next_step(),
                    .violated = violated});
  }
}

// Taken in order while a limit above is exceeded; given back, last taken first, if
// nothing above is exceeded without it.
std::vector<NodeWork::Repair> NodeWork::limit_repairs() {
  const ClusterState& s = desk_.state;
  std::vector<Id> slots;
  for (const Id slot : desk_.present)
    if (s.running(slot) && desk_.over_limit(s.operation_of(slot)) != kNoId) slots.push_back(slot);
  if (slots.empty()) return {};
  sort_as_wanted(slots, false);
  std::vector<Id> touched;  // limited elements above them
  std::vector<Amount> usage;
  const auto row = [&](Id element) -> Amount* {
    const auto found = std::ranges::find(touched, element);
    const auto place = static_cast<Size>(found - touched.begin());
    if (found == touched.end()) {
      touched.push_back(element);
      usage.insert(usage.end(), desk_.usage_of(element), desk_.usage_of(element) + width_);
    }
    return usage.data() + place * width_;
  };
  const auto above = [&](Id slot, auto&& visit) {
    for (Id e = desk_.limited_from(desk_.pools() + s.operation_of(slot)); e != kNoId;
         e = desk_.limited_above(e))
      if (visit(e)) return e;
    return kNoId;
  };
  const auto add = [&](Id slot, Amount sign) {
    above(slot, [&](Id e) {
      Amount* used = row(e);
      for (Size r = 0; r < width_; ++r) used[r] += sign * s.amounts(slot)[r];
      return false;
    });
  };
  const auto violated = [&](Id slot) {
    return above(slot, [&](Id e) { return desk_.exceeds(e, row(e)); });
  };
  std::vector<Repair> taken;
  for (const Id slot : slots)
    if (const Id element = violated(slot); element != kNoId) {
      add(slot, -1);
      taken.push_back({slot, element});
    }
  for (Size i = taken.size(); i-- > 0;) {
    add(taken[i].slot, 1);
    if (violated(taken[i].slot) == kNoId)
      taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(i));
    else
      add(taken[i].slot, -1);
  }
  return taken;
}

bool NodeWork::overcommitted() const {
  const ClusterState& s = desk_.state;
  for (Size r = 0; r < width_; ++r)
    if (s.tables().resources.scope[r] == ResourceScope::kNode &&
        s.node_used(node_)[r] > s.node_capacity(node_)[r])
      return true;
  return false;
}

// The most protected and oldest stay, each that still fits on those that stay.
std::vector<Id> NodeWork::beyond_capacity() {
  const ClusterState& s = desk_.state;
  std::vector<Id> slots;
  Amounts kept{};
  std::copy_n(s.node_used(node_), width_, kept.begin());
  for (const Id slot : desk_.present) {
    if (!s.running(slot)) continue;
    slots.push_back(slot);
    for (Size r = 0; r < width_; ++r) kept[r] -= s.amounts(slot)[r];
  }
  sort_as_wanted(slots);
  std::ranges::reverse(slots);
  std::vector<Id> out;
  const Amount* capacity = s.node_capacity(node_);
  for (const Id slot : slots) {
    const Amount* amounts = s.amounts(slot);
    bool fits = true;
    for (Size r = 0; r < width_; ++r)
      if (s.tables().resources.scope[r] == ResourceScope::kNode &&
          kept[r] + amounts[r] > capacity[r])
        fits = false;
    if (!fits) {
      out.push_back(slot);
      continue;
    }
    for (Size r = 0; r < width_; ++r) kept[r] += amounts[r];
  }
  return out;
}

void NodeWork::victim(Id slot, const Why& why) {
  const ClusterState& s = desk_.state;
  const Id operation = s.operation_of(slot);
  Decision d{.action = Action::kPreempt, .stage = why.stage, .reason = why.reason};
  d.group = desk_.group(slot);
  d.within_fair_share = desk_.within_fair_share(operation);
  d.slot = slot;
  d.operation = operation;
  d.node = node_;
  d.step = why.step;
  d.violated = why.violated;
  d.beneficiary = why.beneficiary;
  d.grace = why.grace;
  d.at = s.now();
  d.until = s.now() + why.grace;
  desk_.decisions.add(d, {s.amounts(slot), room_.data(), why.needed, s.operation_usage(operation)});
  desk_.preempt(slot, why.beneficiary);
  // What leaves is room at once, or its beneficiary's until it has gone.
  if (desk_.settings.freed_room_at_once)
    for (Size r = 0; r < width_; ++r) room_[r] += s.amounts(slot)[r];
  else
    promises_.push_back({why.beneficiary, s.leaving_at(slot)->left});
}

void NodeWork::start(Id request, const Why& why) {
  const ClusterState& s = desk_.state;
  const Id operation = operation_of(request);
  Decision d{.action = Action::kStart, .stage = why.stage, .reason = why.reason};
  d.request = request;
  d.operation = operation;
  d.node = node_;
  d.step = why.step;
  d.beneficiary = {operation, request};
  d.at = s.now();
  const Amounts room = room_for(request);
  desk_.decisions.add(d, {nullptr, room.data(), need(request), s.operation_usage(operation)});
  desk_.decisions.set_last_slot(desk_.start_request(request, node_));
  last_started_ = request;
  if (!desk_.settings.freed_room_at_once) hand_over(request);
  refresh_room();
}

// What leaves for this request is its own now, as far as it needs it.
void NodeWork::hand_over(Id request) {
  if (!desk_.state.has_leaving(node_)) return;
  Amounts rest{};
  std::copy_n(need(request), width_, rest.begin());
  Amounts taken{};
  std::vector<Id> here(desk_.state.on_node(node_).begin(), desk_.state.on_node(node_).end());
  // Whose room is taken first must not depend on history.
  std::ranges::sort(here, {}, [&](Id slot) { return desk_.state.rank(slot); });
  for (const Id slot : here) {
    if (!desk_.state.leaving(slot)) continue;
    const Leaving* l = desk_.state.leaving_at(slot);
    if (l == nullptr || !is_promised_to(l->beneficiary, request)) continue;
    for (Size r = 0; r < width_; ++r) {
      taken[r] = std::min(rest[r], l->left[r]);
      rest[r] -= taken[r];
    }
    desk_.state.take_room(slot, {taken.data(), width_});
    desk_.handed.push_back(
        {slot, {taken.begin(), taken.begin() + static_cast<std::ptrdiff_t>(width_)}});
  }
}

}  // namespace evenhand::ytsaurus
