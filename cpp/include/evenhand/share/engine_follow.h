// Fair share updates that use what the one before them left: functions in which single operations
// are replaced, and results that are changed in place, where only what some operations want and
// use differs, and some have come or gone. Included by engine.h.
#pragma once

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

#include "evenhand/share/engine.h"

namespace evenhand {

// Puts what changed into the kept block. Refused: it must be built again.
template <int R>
auto FairShareUpdate<R>::edit(Id pool) -> Edit {
  Pool& state = pools_[pool];
  if (state.rebuild || !state.children.sweepable()) return Edit::kRefused;
  const View<const Id> now = children(pool);
  const Column<Id>& then = state.members;
  Size begin = 0, gone = 0, came = 0;  // what is listed from a place on, others before
  if (state.listed && smallest_weight(pool) != state.smallest_weight) return Edit::kRefused;
  if (state.listed && !std::ranges::equal(then, now)) {
    begin = at(std::ranges::mismatch(then, now).in1 - then.begin());
    const Size most = std::min(then.size(), now.size()) - begin;
    Size behind = 0;
    while (behind < most && then[then.size() - 1 - behind] == now[now.size() - 1 - behind])
      ++behind;
    gone = then.size() - begin - behind;
    came = now.size() - begin - behind;
  }
  if ((gone + came + state.changed.size()) * 16 > now.size() + 64) return Edit::kRefused;
  const bool steps = options_.step_function_for_gang && tables_->pools.step_function_for_gang[pool];
  const auto curve = [&](Id e) -> std::span<const Vertex<R>> {
    if (e < pool_rows_) return pools_[e].curve;
    build_operation_curve<R>(operation_, row(result.usage_share, e), row(result.demand_share, e),
                             row(result.limits_share, e),
                             steps && tables_->operations.gang[e - pool_rows_]);
    return operation_.vertices();
  };
  Edit done = gone + came > 0 ? Edit::kDone : Edit::kNothing;
  for (Size i = 0; i < gone; ++i) state.children.remove(begin);
  for (Size i = begin; i < begin + came; ++i)
    state.children.insert(i, curve(now[i]), weight(now[i]) / state.smallest_weight,
                          now[i] >= pool_rows_);
  if (gone + came > 0) state.members.assign(now.begin(), now.end());
  for (const Id e : state.changed) {
    const auto child = at(std::ranges::find(now, e) - now.begin());
    if (child == now.size() || (child >= begin && child < begin + came)) continue;
    const double ratio = weight(e) / state.smallest_weight;
    const auto its = curve(e);
    if (e >= pool_rows_ && state.children.has(child, its, ratio)) continue;
    state.children.replace(child, its, ratio, e >= pool_rows_);
    done = Edit::kDone;
  }
  if (done == Edit::kDone) {
    DoubleRow<R> initial;
    for (const Id e : now)
      if (e < pool_rows_) initial.add(pools_[e].curve[0].shares);
    state.children.start_from(initial);
  }
  return done;
}

// Whether what operations want and use changes shares by the pools' curves alone.
template <int R>
bool FairShareUpdate<R>::pools_are_independent() const {
  const PoolColumns& p = tables_->pools;
  return !options_.fifo_truncation &&
         !(options_.step_function_for_gang && options_.fifo_reordering) &&
         std::ranges::all_of(p.integral.type,
                             [](IntegralType type) { return type == IntegralType::kNone; }) &&
         std::ranges::none_of(p.compute_promised_guarantee, [](auto opted) { return opted; });
}

template <int R>
void FairShareUpdate<R>::begin_following() {
  const Tables& t = *tables_;
  demand_ = t.operations.demand;
  usage_ = t.operations.usage;
  pool_of_.assign(at(operation_rows_), kNoId);
  for (Id p = 0; p < pool_rows_; ++p)
    for (const Id e : children(p))
      if (e >= pool_rows_) pool_of_[e - pool_rows_] = p;
  postorder_place_.resize(at(pool_rows_));
  for (Id i = 0; i < tree_.postorder.rows(); ++i) postorder_place_[tree_.postorder[i]] = i;
  for (Pool& pool : pools_) settle(pool);
}

template <int R>
void FairShareUpdate<R>::follow(const TreeDelta& delta) {
  whole_ = false;
  open_.clear();
  calm.moved.clear();
  kept_children_ = kept_children_ && delta.went.empty() && delta.came.empty();
  fit_operations();
  for (const Id o : delta.went) leave_tree(o);
  for (const Id o : delta.came) join_tree(o);
  for (const Id pool : open_)
    if (fifo(pool) && pools_[pool].listed) sort_fifo_pool(*tables_, children(pool), result);
  for (const Id o : delta.touched)
    if (pool_of_[o] != kNoId) follow_operation(o);
  std::ranges::sort(open_, {}, [&](Id pool) { return postorder_place_[pool]; });
  for (const Id pool : open_) {
    build(pool);
    if (pool != 0 && pools_[pool].moved) pools_[tables_->pools.parent[pool]].moved = true;
  }
  if (pools_[0].moved) walk_changed();
  for (const Id pool : open_)
    if (children(pool).empty() && (row(result.total, pool) != 0.0).any()) {
      // It may be listed nowhere.
      set_row(result.total, pool, Row<R>::Zero());
      marks_.add(pool);
    }
  for (const Id pool : open_) settle(pools_[pool]);
  marks_.take(changed);
  whole_ = true;
}

// Rows that came have nothing yet.
template <int R>
void FairShareUpdate<R>::fit_operations() {
  const Id rows = tables_->operations.pool.rows();
  marks_.fit(at(pool_rows_ + rows));
  calm.fit(at(rows), width_);
  if (rows == operation_rows_) return;
  operation_rows_ = rows;
  result.operation_count = rows;
  const Size operations = at(rows), elements = at(pool_rows_ + rows);
  for (auto* matrix :
       {&result.usage_share, &result.demand_share, &result.limits_share, &result.total})
    matrix->resize(elements * width_, 0.0);
  for (Column<Amount>* amounts : {&demand_, &usage_}) amounts->resize(operations * width_, 0);
  for (Column<Id>* ids : {&pool_of_, &result.fifo_index, &result.effective_fifo_index})
    ids->resize(operations, kNoId);
}

// Other children are listed in a pool, and may be in those above it.
template <int R>
void FairShareUpdate<R>::open(Id pool) {
  for (Id p = pool; p != kNoId; p = tables_->pools.parent[p]) {
    if (!pools_[p].children_changed) open_.push_back(p);
    pools_[p].children_changed = pools_[p].listed = true;
  }
}

template <int R>
void FairShareUpdate<R>::leave_tree(Id o) {
  const Id e = pool_rows_ + o, pool = std::exchange(pool_of_[o], kNoId);
  open(pool);
  Amount *demand = demand_.row(o, width_), *usage = usage_.row(o, width_);
  for (Size r = 0; r < width_; ++r) {
    demand[r] = -demand[r];
    usage[r] = -usage[r];
  }
  add_to_pools(pool, demand, usage);
  std::fill_n(demand, width_, Amount{0});
  std::fill_n(usage, width_, Amount{0});
  for (auto* matrix : {&result.usage_share, &result.demand_share, &result.total})
    std::fill_n(matrix->row(e, width_), width_, 0.0);
  marks_.add(e);
  result.fifo_index[o] = kNoId;
}

template <int R>
void FairShareUpdate<R>::join_tree(Id o) {
  const Tables& t = *tables_;
  const Id e = pool_rows_ + o;
  pool_of_[o] = t.operations.pool[o];
  open(pool_of_[o]);
  Pool& pool = pools_[pool_of_[o]];
  pool.moved = pool.edited = true;  // it has no share yet, even where one like it has gone
  pool.changed.push_back(e);
  marks_.add(e);
  double* limits = result.limits_share.row(e, width_);
  for (Size r = 0; r < width_; ++r) {
    limits[r] = limit_of_total(t.operations.limits_given[o], t.operations.limits.row(o, width_),
                               t.total, r);
    if (!t.operations.best_allocation_share.empty())
      limits[r] = std::min(limits[r], t.operations.best_allocation_share.row(o, width_)[r]);
  }
}

template <int R>
void FairShareUpdate<R>::share_into(Column<double>& of, Id element, const Amount* amounts) const {
  for (Size r = 0; r < width_; ++r)
    of.row(element, width_)[r] = share_of_total(amounts[r], tables_->total[r]);
}

// So much more.
template <int R>
void FairShareUpdate<R>::add_to_pools(Id pool, const Amount* demand, const Amount* usage) {
  for (Id p = pool; p != kNoId; p = tables_->pools.parent[p]) {
    if (!pools_[p].children_changed) open_.push_back(p);
    pools_[p].children_changed = true;
    Amount *wanted = sums_.demand.row(p, width_), *used = sums_.usage.row(p, width_);
    for (Size r = 0; r < width_; ++r) {
      wanted[r] += demand[r];
      used[r] += usage[r];
    }
    marks_.add(p);
    share_into(result.demand_share, p, wanted);
    share_into(result.usage_share, p, used);
  }
}

template <int R>
void FairShareUpdate<R>::follow_operation(Id o) {
  const Tables& t = *tables_;
  std::array<Amount, kMaxResources> demand, usage;
  bool same = true;
  for (Size r = 0; r < width_; ++r) {
    const Amount wants = t.operations.demand.row(o, width_)[r],
                 uses = t.operations.usage.row(o, width_)[r];
    Amount &wanted = demand_.row(o, width_)[r], &used = usage_.row(o, width_)[r];
    demand[r] = wants - std::exchange(wanted, wants);
    usage[r] = uses - std::exchange(used, uses);
    same = same && demand[r] == 0 && usage[r] == 0;
  }
  if (same) return;
  const Id e = pool_rows_ + o;
  marks_.add(e);
  share_into(result.demand_share, e, demand_.row(o, width_));
  share_into(result.usage_share, e, usage_.row(o, width_));
  add_to_pools(pool_of_[o], demand.data(), usage.data());
  pools_[pool_of_[o]].changed.push_back(e);
}

// As walk(), but into pools alone that stand elsewhere or whose children have changed.
template <int R>
void FairShareUpdate<R>::walk_changed() {
  Column<Step>& path = path_;
  Column<Id>& walked = walked_;
  path.assign(1, {0, std::exchange(positions_[0], pools_[0].own.last())});
  walked.clear();
  const auto set_operation = [&](Id o, const Row<R>& shares) {
    const Id e = pool_rows_ + o;
    const bool is_calm =
        (shares >= row(calm.bounds, 2 * o)).all() && (shares <= row(calm.bounds, 2 * o + 1)).all();
    if (!is_calm || calm.watched[o]) {
      if ((row(result.total, e) == shares).all()) return;
      if (is_calm)
        calm.moved.push_back(o);
      else
        marks_.add(e);
    }
    set_row(result.total, e, shares);
  };
  const auto set_pool = [&](Id e, const Row<R>& shares) {
    if ((row(result.total, e) != shares).any()) marks_.add(e);
    set_row(result.total, e, shares);
  };
  while (!path.empty()) {
    const auto [pool, stood] = path.back();
    path.pop_back();
    walked.push_back(pool);
    const Position stands = positions_[pool];
    const View<const Id> below = children(pool);
    const ChildrenBlock<R>& block = pools_[pool].children;
    const bool in_fifo = fifo(pool);
    // Operations whose functions have ended before here have all that they want, as they had.
    const double ended = in_fifo || pools_[pool].edited ? 0 : std::min(stood.f, stands.f);
    for (Size i = 0; i < below.size(); ++i) {
      const Id e = below[i];
      if (e >= pool_rows_ && block.fit_factors(i).back() < ended) continue;
      const CurvePoint place = in_fifo ? child_place(pool, i, stands)
                                       : locate(block.fit_factors(i), stands.f,
                                                static_cast<std::int32_t>(i) < stands.jumped);
      if (e < pool_rows_) {
        const Position now = pools_[e].own.at(place);
        const Position then = std::exchange(positions_[e], now);
        if (now.f != then.f || now.jumped != then.jumped || pools_[e].moved)
          path.push_back({e, then});
      } else {
        const Row<R>* shares = block.shares(i) + place.k;
        set_operation(e - pool_rows_,
                      place.t == 0 ? shares[0] : between(shares[0], shares[1], place.t));
      }
    }
  }
  while (!walked.empty()) {  // children before parents
    const Id pool = walked.back();
    walked.pop_back();
    Row<R> sum = Row<R>::Zero();
    for (Id child : children(pool)) sum = sum + row(result.total, child);
    set_pool(pool, sum);
  }
}

}  // namespace evenhand
