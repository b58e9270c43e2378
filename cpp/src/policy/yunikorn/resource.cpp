#include "evenhand/policy/yunikorn/resource.h"

#include <limits>

namespace evenhand::yunikorn {

std::vector<double> shares(const Resource& of, const Resource& total) {
  std::vector<double> out;
  each_type(of.types, [&](std::size_t r) {
    if (of.v[r] == 0) return;
    const auto whole = static_cast<double>(total.v[r]);
    const auto part = static_cast<double>(of.v[r]);
    out.push_back(whole == 0 ? part : part / whole);
  });
  std::sort(out.begin(), out.end());
  return out;
}

int compare_shares(const std::vector<double>& left, const std::vector<double>& right) {
  auto l = left.rbegin(), r = right.rbegin();
  for (; l != left.rend() && r != right.rend(); ++l, ++r)
    if (*l != *r) return *l > *r ? 1 : -1;
  for (; l != left.rend(); ++l)
    if (*l != 0) return *l > 0 ? 1 : -1;
  for (; r != right.rend(); ++r)
    if (*r != 0) return *r > 0 ? -1 : 1;
  return 0;
}

double fairness_ratio(const Resource& left, const Resource& right, const Resource& total) {
  const auto largest = [&](const Resource& of) {
    const std::vector<double> found = shares(of, total);
    return found.empty() ? 0.0 : found.back();
  };
  const double l = largest(left), r = largest(right);
  if (r != 0) return l / r;
  if (l == 0) return 1;
  return l > 0 ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
}

}  // namespace evenhand::yunikorn
