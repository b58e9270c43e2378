// The whole fair share update for a fixed number of resources.
//
// Steps: attributes bottom-up, guarantees and volumes of pools, share functions
// of all elements bottom-up (integral pools first ask theirs for what they get
// within their rate), positions and totals top-down.
// Source: YTsaurus fair share, "order of steps".
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "evenhand/core/id_set.h"
#include "evenhand/core/poll.h"
#include "evenhand/core/search.h"
#include "evenhand/share/attributes.h"
#include "evenhand/share/children_block.h"
#include "evenhand/share/fifo.h"
#include "evenhand/share/guarantees.h"
#include "evenhand/share/impl.h"
#include "evenhand/share/kept_inputs.h"
#include "evenhand/share/operation_curve.h"
#include "evenhand/share/positions.h"
#include "evenhand/share/volumes.h"

namespace evenhand {

template <int R>
class FairShareUpdate final : public FairShareEngine::Impl {
 public:
  std::unique_ptr<FairShareEngine::Impl> copy() const override {
    return std::make_unique<FairShareUpdate>(*this);
  }
  void refer(const Tables* tables, const Column<Column<Id>>* children) noexcept override {
    tables_ = tables;
    children_ = children;
  }
  void update(const Tables& t, const FairShareOptions& options, const VolumeMemory* memory,
              bool keep, const TreeDelta* delta) override {
    only_changed = delta != nullptr && delta->only && keep && follows(options);
    const auto* const before_lists =
        std::exchange(children_, delta == nullptr ? nullptr : delta->children);
    tables_ = &t;
    if (only_changed) return follow(*delta);
    const bool reuse = std::exchange(whole_, false) && keep_ && keep && options == options_ &&
                       std::exchange(kept_children_, true) && before_lists == children_ &&
                       kept_.same_pools(t, result);
    options_ = options;
    keep_ = keep;
    width_ = t.total.size();
    pool_rows_ = t.pools.parent.rows();
    operation_rows_ = t.operations.pool.rows();
    if (!reuse) {
      tree_ = Topology::of(t);
      pools_.clear();
      pools_.resize(at(pool_rows_));
    }
    calm.clear();
    std::swap(result, before);
    result.pool_count = t.pools.size();
    result.operation_count = t.operations.size();
    result.resource_count = t.resource_count();
    result.diagnostics.clear();
    check_pool_settings(t, tree_, result);
    infer_strong_guarantees(t, tree_, options, result);
    compute_ratios(t, tree_, result);
    compute_attributes<R>(t, tree_, result, sums_);
    sort_fifo_pools(t, result);
    update_volumes(t, tree_, options, memory, result);
    adjust_strong_guarantees(t, tree_, options, result);
    if (options.step_function_for_gang && options.fifo_reordering)
      reorder_fifo_pools(t, tree_, result);
    result.integral_share.assign(at(pool_rows_) * width_, 0.0);
    mark_changed_children(reuse);
    build_inside_integral_pools();
    share_burst();
    share_relaxed();
    build_rest();
    walk();
    if (keep) kept_.remember(t);
    whole_ = true;
    can_follow_ = keep && pools_are_independent();
    if (can_follow_) begin_following();
  }
  bool follows(const FairShareOptions& options) const override {
    return whole_ && can_follow_ && options == options_;
  }

 private:
  using Size = std::size_t;

  // Of a pool's children, and the least among those that hardly count.
  struct LeastWeight {
    double smallest = 0, negligible = 0;
    void add(double w) noexcept {
      constexpr double kNegligible = 1e-9;
      double& least = w > kNegligible ? smallest : negligible;
      if (least == 0 || w < least) least = w;
    }
  };

