// Piecewise linear, left-continuous functions as lists of segments: the
// published representation, plainly.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "vector.h"

namespace yardstick {

template <class Y>
struct Segment {
  double x0, x1;
  Y y0, y1;

  bool point() const { return x0 == x1 && y0 == y1; }
  bool vertical() const { return x0 == x1 && y0 != y1; }
  bool horizontal() const { return x0 != x1 && y0 == y1; }
  Y at(double x) const {
    const double t = (x - x0) / (x1 - x0);
    return t < 0.5 ? y0 + (y1 - y0) * t : y1 - (y1 - y0) * (1 - t);
  }
};

template <class Y>
using Limits = std::pair<Y, Y>;  // left, right

// Both limits at x, given the first segment whose right end is at or behind x.
template <class Y>
Limits<Y> limits_of(const Segment<Y>* s, const Segment<Y>* last, double x) {
  if (s->x1 == x && s != last && s[1].x0 == s[1].x1) ++s;
  if (s->x0 == s->x1) return {s->y0, s->y1};
  const Y y = s->at(x);
  return {y, y};
}

template <class Y>
class Function {
 public:
  std::vector<Segment<Y>> segments;

  double left() const { return segments.front().x0; }
  double right() const { return segments.back().x1; }
  const Y& last() const { return segments.back().y1; }

  static Function constant(double x0, double x1, const Y& y) { return {{{x0, x1, y, y}}}; }

  void append(const Segment<Y>& s) {
    if (segments.empty()) {
      segments.push_back(s);
      return;
    }
    Segment<Y>& end = segments.back();
    if (s.point()) return;
    if (end.point()) {
      end = s;
    } else if ((end.vertical() && s.vertical()) || (end.horizontal() && s.horizontal())) {
      end.x1 = s.x1;
      end.y1 = s.y1;
    } else {
      segments.push_back(s);
    }
  }

  // Continues the plot to a corner.
  void line_to(double x, const Y& y) {
    if (segments.empty())
      segments.push_back({x, x, y, y});
    else
      append({segments.back().x1, x, segments.back().y1, y});
  }

  // First segment whose right end is at or behind x.
  std::size_t find(double x) const {
    const auto it = std::partition_point(segments.begin(), segments.end(),
                                         [x](const auto& s) { return s.x1 < x; });
    return std::min(static_cast<std::size_t>(it - segments.begin()), segments.size() - 1);
  }
  // The left limit.
  Y value(double x) const {
    const auto& s = segments[find(x)];
    return s.x0 == s.x1 ? s.y0 : s.at(x);
  }

  // Left bound and every right end that is new, within [from, to].
  void breakpoints(double from, double to, std::vector<double>& into) const {
    if (left() >= from && left() <= to) into.push_back(left());
    double previous = left();
    for (const auto& s : segments)
      if (s.x1 > previous) {
        previous = s.x1;
        if (previous >= from && previous <= to) into.push_back(previous);
      }
  }

  void trim_right() {
    if (segments.back().x0 != segments.back().x1) return;
    if (segments.size() > 1)
      segments.pop_back();
    else
      segments.back().y1 = segments.back().y0;
  }
  void trim_left() {
    if (segments.front().x0 != segments.front().x1) return;
    if (segments.size() > 1)
      segments.erase(segments.begin());
    else
      segments.front().y0 = segments.front().y1;
  }
  void extend_right(double x) {
    if (right() < x) append({right(), x, last(), last()});
  }
  void shift(double by) {
    for (auto& s : segments) s.x0 += by, s.x1 += by;
  }
  // g(x) = f(k x)
  void scale_argument(double k) {
    for (auto& s : segments) s.x0 /= k, s.x1 /= k;
  }
};

// Reads a function at arguments that never decrease.
template <class Y>
class Cursor {
 public:
  explicit Cursor(const Function<Y>& f)
      : segment_(f.segments.data()), last_(segment_ + f.segments.size() - 1) {}
  Limits<Y> limits(double x) {
    while (segment_ != last_ && segment_->x1 < x) ++segment_;
    return limits_of(segment_, last_, x);
  }

 private:
  const Segment<Y>* segment_;
  const Segment<Y>* last_;
};

inline void sort_unique(std::vector<double>& points) {
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
}

// The plot through both limits at each point.
template <class Y, class Sample>
Function<Y> build(const std::vector<double>& points, Sample sample) {
  Function<Y> out;
  for (const double x : points) {
    const Limits<Y> y = sample(x);
    out.line_to(x, y.first);
    out.line_to(x, y.second);
  }
  return out;
}

template <class Y>
Function<Y> narrow(const Function<Y>& f, double from, double to) {
  std::vector<double> points{from, to};
  f.breakpoints(from, to, points);
  sort_unique(points);
  Cursor<Y> cursor(f);
  return build<Y>(points, [&](double x) { return cursor.limits(x); });
}

}  // namespace yardstick
