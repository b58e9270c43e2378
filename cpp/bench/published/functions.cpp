#include <algorithm>
#include <cmath>

#include "elements.h"

namespace yardstick {
namespace {

class Functions {
 public:
  explicit Functions(Tree& tree) : t_(tree) {}

  void build(int e) {
    Element& element = t_.at(e);
    if (element.built) return;
    element.built = true;
    for (const int c : element.children) build(c);
    element.parts.clear();
    if (!element.pool)
      element.a = operation_curve(e);
    else if (element.children.empty())
      element.a = Curve::constant(0, 1, kZero);
    else if (t_.pool(e).fifo)
      element.a = fifo_curve(element);
    else if (t_.in.options.improved)
      element.a = improved_curve(element);
    else
      element.a = sum(scaled_children(element));
    element.a.trim_right();
    element.m = fit_factor(element);
    element.s = compress(compose(element.a, element.m), 1e-15);
  }

 private:
  Curve operation_curve(int e) {
    const Element& element = t_.at(e);
    Curve a;
    a.line_to(0, kZero);
    if (t_.in.options.gang_steps && t_.pool(element.parent).gang_steps && t_.operation(e).gang) {
      a.line_to(1, kZero);
      a.line_to(1, element.demand);
    } else {
      const double m = largest(element.usage);
      if (m > 0) {
        Vector sorted = element.usage;
        std::sort(sorted.begin(), sorted.end());
        double previous = 0;
        for (const double u : sorted) {
          if (!(u / m > previous)) continue;
          previous = u / m;
          a.line_to(previous, min(Vector::all(u), element.usage));
        }
      } else {
        a.line_to(1, kZero);
      }
    }
    a.line_to(2, element.demand);
    return a;
  }

  std::vector<Curve> scaled_children(const Element& element) {
    const double w_min = t_.smallest_weight(element);
    std::vector<Curve> out;
    out.reserve(element.children.size());
    for (const int c : element.children) {
      out.push_back(t_.at(c).s);
      out.back().scale_argument(t_.at(c).weight / w_min);
      out.back().extend_right(1);
    }
    return out;
  }

  Curve fifo_curve(const Element& element) {
    Curve a;
    Vector before = kZero;
    for (std::size_t i = 0; i < element.children.size(); ++i) {
      const Curve& s = t_.at(element.children[i]).s;
      const auto at_x = static_cast<double>(i);
      for (const auto& part : s.segments)
        a.append({part.x0 + at_x, part.x1 + at_x, part.y0 + before, part.y1 + before});
      before = before + s.last();
    }
    return a;
  }

  // One fit factor a jump: children that jump at the same point do so in turn.
  Curve improved_curve(Element& element) {
    const std::vector<Curve> children = scaled_children(element);
    struct Pair {
      double x;
      std::size_t child;
    };
    std::vector<Pair> pairs;
    std::vector<double> points;
    for (std::size_t i = 0; i < children.size(); ++i) {
      points.clear();
      children[i].breakpoints(0, 1, points);
      for (const double x : points) pairs.push_back({x, i});
    }
    std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
      return a.x != b.x ? a.x < b.x : a.child < b.child;
    });
    std::vector<Cursor<Vector>> cursors(children.begin(), children.end());
    element.parts.assign(children.size(), {});
    Curve a;
    for (std::size_t k = 0; k < pairs.size(); ++k) {
      const auto x = static_cast<double>(k);
      Limits<Vector> all{kZero, kZero};
      for (std::size_t i = 0; i < children.size(); ++i) {
        const auto y = cursors[i].limits(pairs[k].x);
        const Vector& left = i < pairs[k].child ? y.second : y.first;
        const Vector& right = i <= pairs[k].child ? y.second : y.first;
        element.parts[i].line_to(x, left);
        element.parts[i].line_to(x, right);
        all.first = all.first + left;
        all.second = all.second + right;
      }
      a.line_to(x, all.first);
      a.line_to(x, all.second);
    }
    return a;
  }

  Scalar fit_factor(const Element& element) {
    Scalar m;
    for (std::size_t r = 0; r < kResources; ++r) {
      const Scalar a = component(element.a, r);
      const double lo = a.segments.front().y0;
      const double hi = a.last();
      const double limit = std::min(std::max(element.limits[r], lo), hi);
      const double guarantee =
          std::min(std::max(element.strong[r] + element.proposed[r], lo), limit);
      Scalar one = narrow(transpose(a), guarantee, limit);
      one.trim_left();
      one.shift(-guarantee);
      one.extend_right(1);
      one.trim_right();
      m = r == 0 ? std::move(one) : minimum(m, one);
    }
    m.trim_right();
    return m;
  }

  Tree& t_;
};

}  // namespace

void build_functions(Tree& tree, int element) { Functions(tree).build(element); }

}  // namespace yardstick
