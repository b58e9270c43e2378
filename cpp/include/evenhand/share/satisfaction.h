// What is derived from fair share, usage and demand after an update. O(E R).
// Source: YTsaurus fair share, "what is derived after the update".
#pragma once

#include <span>
#include <vector>

#include "evenhand/share/fair_share.h"

namespace evenhand {

inline constexpr double kInfiniteSatisfaction = 1e9;

// Usage against fair share of one element by its own shares (R each). Shares that differ
// by at most 1e-9 are equal.
double satisfaction_of(std::span<const double> fair, std::span<const double> usage,
                       std::span<const double> demand);

// The value by which satisfactions order candidates: to nine decimal digits, counted in the
// last of them. What only the rounding of doubles tells apart is equal.
double in_billionths(double satisfaction) noexcept;

// Usage against fair share of every element; below 1: has less than its share.
// An operation that may grow is measured by the resources in which it may; a
// pool has the smallest value among its children.
Column<double> satisfaction(const Tables& tables, const FairShareResult& result);

// The resource with the largest ratio of usage (of demand, without usage) to the
// total; the main resource if all ratios are 0. Informational.
Column<Id> dominant_resource(const Tables& tables, const FairShareResult& result,
                             int main_resource);

}  // namespace evenhand
