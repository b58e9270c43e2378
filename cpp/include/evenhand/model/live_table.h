// A table whose rows come, change and go, beside those of a snapshot, which it shares.
//
// The cells of a row are a *version*: the snapshot's, or a place in columns of its own.
// To change a row is to write another version and to point the row to it, so that the
// way back is to point it to the one before. Rows are storage, never an order: see
// `rank`. Rows of the snapshot keep their number; those of later rows are used again
// once the owner frees them.
//
// Reading a cell: one branch beside the column. Writing: O(cells of the row), and
// O(log n) for its name. Copying is O(what came later).
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evenhand/model/live_keys.h"
#include "evenhand/model/tables.h"

namespace evenhand {

template <class Columns>
class LiveTable {
 public:
  // Versions that are no place.
  static constexpr Id kOfSnapshot = -1, kBare = -2, kRemoved = -3;
  static constexpr Index kNoteOfSnapshot = -1;

  LiveTable(const Columns& base, std::size_t width)
      : base_(&base),
        width_(width),
        keys_(base.names, orders(base)),
        snapshot_rows_(keys_.rows()) {}

  Id rows() const noexcept { return keys_.rows(); }  // removed ones included
  Id snapshot_rows() const noexcept { return snapshot_rows_; }
  Id version(Id row) const noexcept {
    return row >= snapshot_rows_ ? later_[row - snapshot_rows_]
           : moved_.empty()      ? kOfSnapshot
                                 : moved_[row];
  }
  bool present(Id row) const noexcept { return version(row) != kRemoved; }

  // A cell; `absent` is what a sparse column stands for, as in at_or().
  template <class T>
  T get(Column<T> Columns::* column, Id row, T absent = T{}) const noexcept {
    const Id v = version(row);
    return v == kOfSnapshot ? at_or(base_->*column, row, absent)
           : v < 0          ? absent
                            : at_or(own_.*column, v, absent);
  }
  // R cells; nullptr: all are absent.
  template <class T>
  const T* get_row(Column<T> Columns::* column, Id row) const noexcept {
    const Id v = version(row);
    const Column<T>& cells = v == kOfSnapshot ? base_->*column : own_.*column;
    const Id place = v == kOfSnapshot ? row : v;
    return place < 0 || cells.empty() ? nullptr : cells.row(place, width_);
  }
  // A text as a code that stays while this lives; kNoId: absent.
  Id code(TextColumn Columns::* column, Id row) const noexcept {
    const Id v = version(row);
    return v == kOfSnapshot ? at_or((base_->*column).codes, row, kNoId)
           : v < 0          ? kNoId
                            : at_or((own_.*column).codes, v, kNoId);
  }
  template <class Texts>
  std::string_view word(Texts Columns::* column, Id code) const noexcept {
    const Index known = (base_->*column).values.size();
    return code < known ? (base_->*column).values[code] : (own_.*column).values[code - known];
  }
  // How many words there are so far; their codes count up from 0.
  template <class Texts>
  Index words(Texts Columns::* column) const noexcept {
    return (base_->*column).values.size() + (own_.*column).values.size();
  }
  std::string_view text(TextColumn Columns::* column, Id row) const noexcept {
    const Id found = code(column, row);
    return found == kNoId ? std::string_view() : word(column, found);
  }
  std::span<const Id> list(TextListColumn Columns::* column, Id row) const noexcept {
    const Id v = version(row);
    if (v >= 0) return v < lists_.rows() ? std::span<const Id>(lists_[v]) : std::span<const Id>();
    return v == kOfSnapshot ? (base_->*column).of(row) : std::span<const Id>();
  }
  // A number of the owner's for what it keeps of the row itself.
  Index note(Id row) const noexcept {
    const Id v = version(row);
    return v < 0 ? kNoteOfSnapshot : notes_[v];
  }

  const LiveKeys& keys() const noexcept { return keys_; }
  // Rows in canonical order: those of the snapshot as they stand, with the later ones between
  // them. O(rows).
  template <class Keep>
  Column<Id> in_order(Keep&& keep) const {
    Column<Id> result;
    auto later = keys_.sorted().begin();
    for (Id row = 0; row < snapshot_rows_; ++row) {
      for (; later != keys_.sorted().end() && keys_.rank(*later) < keys_.rank(row); ++later)
        if (keep(*later)) result.push_back(*later);
      if (keep(row)) result.push_back(row);
    }
    for (; later != keys_.sorted().end(); ++later)
      if (keep(*later)) result.push_back(*later);
    return result;
  }
  Column<Id> in_order() const {
    return in_order([this](Id row) { return present(row); });
  }
  // The row of that name; kNoId: none is present.
  Id find(std::string_view name) const {
    const Id row = keys_.find(name);
    return row != kNoId && present(row) ? row : kNoId;
  }

  // Writes a version with the cells of a row of another table; its references to rows
  // are for the caller to set. O(cells).
  Id write(const Columns& from, Id row, Index note);
  // Writes one with the cells that a row has now.
  Id write_again(Id row);
  void set_note(Id version, Index note) noexcept { notes_[version] = note; }
  template <class T>
  void set(Column<T> Columns::* column, Id version, T value, T absent) {
    Column<T>& cells = own_.*column;
    if (cells.empty() && value == absent) return;
    if (cells.size() < notes_.size()) cells.resize(notes_.size(), absent);
    cells[version] = value;
  }
  void set_text(TextColumn Columns::* column, Id version, std::string_view text);
  void free_version(Id version) {
    if (version >= 0) free_versions_.push_back(version);
  }

  // A row without cells; `again`: a free number rather than the next one. The way back
  // is take_back_row.
  Id new_row(bool& again);
  void take_back_row(Id row, bool again);
  void free_row(Id row) {
    if (row >= snapshot_rows_) free_rows_.push_back(row);
  }
  // Points a row to a version; its name counts while it is neither bare nor removed.
  void point(Id row, Id version);
  void set_name(Id row, std::string_view name, bool is_integer, double order) {
    keys_.set_name(row, name, is_integer, order);
  }

  // Columns of some rows, in that order; names come with them. O(cells).
  Columns gather(std::span<const Id> rows) const;

  std::size_t memory_bytes() const noexcept;

 private:
  struct Other;  // a row of another table
  struct Own;    // a row of this one
  static const Column<double>& orders(const Columns& columns) noexcept {
    static const Column<double> none;
    if constexpr (requires { columns.order; })
      return columns.order;
    else
      return none;
  }
  template <class Source>
  Id write_cells(const Source& source, Index note);
  template <class Texts>
  Id intern(Texts Columns::* column, std::size_t number, std::string_view word);

  const Columns* base_;
  std::size_t width_;
  LiveKeys keys_;
  Id snapshot_rows_;
  Columns own_;
  Column<Column<Id>> lists_;  // by place; a table has one column of lists
  Column<Index> notes_;       // by place: as long as the columns of its own
  Column<Id> free_versions_, free_rows_;
  Column<Id> moved_;  // version of the snapshot's rows, once one has changed
  Column<Id> later_;  // version of the rows behind them
  std::vector<std::map<std::string, Id, std::less<>>> words_;  // later ones, by text column
};

}  // namespace evenhand
