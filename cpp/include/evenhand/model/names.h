// Names of rows and references to them.
//
// A name is a string or an integer; an integer counts as its decimal text, so
// 7 and "7" are the same name. Names are unique in their table and not empty.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "evenhand/model/table_rows.h"

namespace evenhand {

inline constexpr std::string_view kRootName = "<Root>";

// Raw names as strings, whatever they were: integers are written out.
class NameText {
 public:
  NameText() = default;
  explicit NameText(const raw::Names& names);
  NameText(NameText&&) noexcept = default;
  NameText& operator=(NameText&&) noexcept = default;

  const raw::Strings& strings() const noexcept { return strings_; }

 private:
  std::vector<char> bytes_;
  Column<std::int64_t> offsets_;
  raw::Strings strings_;
};

// Reports rows without a name, empty and non-Unicode names, and duplicates.
// `names` are those of rows.names.
void check_names(const TableRows& rows, const raw::Names& names,
                 const std::vector<Duplicate>& duplicates);

// The names in canonical order, after whatever `result` already holds.
void append_names(const TableRows& rows, const raw::Names& names, NameColumn& result);

// Finds rows of one table by name or by input row. Keeps a view of both arguments.
class RowFinder {
 public:
  // `first_row`: canonical row of the table's first row (pools: 1, after the root).
  RowFinder(const TableRows& target, Id first_row);

  // The canonical rows that a reference column points to, kNoId where it holds
  // none; also for `required` fields, where none is a problem. Empty if the
  // column is absent and not required.
  Column<Id> read(const TableRows& rows, std::string_view field,
                  const raw::Optional<raw::Reference>& column, bool required);

 private:
  void read_index(const TableRows& rows, std::string_view field,
                  std::span<const std::int64_t> index, Column<Id>& found) const;
  void read_names(const TableRows& rows, std::string_view field, const raw::Names& names,
                  Column<Id>& found);
  void index_names();
  void add(std::string_view name, Id row);
  Id find(std::string_view name) const;
  std::string_view name_of(Id row) const;

  struct Slot {
    std::uint32_t mark = 0;  // of the hash
    Id row = kNoId;
  };

  const TableRows& target_;
  Id first_row_;
  Column<Id> canonical_;  // input row -> canonical row; empty: identity
  Column<Slot> slots_;    // a power of two, looked through from the hash on
};

}  // namespace evenhand
