// The candidates that cover a shortage at least cost, and of those sets the first in order.
//
// Candidates that free the same of what is short and cost the same are one shape, of which
// there are so many: minimise cost.x, A x >= need, 0 <= x <= most, whole numbers. Branch
// and bound on the shapes' ranges with bounds of the linear program (cover_bound.h), for
// growing sizes where all cost the same, else for less than the best so far; then candidate
// by candidate whether a set of that cost goes through it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "evenhand/core/column.h"
#include "evenhand/preempt/proof.h"

namespace evenhand {

class CoverBound;

class FewestCover {
 public:
  FewestCover();
  ~FewestCover();
  FewestCover(FewestCover&&) noexcept;
  FewestCover& operator=(FewestCover&&) noexcept;

  // amounts: n x R; costs: n, at least 1, or empty: 1 each, at most 2^61 in sum; taken: positions
  // of a set that covers the shortage, ascending; it is replaced by the best that is found, if
  // `ties` by the first of these in order. At most `budget` branch nodes, each a few passes over
  // (shapes x R). Nothing is allocated once the largest node has been seen.
  void solve(std::span<const Amount> amounts, View<const Index> costs,
             std::span<const Amount> shortage, Index budget, bool ties, Column<Id>& taken,
             SelectionProof& proof);

  // Of the last call, R: the sum of multiplier x shortage, less what each candidate's sum of
  // multiplier x min(amount, shortage) has above its cost, is proof.root_bound rounded up.
  std::span<const double> multipliers() const noexcept { return multipliers_; }

 private:
  using Size = std::size_t;
  struct Change {
    Size shape;
    double low, high;
  };

  void group(std::span<const Amount> amounts, View<const Index> costs,
             std::span<const Amount> shortage);
  void look_for_less(SelectionProof& proof);
  bool ask(double target);
  bool search(Size depth, double target);
  bool tighten(double target);
  bool limit(Size shape, double low, double high);
  void undo(Size mark);
  bool round(double target);
  void keep();
  void first_in_order(Column<Id>& taken);
  const Amount* shape(Size j) const noexcept { return shapes_.data() + j * rows_; }

  Size rows_ = 0, count_ = 0;  // resources that are short, shapes
  Column<Amount> need_, shapes_, row_;
  Column<Id> shape_of_, order_;  // of the candidates
  Column<double> most_, low_, high_;
  Column<double> fixed_;  // lows that a question began with
  Column<Amount> reach_;  // of all highs, beyond the need
  std::vector<Change> trail_;
  Column<Id> saved_;     // bases, one a depth
  Column<Index> price_;  // of one of a shape, in units
  Index unit_ = 1;       // greatest common divisor of the costs
  Column<Index> counts_, best_, witness_;
  Column<Amount> rest_, left_;
  Column<Id> parts_;  // shapes with a fraction
  Column<double> multipliers_;
  Index best_cost_ = 0, budget_ = 0, branches_ = 0;
  bool spent_ = false;
  std::unique_ptr<CoverBound> bound_;  // a pointer: no other file needs Eigen's header
};

}  // namespace evenhand
