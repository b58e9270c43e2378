// The share functions of a pool's children, merged by the pool's fit factor.
//
// A child of weight w follows the fit factor f of its pool with the suggestion
// s = f w / w_min, so its vertex at s lies at f = s / (w / w_min). Between two of
// its vertices it adds a slope to the pool's shares, at a vertical a jump. The
// block holds these moves child by child and the order of all of them by f.
//
// Adding a child is O(vertices R), the order about O(n), a sweep O(n R). Every comparison of fit
// factors, in the sweep and later on the walk down, is between the same quotients.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "evenhand/core/column.h"
#include "evenhand/core/order.h"
#include "evenhand/core/poll.h"
#include "evenhand/share/curve_builder.h"
#include "evenhand/share/rows.h"

namespace evenhand {

enum class MoveKind : std::uint8_t { kNone, kLine, kJump };

template <int R>
class ChildrenBlock {
 public:
  void clear() {
    first_shares_.clear();
    first_.assign(1, 0);
    kept_ = 0;
    initial_ = {};
  }

  // Appends the next child in child order. The shares at the vertices are kept
  // where they are asked for later: of operations.
  void add(std::span<const Vertex<R>> curve, double weight_ratio, bool keep_shares) {
    const std::size_t base = first_.back(), n = curve.size();
    first_shares_.push_back(static_cast<std::uint32_t>(kept_));
    if (keep_shares) {
      if (kept_ + n > shares_.size()) shares_.resize(grown(kept_ + n));
      for (const Vertex<R>& vertex : curve) shares_[kept_++] = vertex.shares;
    }
    if (base + n > f_.size()) {
      f_.resize(grown(base + n));
      moves_.resize(f_.size());
      kinds_.resize(f_.size());
    }
    initial_.add(curve[0].shares);
    write(base, curve, weight_ratio);
    first_.push_back(static_cast<std::uint32_t>(base + n));
  }

  std::size_t child_count() const noexcept { return first_.size() - 1; }

  // Fit factors at a child's vertices.
  std::span<const double> fit_factors(std::size_t child) const noexcept {
    return std::span(f_).subspan(first_[child], first_[child + 1] - first_[child]);
  }

  // Shares at a child's vertices, if they were kept.
  const Row<R>* shares(std::size_t child) const noexcept {
    return shares_.data() + first_shares_[child];
  }

  // Puts the moves into the order of a sweep; after the last add(). Vertices at 0
  // come first, in child order; those at 1 and beyond are never reached.
  void sort(KeyOrder& sorter) {
    order_.clear();
    sorter.clear();
    for (std::size_t child = 0; child + 1 < first_.size(); ++child) {
      if (first_[child + 1] - first_[child] == 1) continue;  // never moves
      for (std::uint32_t k = first_[child]; k < first_[child + 1] && f_[k] < 1; ++k) {
        if (f_[k] == 0)
          order_.push_back(k);
        else
          sorter.add(f_[k], k);
      }
    }
    sorter.append_sorted(order_);
  }

  bool sweepable() const noexcept { return sweepable_; }  // of a copy

  // Is an operation's curve this one already?
  bool has(std::size_t child, std::span<const Vertex<R>> curve, double weight_ratio) const {
    const std::uint32_t base = first_[child];
    const std::size_t n = curve.size();
    if (first_[child + 1] - base != n) return false;
    for (std::size_t k = 0; k < n; ++k)
      if (f_[base + k] != fit_factor(curve[k].s, weight_ratio) ||
          (shares(child)[k] != curve[k].shares).any())
        return false;
    return true;
  }
  // Puts a curve in the place of a child's, takes one away, or adds one before a child, as if it
  // had been like that from the beginning; of a block that is sweepable. The other moves keep their
  // order: O(n) light steps.
  void replace(std::size_t child, std::span<const Vertex<R>> curve, double weight_ratio,
               bool keep_shares) {
    resize(child, curve.size(), keep_shares ? curve.size() : 0);
    fill(child, curve, weight_ratio, keep_shares);
  }
  void remove(std::size_t child) {
    resize(child, 0, 0);
    first_.erase(first_.begin() + static_cast<std::ptrdiff_t>(child));
    first_shares_.erase(first_shares_.begin() + static_cast<std::ptrdiff_t>(child));
  }
  void insert(std::size_t child, std::span<const Vertex<R>> curve, double weight_ratio,
              bool keep_shares) {
    const auto place = static_cast<std::ptrdiff_t>(child);
    first_.insert(first_.begin() + place, first_[child]);
    const auto own =
        child < first_shares_.size() ? first_shares_[child] : static_cast<std::uint32_t>(kept_);
    first_shares_.insert(first_shares_.begin() + place, own);
    resize(child, curve.size(), keep_shares ? curve.size() : 0);
    fill(child, curve, weight_ratio, keep_shares);
  }
  // After the last of these: what the children have at f = 0, of which operations have nothing.
  void start_from(const DoubleRow<R>& initial) noexcept { initial_ = initial; }

