#include "update.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace yardstick {
namespace {

const Vector kOnes = Vector::all(1);
const Vector kZero = Vector::all(0);

struct Element {
  int parent = -1;
  bool pool = false;
  std::vector<int> children;
  double weight = 1;
  double burst_ratio = 0;
  Vector limits = kOnes, usage = kZero, demand = kZero, strong = kZero, proposed = kZero;
  Amounts inferred{};
  bool built = false;
  Curve a, s;
  Scalar m;
  std::vector<Curve> parts;  // improved mode: every child by fit factor
  Vector total = kZero;
};

double floor_index(double f, std::size_t n) {
  return std::min(std::floor(f), static_cast<double>(n));
}

class Update {
 public:
  explicit Update(const Input& input)
      : in_(input), pools_(input.pools.size()), elements_(pools_ + input.operations.size()) {}

  std::vector<Vector> run() {
    link();
    infer(0);
    attributes();
    scale_overcommitted();
    adjust(0);
    for (std::size_t p = 0; p < pools_; ++p)
      if (in_.pools[p].integral == Integral::kBurst) burst(p);
    relaxed();
    functions(0);
    if (in_.options.improved)
      give_vector(0, at(0).s.value(1));
    else
      give(0, 1);
    std::vector<Vector> out;
    out.reserve(elements_.size());
    for (const Element& e : elements_) out.push_back(e.total);
    Vector root = kZero;
    for (const int c : at(0).children) root = root + at(c).total;
    out[0] = root;
    return out;
  }

 private:
  Element& at(int e) { return elements_[static_cast<std::size_t>(e)]; }
  const Pool& pool(int e) const { return in_.pools[static_cast<std::size_t>(e)]; }
  const Operation& operation(int e) const {
    return in_.operations[static_cast<std::size_t>(e) - pools_];
  }

  Vector share(const Amounts& amounts) const {
    Vector v;
    for (std::size_t r = 0; r < kResources; ++r)
      v[r] = in_.total[r] > 0 ? amounts[r] / in_.total[r] : 0;
    return v;
  }
  Vector limit_share(std::uint32_t limited, const Amounts& limits) const {
    Amounts bound = in_.total;
    for (std::size_t r = 0; r < kResources; ++r)
      if (limited >> r & 1U) bound[r] = std::min(bound[r], limits[r]);
    return share(bound);
  }

  void link() {
    for (std::size_t p = 0; p < pools_; ++p) {
      elements_[p].pool = true;
      elements_[p].weight = in_.pools[p].weight;
      elements_[p].parent = in_.pools[p].parent;
      if (p > 0) at(in_.pools[p].parent).children.push_back(static_cast<int>(p));
    }
    for (std::size_t o = 0; o < in_.operations.size(); ++o) {
      Element& e = elements_[pools_ + o];
      e.weight = in_.operations[o].weight;
      e.parent = in_.operations[o].pool;
      at(e.parent).children.push_back(static_cast<int>(pools_ + o));
    }
    for (std::size_t p = 0; p < pools_; ++p)
      if (in_.pools[p].fifo) {
        auto& children = elements_[p].children;
        std::stable_sort(children.begin(), children.end(), [&](int x, int y) {
          const Operation& a = operation(x);
          const Operation& b = operation(y);
          if (a.weight != b.weight) return a.weight > b.weight;
          return a.fifo_start < b.fifo_start;
        });
      }
  }

