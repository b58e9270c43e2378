#include <algorithm>
#include <cmath>

#include "elements.h"

namespace yardstick {
namespace {

class Attributes {
 public:
  explicit Attributes(Tree& tree) : t_(tree) {}

  void run() {
    link();
    infer(0);
    attributes();
    scale_overcommitted();
    adjust(0);
  }

 private:
  Vector limit_share(std::uint32_t limited, const Amounts& limits) const {
    Amounts bound = t_.in.total;
    for (std::size_t r = 0; r < kResources; ++r)
      if (limited >> r & 1U) bound[r] = std::min(bound[r], limits[r]);
    return t_.share(bound);
  }
  void link() {
    for (std::size_t p = 0; p < t_.pools; ++p) {
      t_.elements[p].pool = true;
      t_.elements[p].weight = t_.in.pools[p].weight;
      t_.elements[p].parent = t_.in.pools[p].parent;
      if (p > 0) t_.at(t_.in.pools[p].parent).children.push_back(static_cast<int>(p));
    }
    for (std::size_t o = 0; o < t_.in.operations.size(); ++o) {
      Element& e = t_.elements[t_.pools + o];
      e.weight = t_.in.operations[o].weight;
      e.parent = t_.in.operations[o].pool;
      t_.at(e.parent).children.push_back(static_cast<int>(t_.pools + o));
    }
    for (std::size_t p = 0; p < t_.pools; ++p)
      if (t_.in.pools[p].fifo) {
        auto& children = t_.elements[p].children;
        std::stable_sort(children.begin(), children.end(), [&](int x, int y) {
          const Operation& a = t_.operation(x);
          const Operation& b = t_.operation(y);
          if (a.weight != b.weight) return a.weight > b.weight;
          return a.fifo_start < b.fifo_start;
        });
      }
  }

  // Guarantees that are not given follow from the main resource.
  void infer(int parent) {
    Element& above = t_.at(parent);
    if (parent == 0) above.inferred = t_.in.total;
    std::vector<int> kids;
    for (const int c : above.children)
      if (t_.at(c).pool) kids.push_back(c);
    Amounts given{};
    for (const int c : kids)
      for (std::size_t r = 0; r < kResources; ++r)
        if (t_.pool(c).strong_given >> r & 1U)
          given[r] += t_.at(c).inferred[r] = t_.pool(c).strong[r];
    const std::size_t main = t_.in.main_resource;
    for (std::size_t r = 0; r < kResources; ++r) {
      if (r == main || above.inferred[main] <= 0) continue;
      double sum = 0;
      const auto implied = [&](int c) {
        return t_.at(c).inferred[main] / above.inferred[main] * above.inferred[r];
      };
      for (const int c : kids)
        if (!(t_.pool(c).strong_given >> r & 1U)) sum += implied(c);
      const double residual = std::max(above.inferred[r] - given[r], 0.0);
      const double scale = parent != 0 && sum > residual ? residual / sum : 1;
      for (const int c : kids)
        if (!(t_.pool(c).strong_given >> r & 1U)) {
          const double amount = implied(c) * scale;
          t_.at(c).inferred[r] = t_.in.rounded[r] ? std::round(amount) : std::trunc(amount);
        }
    }
    for (const int c : kids) infer(c);
  }

  void attributes() {
    for (std::size_t o = 0; o < t_.in.operations.size(); ++o) {
      Element& e = t_.elements[t_.pools + o];
      const Operation& op = t_.in.operations[o];
      e.demand = t_.share(op.demand);
      e.usage = t_.share(op.usage);
      e.limits = limit_share(op.limited, op.limits);
    }
    for (std::size_t p = t_.pools; p-- > 0;) {
      Element& e = t_.elements[p];
      e.limits = limit_share(t_.in.pools[p].limited, t_.in.pools[p].limits);
      e.strong = t_.share(e.inferred);
      for (const int c : e.children) {
        e.demand = e.demand + t_.at(c).demand;
        e.usage = e.usage + t_.at(c).usage;
      }
    }
    Element& root = t_.at(0);
    root.strong = kZero;
    for (const int c : root.children) root.strong = root.strong + t_.at(c).strong;
  }

  // Strong and burst guarantees together may not exceed the cluster.
  void scale_overcommitted() {
    Vector bursts = kZero;
    Amounts promised{};
    for (std::size_t p = 0; p < t_.pools; ++p) {
      if (t_.in.pools[p].integral == Integral::kBurst)
        t_.elements[p].burst_ratio = t_.max_ratio(t_.in.pools[p].burst);
      bursts = bursts + Vector::all(t_.elements[p].burst_ratio);
    }
    bool fits = true;
    for (std::size_t r = 0; r < kResources; ++r) {
      for (const int c : t_.at(0).children) promised[r] += t_.at(c).inferred[r];
      promised[r] += std::round(t_.in.total[r] * bursts[r]);
      fits = fits && promised[r] <= t_.in.total[r];
    }
    if (fits) return;
    const double k = largest_where(
        0, 1, [&](double x) { return dominated((t_.at(0).strong + bursts) * x, kOnes); });
    t_.at(0).strong = t_.at(0).strong * k;
    for (Element& e : t_.elements) e.burst_ratio *= k;
  }

  void adjust(int e) {
    Element& parent = t_.at(e);
    parent.strong = min(parent.strong, parent.limits);
    const auto fits = [&](double k) {
      Vector sum = kZero;
      for (const int c : parent.children) sum = sum + t_.at(c).strong * k;
      return dominated(sum, parent.strong);
    };
    if (!fits(1)) {
      const double k = largest_where(0, 1, fits);
      for (const int c : parent.children) t_.at(c).strong = t_.at(c).strong * k;
    }
    for (const int c : parent.children)
      if (t_.at(c).pool) adjust(c);
  }

  Tree& t_;
};

}  // namespace

void prepare(Tree& tree) { Attributes(tree).run(); }

}  // namespace yardstick