  struct Pool {
    ChildrenBlock<R> children;     // what the walk reads of them
    Positions own;                 // at the vertices of the pool's own curve
    std::vector<Vertex<R>> curve;  // that curve, while a parent may ask for it
    LeastWeight least;             // of its child pools
    double smallest_weight = 1;
    Column<std::uint32_t> by_place;                         // FIFO: children in effective order
    Column<std::uint32_t> place;                            // FIFO: child -> place
    Row<R> guarantee = Row<R>::Zero(), limits = guarantee;  // of the curve
    bool children_changed = true;                           // since the last update
    bool rebuild = true;  // so much that all of the block is built again
    bool listed = true;   // other children may be listed than members
    bool moved = true;    // shares below it may have changed although it stands where it stood
    bool edited = true;   // other functions of children than the last walk read
    Column<Id> members;   // of a block that is kept
    Column<Id> changed;   // else: those among the children that have another function
    bool done = false;    // the curve is that of this update
    std::optional<ChildrenBlock<R>> built;  // the block, between an integral share and its use
  };

  // ---- rows ---------------------------------------------------------------

  Row<R> row(const Column<double>& matrix, Id i) const {
    Row<R> out = Row<R>::Zero();
    const double* from = matrix.row(i, width_);
    for (Size r = 0; r < columns(); ++r) out[static_cast<int>(r)] = from[r];
    return out;
  }
  void set_row(Column<double>& matrix, Id i, const Row<R>& values) const {
    double* to = matrix.row(i, width_);
    for (Size r = 0; r < columns(); ++r) to[r] = values[static_cast<int>(r)];
  }
  // Known to the compiler, except where a wider kernel serves the width.
  Size columns() const noexcept { return R <= 8 ? static_cast<Size>(R) : width_; }

  // ---- share functions ------------------------------------------------------

  double weight(Id e) const {
    return e < pool_rows_ ? tables_->pools.weight[e] : tables_->operations.weight[e - pool_rows_];
  }

  // Child pools count whether or not they are listed.
  double smallest_weight(Id pool) const {
    LeastWeight least = pools_[pool].least;
    for (Id child : children(pool))
      if (child >= pool_rows_) least.add(weight(child));
    return least.smallest > 0 ? least.smallest : least.negligible;
  }

  View<const Id> children(Id pool) const noexcept {
    return children_ == nullptr ? tables_->children.of(pool) : View<const Id>((*children_)[pool]);
  }

  bool fifo(Id pool) const { return tables_->pools.mode[pool] == PoolMode::kFifo; }

  // The block of a pool whose child pools are built, in block_ until the next one
  // is; what the walk reads of it stays with the pool.
  void build_block(Id pool) {
    const Tables& t = *tables_;
    Pool& state = pools_[pool];
    const bool in_fifo = fifo(pool);
    const bool steps = options_.step_function_for_gang && t.pools.step_function_for_gang[pool];
    state.smallest_weight = smallest_weight(pool);
    block_.clear();
    Size seen = 0;
    for (Id e : children(pool)) {
      if (seen++ % kBetweenPolls == 0) poll();
      const double ratio = in_fifo ? 1.0 : weight(e) / state.smallest_weight;
      if (e < pool_rows_) {
        block_.add(pools_[e].curve, ratio, false);
      } else {
        build_operation_curve<R>(operation_, row(result.usage_share, e),
                                 row(result.demand_share, e), row(result.limits_share, e),
                                 steps && t.operations.gang[e - pool_rows_]);
        block_.add(operation_.vertices(), ratio, true);
      }
    }
    if (in_fifo)
      order_fifo(pool);
    else
      block_.sort(sorter_);
    if (!state.children_changed) return;
    block_.copy_to(state.children, edits(pool));
    state.members.assign(children(pool).begin(), children(pool).end());
  }

  // Whether the block of a pool is kept so that single children can be replaced in it.
  bool edits(Id pool) const {
    return keep_ && !fifo(pool) && integral(pool) == IntegralType::kNone;
  }

  enum class Edit : std::uint8_t { kNothing, kDone, kRefused };
  Edit edit(Id pool);  // in engine_follow.h

