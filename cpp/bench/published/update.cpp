#include "update.h"

#include <algorithm>
#include <cmath>

#include "elements.h"

namespace yardstick {
namespace {

class Walk {
 public:
  explicit Walk(Tree& tree) : t_(tree) {}

  void run() {
    if (t_.in.options.improved)
      give_vector(0, t_.at(0).s.value(1));
    else
      give(0, 1);
    Vector sum = kZero;
    for (const int c : t_.at(0).children) sum = sum + t_.at(c).total;
    t_.at(0).total = sum;
  }

 private:
  double fifo_suggestion(double f, std::size_t i, std::size_t n) const {
    const double whole = std::min(std::floor(f), static_cast<double>(n));
    const auto position = static_cast<double>(i);
    return position < whole ? 1 : position == whole ? f - whole : 0;
  }

  void give(int e, double suggestion) {
    Element& element = t_.at(e);
    if (element.pool && element.children.empty()) return;
    element.total = element.s.value(suggestion);
    if (!element.pool) return;
    const double w_min = t_.smallest_weight(element);
    const std::size_t n = element.children.size();
    const auto suggested = [&](double f, std::size_t i) {
      if (t_.pool(e).fifo) return fifo_suggestion(f, i, n);
      return std::min(1.0, f * (t_.at(element.children[i]).weight / w_min));
    };
    const Vector bound = element.total + Vector::all(kEpsilon);
    const auto fits = [&](double f) {
      Vector sum = kZero;
      for (std::size_t i = 0; i < n; ++i)
        sum = sum + t_.at(element.children[i]).s.value(suggested(f, i));
      return dominated(sum, bound);
    };
    double f = element.m.value(suggestion);
    if (!fits(f)) f = largest_where(0, f, fits);
    for (std::size_t i = 0; i < n; ++i) give(element.children[i], suggested(f, i));
  }

  void give_vector(int e, const Vector& wanted) {
    Element& element = t_.at(e);
    if (element.pool && element.children.empty()) return;
    element.total = wanted;
    if (!element.pool) return;
    const std::size_t n = element.children.size();
    const auto child_share = [&](double f, std::size_t i) {
      if (t_.pool(e).fifo) return t_.at(element.children[i]).s.value(fifo_suggestion(f, i, n));
      return element.parts[i].value(f);
    };
    const auto fits = [&](double f, const Vector& bound) {
      Vector sum = kZero;
      for (std::size_t i = 0; i < n; ++i) sum = sum + child_share(f, i);
      return dominated(sum, bound);
    };
    const double end = element.a.right();
    double f = largest_where(0, end, [&](double x) { return x == 0 || fits(x, wanted); });
    if (t_.in.options.improved_gap && !reaches(element, f, child_share, wanted)) {
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

  Tree& t_;
};

}  // namespace

std::vector<Vector> fair_share(const Input& input) {
  Tree tree(input);
  prepare(tree);
  share_integral(tree);
  build_functions(tree, 0);
  Walk(tree).run();
  std::vector<Vector> out;
  out.reserve(tree.elements.size());
  for (const Element& e : tree.elements) out.push_back(e.total);
  return out;
}

}  // namespace yardstick
