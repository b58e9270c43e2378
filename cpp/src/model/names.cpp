#include "evenhand/model/names.h"

#include <bit>
#include <charconv>
#include <functional>

#include "evenhand/model/utf8.h"

namespace evenhand {

NameText::NameText(const raw::Names& names) : strings_(names.strings) {
  if (!names.integers) return;
  constexpr std::size_t kLongestInteger = 20;
  const std::size_t size = names.integers->size();
  bytes_.resize(size * kLongestInteger);
  offsets_.resize(size + 1);
  char* end = bytes_.data();
  for (std::size_t i = 0; i < size; ++i) {
    end = std::to_chars(end, end + kLongestInteger, (*names.integers)[i]).ptr;
    offsets_[i + 1] = end - bytes_.data();
  }
  strings_ = {{bytes_.data(), static_cast<std::size_t>(end - bytes_.data())}, offsets_};
}

void check_names(const TableRows& rows, const raw::Names& names,
                 const std::vector<Duplicate>& duplicates) {
  const raw::Strings& text = rows.names;
  const Column<Id> canonical = rows.order.canonical();
  const auto row_of = [&](std::size_t input) {
    return canonical.empty() ? input : static_cast<std::size_t>(canonical[input]);
  };
  const bool ascii = is_ascii(text.bytes);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t row = row_of(i);
    if (!raw::given(names.given, i))
      rows.problem(row, {"name"}, "required", "", "is missing; every row needs a name");
    else if (text[i].empty())
      rows.problem(row, {"name"}, "required", "", "is empty; every row needs a name");
    else if (!ascii && !is_utf8(text[i]))
      rows.problem(row, {"name"}, "utf8", text[i], "is not valid Unicode text");
  }
  for (const Duplicate& d : duplicates) {
    const auto input = static_cast<std::size_t>(d.row);
    if (!raw::given(names.given, input) || text[input].empty()) continue;
    rows.problem(row_of(input), {"name"}, "unique", text[input], "is that of row ", Index{d.first},
                 " too (row ", Index{d.row}, "); names are unique in their table");
  }
}

void append_names(const TableRows& rows, const raw::Names& names, NameColumn& result) {
  StringColumn& text = result.text;
  text.bytes.reserve(text.bytes.size() + rows.names.bytes.size());
  text.offsets.reserve(text.offsets.size() + rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row)
    text.push_back(rows.names[rows.order.input(row)]);
  if (!names.integers && names.is_integer.empty()) return;
  result.is_integer.resize(static_cast<std::size_t>(text.size()), 0);
  std::uint8_t* flags = result.is_integer.data() + (result.is_integer.size() - rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row)
    flags[row] = names.integers || names.is_integer[rows.order.input(row)] != 0 ? 1 : 0;
}

RowFinder::RowFinder(const TableRows& target, Id first_row)
    : target_(target), first_row_(first_row), canonical_(target.order.canonical()) {}

Column<Id> RowFinder::read(const TableRows& rows, std::string_view field,
                           const raw::Optional<raw::Reference>& column, bool required) {
  if (!column && !required) return {};
  Column<Id> found(rows.size(), kNoId);
  if (column && column->index)
    read_index(rows, field, *column->index, found);
  else if (column && column->names)
    read_names(rows, field, *column->names, found);
  if (required) {
    for (std::size_t row = 0; row < found.size(); ++row) {
      const std::size_t i = rows.order.input(row);
      if (!column || !raw::given(*column, i))
        rows.problem(row, {field}, "required", "", "is missing; it must name a row of the ",
                     target_.table);
    }
  }
  return found;
}

void RowFinder::read_index(const TableRows& rows, std::string_view field,
                           std::span<const std::int64_t> index, Column<Id>& found) const {
  const std::size_t size = target_.size();
  for (std::size_t row = 0; row < found.size(); ++row) {
    const std::int64_t value = index[rows.order.input(row)];
    if (value == kNoId) continue;
    if (value >= 0 && static_cast<std::size_t>(value) < size) {
      const auto i = static_cast<std::size_t>(value);
      found[row] = first_row_ + (canonical_.empty() ? static_cast<Id>(i) : canonical_[i]);
      continue;
    }
    rows.problem(row, {concat(field, "_index")}, "exists", to_text(Index{value}), "is ",
                 Index{value}, ", but the table ", target_.table, " has ", static_cast<Index>(size),
                 " rows (numbered from 0; -1 means none)");
  }
}

void RowFinder::read_names(const TableRows& rows, std::string_view field, const raw::Names& names,
                           Column<Id>& found) {
  index_names();
  const NameText text(names);
  std::string_view last;
  Id last_row = kNoId;
  for (std::size_t row = 0; row < found.size(); ++row) {
    const std::size_t i = rows.order.input(row);
    if (!raw::given(names.given, i)) continue;
    const std::string_view name = text.strings()[i];
    if (last_row == kNoId || name != last) {  // neighbours often refer to the same row
      last_row = find(name);
      last = name;
    }
    found[row] = last_row;
    if (last_row == kNoId)
      rows.problem(row, {field}, "exists", name, "is ", quoted(name),
                   ", which is not in the table ", target_.table);
  }
}

void RowFinder::index_names() {
  if (!slots_.empty()) return;
  slots_.resize(std::bit_ceil(2 * (target_.size() + 1)));
  for (std::size_t row = 0; row < target_.size(); ++row) {
    const Id id = first_row_ + static_cast<Id>(row);
    add(name_of(id), id);
  }
  if (first_row_ > 0) add(kRootName, 0);
}

// Of rows of one name, which are refused elsewhere, the first stays.
void RowFinder::add(std::string_view name, Id row) {
  const std::uint64_t hash = std::hash<std::string_view>()(name);
  const auto mark = static_cast<std::uint32_t>(hash >> 32);
  std::size_t at = hash & (slots_.size() - 1);
  for (; slots_[at].row != kNoId; at = (at + 1) & (slots_.size() - 1))
    if (slots_[at].mark == mark && name_of(slots_[at].row) == name) return;
  slots_[at] = {mark, row};
}

Id RowFinder::find(std::string_view name) const {
  const std::uint64_t hash = std::hash<std::string_view>()(name);
  const auto mark = static_cast<std::uint32_t>(hash >> 32);
  std::size_t at = hash & (slots_.size() - 1);
  for (; slots_[at].row != kNoId; at = (at + 1) & (slots_.size() - 1))
    if (slots_[at].mark == mark && name_of(slots_[at].row) == name) break;
  return slots_[at].row;
}

std::string_view RowFinder::name_of(Id row) const {
  if (row < first_row_) return kRootName;
  return target_.names[target_.order.input(static_cast<std::size_t>(row - first_row_))];
}

}  // namespace evenhand
