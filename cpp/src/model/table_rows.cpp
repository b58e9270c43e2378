#include "evenhand/model/table_rows.h"

#include "evenhand/model/utf8.h"

namespace evenhand {

constexpr std::size_t kLongestText = 200;

std::string Field::sanitised(std::string_view text) { return sanitised_utf8(text, kLongestText); }

std::string TableRows::label(std::size_t canonical_row) const {
  if (single) return concat("the ", row);
  const std::size_t input = order.input(canonical_row);
  if (input < names.size() && !names[input].empty())
    return concat("the ", row, " ", quoted(names[input]));
  return concat("row ", static_cast<Index>(input), " of the ", table);
}

Problem TableRows::blank(std::size_t canonical_row, const Field& field, std::string_view rule,
                         std::string_view value) const {
  const std::size_t input = order.input(canonical_row);
  Problem p;
  p.table = table;
  p.row = single ? Index{kNoId} : static_cast<Index>(input);
  if (input < names.size()) p.name = sanitised_utf8(names[input], kLongestText);
  p.field = field.text();
  p.rule = rule;
  p.value = sanitised_utf8(value, kLongestText);
  return p;
}

}  // namespace evenhand