  void order_fifo(Id pool) {
    const View<const Id> members = children(pool);
    Pool& state = pools_[pool];
    state.by_place.resize(members.size());
    state.place.resize(members.size());
    for (Size i = 0; i < members.size(); ++i) {
      const Id o = members[i] - pool_rows_;
      const Id effective = result.effective_fifo_index[o];
      const Id place = effective >= 0 ? effective : result.fifo_index[o];
      state.place[i] = static_cast<std::uint32_t>(place);
      state.by_place[place] = static_cast<std::uint32_t>(i);
    }
  }

  Row<R> guarantee(Id pool) const {
    return row(result.strong_share, pool) + row(result.integral_share, pool);
  }

  // The curve of a pool from its block, left in pool_'s vertices.
  void sweep(Id pool, const ChildrenBlock<R>& block, const Row<R>& limits, bool until_guarantee) {
    // Of the root only the end is asked for, unless it promises something.
    pool_.keep_whole(pool != 0 || tables_->pools.compute_promised_guarantee[0]);
    if (fifo(pool))
      block.sweep_fifo(pool_, pools_[pool].by_place, guarantee(pool), limits, until_guarantee);
    else
      block.sweep(pool_, guarantee(pool), limits, options_.improved, until_guarantee);
  }

  // The same for an integral pool, whose curve is wanted again with its guarantee.
  void build_block_for_both(Id pool) {
    see_list(pool);
    build_block(pool);
    block_.copy_to(pools_[pool].built.emplace(), true);
  }

  // A pool that comes back may have the function with which it left.
  void see_list(Id pool) {
    Pool& state = pools_[pool];
    if (state.listed && !state.children_changed)
      state.children_changed = !std::ranges::equal(state.members, children(pool));
  }

  void build(Id pool) {
    Pool& state = pools_[pool];
    const auto built = std::exchange(state.built, std::nullopt);
    state.done = true;
    const Row<R> own_guarantee = guarantee(pool), limits = row(result.limits_share, pool);
    const bool same = (own_guarantee == state.guarantee).all() && (limits == state.limits).all();
    see_list(pool);
    if (!state.children_changed && same) return;
    state.guarantee = own_guarantee;
    state.limits = limits;
    const Edit edited = built ? Edit::kRefused : edit(pool);
    if (edited == Edit::kNothing && same) return;
    state.moved = state.edited = true;
    if (!built && edited == Edit::kRefused) build_block(pool);
    sweep(pool, built ? *built : edited == Edit::kRefused ? block_ : state.children, limits, false);
    const auto curve = pool_.vertices();
    state.own.assign(curve);
    if (!keep_)
      for (Id child : children(pool))
        if (child < pool_rows_) pools_[child].curve = std::vector<Vertex<R>>();  // and its memory
    if (pool == 0) return;
    if (std::ranges::equal(curve, state.curve, equal_vertices)) return;
    state.curve.assign(curve.begin(), curve.end());
    Pool& parent = pools_[tables_->pools.parent[pool]];
    parent.children_changed = true;
    parent.changed.push_back(pool);
  }

  static bool equal_vertices(const Vertex<R>& a, const Vertex<R>& b) noexcept {
    return a.s == b.s && a.at.f == b.at.f && a.at.jumped == b.at.jumped &&
           (a.shares == b.shares).all();
  }

  // ---- what changed since the last update -----------------------------------

  void mark_changed_children(bool reuse) {
    const Tables& t = *tables_;
    for (Id p = 0; p < pool_rows_; ++p) pools_[p].least = {};
    for (Id p = 1; p < pool_rows_; ++p) pools_[t.pools.parent[p]].least.add(t.pools.weight[p]);
    for (Id p = 0; p < pool_rows_; ++p) {
      Pool& pool = pools_[p];
      pool.children_changed = pool.rebuild = !reuse || !kept_.same_children(t, p);
      pool.listed = true;  // pools may have been inhabited or left
      pool.changed.clear();
      pool.done = false;
    }
    if (!reuse) return;
    for (Id o = 0; o < operation_rows_; ++o)
      if (kept_.operation_changed(t, before, result, o)) {
        Pool& pool = pools_[t.operations.pool[o]];
        pool.children_changed = true;
        pool.rebuild = pool.rebuild || kept_.weight_changed(t, o);
        if (!pool.rebuild) pool.changed.push_back(pool_rows_ + o);
      }
    for (Id p = 1; p < pool_rows_; ++p)
      if (kept_.pool_weight_changed(t, p)) {
        Pool& parent = pools_[t.pools.parent[p]];
        parent.children_changed = parent.rebuild = true;
      }
  }