  // Guarantees that are not given follow from the main resource.
  void infer(int parent) {
    Element& above = at(parent);
    if (parent == 0) above.inferred = in_.total;
    std::vector<int> kids;
    for (const int c : above.children)
      if (at(c).pool) kids.push_back(c);
    Amounts given{};
    for (const int c : kids)
      for (std::size_t r = 0; r < kResources; ++r)
        if (pool(c).strong_given >> r & 1U) given[r] += at(c).inferred[r] = pool(c).strong[r];
    const std::size_t main = in_.main_resource;
    for (std::size_t r = 0; r < kResources; ++r) {
      if (r == main || above.inferred[main] <= 0) continue;
      double sum = 0;
      const auto implied = [&](int c) {
        return at(c).inferred[main] / above.inferred[main] * above.inferred[r];
      };
      for (const int c : kids)
        if (!(pool(c).strong_given >> r & 1U)) sum += implied(c);
      const double residual = std::max(above.inferred[r] - given[r], 0.0);
      const double scale = parent != 0 && sum > residual ? residual / sum : 1;
      for (const int c : kids)
        if (!(pool(c).strong_given >> r & 1U)) {
          const double amount = implied(c) * scale;
          at(c).inferred[r] = in_.rounded[r] ? std::round(amount) : std::trunc(amount);
        }
    }
    for (const int c : kids) infer(c);
  }

  void attributes() {
    for (std::size_t o = 0; o < in_.operations.size(); ++o) {
      Element& e = elements_[pools_ + o];
      const Operation& op = in_.operations[o];
      e.demand = share(op.demand);
      e.usage = share(op.usage);
      e.limits = limit_share(op.limited, op.limits);
    }
    for (std::size_t p = pools_; p-- > 0;) {
      Element& e = elements_[p];
      e.limits = limit_share(in_.pools[p].limited, in_.pools[p].limits);
      e.strong = share(e.inferred);
      for (const int c : e.children) {
        e.demand = e.demand + at(c).demand;
        e.usage = e.usage + at(c).usage;
      }
    }
    Element& root = at(0);
    root.strong = kZero;
    for (const int c : root.children) root.strong = root.strong + at(c).strong;
  }

  // Strong and burst guarantees together may not exceed the cluster.
  void scale_overcommitted() {
    Vector bursts = kZero;
    Amounts promised{};
    for (std::size_t p = 0; p < pools_; ++p) {
      if (in_.pools[p].integral == Integral::kBurst)
        elements_[p].burst_ratio = max_ratio(in_.pools[p].burst);
      bursts = bursts + Vector::all(elements_[p].burst_ratio);
    }
    bool fits = true;
    for (std::size_t r = 0; r < kResources; ++r) {
      for (const int c : at(0).children) promised[r] += at(c).inferred[r];
      promised[r] += std::round(in_.total[r] * bursts[r]);
      fits = fits && promised[r] <= in_.total[r];
    }
    if (fits) return;
    const double k = largest_where(
        0, 1, [&](double x) { return dominated((at(0).strong + bursts) * x, kOnes); });
    at(0).strong = at(0).strong * k;
    for (Element& e : elements_) e.burst_ratio *= k;
  }

  void adjust(int e) {
    Element& parent = at(e);
    parent.strong = min(parent.strong, parent.limits);
    const auto fits = [&](double k) {
      Vector sum = kZero;
      for (const int c : parent.children) sum = sum + at(c).strong * k;
      return dominated(sum, parent.strong);
    };
    if (!fits(1)) {
      const double k = largest_where(0, 1, fits);
      for (const int c : parent.children) at(c).strong = at(c).strong * k;
    }
    for (const int c : parent.children)
      if (at(c).pool) adjust(c);
  }

  // ---- integral pools ----------------------------------------------------

  double max_ratio(const Amounts& amounts) const { return std::max(largest(share(amounts)), 0.0); }

  // Volume after the refill, as cluster shares over the smoothing period.
  double rate(std::size_t p) const {
    const Pool& pool = in_.pools[p];
    const double flow = max_ratio(pool.flow);
    double lowest = std::numeric_limits<double>::infinity();
    for (std::size_t r = 0; r < kResources; ++r) {
      if (in_.total[r] <= 0) continue;
      double v = pool.volume[r];
      if (in_.options.elapsed >= 0) {
        const double capacity = std::round(in_.total[r] * flow) * in_.options.saturation_period;
        const double full = in_.total[r] * in_.options.elapsed;
        v = std::max(v + full * flow - full * pool.last_ratio, 0.0);
        v = std::min(v, std::max(pool.volume[r], capacity));
        if (in_.rounded[r]) v = std::round(v);
      }
      lowest = std::min(lowest, v / in_.total[r]);
    }
    return std::isinf(lowest) ? 0 : lowest / in_.options.smooth_period;
  }

