// The share function of one element as a list of vertices.
//
// For shares A(f) at fit factor f, guarantee g and limit l, let sigma(f) =
// max over r of max(A_r(f) - g_r, 0). The share function is the curve
// f -> (sigma(f), A(f)), cut where A passes l or sigma reaches 1; a parent that
// offers the suggestion s gets the first point with sigma = s. Points of equal s
// are a vertical; nothing is interpolated across it, and at s itself its first
// point counts.
//
// The builder is fed with moves of A: straight lines and jumps. It cuts them at
// the limits, bends them where another resource becomes the tightest, and keeps
// one vertex a corner. O(R) a move, O(R^2) where the tightest resource changes.
// Source: YTsaurus fair share, "the three functions of an element", in closed
// form; see docs/decisions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "evenhand/share/rows.h"

namespace evenhand {

// Where a pool stands between two moves: the fit factor, and which of the
// children that jump at it have jumped already.
struct Position {
  double f = 0;
  std::int32_t jumped = 0;
};

template <int R>
struct Vertex {
  double s;
  Position at;
  Row<R> shares;
};

template <int R>
class CurveBuilder {
 public:
  void start(const Row<R>& shares, const Row<R>& guarantee, const Row<R>& limits) {
    a_ = shares;
    l_ = limits.max(shares);
    g_ = guarantee.max(shares).min(l_);
    s_ = 0;
    at_ = {};
    size_ = 0;
    ended_ = relocated_ = jump_unsettled_ = false;
    push(0, at_, a_);
  }

  // Whether the next curve is wanted as a whole or only its end.
  void keep_whole(bool whole) noexcept { whole_ = whole; }

  // Nothing more can change the curve.
  bool ended() const noexcept { return ended_; }

  // Every resource is still inside the guarantee.
  bool inside_guarantee() const noexcept { return s_ == 0; }

  std::span<const Vertex<R>> vertices() const noexcept { return {out_.data(), size_}; }

  // Straight from where the curve is to `shares`.
  [[gnu::always_inline]] inline void line(const Row<R>& shares, Position to) {
    if (any_above(shares, l_)) [[unlikely]]
      line_to_limit(shares, to);
    else
      line_within_limits(shares, to);
    jump_unsettled_ = false;
  }

  // From where the curve is to `shares` at once, all or nothing.
  void jump(const Row<R>& shares, std::int32_t jumped) {
    const double s = tightness(shares);
    if (s >= 1 || any_above(shares, l_)) {
      finish();
      ended_ = true;
      return;
    }
    depart();
    before_jump_ = {size_, out_[size_ - 1]};
    jump_unsettled_ = true;
    if (s > s_) push(s, at_, a_);
    at_.jumped = jumped;
    s_ = s;
    a_ = shares;
    push(s_, at_, a_);
  }

  // The last jump is not undone by what comes next: it is behind. Within the
  // guarantee, the first point is then beyond it.
  void settle() noexcept {
    jump_unsettled_ = false;
    if (s_ == 0) relocated_ = true;
  }

  // On to another position without any change of shares.
  void relocate(Position to) {
    at_ = to;
    relocated_ = true;
  }

  // No move comes any more. What moved up to here without leaving the guarantee
  // belongs to the first point, however it got here.
  void finish() {
    if (relocated_ && s_ == 0) restart_at_guarantee(at_, a_);
  }

 private:
  double tightness(const Row<R>& shares) const noexcept { return largest(shares - g_); }

  [[gnu::always_inline]] inline void push(double s, Position at, const Row<R>& shares) {
    // Of a vertical only the ends count.
    if (size_ > 1 && out_[size_ - 1].s == s && out_[size_ - 2].s == s) --size_;
    if (!whole_ && size_ > 2 && !jump_unsettled_) {
      out_[0] = out_[size_ - 2];
      out_[1] = out_[size_ - 1];
      size_ = 2;
    }
    if (size_ == room_) [[unlikely]]
      grow();
    out_[size_++] = {s, at, shares};
  }
  [[gnu::noinline]] void grow() {
    room_ = std::max<std::size_t>(64, 2 * size_);
    out_.resize(room_);
  }

  // A vertex where the curve continues after its position moved without it.
  [[gnu::always_inline]] inline void depart() {
    if (relocated_) [[unlikely]]
      continue_here();
  }
  [[gnu::noinline]] void continue_here() {
    relocated_ = false;
    if (s_ == 0)
      restart_at_guarantee(at_, a_);
    else
      push(s_, at_, a_);
  }

  [[gnu::noinline]] void restart_at_guarantee(Position at, const Row<R>& shares) {
    size_ = 0;
    relocated_ = false;
    push(0, at, shares);
  }

