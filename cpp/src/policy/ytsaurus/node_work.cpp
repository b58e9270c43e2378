#include "node_work.h"

#include <algorithm>

#include "evenhand/preempt/blocking.h"

namespace evenhand::ytsaurus {
namespace {

using Size = std::size_t;

}  // namespace

NodeWork::NodeWork(Workspace& workspace, Id node)
    : workspace_(workspace), node_(node), width_(workspace.state.width()) {
  const std::span<const Id> here = workspace.state.on_node(node);
  workspace.present.assign(here.begin(), here.end());
  if (workspace.visits_again(node))
    for (const Decision& d : workspace.decisions.rows())
      if (d.action == Action::kStart && d.node == node) begun_.push_back(d.slot);
  refresh_room();
}

void NodeWork::refresh_room() {
  const ClusterState& s = workspace_.state;
  const ResourceSpace& resources = s.tables().resources;
  const Amount *capacity = s.node_capacity(node_), *used = s.node_used(node_);
  const Amount* left = s.node_left(node_);
  const bool held = !workspace_.settings.freed_room_at_once;
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

NodeWork::Amounts NodeWork::with_promise(const Amount* room, Id request) const {
  Amounts sum = promised(request);
  for (Size r = 0; r < width_; ++r) sum[r] += room[r];
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
  return workspace_.shapes().fits(workspace_.shapes().of(request), room.data());
}

bool NodeWork::fits_with_promise_and(const Amounts& more, Id request) const {
  Amounts room = promised(request);
  for (Size r = 0; r < width_; ++r) room[r] += more[r];
  return workspace_.shapes().fits(workspace_.shapes().of(request), room.data());
}

bool NodeWork::is_spared(Id slot) {
  const Spared found = workspace_.pace.spared(workspace_.state, slot);
  if (found.why == Outcome::kTaken) return false;
  spared_.emplace_back(slot, found);
  return true;
}

const Spared* NodeWork::spared(Id slot, Stage stage) const noexcept {
  if (stage != spared_from_) return nullptr;
  for (const auto* all : {&spared_, &left_out_})
    for (const auto& [which, why] : *all)
      if (which == slot) return &why;
  return nullptr;
}

const Spared* NodeWork::first_spared() const noexcept {
  const std::pair<Id, Spared>* first = nullptr;
  for (const auto* all : {&spared_, &left_out_})
    for (const auto& one : *all)
      if (first == nullptr ||
          workspace_.state.rank(one.first) < workspace_.state.rank(first->first))
        first = &one;
  return first == nullptr ? nullptr : &first->second;
}

Column<Id> NodeWork::graceful_victims() {
  const bool paced = workspace_.pace.on();
  spared_from_ = Stage::kGraceful;
  Column<Id> slots;
  for (const Id slot : workspace_.present)
    if (can_be_asked(slot) && workspace_.graceful(workspace_.state.operation_of(slot)) &&
        workspace_.group(slot) == Group::kPreemptible && workspace_.may_leave(slot) &&
        !(paced && is_spared(slot)))
      slots.push_back(slot);
  sort_as_wanted(slots);
  if (!workspace_.pace.has_caps()) return slots;
  Column<Id> operations(slots.size());
  std::ranges::transform(slots, operations.begin(),
                         [this](Id slot) { return workspace_.state.operation_of(slot); });
  std::vector<std::pair<Id, Spared>> beyond;
  workspace_.pace.beyond_caps(workspace_.state, operations, beyond);
  for (const auto& [place, why] : beyond) spared_.emplace_back(slots[place], why);
  std::erase_if(slots, [this](Id slot) { return spared(slot, Stage::kGraceful) != nullptr; });
  return slots;
}

void NodeWork::collect_eligible(const StageRule& rule, std::span<const Id> but) {
  const ClusterState& s = workspace_.state;
  const bool ssd_node = workspace_.is_ssd_node(node_);
  const bool shields =
      workspace_.settings.check_starvation || workspace_.settings.check_satisfaction;
  const bool paced = workspace_.pace.on();
  eligible_.clear();
  shielded_.clear();
  spared_.clear();
  spared_eligible_.clear();
  left_out_.clear();
  spared_from_ = rule.stage;
  room_with_victims_ = room_with_spared_ = room_;
  for (const Id slot : workspace_.present) {
    if (!can_be_asked(slot) || std::ranges::binary_search(but, slot)) continue;
    const Id operation = s.operation_of(slot);
    const Workspace::Exposure exposure = workspace_.exposure(operation);
    if (!exposure.to(rule.stage)) continue;
    const Group group = workspace_.group(slot);
    if (level(group, exposure.aggressive, ssd_node && workspace_.uses_ssd(slot)) < rule.lowest ||
        group == Group::kNone || !workspace_.may_leave(slot))
      continue;
    const Id shield = shields ? workspace_.shield(operation, rule.stage) : kNoId;
    const bool conditional =
        workspace_.settings.conditional_preemption && shield < workspace_.pools();
    if (shield != kNoId && !conditional) continue;
    const Amount* amounts = s.amounts(slot);
    if (paced) {
      for (Size r = 0; r < width_; ++r) room_with_spared_[r] += amounts[r];
      if (is_spared(slot)) {
        if (shield == kNoId) spared_eligible_.push_back(slot);
        continue;
      }
    }
    if (shield == kNoId)
      eligible_.push_back(slot);
    else
      shielded_.push_back({slot, shield});
    for (Size r = 0; r < width_; ++r) room_with_victims_[r] += amounts[r];
  }
  candidates_ = eligible_.size() + shielded_.size();
}

// First the most preemptible group, among protected ones those that leave cpu idle,
// then the newest; equal times by canonical order, last first.
bool NodeWork::less_wanted(const Workspace::Wanted& a, const Workspace::Wanted& b) noexcept {
  if (a.eagerness != b.eagerness) return a.eagerness < b.eagerness;
  return a.time != b.time ? a.time < b.time : a.rank < b.rank;
}

Workspace::Wanted NodeWork::wanted(Id slot, bool idle_cpu_first) const {
  const Group group = workspace_.group(slot);
  const bool gap = idle_cpu_first && group != Group::kPreemptible && workspace_.cpu_gap(slot);
  return {static_cast<std::uint8_t>(2 * static_cast<int>(group) + gap),
          workspace_.groups.order_time(workspace_.state, slot), workspace_.state.rank(slot), slot};
}

void NodeWork::sort_as_wanted(Column<Id>& slots, bool idle_cpu_first) const {
  std::vector<Workspace::Wanted>& order = workspace_.wanted;
  order.clear();
  for (const Id slot : slots) order.push_back(wanted(slot, idle_cpu_first));
  std::ranges::sort(order, [](const auto& a, const auto& b) { return less_wanted(b, a); });
  std::ranges::transform(order, slots.begin(), &Workspace::Wanted::slot);
}

// A set that goes beyond the caps of pools is not taken: another one is looked for without those
// of its victims that are too many, the last wanted ones.
bool NodeWork::choose(const StageRule& rule, Id request) {
  WithinCaps caps(workspace_.pace);
  Column<Id> operations;
  bool chosen = false, again = true;
  while (again) {
    chosen = choose_without(rule, request, caps);
    if (!chosen) break;
    operations.clear();
    if (workspace_.pace.has_caps())
      for (const Id slot : chosen_) operations.push_back(workspace_.state.operation_of(slot));
    again = caps.again(workspace_.state, chosen_, operations, workspace_.selector.proof());
  }
  proof_ = caps.proof();
  left_out_ = caps.left_out();
  if (chosen && workspace_.decisions.certifies()) {
    workspace_.question.within_caps = !left_out_.empty();
    workspace_.question.taken = chosen_;
  }
  if (!chosen && !left_out_.empty()) workspace_.hold_by_caps(request);
  return chosen;
}

bool NodeWork::choose_without(const StageRule& rule, Id request, const WithinCaps& caps) {
  std::vector<Workspace::Wanted>& heap = workspace_.wanted;  // the most wanted on top
  heap.clear();
  for (const Id slot : eligible_)
    if (caps.left_out(slot) == nullptr) heap.push_back(wanted(slot));
  const Id asker = workspace_.pools() + operation_of(request);
  for (const Shielded& s : shielded_)
    if (caps.left_out(s.slot) == nullptr &&
        stands_in(asker, s.pool, [&](Id e) { return workspace_.parent_of(e); }))
      heap.push_back(wanted(s.slot));
  std::ranges::make_heap(heap, less_wanted);
  const Amounts promise = promised(request);
  Amounts shortage{};
  for (Size r = 0; r < width_; ++r) shortage[r] = least_room(request)[r] - room_[r] - promise[r];
  // Greedy selections look at no more than what covers the shortage.
  VictimSelector& selector = workspace_.selector;
  selector.clear();
  wanted_.clear();
  Amounts rest = shortage;
  const auto lacks = [&] {
    return std::any_of(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(width_),
                       [](Amount a) { return a > 0; });
  };
  const bool all = workspace_.settings.victim_selection == VictimSelection::kMinimum;
  const VictimCosts costs{workspace_.settings.victim_cost, workspace_.rows.preemption_cost};
  while (!heap.empty() && (all || lacks())) {
    std::ranges::pop_heap(heap, less_wanted);
    const Id slot = heap.back().slot;
    heap.pop_back();
    const Amount* amounts = workspace_.state.amounts(slot);
    for (Size r = 0; r < width_; ++r) rest[r] -= amounts[r];
    selector.add(slot, amounts, all ? costs.of(workspace_.state, slot) : 1);
    wanted_.push_back(slot);
  }
  chosen_.clear();
  if (!selector.select(workspace_.settings.victim_selection, {shortage.data(), width_},
                       caps.left(workspace_.settings.minimum_budget)))
    return false;
  for (const Id position : selector.taken()) chosen_.push_back(wanted_[position]);
  // The bounds of the first choice count, whatever the caps of pools make of it.
  if (all && workspace_.decisions.certifies() && caps.left_out().empty())
    write_question({shortage.data(), width_});
  return rule.stage != Stage::kFullHost || full_host(request) == FullHost::kAllowed;
}

Amount NodeWork::running_gpus(Id slot) const {
  return workspace_.state.amounts(slot)[workspace_.settings.gpu];
}

// Run time counts from here, however many jobs an allocation has had.
Time NodeWork::began(Id slot) const {
  const ClusterState& s = workspace_.state;
  return s.allocations().get(&AllocationColumns::start_time, slot, s.last_start(slot));
}

// Nothing but a special stage may take it.
bool NodeWork::is_protected(Id slot) const {
  const auto e = static_cast<Size>(workspace_.pools() + workspace_.state.operation_of(slot));
  const Level l = level(workspace_.group(slot),
                        workspace_.last.starvation.effective.allow_aggressive[e] != 0, false);
  return l == Level::kNonPreemptible;
}

// A whole host's worth of GPUs may cost protected work, within a budget of time x GPUs,
// while the operation stays within its fair share.
NodeWork::FullHost NodeWork::full_host(Id request) const {
  const Settings& set = workspace_.settings;
  const Amount* wanted = need(request);
  const ClusterState& s = workspace_.state;
  const Id operation = operation_of(request);
  const double* fair = workspace_.last.fair_share(workspace_.pools() + operation);
  for (Size r = 0; r < width_; ++r)
    if (const Amount total = workspace_.inputs().total[r]; total > 0)
      if (static_cast<double>(s.operation_usage(operation)[r] + wanted[r]) /
              static_cast<double>(total) >
          fair[r] + 1e-9)
        return FullHost::kBeyondFairShare;
  for (const Id slot : workspace_.present)
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
  const ClusterState& s = workspace_.state;
  if (workspace_.elements_over_limit() == 0) return;
  // What the pace spares may be taken here.
  eligible_.insert(eligible_.end(), spared_eligible_.begin(), spared_eligible_.end());
  sort_as_wanted(eligible_);
  for (const Id slot : eligible_) {
    if (!s.running(slot)) continue;
    if (const Id violated = workspace_.over_limit(s.operation_of(slot)); violated != kNoId)
      victim(slot, {.stage = Stage::kLimitRepair,
                    .reason = Reason::kResourceLimitsViolated,
                    .grace = workspace_.settings.preemption_timeout,
                    .step = next_step(),
                    .violated = violated});
  }
}

// Taken in order while a limit above is exceeded; given back, last taken first, if
// nothing above is exceeded without it.
std::vector<NodeWork::Repair> NodeWork::limit_repairs() {
  const ClusterState& s = workspace_.state;
  Column<Id> slots;
  for (const Id slot : workspace_.present)
    if (can_be_asked(slot) && workspace_.over_limit(s.operation_of(slot)) != kNoId)
      slots.push_back(slot);
  if (slots.empty()) return {};
  sort_as_wanted(slots, false);
  Column<Id> touched;  // limited elements above them
  Column<Amount> usage;
  const auto row = [&](Id element) -> Amount* {
    const auto found = std::ranges::find(touched, element);
    const auto place = static_cast<Size>(found - touched.begin());
    if (found == touched.end()) {
      touched.push_back(element);
      usage.insert(usage.end(), workspace_.usage_of(element),
                   workspace_.usage_of(element) + width_);
    }
    return usage.data() + place * width_;
  };
  const auto above = [&](Id slot, auto&& visit) {
    for (Id e = workspace_.limited_from(workspace_.pools() + s.operation_of(slot)); e != kNoId;
         e = workspace_.limited_above(e))
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
    return above(slot, [&](Id e) { return workspace_.exceeds(e, row(e)); });
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
  const ClusterState& s = workspace_.state;
  for (Size r = 0; r < width_; ++r)
    if (s.tables().resources.scope[r] == ResourceScope::kNode &&
        s.node_used(node_)[r] > s.node_capacity(node_)[r])
      return true;
  return false;
}

// The most protected and oldest stay, each that still fits on those that stay.
Column<Id> NodeWork::beyond_capacity() {
  const ClusterState& s = workspace_.state;
  Column<Id> slots;
  Amounts kept{};
  std::copy_n(s.node_used(node_), width_, kept.begin());
  for (const Id slot : workspace_.present) {
    if (!can_be_asked(slot)) continue;
    slots.push_back(slot);
    for (Size r = 0; r < width_; ++r) kept[r] -= s.amounts(slot)[r];
  }
  sort_as_wanted(slots);
  std::ranges::reverse(slots);
  Column<Id> out;
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
  const ClusterState& s = workspace_.state;
  const Id operation = s.operation_of(slot);
  Decision d{.action = Action::kPreempt, .stage = why.stage, .reason = why.reason};
  d.group = workspace_.group(slot);
  d.within_fair_share = workspace_.within_fair_share(operation);
  d.pool_within_guarantee = workspace_.pool_within_guarantee(operation);
  d.slot = slot;
  d.operation = operation;
  d.node = node_;
  d.step = why.step;
  d.violated = why.violated;
  d.beneficiary = why.beneficiary;
  d.grace = why.grace;
  d.at = s.now();
  d.until = s.now() + why.grace;
  workspace_.decisions.add(
      d, {s.amounts(slot), room_.data(), why.needed, s.operation_usage(operation)});
  workspace_.preempt(slot, why.beneficiary);
  workspace_.pace.took(s, operation);
  // What leaves is room at once, or its beneficiary's until it has gone.
  if (workspace_.settings.freed_room_at_once)
    for (Size r = 0; r < width_; ++r) room_[r] += s.amounts(slot)[r];
  else
    promises_.push_back({why.beneficiary, s.leaving_at(slot)->left});
}

void NodeWork::start(Id request, const Why& why) {
  const ClusterState& s = workspace_.state;
  const Id operation = operation_of(request);
  Decision d{.action = Action::kStart, .stage = why.stage, .reason = why.reason};
  d.request = request;
  d.operation = operation;
  d.node = node_;
  d.step = why.step;
  d.beneficiary = {operation, request};
  d.at = s.now();
  const Amounts room = room_for(request);
  workspace_.decisions.add(d, {nullptr, room.data(), need(request), s.operation_usage(operation)});
  workspace_.decisions.set_last_slot(workspace_.start_request(request, node_));
  last_started_ = request;
  if (!workspace_.settings.freed_room_at_once) hand_over(request);
  refresh_room();
}

// What leaves for this request is its own now, as far as it needs it.
void NodeWork::hand_over(Id request) {
  if (!workspace_.state.has_leaving(node_)) return;
  Amounts rest{};
  std::copy_n(need(request), width_, rest.begin());
  Amounts taken{};
  Column<Id> here(workspace_.state.on_node(node_).begin(), workspace_.state.on_node(node_).end());
  // Whose room is taken first must not depend on history.
  std::ranges::sort(here, {}, [&](Id slot) { return workspace_.state.rank(slot); });
  for (const Id slot : here) {
    if (!workspace_.state.leaving(slot)) continue;
    const Leaving* l = workspace_.state.leaving_at(slot);
    if (l == nullptr || !is_promised_to(l->beneficiary, request)) continue;
    for (Size r = 0; r < width_; ++r) {
      taken[r] = std::min(rest[r], l->left[r]);
      rest[r] -= taken[r];
    }
    workspace_.state.take_room(slot, {taken.data(), width_});
    workspace_.handed.push_back(
        {slot, {taken.begin(), taken.begin() + static_cast<std::ptrdiff_t>(width_)}});
  }
}

}  // namespace evenhand::ytsaurus
