// Names and canonical order of a table whose rows come and go.
//
// Rows are storage, never an order. The snapshot's rows stand in canonical order
// already; a row that came later finds its place among them by its key, (order, name
// as UTF-8 bytes), and gets a number between those of its neighbours, so that two rows
// are compared by two numbers. Nothing is ever sorted again.
//
// find: one hash and O(1) comparisons of names. enter: O(log n) comparisons beside it. enter and
// leave move 4 bytes for each later row that stands behind.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "evenhand/model/tables.h"

namespace evenhand {

class LiveKeys {
 public:
  // The columns are a snapshot's and outlive this.
  LiveKeys(const NameColumn& names, const Column<double>& order);

  // The row of that name that came last; the snapshot's rows count as present.
  Id find(std::string_view name) const;
  // Begins to load what `find` will read of a name: its place, and once that is `near` the name
  // there.
  void expect(std::string_view name, bool near) const noexcept;
  std::string_view name(Id row) const noexcept;
  bool is_integer(Id row) const noexcept;
  double order(Id row) const noexcept;

  // Ascending in canonical order. Rows without a name stand behind all others, in the
  // order of coming. Holds until the next row is added.
  Index rank(Id row) const noexcept {
    return row < rows_ ? (Index{row} + 1) << kGap : later_[row - rows_].rank;
  }
  // Rows of the table, later ones that have been dropped included.
  Id rows() const noexcept { return rows_ + later_.rows(); }
  // Named rows that came later, in canonical order.
  const Column<Id>& sorted() const noexcept { return sorted_; }

  // Of rows behind the snapshot's: the next one, or one that was dropped.
  void add(Id row);  // without a name
  void set_name(Id row, std::string_view name, bool is_integer, double order);
  void enter(Id row);  // from here on it is found by its name
  void leave(Id row);  // the way back: its name is free
  void pop() { later_.pop_back(); }

 private:
  static constexpr int kGap = 32;                 // bits of the numbers between two rows
  static constexpr Index kStep = Index{1} << 12;  // between rows that follow one another
  struct Later {
    std::string name;
    double order = 0;
    Index rank = 0;
    Id hidden = kNoId;  // the row of the same name that was found before it
    bool is_integer = false;
  };
  struct Found {
    Id row = kNoId;
    std::uint32_t hash = 0;
  };
  bool before(Id a, double order, std::string_view name) const noexcept;
  Id place(double order, std::string_view name) const;
  std::size_t seek(std::string_view name, std::uint32_t hash) const noexcept;
  std::size_t home(std::uint32_t hash) const noexcept { return hash & (found_.size() - 1); }
  void index() const;
  void grow() const;
  void forget(std::size_t at) const;
  void rank_anew(std::size_t position);

  const NameColumn* names_;
  const Column<double>* order_;
  Id rows_;
  Column<Later> later_;
  Column<Id> sorted_;
  Index unnamed_ = 0;
  // Once a name is sought: rows by the hash of their names, at most half full; a collision takes
  // the next free place.
  mutable Column<Found> found_;
  mutable std::size_t names_found_ = 0;
  mutable Column<Id> beginnings_;  // once a place is sought
};

}  // namespace evenhand
