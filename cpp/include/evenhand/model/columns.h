// Raw columns to checked columns in canonical order, one function a field kind.
//
// A reader returns one value a row, or an empty vector if the raw column is
// absent (every row takes the default). Rows that break a rule are reported
// and take the default. Linear in the rows.
#pragma once

#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "evenhand/model/table_rows.h"

namespace evenhand {

struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool above_low = false;  // low itself is out
};
inline constexpr Bounds kAnyNumber{};
inline constexpr Bounds kPositive{.low = 0.0, .above_low = true};
inline constexpr Bounds kNonNegative{.low = 0.0};

// Times beyond this (36,500 years) are refused, so that sums of times fit.
inline constexpr Time kMaxTime = Time{1} << 60;

Column<double> read_numbers(const TableRows& rows, std::string_view field,
                            const raw::Optional<raw::Numbers>& column, double absent,
                            const Bounds& bounds);

// Whole numbers within [low, high]. `given` (optional) gets a flag a row.
Column<Index> read_integers(const TableRows& rows, std::string_view field,
                            const raw::Optional<raw::Numbers>& column, Index absent, Index low,
                            Index high, Column<std::uint8_t>* given = nullptr);

// Priorities: reals, as some systems compute them; both results are sparse (0).
void read_priority(const TableRows& rows, const raw::Optional<raw::Numbers>& column,
                   Column<double>& priority, Column<std::uint8_t>& given);

// Reals are seconds, rounded to microseconds; integers are microseconds, of
// which kNoTime (NumPy's NaT) counts as none.
Column<Time> read_times(const TableRows& rows, std::string_view field,
                        const raw::Optional<raw::Numbers>& column, Time absent);
Column<Time> read_durations(const TableRows& rows, std::string_view field,
                            const raw::Optional<raw::Numbers>& column, Time absent);

Column<std::uint8_t> read_flags(const TableRows& rows, std::string_view field,
                                const raw::Optional<raw::Codes>& column, bool absent);

// Codes 0 .. count - 1 of an enumeration.
Column<std::uint8_t> read_codes(const TableRows& rows, std::string_view field,
                                const raw::Optional<raw::Codes>& column, int count);
template <class Enum>
Column<Enum> read_enum(const TableRows& rows, std::string_view field,
                       const raw::Optional<raw::Codes>& column, Enum last) {
  const Column<std::uint8_t> codes = read_codes(rows, field, column, static_cast<int>(last) + 1);
  Column<Enum> values(codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) values[i] = static_cast<Enum>(codes[i]);
  return values;
}

TextColumn read_text(const TableRows& rows, std::string_view field,
                     const raw::Optional<raw::Text>& column);
TextListColumn read_text_list(const TableRows& rows, std::string_view field,
                              const raw::Optional<raw::TextList>& column);

// Seconds rounded to microseconds; none: they are not finite, or too many.
std::optional<Time> time_of(double seconds) noexcept;

// Instants outside of tables; `field` is the name for the message.
Time read_instant(const raw::Instant& instant, std::string_view field, Problems& problems);

// The column with the default in every row if it was not filled.
template <class T>
Column<T> filled(Column<T> column, std::size_t rows, T absent) {
  if (column.empty()) column.assign(rows, absent);
  return column;
}

// The column, or nothing if every row has the default.
template <class T>
Column<T> unless_all(Column<T> column, T absent) {
  for (const T& value : column)
    if (!(value == absent)) return column;
  return {};
}

}  // namespace evenhand
