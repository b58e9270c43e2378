// What covering a shortage costs at least, were parts of allocations to be had.
//
// The linear program min cost.x, A x >= need, low <= x <= high by the dual simplex method
// with bounded variables (Koberstein, The dual simplex method, 2005; bound flipping: Maros
// 2003), a basis of at most 16 rows. What it says is safe: any multipliers y >= 0 give the
// bound need.y + sum over shapes of min over its range of (cost - a.y) x, whatever rounding
// made of y, and the rounding of that sum itself is bounded and taken off.
#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "evenhand/core/column.h"

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
  std::span<const double> x() const noexcept { return span_of(x_); }
  // cost - a.y: by how much one more of a shape raises the bound, negative: one less.
  std::span<const double> reduced() const noexcept { return span_of(reduced_); }
  // Multipliers per quantum, R.
  double multiplier(std::size_t r) const noexcept { return (y_ * scale_)[static_cast<Index>(r)]; }

  std::span<const Id> basis() const noexcept { return span_of(basis_); }
  void restore(std::span<const Id> basis);

 private:
  // By row of the program, by pair of them, and by shape.
  template <class T>
  using Rows = Eigen::Array<T, 1, Eigen::Dynamic, Eigen::RowMajor, 1, kMaxResources>;
  using Pairs = Eigen::Array<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor, kMaxResources,
                             kMaxResources>;
  template <class T>
  using Shapes = Eigen::Array<T, 1, Eigen::Dynamic>;
  using Given = Eigen::Map<const Shapes<double>>;

  template <class Array>
  static std::span<const typename Array::Scalar> span_of(const Array& array) noexcept {
    return {array.data(), static_cast<std::size_t>(array.size())};
  }

  void factor();
  void surplus_basis();
  void price(const Given& low, const Given& high);
  bool settle(const Given& low, const Given& high, Index& row);
  bool pivot(const Given& low, const Given& high, Index row);

  Index rows_ = 0, shapes_ = 0;
  Eigen::Array<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> a_;  // need scaled to 1
  Rows<double> scale_, total_;  // 1 / need; of all there are, scaled
  Shapes<double> cost_;
  double count_ = 0;  // the cost of all there are
  Rows<Id> basis_;    // S + r: the surplus of row r
  Shapes<bool> basic_;
  Pairs inverse_;
  Rows<double> y_, rest_, basic_x_, rho_, column_;
  Shapes<double> reduced_, x_, alpha_;
  Column<Id> able_;
  double value_ = 0, margin_ = 0;
  bool above_ = false;  // the leaving variable is above its range
  double gap_ = 0;      // by so much
};

}  // namespace evenhand
