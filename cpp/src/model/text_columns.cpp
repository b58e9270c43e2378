// Text columns: values are deduplicated, sorted and limited to those in use, so
// that the result does not depend on the order of rows or of the dictionary.
#include <algorithm>

#include "evenhand/model/columns.h"
#include "evenhand/model/row_order.h"
#include "evenhand/model/utf8.h"

namespace evenhand {
namespace {

bool in_range(std::int32_t code, std::size_t count) {
  return code >= 0 && static_cast<std::size_t>(code) < count;
}

void report_code(const TableRows& rows, std::size_t row, std::string_view field, std::int32_t code,
                 std::size_t count) {
  rows.problem(row, {field}, "choice", to_text(Index{code}), "has the code ", Index{code},
               ", but there are ", static_cast<Index>(count), " texts");
}

void report_text(const TableRows& rows, std::size_t row, std::string_view field,
                 std::string_view text) {
  rows.problem(row, {field}, "utf8", text, "is ", quoted(text),
               ", which is not valid Unicode text");
}

// Which raw code becomes which canonical one; fills `values`.
Column<Id> canonical_codes(const std::vector<std::string_view>& raw_values,
                           const Column<std::uint8_t>& used, StringColumn& values) {
  StringColumn in_use;
  Column<Id> raw_code;
  raw_code.reserve(raw_values.size());
  in_use.offsets.reserve(raw_values.size() + 1);
  for (std::size_t v = 0; v < raw_values.size(); ++v) {
    if (used[v] == 0) continue;
    in_use.push_back(raw_values[v]);
    raw_code.push_back(static_cast<Id>(v));
  }
  const raw::Strings texts{in_use.bytes, in_use.offsets};
  std::vector<Duplicate> twice;
  const RowOrder sorted = sorted_by_name(texts, twice);
  Column<Id> canonical(raw_values.size(), kNoId);
  values.bytes.reserve(in_use.bytes.size());
  values.offsets.reserve(texts.size() + 1);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const std::size_t v = sorted.input(i);
    if (values.size() == 0 || texts[v] != values[values.size() - 1]) values.push_back(texts[v]);
    canonical[raw_code[v]] = static_cast<Id>(values.size() - 1);
  }
  return canonical;
}

Column<std::uint8_t> broken_texts(const std::vector<std::string_view>& values) {
  Column<std::uint8_t> broken(values.size());
  std::transform(values.begin(), values.end(), broken.begin(), [](std::string_view v) {
    return static_cast<std::uint8_t>(is_ascii(v) || is_utf8(v) ? 0 : 1);
  });
  return broken;
}

}  // namespace

TextColumn read_text(const TableRows& rows, std::string_view field,
                     const raw::Optional<raw::Text>& column) {
  TextColumn result;
  if (!column) return result;
  const std::size_t count = column->values.size();
  const auto broken = broken_texts(column->values);
  Column<std::uint8_t> used(count, 0);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::int32_t code = column->codes[rows.order.input(row)];
    if (code == kNoId) continue;
    if (!in_range(code, count)) {
      report_code(rows, row, field, code, count);
    } else {
      used[code] = 1;
      if (broken[code]) report_text(rows, row, field, column->values[code]);
    }
  }
  const Column<Id> canonical = canonical_codes(column->values, used, result.values);
  if (result.values.size() == 0) return result;
  result.codes.resize(rows.size(), kNoId);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::int32_t code = column->codes[rows.order.input(row)];
    if (in_range(code, count)) result.codes[row] = canonical[code];
  }
  return result;
}

TextListColumn read_text_list(const TableRows& rows, std::string_view field,
                              const raw::Optional<raw::TextList>& column) {
  TextListColumn result;
  if (!column) return result;
  const std::size_t count = column->values.size();
  const auto broken = broken_texts(column->values);
  const auto codes = [&](std::size_t row) {
    const std::size_t i = rows.order.input(row);
    const auto begin = static_cast<std::size_t>(column->offsets[i]);
    return column->codes.subspan(begin, static_cast<std::size_t>(column->offsets[i + 1]) - begin);
  };
  Column<std::uint8_t> used(count, 0);
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (const std::int32_t code : codes(row)) {
      if (!in_range(code, count)) {
        report_code(rows, row, field, code, count);
        continue;
      }
      used[code] = 1;
      if (broken[code]) report_text(rows, row, field, column->values[code]);
    }
  const Column<Id> canonical = canonical_codes(column->values, used, result.values);
  if (result.values.size() == 0) return result;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (const std::int32_t code : codes(row))
      if (in_range(code, count)) result.codes.push_back(canonical[code]);
    result.offsets.push_back(static_cast<Index>(result.codes.size()));
  }
  return result;
}

}  // namespace evenhand
