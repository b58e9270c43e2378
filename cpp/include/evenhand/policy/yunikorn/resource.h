// YuniKorn's resources: a sparse map from type to amount, and its operators. No resource at all,
// one without types, and a type with the amount 0 are three things, and the difference decides.
//
// Source: YuniKorn core, pkg/common/resources. A missing type reads as 0 unless stated.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "evenhand/core/types.h"

namespace evenhand::yunikorn {

struct Resource {
  ResourceMask types = 0;
  bool nil = true;                        // no resource at all
  std::array<Amount, kMaxResources> v{};  // 0 where the type is missing

  bool any() const noexcept { return types != 0; }
  bool has(int r) const noexcept { return (types >> r & 1U) != 0; }
  void set(int r, Amount amount) noexcept {
    types |= ResourceMask{1} << r;
    nil = false;
    v[static_cast<std::size_t>(r)] = amount;
  }
};

// Calls `visit` with the number of each type of a mask.
template <class Visit>
void each_type(ResourceMask types, Visit&& visit) {
  for (; types != 0; types &= types - 1) visit(static_cast<std::size_t>(std::countr_zero(types)));
}
template <class Holds>
bool every_type(ResourceMask types, Holds&& holds) {
  for (; types != 0; types &= types - 1)
    if (!holds(static_cast<std::size_t>(std::countr_zero(types)))) return false;
  return true;
}

// What has no types where there is nothing, and all others where their amount is not 0.
inline Resource dense(const Amount* amounts, std::size_t width) {
  Resource out;
  out.nil = false;
  for (std::size_t r = 0; r < width; ++r)
    if (amounts[r] != 0) out.set(static_cast<int>(r), amounts[r]);
  return out;
}
// Of a row with a mask of the types that are given; all zero counts as not set.
inline Resource given(const Amount* amounts, ResourceMask types) {
  Resource out;
  each_type(types, [&](std::size_t r) { out.nil = out.nil && amounts[r] == 0; });
  if (!out.nil) each_type(types, [&](std::size_t r) { out.set(static_cast<int>(r), amounts[r]); });
  return out;
}

inline void add_to(Resource& to, const Resource& by, Amount sign = 1) noexcept {
  to.types |= by.types;
  to.nil = false;
  each_type(by.types, [&](std::size_t r) { to.v[r] += sign * by.v[r]; });
}
inline Resource add(Resource left, const Resource& right) noexcept {
  add_to(left, right);
  return left;
}
inline Resource sub(Resource left, const Resource& right) noexcept {
  add_to(left, right, -1);
  return left;
}
// Exactly the types of the first.
inline Resource sub_existing(Resource base, const Resource& by) noexcept {
  each_type(base.types & by.types, [&](std::size_t r) { base.v[r] -= by.v[r]; });
  return base;
}
// Types on one side only are taken from that side; no resource gives the other one.
inline Resource min_all(Resource left, const Resource& right) noexcept {
  if (left.nil) return right;
  each_type(right.types, [&](std::size_t r) {
    left.v[r] = left.has(static_cast<int>(r)) ? std::min(left.v[r], right.v[r]) : right.v[r];
  });
  left.types |= right.types;
  return left;
}
// Exactly the types of the first, which there may be none of.
inline Resource min_existing(Resource left, const Resource& right) noexcept {
  each_type(left.types & right.types,
            [&](std::size_t r) { left.v[r] = std::min(left.v[r], right.v[r]); });
  return left;
}
inline Resource merge_missing(Resource left, const Resource& right) noexcept {
  each_type(right.types & ~left.types, [&](std::size_t r) { left.v[r] = right.v[r]; });
  left.types |= right.types;
  left.nil = left.nil && right.nil;
  return left;
}
// Only what is above (sign 1) or, negated, below 0 (sign -1).
inline Resource signed_part(const Resource& of, Amount sign) noexcept {
  Resource out;
  each_type(of.types, [&](std::size_t r) {
    if (sign * of.v[r] > 0) out.set(static_cast<int>(r), sign * of.v[r]);
  });
  return out;
}

// A type that the larger one lacks is unlimited, and a negative one stays so.
inline bool fit_in_actual(const Resource& larger, const Resource& smaller) noexcept {
  return every_type(smaller.types & larger.types,
                    [&](std::size_t r) { return smaller.v[r] <= larger.v[r]; });
}
// Every type of the smaller: at most the larger, which counts as at least 0.
inline bool fit_in(const Amount* larger, const Resource& smaller) noexcept {
  return every_type(smaller.types,
                    [&](std::size_t r) { return smaller.v[r] <= std::max<Amount>(larger[r], 0); });
}
inline bool any_negative(const Resource& of, ResourceMask among) noexcept {
  return !every_type(of.types & among, [&](std::size_t r) { return of.v[r] >= 0; });
}
inline bool all_at_least(const Resource& left, const Resource& right) noexcept {
  return every_type(left.types | right.types,
                    [&](std::size_t r) { return left.v[r] >= right.v[r]; });
}
inline bool same(const Resource& left, const Resource& right) noexcept {
  return every_type(left.types | right.types,
                    [&](std::size_t r) { return left.v[r] == right.v[r]; });
}
inline bool zero(const Resource& of) noexcept {
  return every_type(of.types, [&](std::size_t r) { return of.v[r] == 0; });
}
inline bool all_larger(const Resource& left, const Resource& right) noexcept {  // one type is
  return all_at_least(left, right) && !same(left, right);
}

// Looks at the types of the first alone, with two special cases: a second one without types is
// exceeded if all of the first is above 0; where no type is common, it is if both have types.
inline bool existing_at_least(const Resource& left, const Resource& right, bool strictly = false) {
  const ResourceMask common = left.types & right.types;
  bool differs = false;
  const bool holds = every_type(common, [&](std::size_t r) {
    differs = differs || left.v[r] != right.v[r];
    return left.v[r] >= right.v[r];
  });
  if (!holds) return false;
  if (!right.any() && left.any())
    return every_type(left.types, [&](std::size_t r) { return left.v[r] > 0; });
  if (common != 0) return !strictly || differs;
  return left.any() && right.any();
}
inline bool existing_larger(const Resource& left, const Resource& right) {
  return existing_at_least(left, right, true);
}

// Percent of the types of one that another has.
inline int type_match(const Resource& of, const Resource& wanted) noexcept {
  const int all = std::popcount(of.types);
  return all == 0 ? 0 : 100 * std::popcount(of.types & wanted.types) / all;
}

// Shares of a total, in ascending order: of each type that is not 0; the amount itself where the
// total lacks it.
std::vector<double> shares(const Resource& of, const Resource& total);
// Compares from the largest down; of what is longer the rest decides by its sign.
int compare_shares(const std::vector<double>& left, const std::vector<double>& right);
// The largest share of the left over that of the right; 1 where both are 0.
double fairness_ratio(const Resource& left, const Resource& right, const Resource& total);

}  // namespace evenhand::yunikorn
