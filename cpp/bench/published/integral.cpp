#include <algorithm>
#include <cmath>

#include "elements.h"

namespace yardstick {
namespace {

class IntegralPools {
 public:
  explicit IntegralPools(Tree& tree) : t_(tree) {}

  void run() {
    for (std::size_t p = 0; p < t_.pools; ++p)
      if (t_.in.pools[p].integral == Integral::kBurst) burst(p);
    relaxed();
  }

 private:
  // Volume after the refill, as cluster shares over the smoothing period.
  double rate(std::size_t p) const {
    const Pool& pool = t_.in.pools[p];
    const double flow = t_.max_ratio(pool.flow);
    double lowest = std::numeric_limits<double>::infinity();
    for (std::size_t r = 0; r < kResources; ++r) {
      if (t_.in.total[r] <= 0) continue;
      double v = pool.volume[r];
      if (t_.in.options.elapsed >= 0) {
        const double capacity = std::round(t_.in.total[r] * flow) * t_.in.options.saturation_period;
        const double full = t_.in.total[r] * t_.in.options.elapsed;
        v = std::max(v + full * flow - full * pool.last_ratio, 0.0);
        v = std::min(v, std::max(pool.volume[r], capacity));
        if (t_.in.rounded[r]) v = std::round(v);
      }
      lowest = std::min(lowest, v / t_.in.total[r]);
    }
    return std::isinf(lowest) ? 0 : lowest / t_.in.options.smooth_period;
  }

  Vector room(int e) {
    Vector least = kOnes;
    for (; e > 0; e = t_.at(e).parent)
      least = min(least, t_.at(e).limits - t_.at(e).strong - t_.at(e).proposed);
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
    for (; e >= 0; e = t_.at(e).parent) {
      const Vector sum = t_.at(e).proposed + integral;
      t_.at(e).proposed = e == 0 ? sum : nudged(t_.at(e).limits, t_.at(e).strong, sum);
    }
  }

  void burst(std::size_t p) {
    const int e = static_cast<int>(p);
    Element& element = t_.at(e);
    const double burst_rate = std::min(element.burst_ratio, rate(p));
    element.proposed =
        nudged(element.limits, element.strong, max(min(Vector::all(burst_rate), room(e)), kZero));
    build_functions(t_, e);
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
    for (const int c : t_.at(0).children)
      available = available - min(t_.at(c).strong + t_.at(c).proposed, t_.at(c).demand);
    available = max(available, kZero);
    for (std::size_t p = 0; p < t_.pools; ++p) {
      if (t_.in.pools[p].integral != Integral::kRelaxed) continue;
      const double own = rate(p);
      if (own == 0) continue;
      Element& e = t_.elements[p];
      found.push_back({static_cast<int>(p), own, e.limits});
      const double bound =
          std::min(own, t_.max_ratio(t_.in.pools[p].flow) * t_.in.pools[p].multiplier);
      e.limits = min(e.limits, e.strong + Vector::all(bound));
      build_functions(t_, static_cast<int>(p));
    }
    if (found.empty()) return;
    double smallest = found.front().rate;
    for (const auto& c : found) smallest = std::min(smallest, c.rate);
    const auto integral = [&](const Candidate& c, double f) {
      const Element& e = t_.at(c.e);
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
      t_.at(c.e).limits = c.limits;
      t_.at(c.e).built = false;
      propose(c.e, min(wanted, max(room(c.e), kZero)));
    }
  }

  Tree& t_;
};

}  // namespace

void share_integral(Tree& tree) { IntegralPools(tree).run(); }

}  // namespace yardstick