  Vector room(int e) {
    Vector least = kOnes;
    for (; e > 0; e = at(e).parent)
      least = min(least, at(e).limits - at(e).strong - at(e).proposed);
    return least;
  }

  static Vector nudged(const Vector& limits, const Vector& strong, Vector p) {
    if (dominated(strong + p, limits)) return p;
    p = limits - strong;
    for (std::size_t r = 0; r < kResources; ++r)
      for (int step = 0; step < 32 && strong[r] + p[r] > limits[r]; ++step)
        p[r] = std::nextafter(p[r], 0.0);
    return p;
  }

  void propose(int e, const Vector& integral) {
    for (; e >= 0; e = at(e).parent) {
      const Vector sum = at(e).proposed + integral;
      at(e).proposed = e == 0 ? sum : nudged(at(e).limits, at(e).strong, sum);
    }
  }

  void burst(std::size_t p) {
    const int e = static_cast<int>(p);
    Element& element = at(e);
    const double burst_rate = std::min(element.burst_ratio, rate(p));
    element.proposed =
        nudged(element.limits, element.strong, max(min(Vector::all(burst_rate), room(e)), kZero));
    functions(e);
    element.proposed = kZero;
    element.built = false;
    propose(e, max(element.s.value(0) - element.strong, kZero));
  }

  void relaxed() {
    struct Candidate {
      int e;
      double rate;
      Vector limits;
    };
    std::vector<Candidate> found;
    Vector available = kOnes;
    for (const int c : at(0).children)
      available = available - min(at(c).strong + at(c).proposed, at(c).demand);
    available = max(available, kZero);
    for (std::size_t p = 0; p < pools_; ++p) {
      if (in_.pools[p].integral != Integral::kRelaxed) continue;
      const double own = rate(p);
      if (own == 0) continue;
      Element& e = elements_[p];
      found.push_back({static_cast<int>(p), own, e.limits});
      const double bound = std::min(own, max_ratio(in_.pools[p].flow) * in_.pools[p].multiplier);
      e.limits = min(e.limits, e.strong + Vector::all(bound));
      functions(static_cast<int>(p));
    }
    if (found.empty()) return;
    double smallest = found.front().rate;
    for (const auto& c : found) smallest = std::min(smallest, c.rate);
    const auto integral = [&](const Candidate& c, double f) {
      const Element& e = at(c.e);
      return max(e.s.value(std::min(1.0, f * (c.rate / smallest))) - e.strong, kZero);
    };
    const auto fits = [&](double f) {
      Vector sum = kZero;
      for (const auto& c : found) sum = sum + integral(c, f);
      return f == 0 || dominated(sum, available);
    };
    const double f = largest_where(0, 1, fits);
    for (const auto& c : found) {
      const Vector wanted = integral(c, f);
      at(c.e).limits = c.limits;
      at(c.e).built = false;
      propose(c.e, min(wanted, max(room(c.e), kZero)));
    }
  }

  // ---- functions ---------------------------------------------------------

  void functions(int e) {
    Element& element = at(e);
    if (element.built) return;
    element.built = true;
    for (const int c : element.children) functions(c);
    element.parts.clear();
    if (!element.pool)
      element.a = operation_curve(e);
    else if (element.children.empty())
      element.a = Curve::constant(0, 1, kZero);
    else if (pool(e).fifo)
      element.a = fifo_curve(element);
    else if (in_.options.improved)
      element.a = improved_curve(element);
    else
      element.a = sum(scaled_children(element));
    element.a.trim_right();
    element.m = fit_factor(element);
    element.s = compress(compose(element.a, element.m), 1e-15);
  }

