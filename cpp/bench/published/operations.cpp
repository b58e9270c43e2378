#include "operations.h"

namespace yardstick {

Curve sum(const std::vector<Curve>& functions) {
  double from = functions.front().left();
  double to = functions.front().right();
  for (const Curve& f : functions) {
    from = std::max(from, f.left());
    to = std::min(to, f.right());
  }
  std::vector<double> points;
  for (const Curve& f : functions) f.breakpoints(from, to, points);
  sort_unique(points);
  std::vector<Cursor<Vector>> cursors(functions.begin(), functions.end());
  return build<Vector>(points, [&](double x) {
    Limits<Vector> total{Vector::all(0), Vector::all(0)};
    for (auto& cursor : cursors) {
      const auto y = cursor.limits(x);
      total.first = total.first + y.first;
      total.second = total.second + y.second;
    }
    return total;
  });
}

Scalar component(const Curve& f, std::size_t resource) {
  Scalar out;
  for (const auto& s : f.segments) out.append({s.x0, s.x1, s.y0[resource], s.y1[resource]});
  return out;
}

Scalar transpose(const Scalar& f) {
  Scalar out;
  out.segments.reserve(f.segments.size());
  for (const auto& s : f.segments) out.segments.push_back({s.y0, s.y1, s.x0, s.x1});
  return out;
}

Scalar minimum(const Scalar& f, const Scalar& g) {
  const double from = std::max(f.left(), g.left());
  const double to = std::min(f.right(), g.right());
  std::vector<double> points{from, to};
  f.breakpoints(from, to, points);
  g.breakpoints(from, to, points);
  sort_unique(points);

  std::vector<double> crossings;
  Cursor<double> fc(f);
  Cursor<double> gc(g);
  double f_left = fc.limits(points.front()).second;
  double g_left = gc.limits(points.front()).second;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const auto f_here = fc.limits(points[i]);
    const auto g_here = gc.limits(points[i]);
    const bool f_first = f_left < g_left && f_here.first > g_here.first;
    const bool g_first = g_left < f_left && g_here.first > f_here.first;
    if (f_first || g_first) {
      const Scalar& low = f_first ? f : g;
      const Scalar& high = f_first ? g : f;
      crossings.push_back(largest_where(points[i - 1], points[i], [&](double x) {
        // The limit from inside the gap, also at its left end.
        return x <= points[i - 1] || low.value(x) <= high.value(x);
      }));
    }
    f_left = f_here.second;
    g_left = g_here.second;
  }
  points.insert(points.end(), crossings.begin(), crossings.end());
  sort_unique(points);

  Cursor<double> f_again(f);
  Cursor<double> g_again(g);
  return build<double>(points, [&](double x) {
    const auto a = f_again.limits(x);
    const auto b = g_again.limits(x);
    return Limits<double>{std::min(a.first, b.first), std::min(a.second, b.second)};
  });
}

Curve compose(const Curve& f, const Scalar& g) {
  struct Corner {
    double x, y;
  };
  std::vector<double> marks;  // breakpoints of f
  f.breakpoints(f.left(), f.right(), marks);
  std::vector<Corner> corners;
  std::size_t mark = 0;
  for (const auto& s : g.segments) {
    corners.push_back({s.x0, s.y0});
    if (s.x0 != s.x1 && s.y0 != s.y1) {
      while (mark < marks.size() && marks[mark] <= s.y0) ++mark;
      for (; mark < marks.size() && marks[mark] < s.y1; ++mark) {
        const Segment<double> inverse{s.y0, s.y1, s.x0, s.x1};
        corners.push_back({inverse.at(marks[mark]), marks[mark]});
      }
    }
    corners.push_back({s.x1, s.y1});
  }

  Curve out;
  Cursor<Vector> cursor(f);
  for (std::size_t i = 0; i < corners.size();) {
    std::size_t end = i + 1;
    while (end < corners.size() && corners[end].x == corners[i].x) ++end;
    const double x = corners[i].x;
    out.line_to(x, cursor.limits(corners[i].y).first);
    const auto upper = cursor.limits(corners[end - 1].y);
    const bool rises = end < corners.size() && corners[end].y > corners[end - 1].y;
    out.line_to(x, rises ? upper.second : upper.first);
    i = end;
  }
  out.trim_right();
  return out;
}

namespace {

// A ray from the start of a run, in one resource.
struct Ray {
  double dx = 0, dy = 0;
  // Sign of the turn towards (x, y): positive if that lies above the ray.
  double below(double x, double y) const { return dx * y - dy * x; }
};

struct Run {
  Segment<Vector> chord;
  std::array<Ray, kResources> upper, lower;
};

Run start(const Segment<Vector>& s, double epsilon) {
  Run run{s, {}, {}};
  for (std::size_t r = 0; r < kResources; ++r) {
    run.upper[r] = {s.x1 - s.x0, s.y1[r] + epsilon - s.y0[r]};
    run.lower[r] = {s.x1 - s.x0, s.y1[r] - epsilon - s.y0[r]};
  }
  return run;
}

// Takes the segment into the run if one chord can stand for all of it.
bool take(Run& run, const Segment<Vector>& s, double epsilon) {
  const double dx = s.x1 - run.chord.x0;
  auto upper = run.upper;
  auto lower = run.lower;
  for (std::size_t r = 0; r < kResources; ++r) {
    const double dy = s.y1[r] - run.chord.y0[r];
    if (upper[r].below(dx, dy + epsilon) < 0) upper[r] = {dx, dy + epsilon};
    if (lower[r].below(dx, dy - epsilon) > 0) lower[r] = {dx, dy - epsilon};
    if (!(upper[r].below(dx, dy) < 0 && lower[r].below(dx, dy) > 0)) return false;
  }
  run.upper = upper;
  run.lower = lower;
  run.chord.x1 = s.x1;
  run.chord.y1 = s.y1;
  return true;
}

}  // namespace

Curve compress(const Curve& f, double epsilon) {
  Curve out;
  Run run = start(f.segments.front(), epsilon);
  for (std::size_t i = 1; i < f.segments.size(); ++i)
    if (!take(run, f.segments[i], epsilon)) {
      out.segments.push_back(run.chord);
      run = start(f.segments[i], epsilon);
    }
  out.segments.push_back(run.chord);
  return out;
}

}  // namespace yardstick
