#include "evenhand/model/columns.h"

#include <cmath>

namespace evenhand {
namespace {

// A double holds every whole number up to here.
constexpr double kExactReal = 9007199254740992.0;

std::string cell_text(const raw::Numbers& column, std::size_t i) {
  return column.is_real() ? to_text(column.reals[i]) : to_text(Index{column.integers[i]});
}

double real_at(const raw::Numbers& column, std::size_t i) noexcept {
  return column.is_real() ? column.reals[i] : static_cast<double>(column.integers[i]);
}

bool within(double value, const Bounds& b) noexcept {
  return (b.above_low ? value > b.low : value >= b.low) && value <= b.high;
}

void report_number(const TableRows& rows, std::size_t row, std::string_view field, double value,
                   const Bounds& b) {
  const std::string text = to_text(value);
  if (!std::isfinite(value))
    rows.problem(row, {field}, "finite", text, "is ", text, "; it must be a finite number");
  else if (b.above_low)
    rows.problem(row, {field}, "positive", text, "is ", text, "; it must be greater than ", b.low);
  else if (b.low == 0.0 && value < 0.0)
    rows.problem(row, {field}, "non_negative", text, "is ", text, "; it must not be negative");
  else
    rows.problem(row, {field}, "range", text, "is ", text, "; it must be from ", b.low, " to ",
                 b.high);
}

enum class CellFault { kNone, kNotFinite, kNotWhole, kRange };

struct TimeCell {
  Time value;
  CellFault fault;
};

TimeCell from_seconds(double seconds) noexcept {
  if (!std::isfinite(seconds)) return {kNoTime, CellFault::kNotFinite};
  const double microseconds = seconds * static_cast<double>(kMicrosecondsPerSecond);
  if (std::abs(microseconds) > static_cast<double>(kMaxTime)) return {kNoTime, CellFault::kRange};
  return {std::llround(microseconds), CellFault::kNone};
}

TimeCell from_microseconds(std::int64_t value) noexcept {
  const bool fits = value >= -kMaxTime && value <= kMaxTime;
  return {value, fits ? CellFault::kNone : CellFault::kRange};
}

constexpr std::string_view kTimeRange =
    "; it must be within 2^60 microseconds of zero: times are seconds, not milliseconds";

template <class Check>
Column<Time> read_time_cells(const TableRows& rows, std::string_view field,
                             const raw::Optional<raw::Numbers>& column, Time absent,
                             Check&& check) {
  if (!column) return {};
  Column<Time> values(rows.size(), absent);
  for (std::size_t row = 0; row < values.size(); ++row) {
    const std::size_t i = rows.order.input(row);
    if (!raw::given(column->given, i)) continue;
    if (!column->is_real() && column->integers[i] == kNoTime) continue;
    const TimeCell cell =
        column->is_real() ? from_seconds(column->reals[i]) : from_microseconds(column->integers[i]);
    if (cell.fault == CellFault::kNone) {
      if (check(row, cell.value)) values[row] = cell.value;
      continue;
    }
    const std::string text = cell_text(*column, i);
    if (cell.fault == CellFault::kNotFinite)
      rows.problem(row, {field}, "finite", text, "is ", text, "; it must be a finite number");
    else
      rows.problem(row, {field}, "range", text, "is ", text,
                   column->is_real() ? " seconds" : " microseconds", kTimeRange);
  }
  return values;
}

}  // namespace

Column<double> read_numbers(const TableRows& rows, std::string_view field,
                            const raw::Optional<raw::Numbers>& column, double absent,
                            const Bounds& bounds) {
  if (!column) return {};
  Column<double> values(rows.size(), absent);
  for (std::size_t row = 0; row < values.size(); ++row) {
    const std::size_t i = rows.order.input(row);
    if (!raw::given(column->given, i)) continue;
    const double value = real_at(*column, i);
    if (std::isfinite(value) && within(value, bounds))
      values[row] = value;
    else
      report_number(rows, row, field, value, bounds);
  }
  return values;
}

Column<Index> read_integers(const TableRows& rows, std::string_view field,
                            const raw::Optional<raw::Numbers>& column, Index absent, Index low,
                            Index high, Column<std::uint8_t>* given) {
  if (!column) return {};
  Column<Index> values(rows.size(), absent);
  if (given) given->assign(rows.size(), 0);
  for (std::size_t row = 0; row < values.size(); ++row) {
    const std::size_t i = rows.order.input(row);
    if (!raw::given(column->given, i)) continue;
    if (given) (*given)[row] = 1;
    auto fault = CellFault::kNone;
    Index value = absent;
    if (column->is_real()) {
      const double real = column->reals[i];
      if (!std::isfinite(real))
        fault = CellFault::kNotFinite;
      else if (real != std::floor(real))
        fault = CellFault::kNotWhole;
      else if (std::abs(real) > kExactReal)
        fault = CellFault::kRange;
      else
        value = static_cast<Index>(real);
    } else {
      value = column->integers[i];
    }
    if (fault == CellFault::kNone && (value < low || value > high)) fault = CellFault::kRange;
    if (fault == CellFault::kNone) {
      values[row] = value;
      continue;
    }
    const std::string text = cell_text(*column, i);
    if (fault == CellFault::kNotFinite)
      rows.problem(row, {field}, "finite", text, "is ", text, "; it must be a finite number");
    else if (fault == CellFault::kNotWhole)
      rows.problem(row, {field}, "integer", text, "is ", text, "; it must be a whole number");
    else if (low == 0 && value < 0)
      rows.problem(row, {field}, "non_negative", text, "is ", text, "; it must not be negative");
    else
      rows.problem(row, {field}, "range", text, "is ", text, "; it must be from ", low, " to ",
                   high);
  }
  return values;
}

void read_priority(const TableRows& rows, const raw::Optional<raw::Numbers>& column,
                   Column<double>& priority, Column<std::uint8_t>& given) {
  priority = unless_all(read_numbers(rows, "priority", column, 0.0, kAnyNumber), 0.0);
  if (!column) return;
  given.resize(rows.size());
  for (std::size_t row = 0; row < given.size(); ++row)
    given[row] = raw::given(column->given, rows.order.input(row)) ? 1 : 0;
  given = unless_all(std::move(given), std::uint8_t{0});
}

Column<Time> read_times(const TableRows& rows, std::string_view field,
                        const raw::Optional<raw::Numbers>& column, Time absent) {
  return read_time_cells(rows, field, column, absent, [](std::size_t, Time) { return true; });
}

Column<Time> read_durations(const TableRows& rows, std::string_view field,
                            const raw::Optional<raw::Numbers>& column, Time absent) {
  return read_time_cells(rows, field, column, absent, [&](std::size_t row, Time value) {
    if (value >= 0) return true;
    const std::string text =
        to_text(static_cast<double>(value) / static_cast<double>(kMicrosecondsPerSecond));
    rows.problem(row, {field}, "non_negative", text, "is ", text,
                 " seconds; a duration must not be negative");
    return false;
  });
}

Column<std::uint8_t> read_flags(const TableRows& rows, std::string_view,
                                const raw::Optional<raw::Codes>& column, bool absent) {
  if (!column) return {};
  Column<std::uint8_t> values(rows.size(), absent ? 1 : 0);
  for (std::size_t row = 0; row < values.size(); ++row) {
    const std::size_t i = rows.order.input(row);
    if (raw::given(column->given, i)) values[row] = column->values[i] != 0 ? 1 : 0;
  }
  return values;
}

Column<std::uint8_t> read_codes(const TableRows& rows, std::string_view field,
                                const raw::Optional<raw::Codes>& column, int count) {
  if (!column) return {};
  Column<std::uint8_t> values(rows.size(), 0);
  for (std::size_t row = 0; row < values.size(); ++row) {
    const std::size_t i = rows.order.input(row);
    if (!raw::given(column->given, i)) continue;
    if (column->values[i] < count) {
      values[row] = column->values[i];
      continue;
    }
    const std::string text = to_text(Index{column->values[i]});
    rows.problem(row, {field}, "choice", text, "has the code ", text, "; the codes are 0 to ",
                 Index{count - 1});
  }
  return values;
}

std::optional<Time> time_of(double seconds) noexcept {
  const TimeCell cell = from_seconds(seconds);
  return cell.fault == CellFault::kNone ? std::optional(cell.value) : std::nullopt;
}

Time read_instant(const raw::Instant& instant, std::string_view field, Problems& problems) {
  const TimeCell cell = instant.microseconds ? from_microseconds(*instant.microseconds)
                                             : from_seconds(instant.seconds);
  if (cell.fault == CellFault::kNone) return cell.value;
  problems.add([&] {
    const bool finite = cell.fault != CellFault::kNotFinite;
    const std::string text =
        instant.microseconds ? to_text(Index{*instant.microseconds}) : to_text(instant.seconds);
    const std::string_view rest = finite ? kTimeRange : "; it must be a finite number";
    return Problem{.table = "snapshot",
                   .field = std::string(field),
                   .rule = finite ? "range" : "finite",
                   .value = text,
                   .message = concat(field, " is ", text, rest)};
  });
  return 0;
}

}  // namespace evenhand