  Curve operation_curve(int e) {
    const Element& element = at(e);
    Curve a;
    a.line_to(0, kZero);
    if (in_.options.gang_steps && pool(element.parent).gang_steps && operation(e).gang) {
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

  double smallest_weight(const Element& element) {
    double w = std::numeric_limits<double>::infinity();
    for (const int c : element.children)
      if (at(c).weight > kEpsilon) w = std::min(w, at(c).weight);
    return std::isinf(w) ? 1 : w;
  }

  std::vector<Curve> scaled_children(const Element& element) {
    const double w_min = smallest_weight(element);
    std::vector<Curve> out;
    out.reserve(element.children.size());
    for (const int c : element.children) {
      out.push_back(at(c).s);
      out.back().scale_argument(at(c).weight / w_min);
      out.back().extend_right(1);
    }
    return out;
  }

  Curve fifo_curve(const Element& element) {
    Curve a;
    Vector before = kZero;
    for (std::size_t i = 0; i < element.children.size(); ++i) {
      const Curve& s = at(element.children[i]).s;
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

  // ---- walking down ------------------------------------------------------

  double fifo_suggestion(double f, std::size_t i, std::size_t n) const {
    const double whole = floor_index(f, n);
    const auto position = static_cast<double>(i);
    return position < whole ? 1 : position == whole ? f - whole : 0;
  }

  void give(int e, double suggestion) {
    Element& element = at(e);
    if (element.pool && element.children.empty()) return;
    element.total = element.s.value(suggestion);
    if (!element.pool) return;
    const double w_min = smallest_weight(element);
    const std::size_t n = element.children.size();
    const auto suggested = [&](double f, std::size_t i) {
      if (pool(e).fifo) return fifo_suggestion(f, i, n);
      return std::min(1.0, f * (at(element.children[i]).weight / w_min));
    };
    const Vector bound = element.total + Vector::all(kEpsilon);
    const auto fits = [&](double f) {
      Vector sum = kZero;
      for (std::size_t i = 0; i < n; ++i)
        sum = sum + at(element.children[i]).s.value(suggested(f, i));
      return dominated(sum, bound);
    };
    double f = element.m.value(suggestion);
    if (!fits(f)) f = largest_where(0, f, fits);
    for (std::size_t i = 0; i < n; ++i) give(element.children[i], suggested(f, i));
  }

  void give_vector(int e, const Vector& wanted) {
    Element& element = at(e);
    if (element.pool && element.children.empty()) return;
    element.total = wanted;
    if (!element.pool) return;
    const std::size_t n = element.children.size();
    const auto child_share = [&](double f, std::size_t i) {
      if (pool(e).fifo) return at(element.children[i]).s.value(fifo_suggestion(f, i, n));
      return element.parts[i].value(f);
    };
    const auto fits = [&](double f, const Vector& bound) {
      Vector sum = kZero;
      for (std::size_t i = 0; i < n; ++i) sum = sum + child_share(f, i);
      return dominated(sum, bound);
    };
    const double end = element.a.right();
    double f = largest_where(0, end, [&](double x) { return x == 0 || fits(x, wanted); });
    if (in_.options.improved_gap && !reaches(element, f, child_share, wanted)) {
      const Vector bound = wanted + Vector::all(kEpsilon);
      f = largest_where(f, end, [&](double x) { return x == f || fits(x, bound); });
    }
    if (f < kEpsilon) f = 0;
    for (std::size_t i = 0; i < n; ++i) give_vector(element.children[i], child_share(f, i));
  }

  template <class ChildShare>
  static bool reaches(const Element& element, double f, ChildShare child_share,
                      const Vector& wanted) {
    Vector sum = kZero;
    for (std::size_t i = 0; i < element.children.size(); ++i) sum = sum + child_share(f, i);
    return dominated(wanted, sum + Vector::all(kEpsilon));
  }

  const Input& in_;
  std::size_t pools_;
  std::vector<Element> elements_;
};

}  // namespace

std::vector<Vector> fair_share(const Input& input) { return Update(input).run(); }

}  // namespace yardstick