  // Feeds the builder with the shares of a fair-share pool on [0, 1].
  // `until_guarantee`: only as far as the guarantee lasts.
  void sweep(CurveBuilder<R>& builder, const Row<R>& guarantee, const Row<R>& limits, bool improved,
             bool until_guarantee) const {
    DoubleRow<R> shares = initial_, slope;
    Row<R> now = shares.value();
    builder.start(now, guarantee, limits);
    double f = 0;
    const std::size_t n = order_.size();
    const std::uint32_t* const order = order_.data();
    for (std::size_t i = 0, steps = 0;;) {
      const double next = i < n ? f_[order[i]] : 1.0;
      if (next > f) {
        shares.add_product(slope, next - f);
        shares.raise(now);
        builder.line(now, {next, 0});
        f = next;
        if (builder.ended() || (until_guarantee && !builder.inside_guarantee())) return;
      }
      if (i == n) return;
      if (++steps % kBetweenPolls == 0) poll();
      std::size_t last = i;
      bool jumps = false;
      for (; last < n && f_[order[last]] == next; ++last) {
        const std::uint32_t k = order[last];
        if (k > 0 && kinds_[k - 1] == MoveKind::kLine) slope.subtract(moves_[k - 1]);
        if (kinds_[k] == MoveKind::kLine) slope.add(moves_[k]);
        jumps |= kinds_[k] == MoveKind::kJump;
      }
      if (jumps) {
        jump(builder, shares, now, i, last, improved);
        if (builder.ended()) return;
      }
      i = last;
    }
  }

  // The same for a FIFO pool on [0, children]: one child after the other.
  // `by_place[i]` is the child at place i. A position is the suggestion to one
  // child with 2 * place, plus 1 where that child has jumped.
  void sweep_fifo(CurveBuilder<R>& builder, std::span<const std::uint32_t> by_place,
                  const Row<R>& guarantee, const Row<R>& limits, bool until_guarantee) const {
    // Sums run in FIFO order, one rounding a child, as the published method does:
    // whether the sum sits exactly on a limit depends on it.
    Row<R> base = Row<R>::Zero(), now = base;
    builder.start(now, guarantee, limits);
    for (std::size_t place = 0; place < by_place.size(); ++place) {
      if (place % kBetweenPolls == 0) poll();
      const std::uint32_t begin = first_[by_place[place]], end = first_[by_place[place] + 1];
      const Row<R>* own = shares(by_place[place]);
      const auto at = static_cast<std::int32_t>(2 * place);
      builder.relocate({0, at});
      for (std::uint32_t k = begin; k + 1 < end; ++k) {
        now = base + own[k + 1 - begin];
        if (kinds_[k] == MoveKind::kJump) {
          builder.jump(now, at + 1);
        } else {
          builder.line(now, {f_[k + 1], at});
        }
        if (builder.ended() || (until_guarantee && !builder.inside_guarantee())) return;
      }
      base = now;
      // Up to suggestion 1 the child stays as it is.
      if (f_[end - 1] < 1) builder.settle();
    }
    builder.relocate({0, static_cast<std::int32_t>(2 * by_place.size())});
    builder.finish();
  }

  // A copy, without spare capacity where it is the first: of what the walk reads, or of what a
  // sweep does, too.
  void copy_to(ChildrenBlock& out, bool sweepable) const {
    const auto vertices = static_cast<std::ptrdiff_t>(first_.back());
    out.f_.assign(f_.begin(), f_.begin() + vertices);
    out.first_ = first_;
    out.shares_.assign(shares_.begin(), shares_.begin() + static_cast<std::ptrdiff_t>(kept_));
    out.kept_ = kept_;
    out.first_shares_ = first_shares_;
    if (sweepable) {
      out.moves_.assign(moves_.begin(), moves_.begin() + vertices);
      out.kinds_.assign(kinds_.begin(), kinds_.begin() + vertices);
      out.order_ = order_;
      out.initial_ = initial_;
    }
    out.sweepable_ = sweepable;
  }

 private:
  static constexpr double kNarrowest = 1e-290;  // a quotient by less may overflow

  static double fit_factor(double s, double weight_ratio) noexcept {
    return weight_ratio == 1.0 ? s : s / weight_ratio;
  }

  template <class T>
  static void resize(std::vector<T>& cells, std::size_t begin, std::size_t before, std::size_t now,
                     const T& fresh) {
    const auto place = cells.begin() + static_cast<std::ptrdiff_t>(begin);
    if (now > before)
      cells.insert(place, now - before, fresh);
    else
      cells.erase(place, place + static_cast<std::ptrdiff_t>(before - now));
  }

