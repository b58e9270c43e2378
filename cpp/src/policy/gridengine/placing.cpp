#include <algorithm>

#include "evenhand/core/poll.h"
#include "run.h"

namespace evenhand::gridengine {

bool Run::allowed(const Unit& unit, Id node) const {
  if (!state_.schedulable(node)) return false;
  if (unit.slot != kNoId) return unit.only_node == node;
  return where_.why_not(state_, unit.request, node) == Place::kAllowed;
}

bool Run::fits_at(const Unit& unit, Id node, Time from, Time until, bool now) const {
  if (now && !rooms_.fits(unit.need, node)) return false;
  return calendar_.fits(node, unit.need, from, until) && allowed(unit, node);
}

template <class Also>
std::size_t Run::first_with_room(const Amount* need, Size from, Also also) const {
  for (Size i = from; i < nodes_.size();) {
    const Size block = RoomBlocks::block_of(i), end = (block + 1) * RoomBlocks::kNodes;
    if (blocks_.may_fit(need, block, rooms_, nodes_))
      for (; i < end && i < nodes_.size(); ++i)
        if (rooms_.fits(need, nodes_[i]) && also(nodes_[i])) return i;
    i = end;
  }
  return nodes_.size();
}

bool Run::place(const Entry& entry, Time from, bool now, Entry* failed) {
  placed_.clear();
  closed_ = false;
  const Time until = after(from, entry.duration);
  const auto next = [&](const Unit& unit, Size since) {
    const auto also = [&](Id n) {
      if (!calendar_.fits(n, unit.need, from, until) || !allowed(unit, n)) return false;
      if (!now || open(entry, unit, n)) return true;
      closed_ = true;
      return false;
    };
    if (now) return first_with_room(unit.need, since, also);
    while (since < nodes_.size() && !also(nodes_[since])) ++since;
    return since;
  };
  if (simple(entry)) {
    const Unit& unit = entry.units[0];
    if (!calendar_.fits(calendar_.shared(), unit.need, from, until)) return false;
    const Size found = next(unit, now ? 0 : begin_at_);
    if (found < nodes_.size()) placed_.push_back({0, nodes_[found]});
    return found < nodes_.size();
  }
  bool all = true;
  for (Size i = 0; i < entry.units.size() && all; ++i) {
    const Unit& unit = entry.units[i];
    Size from_node = 0;
    for (Index k = 0; k < unit.count && all; ++k) {
      all = calendar_.fits(calendar_.shared(), unit.need, from, until);
      if (all) from_node = next(unit, from_node);
      all = all && from_node < nodes_.size();
      if (!all && failed != nullptr) nearest(*failed, unit, placed_.empty());
      if (!all) break;
      const Id node = nodes_[from_node];
      placed_.push_back({i, node});
      if (!now || !only_grows_) calendar_.take(node, unit.need, from, until);
      if (now) add_room(unit.need, node, -1);
    }
  }
  for (const Placement& p : placed_) {
    if (!now || !only_grows_) calendar_.give(p.node, entry.units[p.unit].need, from, until);
    if (now) add_room(entry.units[p.unit].need, p.node, 1);
  }
  if (!all) placed_.clear();
  return all;
}

// The least of all nodes, of which each may have to wait for what the cluster shares.
Time Run::first_fit_simple(const Unit& unit, Time duration) {
  Time since = soonest();
  for (;;) {
    const Time shared = calendar_.earliest(calendar_.shared(), unit.need, since, duration);
    if (shared == kForever) return kForever;
    Time best = kForever;
    for (Size i = 0; i < nodes_.size() && best != shared; ++i) {
      const Id n = nodes_[i];
      const Time one = calendar_.earliest(n, unit.need, shared, duration, best);
      if (one >= best || !allowed(unit, n)) continue;
      best = one;
      begin_at_ = i;
    }
    if (best == shared) return best;
    if (best == kForever) return kForever;
    since = best;
    if (calendar_.fits(calendar_.shared(), unit.need, best, after(best, duration))) return best;
  }
}

// So many copies of one request. How many fit on a host changes where its room does, and as long
// before as the job runs. Of those instants none matters before a host holds one, nor any behind
// the one since when as many hosts as there are copies have held one, if all fit then.
// O(hosts + changes between).
Time Run::first_fit_copies(const Unit& unit, Time duration) {
  struct Change {
    Time at;
    Size host;
  };
  const Id shared = calendar_.shared();
  Column<Time> since(nodes_.size(), kForever), soon;
  const auto all_at = [&](Time t) {
    const Time until = after(t, duration);
    Index sum = 0;
    if (calendar_.copies(shared, unit.need, t, until, unit.count) < unit.count) return false;
    for (Size i = 0; i < nodes_.size() && sum < unit.count; ++i)
      if (since[i] <= t) sum += calendar_.copies(nodes_[i], unit.need, t, until, unit.count - sum);
    return sum >= unit.count;
  };
  // The first instants of as many hosts, the last of them on top.
  const auto wanted = static_cast<Size>(unit.count);
  for (Size i = 0; i < nodes_.size(); ++i) {
    const Time limit = soon.size() < wanted ? kForever : soon.front();
    const Time one = calendar_.earliest(nodes_[i], unit.need, soonest(), duration, limit);
    if (one >= limit || !allowed(unit, nodes_[i])) continue;
    since[i] = one;
    soon.push_back(one);
    std::ranges::push_heap(soon);
    if (soon.size() <= wanted) continue;
    std::ranges::pop_heap(soon);
    soon.pop_back();
  }
  Time last = soon.size() < wanted ? kForever : soon.front();
  if (last != kForever && !all_at(last)) last = kForever;
  if (last == kForever)  // hosts that were given up on
    for (Size i = 0; i < nodes_.size(); ++i)
      if (since[i] == kForever && allowed(unit, nodes_[i]))
        since[i] = calendar_.earliest(nodes_[i], unit.need, soonest(), duration);
  std::vector<Change> changes;
  const auto note = [&](Size host, Id row, Time from) {
    const std::span<const Time> steps = calendar_.steps(row);
    changes.push_back({from, host});
    for (const Time t : steps) {
      if (t > from && t <= last) changes.push_back({t, host});
      if (duration != kForever && t - duration >= from && t - duration < last)
        changes.push_back({t - duration + 1, host});  // until then the change is behind the end
    }
  };
  Time first = kForever;
  for (Size i = 0; i < nodes_.size(); ++i) {
    first = std::min(first, since[i]);
    if (since[i] != kForever && since[i] <= last) note(i, nodes_[i], since[i]);
  }
  if (first == kForever) return kForever;
  note(nodes_.size(), shared, first);
  std::ranges::sort(changes, {}, [](const Change& c) { return std::pair(c.at, c.host); });
  Column<Index> copies(nodes_.size(), 0);
  Index sum = 0;
  for (Size k = 0; k < changes.size();) {
    const Time t = changes[k].at, until = after(t, duration);
    for (; k < changes.size() && changes[k].at == t; ++k) {
      const Size host = changes[k].host;
      if (host == nodes_.size()) continue;
      const Index fit = calendar_.copies(nodes_[host], unit.need, t, until, unit.count);
      sum += fit - copies[host];
      copies[host] = fit;
    }
    if (sum >= unit.count &&
        calendar_.copies(shared, unit.need, t, until, unit.count) >= unit.count)
      return t;
  }
  return kForever;
}

// Instants at which anything changes, until all of it fits.
Time Run::first_fit_spread(const Entry& entry) {
  Column<Time> instants{soonest()};
  const auto note = [&](Id row) {
    for (const Time t : calendar_.steps(row)) {
      if (t > instants[0]) instants.push_back(t);
      if (entry.duration != kForever && t - entry.duration > instants[0])
        instants.push_back(t - entry.duration);
    }
  };
  for (const Id n : nodes_)
    if (std::ranges::any_of(entry.units, [&](const Unit& u) { return allowed(u, n); })) note(n);
  note(calendar_.shared());
  std::ranges::sort(instants);
  instants.erase(std::unique(instants.begin(), instants.end()), instants.end());
  // With all of its kind gone at the end: nothing is tried that never fits.
  for (const Time t : instants) {
    poll();
    const Time until = after(t, entry.duration);
    // Each part by itself: cheap, and most instants fail here.
    bool may = true;
    for (const Unit& unit : entry.units) {
      Index found = calendar_.copies(calendar_.shared(), unit.need, t, until, unit.count);
      may &= found >= unit.count;
      if (!may) break;
      found = 0;
      for (Size i = 0; i < nodes_.size() && found < unit.count; ++i)
        if (const Index more = calendar_.copies(nodes_[i], unit.need, t, until, unit.count - found);
            more > 0 && allowed(unit, nodes_[i]))
          found += more;
      may &= found >= unit.count;
      if (!may) break;
    }
    if (may && place(entry, t, false)) return t;
  }
  return kForever;
}

Time Run::first_fit(const Entry& entry) {
  poll();
  begin_at_ = 0;
  if (!simple(entry) && entry.units.size() == 1)
    return first_fit_copies(entry.units[0], entry.duration);
  if (!simple(entry)) return first_fit_spread(entry);
  return first_fit_simple(entry.units[0], entry.duration);
}

// Why a job can run nowhere, whatever stands there; kStarted: it can.
Outcome Run::barred(Entry& entry) const {
  for (const Unit& unit : entry.units) {
    if (nodes_.empty()) return Outcome::kNoNodes;
    Outcome why = Outcome::kWrongNode;
    for (const Id n : nodes_) {
      if (allowed(unit, n)) {
        why = Outcome::kStarted;
        break;
      }
      const Place place = unit.slot != kNoId
                              ? (unit.only_node == n ? Place::kAllowed : Place::kOtherNode)
                              : where_.why_not(state_, unit.request, n);
      if (place == Place::kAllowed)
        why = Outcome::kNodeNotSchedulable;
      else if (place == Place::kTagMissing && why == Outcome::kWrongNode)
        why = Outcome::kWrongTags;
    }
    if (why == Outcome::kStarted) continue;
    entry.failed = unit.request;
    return why;
  }
  return Outcome::kStarted;
}

// Where a part that finds no place would come closest to fitting, beside those placed before: now,
// or, where there is room now, for as long as the job runs.
void Run::nearest(Entry& entry, const Unit& unit, bool first) const {
  entry.failed = unit.request;
  entry.failed_slot = unit.slot;
  if (!tells) return;
  nearest_now(entry, unit, first, true);
  if (entry.best == kNoId) nearest_now(entry, unit, first, false);
  if (std::ranges::all_of(entry.missing, [](Amount a) { return a == 0; }))
    nearest_later(entry, unit);
}

void Run::nearest_later(Entry& entry, const Unit& unit) const {
  const Time until = after(state_.now(), entry.duration);
  Column<Amount> missing(width_);
  double least = 0;
  const auto look = [&](bool open_only) {
    for (const Id n : nodes_) {
      if (!rooms_.fits(unit.need, n) || !allowed(unit, n)) continue;
      if (open_only && !open(entry, unit, n)) continue;
      stays_free(n, until, missing.data());
      double found = 0;
      for (Size r = 0; r < width_; ++r) {
        // What stands there later may be more than there is.
        missing[r] = std::clamp<Amount>(unit.need[r] - missing[r], 0, unit.need[r]);
        found = std::max(found, static_cast<double>(missing[r]) /
                                    static_cast<double>(std::max<Amount>(state_.total()[r], 1)));
      }
      if (found == 0 || (entry.planned && found >= least)) continue;
      entry.planned = true;
      least = found;
      entry.best = n;
      entry.missing = missing;
    }
  };
  look(true);
  if (!entry.planned) look(false);  // else where a queue is suspended
  if (record_ && entry.planned) entry.planned_for = planned_there(entry);
}

// Jobs whose room lies, on the best node or of what the cluster shares, in what is missing.
Column<Id> Run::planned_there(const Entry& entry) const {
  Column<Id> found;
  const Time until = after(state_.now(), entry.duration);
  for (const Planned& p : plans_) {
    if (p.operation == entry.operation || p.from >= until || p.until <= state_.now()) continue;
    bool there = false;
    for (Size r = 0; r < width_; ++r)
      there |= entry.missing[r] > 0 && p.need[r] > 0 &&
               (p.node == entry.best || resources().scope[r] == ResourceScope::kCluster);
    if (there && std::ranges::find(found, p.operation) == found.end()) found.push_back(p.operation);
  }
  return found;
}

void Run::nearest_now(Entry& entry, const Unit& unit, bool first, bool open_only) const {
  const bool plain = first && unit.request != kNoId && Where::anywhere(state_, unit.request) &&
                     !subordination_.has_pairs();
  const Column<Amount> need(unit.need, unit.need + width_);
  if (plain && seen_nodes_ >= 0 && seen_need_ == need) {
    entry.nodes = seen_nodes_;
    entry.missing = seen_missing_;
    entry.best = seen_best_;
    return;
  }
  Column<Amount> missing(width_);
  double least = 0;
  entry.nodes = 0;
  entry.missing.assign(width_, 0);
  const auto lack = [&](auto&& has) {
    double found = 0;
    for (Size r = 0; r < width_; ++r) {
      missing[r] = need[r] > 0 ? std::max<Amount>(need[r] - has(r), 0) : 0;
      found = std::max(found, static_cast<double>(missing[r]) /
                                  static_cast<double>(std::max<Amount>(state_.total()[r], 1)));
    }
    return found;
  };
  bool any = false;
  for (Size block = 0; block < blocks_.blocks(); ++block) {
    const Size begin = block * RoomBlocks::kNodes,
               end = std::min(nodes_.size(), begin + RoomBlocks::kNodes);
    const Amount* most = blocks_.most(block, rooms_, nodes_);
    const bool better = !any || lack([&](Size r) {
                                  return resources().scope[r] == ResourceScope::kCluster
                                             ? rooms_.at(nodes_[begin], r)
                                             : most[r];
                                }) < least;
    if (plain && !better) continue;
    for (Size i = begin; i < end; ++i) {
      const Id n = nodes_[i];
      if (!allowed(unit, n)) continue;
      ++entry.nodes;
      if (!better || (open_only && !open(entry, unit, n))) continue;
      const double found = lack([&](Size r) { return rooms_.at(n, r); });
      if (any && found >= least) continue;
      any = true;
      least = found;
      entry.best = n;
      entry.missing = missing;
    }
  }
  if (plain) entry.nodes = usable_;
  if (!plain) return;
  seen_need_ = need;
  seen_missing_ = entry.missing;
  seen_best_ = entry.best;
  seen_nodes_ = entry.nodes;
}

// Where placed_ says.
void Run::occupy(const Entry& entry, Time from, Time until) {
  for (const Placement& p : placed_) {
    const Amount* need = entry.units[p.unit].need;
    calendar_.take(p.node, need, from, until);
    if (record_) plans_.push_back({entry.operation, p.node, need, from, until});
  }
}

// What hard reservations keep for a job is its own.
void Run::credit_own(Id operation, Amount sign) {
  using V = ReservationColumns;
  const LiveTable<V>& rows = state_.reservations();
  if (rows.rows() == 0) return;
  add_reserved(rooms_, state_, sign, [operation](Id owner) { return owner == operation; });
  blocks_.all_changed();
  seen_nodes_ = -1;
  for (Id i = 0; i < rows.rows(); ++i) {
    if (!rows.present(i) || rows.get(&V::node, i, kNoId) == kNoId || rows.get(&V::soft, i) != 0 ||
        reserved_for(state_, i) != operation)
      continue;
    const Time from = rows.get(&V::from, i, kNoTime), until = rows.get(&V::until, i, kNoTime);
    calendar_.add(rows.get(&V::node, i, kNoId), rows.get_row(&V::resources, i),
                  from == kNoTime ? state_.now() : from, until == kNoTime ? kForever : until, sign);
  }
}

// What leaves for a job counts as gone for it alone.
void Run::credit_leaving(Id operation, Amount sign) {
  for (const Leaving& l : state_.leaving()) {
    if (l.beneficiary.operation != operation) continue;
    const Id node = state_.node_of(l.slot);
    const Time end = ends(l.slot);
    add_room(l.left.data(), node, sign);
    calendar_.add(node, l.left.data(), state_.now(), end, sign);
    if (const Amount* kept = state_.kept(l.slot)) {
      add_room(kept, node, -sign);
      calendar_.add(node, kept, state_.now(), end, -sign);
    }
  }
}

}  // namespace evenhand::gridengine
