#include "evenhand/policy/ytsaurus/update.h"

#include <algorithm>
#include <iterator>
#include <ranges>

#include "evenhand/model/row_order.h"
#include "evenhand/model/visit_columns.h"

namespace evenhand::ytsaurus {
namespace {

using Size = std::size_t;

}  // namespace

void ShareInputs::refer(const ClusterState& state) {
  state_ = &state;
  if (tables_ != nullptr) tables_ = made_ ? &own_ : &state.tables();
  delta_ = {};
}

void ShareInputs::touch(Id operation) {
  stale_ = true;
  if (at(operation) >= is_touched_.size()) is_touched_.resize(at(operation) + 1, 0);
  if (is_touched_[operation]) return;
  is_touched_[operation] = 1;
  touched_.push_back(operation);
}

void ShareInputs::touch_row(Id operation) {
  touch(operation);
  touched_rows_.push_back(operation);
}

void ShareInputs::fit_work(Size operations) {
  work_.allocations.resize(operations, 0);
  work_.smallest.resize(operations * state_->width(), 0);
  work_.schedulable.resize(operations, 0);
}

void ShareInputs::clear_work(Id operation) {
  fit_work(std::max(work_.allocations.size(), at(operation) + 1));
  work_.allocations[operation] = 0;
  work_.schedulable[operation] = 0;
}

void ShareInputs::count_work(Id o, const Amount* demand, const RowSettings& rows) {
  const Size width = state_->width();
  Amount* smallest = work_.smallest.row(o, width);
  Index waiting = 0;
  std::array<Amount, kMaxResources> wanted{};
  std::fill_n(smallest, width, 0);
  for (const Id q : state_->requests_of(o)) {
    const Index count = state_->pending(q);
    if (count == 0) continue;
    const Amount* amounts = state_->requests().get_row(&RequestColumns::resources, q);
    for (Size r = 0; r < width; ++r) {
      smallest[r] = waiting == 0 ? amounts[r] : std::min(smallest[r], amounts[r]);
      wanted[r] += amounts[r] * count;
    }
    waiting += count;
  }
  bool wants = waiting > 0;
  const Amount* used = state_->operation_usage(o);
  for (Size r = 0; r < width; ++r) {
    smallest[r] = std::min(smallest[r], wanted[r]);
    wants |= demand[r] > used[r];
  }
  work_.allocations[o] = waiting;
  work_.schedulable[o] = wants && rows.unschedulable[o] == 0;
}

void ShareInputs::copy_row(Id o) {
  const LiveTable<OperationColumns>& from = state_->operations();
  OperationColumns& to = own_.operations;
  const Size width = state_->width();
  const bool present = from.present(o);
  to.pool[o] = present ? state_->pool_of(o) : 0;
  to.weight[o] = from.get(&OperationColumns::weight, o, 1.0);
  to.gang[o] = from.get(&OperationColumns::gang, o);
  to.limits_given[o] = from.get(&OperationColumns::limits_given, o);
  to.fifo_start_time[o] = from.get(&OperationColumns::fifo_start_time, o);
  if (const Amount* limits = from.get_row(&OperationColumns::limits, o))
    std::copy_n(limits, width, to.limits.row(o, width));
  const double* best = from.get_row(&OperationColumns::best_allocation_share, o);
  Column<double>& shares = to.best_allocation_share;
  if (best == nullptr && shares.empty()) return;
  shares.resize(to.pool.size() * width, 1.0);
  for (Size r = 0; r < width; ++r) shares[at(o) * width + r] = best == nullptr ? 1.0 : best[r];
}

void ShareInputs::count_amounts(Id o) {
  const Size width = state_->width();
  Amount* demand = own_.operations.demand.row(o, width);
  Amount* usage = own_.operations.usage.row(o, width);
  if (state_->operations().present(o)) {
    state_->demand(o, demand);
    std::copy_n(state_->operation_usage(o), width, usage);
  } else {
    std::fill_n(demand, width, 0);
    std::fill_n(usage, width, 0);
  }
}

// As order_tree() lists them: operations stand among the pools, whose order is the snapshot's.
bool ShareInputs::stands_before(Id element, Id other) const {
  const LiveKeys& keys = state_->operations().keys();
  const Id pools = own_.pools.parent.rows();
  if (element >= pools && other >= pools)
    return keys.rank(element - pools) < keys.rank(other - pools);
  if (element < pools && other < pools) return pool_place_[element] < pool_place_[other];
  const auto pool_order = [&](Id pool) { return at_or(own_.pools.order, pool, kNoOrder); };
  return element >= pools ? order_less(keys.order(element - pools), pool_order(other))
                          : !order_less(keys.order(other - pools), pool_order(element));
}

void ShareInputs::list(Id element, Id pool) {
  Column<Id>& members = children_[pool];
  const auto place = std::ranges::partition_point(
      members, [&](Id other) { return stands_before(other, element); });
  members.insert(place, element);
}

void ShareInputs::unlist(Id element, Id pool) {
  Column<Id>& members = children_[pool];
  members.erase(std::ranges::find(members, element));
}

// All that went leave their pools before any that came joins one.
void ShareInputs::list_rows() {
  const Id pools = own_.pools.parent.rows();
  const Column<Id>& parent = own_.pools.parent;
  children_stale_ = true;
  went_.clear();
  came_.clear();
  listed_in_.resize(own_.operations.pool.size(), kNoId);
  for (const Id o : moved_) {
    const Id pool = std::exchange(listed_in_[o], kNoId);
    if (pool == kNoId) continue;
    went_.push_back(o);
    unlist(pools + o, pool);
    for (Id p = pool; p != kNoId; p = parent[p])
      if (--below_[p] == 0 && p != 0) unlist(p, parent[p]);
  }
  for (const Id o : moved_) {
    if (!state_->operations().present(o)) continue;
    const Id pool = listed_in_[o] = own_.operations.pool[o];
    came_.push_back(o);
    list(pools + o, pool);
    for (Id p = pool; p != kNoId; p = parent[p])
      if (below_[p]++ == 0 && p != 0) list(p, parent[p]);
  }
}

const Tables& ShareInputs::list_children() {
  if (!std::exchange(children_stale_, false)) return *tables_;
  const Tables& t = state_->tables();
  const Id pools = own_.pools.parent.rows();
  Grouping& children = own_.children;
  children.offsets.assign(1, 0);
  children.items.clear();
  for (Id p = 0; p < pools; ++p) {
    auto next = children_[p].begin();
    const auto end = children_[p].end();
    for (const Id child : t.children.of(p)) {
      if (child >= pools) continue;
      for (; next != end && (*next < pools || stands_before(*next, child)); ++next)
        if (*next >= pools) children.items.push_back(*next);
      children.items.push_back(child);
    }
    for (; next != end; ++next)
      if (*next >= pools) children.items.push_back(*next);
    children.offsets.push_back(static_cast<Index>(children.items.size()));
  }
  return own_;
}

void ShareInputs::make() {
  const Tables& t = state_->tables();
  const auto pools = at(t.pools.size());
  made_ = true;
  own_.previous_update = t.previous_update;
  own_.resources = t.resources;
  own_.pools = t.pools;
  children_.resize(pools);
  below_.assign(pools, 0);
  pool_place_.assign(pools, 0);
  for (std::size_t i = 0; i < t.children.items.size(); ++i)
    if (at(t.children.items[i]) < pools) pool_place_[t.children.items[i]] = static_cast<Index>(i);
  for (Id o = 0; o < state_->operations().rows(); ++o) touch_row(o);
}

void ShareInputs::refresh(const RowSettings& rows) {
  const Tables& t = state_->tables();
  const Size width = state_->width();
  delta_ = {};
  if (!live_ && !made_ && touched_.empty() && state_->now() == t.now) {
    all_rows_ = !counted_;
    fit_work(static_cast<Size>(t.operations.size()));
    for (Id o = 0; !counted_ && o < static_cast<Id>(t.operations.size()); ++o)
      count_work(o, t.operations.demand.row(o, width), rows);
    counted_ = true;
    stale_ = false;
    tables_ = &t;
    return;
  }
  all_rows_ = !made_;  // pools have lists of children without any operation
  if (all_rows_) make();
  tables_ = &own_;
  own_.now = state_->now();
  delta_.only = !all_rows_ && own_.total == state_->total();
  own_.total = state_->total();
  moved_.clear();
  moved_.swap(touched_rows_);
  went_.clear();
  came_.clear();
  if (rows_changed()) {
    std::ranges::sort(moved_);
    moved_.erase(std::unique(moved_.begin(), moved_.end()), moved_.end());
    const auto n = at(state_->operations().rows());
    OperationColumns& o = own_.operations;
    o.pool.resize(n);
    o.weight.resize(n);
    o.gang.resize(n);
    o.limits_given.resize(n);
    o.fifo_start_time.resize(n);
    for (Column<Amount>* amounts : {&o.demand, &o.usage, &o.limits}) amounts->resize(n * width);
    if (!o.best_allocation_share.empty()) o.best_allocation_share.resize(n * width, 1.0);
    fit_work(n);
    for (const Id row : moved_) copy_row(row);
    list_rows();
  }
  for (const Id o : touched_) {
    is_touched_[o] = 0;
    count_amounts(o);
    count_work(o, own_.operations.demand.row(o, width), rows);
  }
  refreshed_.swap(touched_);
  touched_.clear();
  stale_ = false;
  delta_.children = &children_;
  delta_.touched = refreshed_;
  delta_.went = went_;
  delta_.came = came_;
}

void update(Update& out, const ClusterState& state, ShareInputs& kept, const Settings& settings,
            const RowSettings& rows, const Given& given, FairShareEngine& engine,
            const VolumeMemory* volumes, bool keep) {
  kept.refresh(rows);
  const Tables& inputs = kept.tables();
  const Size width = state.width();
  const auto pools = static_cast<Size>(inputs.pools.size());
  out.now = state.now();
  TreeDelta delta = kept.delta();
  delta.only = delta.only && std::ranges::none_of(given.has_fair_share, [](auto g) { return g; });
  if (!delta.only || !keep || !engine.follows(settings.fair_share)) kept.list_children();
  out.shares = &engine.update(inputs, settings.fair_share, volumes, keep, &delta);
  FairShareResult& shares = *out.shares;
  out.only_changed = engine.changed() != nullptr;
  if (out.only_changed) {
    out.requeued.assign(delta.touched.begin(), delta.touched.end());
    std::ranges::sort(out.requeued);
    out.changed.clear();
    for (Id& row : out.requeued) row += static_cast<Id>(pools);  // as elements
    std::ranges::set_union(*engine.changed(), out.requeued, std::back_inserter(out.changed));
    for (Id& row : out.requeued) row -= static_cast<Id>(pools);
  }
  for (Size e = 0; e < given.has_fair_share.size(); ++e)
    if (given.has_fair_share[e])
      std::copy_n(given.fair_share.row(e, width), width, shares.total.row(e, width));
  if (kept.moved() == nullptr)
    out.starvation.effective = inherit(inputs, settings.starvation, rows.starvation);
  else
    inherit_again(inputs, settings.starvation, rows.starvation, *kept.moved(),
                  out.starvation.effective);
  // Other settings for a deficit that lasts: rare.
  const Column<Time>& since = out.starvation.clocks.since;
  const bool in_deficit = kept.moved() != nullptr && std::ranges::any_of(*kept.moved(), [&](Id o) {
                            return pools + at(o) < since.size() && since[pools + at(o)] != kNoTime;
                          });
  out.starvation.also_after = settings.full_host_stage ? settings.full_host_timeout : kNoTime;
  starvation(inputs, shares, settings.starvation, kept.work(), out.now, given.starvation,
             out.starvation, out.only_changed && !in_deficit ? &out.changed : nullptr);
  out.priority.resize(static_cast<Size>(inputs.operations.size()));
  const auto prioritise = [&](Size o) {
    out.priority[o] = Priority::kNone;
    if (!kept.work().schedulable[o]) return;
    const Size e = pools + o;
    const Starvation own_state = out.starvation.clocks.starvation[e];
    const bool aggressive = settings.priority_from_ancestors
                                ? out.starvation.lowest_aggressive[e] != kNoId
                                : own_state == Starvation::kAggressivelyStarving;
    const bool starving = settings.priority_from_ancestors
                              ? out.starvation.lowest_starving[e] != kNoId
                              : own_state != Starvation::kNonStarving;
    out.priority[o] = aggressive ? Priority::kAggressive
                      : starving ? Priority::kNormal
                                 : Priority::kNone;
  };
  if (out.starvation.all) {
    for (Size o = 0; o < out.priority.size(); ++o) prioritise(o);
  } else {
    for (const Id e : out.starvation.looked_at)
      if (at(e) >= pools) {
        const Size o = at(e) - pools;
        const Priority before = out.priority[o];
        prioritise(o);
        if (out.priority[o] != before) out.requeued.push_back(static_cast<Id>(o));
      }
  }
  out.moved_places = kept.rows_changed();
  if (!out.moved_places) {
    if (out.only_changed) return;
    const FairShareResult& before = engine.before();
    if (before.fifo_index == shares.fifo_index &&
        before.effective_fifo_index == shares.effective_fifo_index)
      return;
  }
  Column<Id> order = shares.fifo_index;
  for (Size o = 0; o < order.size(); ++o)
    if (shares.effective_fifo_index[o] != kNoId) order[o] = shares.effective_fifo_index[o];
  out.places = QueuePlaces::of(inputs, order, kept.children());
}

}  // namespace evenhand::ytsaurus
