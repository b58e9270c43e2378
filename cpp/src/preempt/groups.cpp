#include "evenhand/preempt/groups.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "evenhand/starve/relation.h"

namespace evenhand {
namespace {

constexpr double kOnBound = kShareTolerance;
constexpr Amount kEverything = std::numeric_limits<Amount>::max();

double share(Amount amount, Amount total) noexcept {
  return total > 0 ? static_cast<double>(amount) / static_cast<double>(total) : 0.0;
}

// The least amount whose share is not below the bound by more than the tolerance.
Amount first_not_below(double bound, Amount total) {
  const auto below = [&](Amount amount) { return bound > share(amount, total) + kOnBound; };
  if (!below(0)) return 0;
  if (total <= 0) return kEverything;
  const double guess = (bound - kOnBound) * static_cast<double>(total);
  if (guess >= static_cast<double>(kMaxAmount)) return kEverything;
  auto amount = static_cast<Amount>(guess);
  // Where rounding cannot decide the next whole amount is it.
  const double part = guess - static_cast<double>(amount), unsure = 1e-6 + guess * 1e-14;
  if (part > unsure && part < 1 - unsure) return amount + 1;
  while (amount > 0 && !below(amount - 1)) --amount;
  while (below(amount)) ++amount;
  return amount;
}

}  // namespace

GroupLists::GroupLists(const ClusterState& state, Options options)
    : width_(state.width()), options_(options), total_(state.total()) {
  const auto operations = static_cast<std::size_t>(state.operations().rows());
  const auto slots = static_cast<std::size_t>(state.slots());
  fit(operations);
  next_.assign(slots, kNoId);
  previous_.assign(slots, kNoId);
  inside_.assign(slots, kOutside);

  struct Dated {
    Time time;
    Id slot;
  };
  const auto earlier = [&](const Dated& a, const Dated& b) {
    return a.time != b.time ? a.time < b.time : state.rank(a.slot) < state.rank(b.slot);
  };
  std::vector<Dated> dated;
  for (std::size_t o = 0; o < operations; ++o) {
    dated.clear();
    bool sorted = true;
    for (const Id slot : state.allocations_of(static_cast<Id>(o))) {
      if (!state.running(slot)) continue;
      const Dated next{order_time(state, slot), slot};
      sorted = sorted && (dated.empty() || earlier(dated.back(), next));
      dated.push_back(next);
    }
    if (!sorted) std::ranges::sort(dated, earlier);
    List& list = lists_[o];
    for (const Dated& d : dated) {
      inside_[d.slot] = 0;
      link_after(list, list.tail, d.slot);
    }
    for (Cut& cut : list.cuts) cut.first_beyond = list.head;
    mark_dirty(static_cast<Id>(o));
  }
}

void GroupLists::fit(std::size_t operations) {
  if (operations <= lists_.size()) return;
  lists_.resize(operations);
  for (Column<Amount>* column : {&sums_, &below_}) column->resize(operations * 2 * width_, 0);
  bounds_.resize(operations * 2 * width_, 0);
  if (!usage_threshold_.empty()) usage_threshold_.resize(operations * width_, -1);
}

Time GroupLists::order_time(const ClusterState& state, Id slot) const {
  const Time started = state.last_start(slot);
  return options_.saved_progress_counts ? std::max(started, state.last_progress(slot)) : started;
}

void GroupLists::set_bounds(Id operation, const double* fair, const double* demand,
                            const Amount* usage_threshold) {
  List& list = lists_[operation];
  bool equal = true, wants_nothing = true, fell = false;
  const ResourceMask open = std::exchange(list.open, 0);
  for (std::size_t r = 0; r < width_; ++r) {
    equal &= std::abs(fair[r] - demand[r]) <= kOnBound;
    wants_nothing &= demand[r] <= kOnBound;
    if (fair[r] < demand[r] - kShareTolerance) list.open |= ResourceMask{1} << r;
    for (int c = 0; c < 2; ++c) {
      const double factor = c == 0 ? options_.aggressive_threshold : options_.threshold;
      const double bound = fair[r] * factor;
      fell |= bound < std::exchange(bounds_[cut_row(operation, c) + r], bound);
    }
  }
  list.bounds_changed = true;
  const bool all_safe = std::exchange(list.nothing_beyond, equal && !wants_nothing);
  list.has_usage_threshold = usage_threshold != nullptr;
  // Where more is to stay below its bound, or less is safe anyhow, more may be exposed.
  list.may_expose |= fell || (list.open & ~open) != 0 || (all_safe && !list.nothing_beyond) ||
                     list.has_usage_threshold;
  if (usage_threshold != nullptr) {
    if (usage_threshold_.empty()) usage_threshold_.assign(lists_.size() * width_, -1);
    std::copy_n(usage_threshold, width_, usage_threshold_.row(operation, width_));
  }
  if (list.head != kNoId) mark_dirty(operation);
}

void GroupLists::mark_dirty(Id operation) {
  List& list = lists_[operation];
  list.dirty = true;
  list.changed_at = held_;
  if (list.listed) return;
  list.listed = true;
  dirty_.push_back(operation);
}

void GroupLists::link_after(List& list, Id before, Id slot) {
  const Id after = before == kNoId ? list.head : next_[before];
  previous_[slot] = before;
  next_[slot] = after;
  (before == kNoId ? list.head : next_[before]) = slot;
  (after == kNoId ? list.tail : previous_[after]) = slot;
}

void GroupLists::add(const ClusterState& state, Id slot) {
  if (at(slot) >= inside_.size()) {
    next_.resize(at(slot) + 1, kNoId);
    previous_.resize(at(slot) + 1, kNoId);
    inside_.resize(at(slot) + 1, kOutside);
  }
  const Id operation = state.operation_of(slot);
  const List& list = lists_[operation];
  const Time time = order_time(state, slot);
  const auto earlier = [&](Id other) {
    const Time its = order_time(state, other);
    return its != time ? its < time : state.rank(other) < state.rank(slot);
  };
  Id before = list.tail;  // what starts now comes last: rarely a step
  while (before != kNoId && !earlier(before)) before = previous_[before];
  link(state, operation, before, slot);
}

void GroupLists::put_back(const ClusterState& state, Id slot) {
  link(state, state.operation_of(slot), previous_[slot], slot);
}

void GroupLists::link(const ClusterState& state, Id operation, Id before, Id slot) {
  List& list = lists_[operation];
  link_after(list, before, slot);
  inside_[slot] = 0;
  const Amount* amount = state.amounts(slot);
  for (int c = 0; c < 2; ++c) {
    Cut& cut = list.cuts[at(c)];
    const Id after = next_[slot];
    if (cut.first_beyond == after) {
      cut.first_beyond = slot;  // it stands right at the cut: beyond it, for now
    } else if (after != kNoId && (inside_[after] & (1 << c))) {
      inside_[slot] |= static_cast<std::uint8_t>(1 << c);
      ++cut.count;
      Amount* used = sums_.data() + cut_row(operation, c);
      for (std::size_t r = 0; r < width_; ++r) used[r] += amount[r];
    }
  }
  list.exposed = true;
  mark_dirty(operation);
}

void GroupLists::remove(const ClusterState& state, Id slot) {
  const Id operation = state.operation_of(slot);
  List& list = lists_[operation];
  const Amount* amount = state.amounts(slot);
  const Id before = previous_[slot], after = next_[slot];
  for (int c = 0; c < 2; ++c) {
    Cut& cut = list.cuts[at(c)];
    if (inside_[slot] & (1 << c)) {
      --cut.count;
      cut.extra = std::min(cut.extra, cut.count);
      Amount* used = sums_.data() + cut_row(operation, c);
      for (std::size_t r = 0; r < width_; ++r) used[r] -= amount[r];
    } else if (cut.first_beyond == slot) {
      cut.first_beyond = after;
    }
  }
  (before == kNoId ? list.head : next_[before]) = after;
  (after == kNoId ? list.tail : previous_[after]) = before;
  inside_[slot] = kOutside;
  mark_dirty(operation);
}

// Whether usage (and one allocation more) is below the bound of a cut.
bool GroupLists::below(Id operation, int c, const Amount* first_beyond, const Amount* used,
                       const Amount* more) const noexcept {
  const List& list = lists_[operation];
  if (c == 1 && list.nothing_beyond) return true;
  const auto amount = [&](std::size_t r) { return used[r] + (more == nullptr ? 0 : more[r]); };
  if (list.has_usage_threshold && options_.usage_threshold_protects_prefix) {
    const Amount* threshold = usage_threshold_.row(operation, width_);
    bool safe = true;
    for (std::size_t r = 0; r < width_; ++r) safe &= threshold[r] < 0 || amount(r) < threshold[r];
    if (safe) return true;
  }
  bool some = false;
  for (std::size_t r = 0; r < width_; ++r) {
    const bool is_below = amount(r) < first_beyond[r];
    some |= is_below;
    if (!is_below && (list.open >> r & 1)) return false;
  }
  return list.open != 0 || some;
}

bool GroupLists::on_bound(const double* bound, const Amount* used,
                          const Amount* more) const noexcept {
  for (std::size_t r = 0; r < width_; ++r)
    if (!(std::abs(share(used[r] + more[r], total_[r]) - bound[r]) <= kOnBound)) return false;
  return true;
}

// An operation below its usage threshold in every resource that is named.
bool GroupLists::protected_whole(const ClusterState& state, Id operation) const noexcept {
  if (!lists_[operation].has_usage_threshold || options_.usage_threshold_protects_prefix)
    return false;
  const Amount* threshold = usage_threshold_.row(operation, width_);
  const Amount* used = state.operation_usage(operation);
  for (std::size_t r = 0; r < width_; ++r)
    if (threshold[r] >= 0 && used[r] >= threshold[r]) return false;
  return true;
}

void GroupLists::advance(const ClusterState& state, List& list, int c, Amount* used) {
  Cut& cut = list.cuts[at(c)];
  const Id slot = cut.first_beyond;
  const Amount* amount = state.amounts(slot);
  for (std::size_t r = 0; r < width_; ++r) used[r] += amount[r];
  inside_[slot] |= static_cast<std::uint8_t>(1 << c);
  ++cut.count;
  cut.first_beyond = next_[slot];
}

void GroupLists::retreat(const ClusterState& state, List& list, int c, Amount* used) {
  Cut& cut = list.cuts[at(c)];
  const Id slot = cut.first_beyond == kNoId ? list.tail : previous_[cut.first_beyond];
  const Amount* amount = state.amounts(slot);
  for (std::size_t r = 0; r < width_; ++r) used[r] -= amount[r];
  inside_[slot] &= static_cast<std::uint8_t>(~(1 << c));
  --cut.count;
  cut.first_beyond = slot;
}

// Being below the bound is lost once and for all along the list, so the cut moves to
// where it is lost, from either side.
template <class Below>
void GroupLists::recut(const ClusterState& state, Id operation, int c, Below&& below) {
  List& list = lists_[operation];
  Cut& cut = list.cuts[at(c)];
  Amount* used = sums_.data() + cut_row(operation, c);
  if (!options_.on_bound_preemptible) {  // the allocation that crosses is still inside
    while (cut.count > 0) {
      retreat(state, list, c, used);
      if (below(used, nullptr)) break;
    }
    while (cut.first_beyond != kNoId && below(used, nullptr)) advance(state, list, c, used);
    return;
  }
  for (; cut.extra > 0; --cut.extra) retreat(state, list, c, used);
  while (cut.count > 0 && !below(used, nullptr)) retreat(state, list, c, used);
  while (cut.first_beyond != kNoId && below(used, state.amounts(cut.first_beyond)))
    advance(state, list, c, used);
  while (cut.first_beyond != kNoId &&
         on_bound(bounds_.data() + cut_row(operation, c), used, state.amounts(cut.first_beyond))) {
    advance(state, list, c, used);
    ++cut.extra;
  }
}

void GroupLists::settle(const ClusterState& state, Id operation) {
  List& list = lists_[operation];
  if (list.bounds_changed)
    for (std::size_t i = cut_row(operation, 0); i < cut_row(operation + 1, 0); ++i)
      below_[i] = first_not_below(bounds_[i], total_[i % width_]);
  list.bounds_changed = false;
  const bool whole = protected_whole(state, operation);
  for (int c = 0; c < 2; ++c) {
    const Index within = list.cuts[at(c)].count;
    const Amount* first_beyond = below_.data() + cut_row(operation, c);
    recut(state, operation, c, [&](const Amount* used, const Amount* more) {
      return whole || below(operation, c, first_beyond, used, more);
    });
    list.exposed |= list.cuts[at(c)].count < within;
  }
  list.dirty = false;
}

void GroupLists::refresh_unheld(const ClusterState& state) {
  for (const Id operation : dirty_) refresh_unheld(state, operation);
}

void GroupLists::refresh(const ClusterState& state) {
  for (const Id operation : dirty_) {
    lists_[operation].listed = false;
    refresh(state, operation);
  }
  dirty_.clear();
}

Column<Id> GroupLists::in_order(Id operation) const {
  Column<Id> out;
  for (Id slot = lists_[operation].head; slot != kNoId; slot = next_[slot]) out.push_back(slot);
  return out;
}

std::array<Index, 2> GroupLists::cuts(Id operation) const {
  const List& list = lists_[operation];
  return {list.cuts[0].count, std::max(list.cuts[0].count, list.cuts[1].count)};
}

std::array<Index, 2> GroupLists::cuts_under(const ClusterState& state, Id operation,
                                            const double* fair,
                                            const std::array<double, 2>& factors) const {
  const bool whole = protected_whole(state, operation);
  std::array<Index, 2> counts{};
  for (int c = 0; c < 2; ++c) {
    std::array<double, kMaxResources> bound{};
    std::array<Amount, kMaxResources> first_beyond{}, used{};
    for (std::size_t r = 0; r < width_; ++r) {
      bound[r] = fair[r] * factors[at(c)];
      first_beyond[r] = first_not_below(bound[r], total_[r]);
    }
    Id slot = lists_[operation].head;
    const auto is_within = [&](const Amount* more) {
      return whole || below(operation, c, first_beyond.data(), used.data(), more);
    };
    const auto advance = [&] {
      for (std::size_t r = 0; r < width_; ++r) used[r] += state.amounts(slot)[r];
      ++counts[at(c)];
      slot = next_[slot];
    };
    while (slot != kNoId &&
           is_within(options_.on_bound_preemptible ? state.amounts(slot) : nullptr))
      advance();
    while (slot != kNoId && options_.on_bound_preemptible &&
           on_bound(bound.data(), used.data(), state.amounts(slot)))
      advance();
  }
  return {counts[0], std::max(counts[0], counts[1])};
}

void GroupLists::set_factors(const std::array<double, 2>& factors) {
  options_.aggressive_threshold = factors[0];
  options_.threshold = factors[1];
  for (List& list : lists_) list.exposed = true;
}

std::size_t GroupLists::memory_bytes() const noexcept {
  const auto bytes = [](const auto& v) { return v.capacity() * sizeof(v[0]); };
  return bytes(lists_) + bytes(sums_) + bytes(below_) + bytes(bounds_) + bytes(usage_threshold_) +
         bytes(next_) + bytes(previous_) + bytes(inside_);
}

}  // namespace evenhand
