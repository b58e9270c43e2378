// The tree that one update of the yardstick works on.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "update.h"

namespace yardstick {

inline const Vector kOnes = Vector::all(1);
inline const Vector kZero = Vector::all(0);

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

struct Tree {
  const Input& in;
  std::size_t pools;
  std::vector<Element> elements;

  explicit Tree(const Input& input)
      : in(input), pools(input.pools.size()), elements(pools + input.operations.size()) {}

  Element& at(int e) { return elements[static_cast<std::size_t>(e)]; }
  const Pool& pool(int e) const { return in.pools[static_cast<std::size_t>(e)]; }
  const Operation& operation(int e) const {
    return in.operations[static_cast<std::size_t>(e) - pools];
  }
  Vector share(const Amounts& amounts) const {
    Vector v;
    for (std::size_t r = 0; r < kResources; ++r)
      v[r] = in.total[r] > 0 ? amounts[r] / in.total[r] : 0;
    return v;
  }
  double max_ratio(const Amounts& amounts) const { return std::max(largest(share(amounts)), 0.0); }
  double smallest_weight(const Element& element) {
    double w = std::numeric_limits<double>::infinity();
    for (const int c : element.children)
      if (at(c).weight > kEpsilon) w = std::min(w, at(c).weight);
    return std::isinf(w) ? 1 : w;
  }
};

// Order, shares of amounts and guarantees of all elements.
void prepare(Tree& tree);
// Shares of burst and relaxed pools, from the volumes they have saved.
void share_integral(Tree& tree);
// A, M and S of an element and of all below it that have none yet.
void build_functions(Tree& tree, int element);

}  // namespace yardstick
