// What covering a shortage costs at least, were parts of allocations to be had.
//
// The linear program min cost.x, A x >= need, low <= x <= high by the dual simplex method
// with bounded variables (Koberstein, The dual simplex method, 2005; bound flipping: Maros
// 2003), a basis of at most 16 rows. What it says is safe: any multipliers y >= 0 give the
// bound need.y + sum over shapes of min over its range of (cost - a.y) x, whatever rounding
// made of y, and the rounding of that sum itself is bounded and taken off.
#pragma once

#include <span>
#include <vector>

#include "evenhand/core/types.h"

namespace evenhand {

class CoverBound {
 public:
  // amounts: S x R of the shapes; need: R, all > 0; most: S, how many there are of each;
  // cost: S, of one, at least 1.
  void set(std::span<const Amount> amounts, std::span<const Amount> need,
           std::span<const double> most, std::span<const Index> cost);

  // Starts from the basis of the last call. False: no whole numbers within the ranges with
  // a cost of at most `target` cover the need. Else value, x and reduced say where the
  // search stands. The ranges hold whole numbers; all highs together cover the need.
  bool within(std::span<const double> low, std::span<const double> high, double target);

  // No cover within the ranges costs less; and by how much that may be off.
  double value() const noexcept { return value_; }
  double margin() const noexcept { return margin_; }
  std::span<const double> x() const noexcept { return x_; }
  // cost - a.y: by how much one more of a shape raises the bound, negative: one less.
  std::span<const double> reduced() const noexcept { return reduced_; }
  // Multipliers per quantum, R.
  double multiplier(std::size_t r) const noexcept { return y_[r] * scale_[r]; }

  std::span<const Id> basis() const noexcept { return basis_; }
  void restore(std::span<const Id> basis);

 private:
  void factor();
  void surplus_basis();
  void price(std::span<const double> low, std::span<const double> high);
  bool settle(std::span<const double> low, std::span<const double> high, std::size_t& row);
  bool pivot(std::span<const double> low, std::span<const double> high, std::size_t row);
  double* inverse(std::size_t p) noexcept { return inverse_.data() + p * rows_; }

  std::size_t rows_ = 0, shapes_ = 0;
  std::vector<double> a_;      // R x S, scaled by 1 / need: the need is 1
  std::vector<double> scale_;  // R
  std::vector<double> cost_;   // S
  std::vector<double> total_;  // R, of all there are, scaled
  double count_ = 0;           // the cost of all there are
  std::vector<Id> basis_;      // R; S + r: the surplus of row r
  std::vector<char> basic_;    // S
  std::vector<double> inverse_, work_;
  std::vector<double> y_, reduced_, x_, rest_, basic_x_, rho_, alpha_, column_;
  std::vector<Id> able_;
  double value_ = 0, margin_ = 0;
  bool above_ = false;  // the leaving variable is above its range
  double gap_ = 0;      // by so much
};

}  // namespace evenhand
