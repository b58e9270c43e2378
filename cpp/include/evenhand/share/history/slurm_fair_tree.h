// Slurm's Fair Tree: users ranked by a depth-first walk in the order of level
// fair share.
//
// Level fair share of a row = (shares / sibling shares) / (usage / usage of
// parent); no usage: infinite; no shares: 0; a user with FairShare=parent:
// infinite; an account with it is dissolved into its parent. Siblings are
// visited by level fair share descending, users before accounts on ties; the
// factor of a user is rank / number of users, tied siblings share a rank.
// Source: Slurm documentation, Fair Tree algorithm; priority/multifactor.
// Complexity: O(n log n).
#pragma once

#include <span>
#include <vector>

#include "evenhand/share/history/forest.h"

namespace evenhand::history {

struct FairTreeOptions {
  // Compare level fair shares as rationals, so that only true ties are ties;
  // false: as rounded doubles.
  bool exact = true;
  // Children of tied sibling accounts are merged into one list, as documented;
  // false: the accounts are visited one after the other, as implemented.
  bool merge_tied_accounts = false;
};

struct FairTree {
  Column<double> level;   // infinite, or NaN for dissolved accounts
  Column<double> factor;  // NaN for accounts
  Column<Id> rank;        // number of users = best; 0 for accounts
};

// `usage` holds subtree totals; users have no children.
FairTree slurm_fair_tree(const Forest& forest, View<const double> shares,
                         View<const std::uint8_t> inherits, View<const std::uint8_t> user,
                         View<const double> usage, const FairTreeOptions& options);

// Sign of a0 a1 a2 a3 - b0 b1 b2 b3 without rounding; all factors positive and finite.
int compare_products(std::span<const double, 4> a, std::span<const double, 4> b) noexcept;

}  // namespace evenhand::history