  // ---- updates that follow touched operations -------------------------------

  // In engine_follow.h.
  bool pools_are_independent() const;
  void begin_following();
  void follow(const TreeDelta& delta);
  void fit_operations();
  void leave_tree(Id o);
  void join_tree(Id o);
  void follow_operation(Id o);
  void add_to_pools(Id pool, const Amount* demand, const Amount* usage);
  void share_into(Column<double>& of, Id element, const Amount* amounts) const;
  void open(Id pool);
  void walk_changed();

  static void settle(Pool& pool) {
    pool.children_changed = pool.rebuild = pool.listed = false;
    pool.moved = pool.edited = pool.done = false;
    pool.changed.clear();
  }

  // ---- integral pools -------------------------------------------------------

  IntegralType integral(Id pool) const { return tables_->pools.integral.type[pool]; }

  void build_inside_integral_pools() {
    Column<std::uint8_t> inside(at(pool_rows_));
    for (Id pool : tree_.preorder) {
      if (pool == 0) continue;
      const Id parent = tables_->pools.parent[pool];
      inside[pool] = inside[parent] || integral(parent) != IntegralType::kNone;
    }
    for (Id pool : tree_.postorder)
      if (inside[pool]) build(pool);
  }

  // What is left for integral shares on the way from a pool to the root.
  Row<R> room(Id pool) const {
    Row<R> out = filled_row<R>(std::numeric_limits<double>::infinity());
    for (Id p = pool; p > 0; p = tables_->pools.parent[p])
      out = out.min(row(result.limits_share, p) - row(result.strong_share, p) -
                    row(result.integral_share, p));
    return out.max(0.0);
  }

  // strong + integral must not exceed the limit, in floating point.
  static double nudge(double limit, double strong, double integral) {
    if (strong + integral <= limit) return integral;
    integral = std::max(limit - strong, 0.0);
    for (int i = 0; i < 32 && integral > 0 && strong + integral > limit; ++i)
      integral = std::nextafter(integral, 0.0);
    return integral;
  }

  void add_integral(Id pool, const Row<R>& integral) {
    for (Id p = pool; p >= 0; p = tables_->pools.parent[p])
      for (Size r = 0; r < columns(); ++r) {
        const Size i = at(p) * width_ + r;
        const double sum = result.integral_share[i] + integral[static_cast<int>(r)];
        result.integral_share[i] =
            p == 0 ? sum : nudge(result.limits_share[i], result.strong_share[i], sum);
      }
    result.volume.last_share_ratio[pool] = largest(integral);
  }

  double rate(Id pool) const {
    return min_volume_ratio({result.volume.accumulated.row(pool, width_), width_}, tables_->total) /
           options_.integral_smooth_period_s;
  }

  // In engine_integral.h.
  void share_burst();
  void share_relaxed();
  Row<R> beyond_guarantee(Id pool, const Row<R>& shares) const;
  Row<R> unclaimed() const;
  static Row<R> value_at(std::span<const Vertex<R>> curve, double s);

  void build_rest() {
    for (Id pool : tree_.postorder)
      if (!pools_[pool].done) build(pool);
  }

  // ---- walk -----------------------------------------------------------------

