// Which of a node's candidates give way so that a shortage is covered.
//
// Sources: YTsaurus (newest first until it fits; a minimal subset), and the exact
// smallest subset. Candidates come in the order in which they are wanted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "evenhand/core/column.h"
#include "evenhand/preempt/cover.h"

namespace evenhand {

enum class VictimSelection : std::uint8_t {
  kPrefix,       // in order until it fits
  kIrreducible,  // then give back, last taken first, what is not needed
  kMinimum       // least cost of all, fewest if all cost 1; among those the first in order
};

class VictimSelector {
 public:
  explicit VictimSelector(std::size_t width = 0) : width_(width) {}

  void clear() {
    candidates_.clear();
    amounts_.clear();
    costs_.clear();
  }
  // Costs matter to kMinimum, at least 1.
  void add(Id candidate, const Amount* amounts, Index cost = 1);
  // Whether kMinimum says which of the cheapest sets comes first.
  void break_ties(bool ties) noexcept { ties_ = ties; }
  // Whether the prefix passes over those that free nothing of what is still missing.
  void skip_useless(bool skip) noexcept { skip_useless_ = skip; }

  // Positions (in the order of add) that cover the shortage (R; entries <= 0 are no
  // shortage), ascending; false if all together do not cover it. O(n R), for
  // kMinimum at most `budget` branch nodes on top, after which the best set that was
  // found stands, the irreducible one if none is cheaper.
  bool select(VictimSelection selection, std::span<const Amount> shortage, Index budget);

  std::span<const Id> taken() const noexcept { return taken_; }
  // What was added at a position.
  Id candidate(Id position) const noexcept { return candidates_[position]; }
  // How many came up before it fitted, given back ones included.
  std::size_t considered() const noexcept { return considered_; }
  const SelectionProof& proof() const noexcept { return proof_; }
  // Of kMinimum: what proves proof().root_bound, see FewestCover.
  std::span<const double> multipliers() const noexcept { return cover_.multipliers(); }

 private:
  const Amount* amounts(std::size_t i) const noexcept { return amounts_.data() + i * width_; }
  bool take_prefix(std::span<const Amount> shortage);
  void give_back();

  std::size_t width_;
  Column<Id> candidates_;
  Column<Amount> amounts_;
  Column<Index> costs_;
  Column<Id> taken_;        // positions
  Column<Amount> surplus_;  // freed beyond the shortage
  std::size_t considered_ = 0;
  bool skip_useless_ = false, ties_ = true;
  SelectionProof proof_;
  FewestCover cover_;
};

}  // namespace evenhand