  // Takes the moves of a child out of the order, and makes room for others.
  void resize(std::size_t child, std::size_t vertices, std::size_t rows) {
    const std::uint32_t begin = first_[child], end = first_[child + 1];
    const auto more = static_cast<std::uint32_t>(vertices) - (end - begin);  // modulo 2^32
    auto out = order_.begin();
    for (const std::uint32_t k : order_) {
      if (k < begin)
        *out++ = k;
      else if (k >= end)
        *out++ = k + more;
    }
    order_.erase(out, order_.end());
    if (more != 0) {
      resize(f_, begin, end - begin, vertices, 0.0);
      resize<Row<R>>(moves_, begin, end - begin, vertices, Row<R>::Zero());
      resize(kinds_, begin, end - begin, vertices, MoveKind::kNone);
      for (std::size_t i = child + 1; i < first_.size(); ++i) first_[i] += more;
    }
    const std::size_t own = first_shares_[child];
    const std::size_t had =
        (child + 1 < first_shares_.size() ? first_shares_[child + 1] : kept_) - own;
    if (had == rows) return;
    resize<Row<R>>(shares_, own, had, rows, Row<R>::Zero());
    const auto more_rows = static_cast<std::uint32_t>(rows - had);
    for (std::size_t i = child + 1; i < first_shares_.size(); ++i) first_shares_[i] += more_rows;
    kept_ += rows - had;
  }

  // Writes the moves of a child, and puts them into the order.
  void fill(std::size_t child, std::span<const Vertex<R>> curve, double weight_ratio,
            bool keep_shares) {
    const std::uint32_t begin = first_[child], end = first_[child + 1];
    write(begin, curve, weight_ratio);
    for (std::size_t k = 0; keep_shares && k < curve.size(); ++k)
      shares_[first_shares_[child] + k] = curve[k].shares;
    if (curve.size() == 1) return;  // never moves
    std::uint32_t last = begin;
    while (last < end && f_[last] < 1) ++last;
    std::size_t rest = order_.size(), place = rest + (last - begin);
    order_.resize(place);
    while (last > begin) {
      const double f = f_[last - 1];
      while (rest > 0 &&
             (f_[order_[rest - 1]] > f || (f_[order_[rest - 1]] == f && order_[rest - 1] >= last)))
        order_[--place] = order_[--rest];
      order_[--place] = --last;
    }
  }

  // The moves of a curve, from a vertex on.
  void write(std::size_t base, std::span<const Vertex<R>> curve, double weight_ratio) {
    const std::size_t n = curve.size();
    if (weight_ratio == 1.0)
      for (std::size_t k = 0; k < n; ++k) f_[base + k] = curve[k].s;
    else
      for (std::size_t k = 0; k < n; ++k) f_[base + k] = curve[k].s / weight_ratio;
    for (std::size_t k = 0; k + 1 < n; ++k) {
      const double width = f_[base + k + 1] - f_[base + k];
      Row<R>& move = moves_[base + k];
      const Row<R> rise = curve[k + 1].shares - curve[k].shares;
      if (width > kNarrowest) {
        move = rise / width;
        kinds_[base + k] = MoveKind::kLine;
      } else {
        move = rise;
        kinds_[base + k] = MoveKind::kJump;
      }
    }
    kinds_[base + n - 1] = MoveKind::kNone;
  }

  static std::size_t grown(std::size_t least) { return std::max<std::size_t>(64, 2 * least); }

  void jump(CurveBuilder<R>& builder, DoubleRow<R>& shares, Row<R>& now, std::size_t begin,
            std::size_t end, bool improved) const {
    std::size_t i = begin;
    while (i < end) {
      std::size_t child = child_count() - 1;
      bool any = false;
      for (; i < end; ++i) {
        const std::uint32_t k = order_[i];
        if (kinds_[k] != MoveKind::kJump) continue;
        if (improved) {
          const auto owner = static_cast<std::size_t>(
              std::upper_bound(first_.begin(), first_.end(), k) - first_.begin() - 1);
          if (any && owner != child) break;
          child = owner;
        }
        shares.add(moves_[k]);
        any = true;
      }
      if (!any) return;
      shares.raise(now);
      builder.jump(now, static_cast<std::int32_t>(child + 1));
      if (builder.ended()) return;
      // A later child with a vertex here is a step of its own: this jump stays.
      if (improved && order_[end - 1] >= first_[child + 1]) builder.settle();
    }
  }

  // Storage is reused: first_.back() vertices and kept_ rows of shares count.
  Column<double> f_;
  std::vector<Row<R>> shares_;  // of the children that keep them
  std::size_t kept_ = 0;
  Column<std::uint32_t> first_shares_;  // child -> its first row there
  std::vector<Row<R>> moves_;           // after each vertex: slope in f, or height of a jump
  std::vector<MoveKind> kinds_;
  Column<std::uint32_t> first_{0};  // child -> its first vertex
  Column<std::uint32_t> order_;     // vertices below 1 by (f, child, place)
  bool sweepable_ = false;
  DoubleRow<R> initial_{};  // sum of the children at f = 0
};

}  // namespace evenhand