  CurvePoint child_place(Id pool, Size child, Position at) const {
    const Pool& state = pools_[pool];
    const auto f = state.children.fit_factors(child);
    if (!fifo(pool)) return locate(f, at.f, static_cast<std::int32_t>(child) < at.jumped);
    const auto place = static_cast<std::int32_t>(state.place[child]);
    if (place < at.jumped / 2) return {f.size() - 1, 0};
    if (place > at.jumped / 2) return {0, 0};
    return locate(f, at.f, at.jumped % 2 != 0);
  }

  // Totals of everything below a pool that stands at `at`.
  void walk_from(Id top, Position start, Column<double>& total) {
    Column<Id> path{top};
    positions_[top] = start;
    while (!path.empty()) {
      const Id pool = path.back();
      path.pop_back();
      const Position at = positions_[pool];
      const View<const Id> below = children(pool);
      for (Size i = 0; i < below.size(); ++i) {
        const Id e = below[i];
        const CurvePoint place = child_place(pool, i, at);
        if (e < pool_rows_) {
          positions_[e] = pools_[e].own.at(place);
          path.push_back(e);
        } else {
          const Row<R>* shares = pools_[pool].children.shares(i) + place.k;
          set_row(total, e, place.t == 0 ? shares[0] : between(shares[0], shares[1], place.t));
        }
      }
    }
  }

  // A pool has what its children have, summed in child order.
  void sum_pools(Column<double>& total) const {
    for (Id pool : tree_.postorder) {
      Row<R> sum = Row<R>::Zero();
      for (Id child : children(pool)) sum = sum + row(total, child);
      set_row(total, pool, sum);
    }
  }

  void walk() {
    const Size cells = at(pool_rows_ + operation_rows_) * width_;
    positions_.resize(at(pool_rows_));
    result.total.assign(cells, 0.0);
    walk_from(0, pools_[0].own.last(), result.total);
    if (options_.fifo_truncation) truncate_fifo_pools(*tables_, result);
    sum_pools(result.total);
    walk_promised(cells);
  }

  void walk_promised(Size cells) {
    Column<std::uint8_t> inside(at(pool_rows_));
    result.promised.clear();
    for (Id id : tree_.preorder) {
      const bool below = id != 0 && inside[tables_->pools.parent[id]];
      inside[id] = below || tables_->pools.compute_promised_guarantee[id];
      if (!inside[id] || below) continue;
      if (result.promised.empty()) result.promised.assign(cells, 0.0);
      walk_from(id, pools_[id].own.first(), result.promised);
    }
    if (!result.promised.empty()) {
      sum_pools(result.promised);
      for (Id id : tree_.preorder)
        if (!inside[id]) set_row(result.promised, id, Row<R>::Zero());
    }
  }

  const Tables* tables_ = nullptr;
  const Column<Column<Id>>* children_ = nullptr;
  FairShareOptions options_;
  bool keep_ = false;
  Topology tree_;
  Size width_ = 0;
  Id pool_rows_ = 0, operation_rows_ = 0;
  Column<Pool> pools_;
  Column<Position> positions_;
  KeptInputs kept_;
  // For updates that follow touched operations: what the last one knew.
  bool can_follow_ = false;
  bool whole_ = false;         // nothing is used of an update that was left in the middle
  bool kept_children_ = true;  // kept_ knows all that have come and gone
  PoolSums sums_;
  Column<Amount> demand_, usage_;  // O x R
  Column<Id> pool_of_;             // O; kNoId: it is in no pool
  Column<Id> postorder_place_;     // P
  Column<Id> open_;                // pools whose children have changed
  IdSet marks_;                    // what is to be said of as changed
  struct Step {
    Id pool;
    Position before;
  };
  Column<Step> path_;  // of a walk
  Column<Id> walked_;
  CurveBuilder<R> pool_, operation_;
  ChildrenBlock<R> block_;  // scratch, reused by all pools
  KeyOrder sorter_;
};

}  // namespace evenhand

#include "evenhand/share/engine_follow.h"    // IWYU pragma: keep
#include "evenhand/share/engine_integral.h"  // IWYU pragma: keep