  [[gnu::noinline]] void line_to_limit(const Row<R>& shares, Position to) {
    double t = 1;
    int tightest = 0;
    for (int r = 0; r < R; ++r) {
      if (!(shares[r] > l_[r])) continue;
      const double x = (l_[r] - a_[r]) / (shares[r] - a_[r]);
      if (x < t) {
        t = x;
        tightest = r;
      }
    }
    if (t <= 0) {
      // A jump exactly onto a limit does not count if the way on is barred at once.
      if (jump_unsettled_) {
        size_ = before_jump_.size;
        out_[size_ - 1] = before_jump_.last;
      } else {
        finish();
      }
    } else {
      Row<R> cut = between(a_, shares, t).min(l_);
      cut[tightest] = l_[tightest];
      line_within_limits(cut, {at_.f + (to.f - at_.f) * t, to.jumped});
    }
    ended_ = true;
  }

  [[gnu::always_inline]] inline void line_within_limits(const Row<R>& shares, Position to) {
    const double s = tightness(shares);
    if (s > 1) [[unlikely]]
      return line_to_the_end(shares, to);
    finish_line(shares, to, s);
    if (s == 1) ended_ = true;
  }

  [[gnu::noinline]] void line_to_the_end(const Row<R>& shares, Position to) {
    double t = 1;
    for (int r = 0; r < R; ++r)
      if (shares[r] - g_[r] > 1) t = std::min(t, (1 - (a_[r] - g_[r])) / (shares[r] - a_[r]));
    const Row<R> cut = between(a_, shares, std::max(t, 0.0));
    finish_line(cut, {at_.f + (to.f - at_.f) * t, to.jumped}, 1);
    ended_ = true;
  }

  [[gnu::always_inline]] inline void finish_line(const Row<R>& shares, Position to, double s) {
    if (s == 0) {
      restart_at_guarantee(to, shares);
    } else if (s == s_ && (shares - a_).abs().maxCoeff() == 0) {
      relocated_ = true;
    } else {
      depart();
      // Straight if one resource is the tightest at both ends: sigma is convex.
      const double bent = (shares - g_ - s).abs().max((a_ - g_ - s_).abs()).minCoeff();
      if (bent > 0) bend(shares, to, s);
      push(s, to, shares);
    }
    s_ = s;
    a_ = shares;
    at_ = to;
  }

  // The corners of sigma on the way to `shares`: the upper envelope of R lines
  // and, while the guarantee lasts, of 0.
  [[gnu::noinline]] void bend(const Row<R>& shares, Position to, double s_end) {
    const Row<R> slope = shares - a_;
    double base = s_, steepness = 0, t = 0;  // the current line, at t = 0 and per t
    bool guaranteed = s_ == 0;
    if (!guaranteed) {
      steepness = -1;
      for (int r = 0; r < R; ++r)
        if (a_[r] - g_[r] == s_) steepness = std::max(steepness, slope[r]);
      steepness = std::max(steepness, 0.0);
    }
    for (int step = 0; step <= R; ++step) {
      double next = 1;
      int tightest = -1;
      for (int r = 0; r < R; ++r) {
        if (!(slope[r] > steepness)) continue;
        const double x = std::max((base - (a_[r] - g_[r])) / (slope[r] - steepness), t);
        if (x < next || (x == next && tightest >= 0 && slope[r] > slope[tightest])) {
          next = x;
          tightest = r;
        }
      }
      if (tightest < 0) break;
      if (next > t || guaranteed) {
        Row<R> corner = between(a_, shares, next);
        const Position at{at_.f + (to.f - at_.f) * next, next > 0 ? to.jumped : at_.jumped};
        if (guaranteed) {
          if (next > 0) {
            corner = corner.min(g_);
            corner[tightest] = g_[tightest];
            restart_at_guarantee(at, corner);
          }
          guaranteed = false;
        } else {
          push(std::clamp(base + steepness * next, out_[size_ - 1].s, s_end), at, corner);
        }
      }
      t = next;
      base = a_[tightest] - g_[tightest];
      steepness = slope[tightest];
    }
    if (guaranteed) {  // rounding put the end of the guarantee at the end of the line
      restart_at_guarantee(to, shares.min(g_));
    }
  }

  struct Mark {
    std::size_t size;
    Vertex<R> last;
  };

  std::vector<Vertex<R>> out_;  // reused storage; the first size_ are the curve
  std::size_t size_ = 0, room_ = 0;
  Row<R> a_ = Row<R>::Zero(), g_ = a_, l_ = a_;
  double s_ = 0;
  Position at_{};
  bool whole_ = true;
  bool ended_ = false;
  bool relocated_ = false;  // at_ is beyond the last vertex, without a change of shares
  bool jump_unsettled_ = false;
  Mark before_jump_{};
};

}  // namespace evenhand
