#include "evenhand/model/amounts.h"

#include <cmath>

#include "evenhand/model/columns.h"

namespace evenhand {
namespace {

constexpr double kTolerance = 1e-9;  // of an amount
constexpr double kNoise = 1e-12;     // of a quantum, around zero

// Quanta in one unit if that is whole, as it is for 1, 0.001 or 0.25; else 0.
Amount whole_reciprocal(double quantum) {
  const double per_unit = std::round(1.0 / quantum);
  const bool whole = per_unit >= 1.0 && per_unit <= 1e15 && quantum == 1.0 / per_unit;
  return whole ? static_cast<Amount>(per_unit) : 0;
}

bool is_multiple(double value, double of) {
  const double n = std::round(value / of);
  return n >= 1.0 && std::abs(value - n * of) <= kNoise * value;
}

// The largest power of ten that holds both; 0 if none down to 1e-9 does.
double proposed_quantum(double value, double quantum) {
  for (int digits = 0; digits <= 9; ++digits) {
    const double proposal = 1.0 / std::pow(10.0, digits);
    if (is_multiple(value, proposal) && is_multiple(quantum, proposal)) return proposal;
  }
  return 0.0;
}

// use(row, resource, value) for each cell that is given.
template <class Use>
void each_real(const TableRows& rows, const raw::Amounts& column, std::size_t resources, Use use) {
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::size_t from = rows.order.input(row) * resources;
    for (std::size_t r = 0; r < resources; ++r)
      if (raw::given(column.given, from + r))
        use(row, r,
            column.is_real() ? column.reals[from + r]
                             : static_cast<double>(column.integers[from + r]));
  }
}

}  // namespace

AmountScale::AmountScale(const ResourceSpace& resources, raw::Rounding rounding)
    : names_(&resources.names),
      quantum_(resources.quantum),
      nearest_(rounding == raw::Rounding::kNearest) {
  for (const double q : quantum_) {
    const Amount per_unit = whole_reciprocal(q);
    per_unit_.push_back(per_unit);
    real_per_unit_.push_back(static_cast<double>(per_unit));
    largest_whole_.push_back(per_unit != 0 ? kMaxAmount / per_unit : -1);
  }
}

AmountScale::Cell AmountScale::convert(double value, std::size_t r) const noexcept {
  const double scaled = per_unit_[r] != 0 ? value * real_per_unit_[r] : value / quantum_[r];
  if (!(std::abs(scaled) <= static_cast<double>(kMaxAmount))) {
    if (!std::isfinite(value)) return {kFaultyAmount, Fault::kNotFinite};
    return {kFaultyAmount, value < 0.0 ? Fault::kNegative : Fault::kTooLarge};
  }
  // Truncation and comparison are exact; adding a half first would not be.
  auto quanta = static_cast<Amount>(scaled);
  double off = scaled - static_cast<double>(quanta);
  if (off >= 0.5) {
    ++quanta;
    off = 1.0 - off;
  }
  if (scaled < -kNoise) return {kFaultyAmount, Fault::kNegative};
  if (!nearest_ && off > (quanta > 0 ? kTolerance * scaled : kNoise))
    return {kFaultyAmount, Fault::kOffQuantum};
  return {quanta, Fault::kNone};
}

AmountScale::Cell AmountScale::convert(std::int64_t value, std::size_t r) const noexcept {
  if (per_unit_[r] == 0 && quantum_[r] != std::floor(quantum_[r]))
    return convert(static_cast<double>(value), r);
  if (value < 0) return {kFaultyAmount, Fault::kNegative};
  if (per_unit_[r] != 0) {
    if (value > kMaxAmount / per_unit_[r]) return {kFaultyAmount, Fault::kTooLarge};
    return {value * per_unit_[r], Fault::kNone};
  }
  if (quantum_[r] > static_cast<double>(kMaxAmount)) return convert(static_cast<double>(value), r);
  const auto quantum = static_cast<std::int64_t>(quantum_[r]);
  Amount quanta = value / quantum;
  const std::int64_t rest = value % quantum;
  if (rest != 0) {
    const bool up = rest >= quantum - rest;
    if (up) ++quanta;
    const auto off = static_cast<double>(up ? quantum - rest : rest);
    if (!nearest_ && (quanta == 0 || off > kTolerance * static_cast<double>(value)))
      return {kFaultyAmount, Fault::kOffQuantum};
  }
  if (quanta > kMaxAmount) return {kFaultyAmount, Fault::kTooLarge};
  return {quanta, Fault::kNone};
}

void AmountScale::report(const TableRows& rows, std::size_t row, std::string_view field,
                         std::size_t r, double value, const std::string& text, Fault fault) const {
  const Field cell{field, resource_name(r)};
  const double quantum = quantum_[r];
  if (fault == Fault::kNotFinite) {
    rows.problem(row, cell, "finite", text, "is ", text, "; it must be a finite number");
  } else if (fault == Fault::kNegative) {
    rows.problem(row, cell, "non_negative", text, "is ", text, "; it must not be negative");
  } else if (fault == Fault::kTooLarge) {
    rows.problem(row, cell, "overflow", text, "is ", text, ", more than 2^60 quanta of ", quantum,
                 "; choose a larger unit or quantum");
  } else if (const double proposal = proposed_quantum(value, quantum); proposal > 0.0) {
    rows.problem(row, cell, "quantum", text, "is ", text, ", not a multiple of the quantum ",
                 quantum, "; a quantum of ", proposal,
                 " would hold it, or pass rounding=\"nearest\"");
  } else {
    rows.problem(row, cell, "quantum", text, "is ", text, ", not a multiple of the quantum ",
                 quantum, "; choose a smaller quantum or pass rounding=\"nearest\"");
  }
}

// Most amounts are whole quanta after one multiplication: these skip convert().
inline bool AmountScale::is_whole(double value, std::size_t r, Amount& quanta) const noexcept {
  const double scaled = value * real_per_unit_[r];
  if (!(scaled >= 0.0 && scaled <= static_cast<double>(kMaxAmount))) return false;
  quanta = static_cast<Amount>(scaled);
  return static_cast<double>(quanta) == scaled && per_unit_[r] != 0;
}

inline bool AmountScale::is_whole(std::int64_t value, std::size_t r,
                                  Amount& quanta) const noexcept {
  if (value < 0 || value > largest_whole_[r]) return false;
  quanta = value * per_unit_[r];
  return true;
}

template <class Value>
void AmountScale::read_cells(const TableRows& rows, std::string_view field,
                             std::span<const Value> values, raw::Mask given,
                             Column<Amount>& quanta) const {
  const std::size_t resources = resource_count();
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::size_t from = rows.order.input(row) * resources;
    Amount* to = quanta.data() + row * resources;
    for (std::size_t r = 0; r < resources; ++r) {
      if (!raw::given(given, from + r) || is_whole(values[from + r], r, to[r])) continue;
      const Cell cell = convert(values[from + r], r);
      to[r] = cell.quanta;
      if (cell.fault != Fault::kNone)
        report(rows, row, field, r, static_cast<double>(values[from + r]),
               to_text(values[from + r]), cell.fault);
    }
  }
}

Column<Amount> AmountScale::read(const TableRows& rows, std::string_view field,
                                 const raw::Optional<raw::Amounts>& column,
                                 Column<ResourceMask>* given) const {
  if (given) given->assign(rows.size(), 0);
  if (!column) return {};
  const std::size_t resources = resource_count();
  Column<Amount> quanta(rows.size() * resources, 0);
  if (column->is_real())
    read_cells(rows, field, column->reals, column->given, quanta);
  else
    read_cells(rows, field, column->integers, column->given, quanta);
  if (given)
    for (std::size_t row = 0; row < rows.size(); ++row)
      for (std::size_t r = 0; r < resources; ++r)
        if (raw::given(column->given, rows.order.input(row) * resources + r))
          (*given)[row] |= ResourceMask{1} << r;
  return quanta;
}

Column<double> AmountScale::read_reals(const TableRows& rows, std::string_view field,
                                       const raw::Optional<raw::Amounts>& column) const {
  if (!column) return {};
  Column<double> reals(rows.size() * resource_count(), 0.0);
  each_real(rows, *column, resource_count(), [&](std::size_t row, std::size_t r, double value) {
    const double scaled = per_unit_[r] != 0 ? value * real_per_unit_[r] : value / quantum_[r];
    if (!std::isfinite(scaled))
      report(rows, row, field, r, value, to_text(value), Fault::kNotFinite);
    else if (scaled < 0.0)
      report(rows, row, field, r, value, to_text(value), Fault::kNegative);
    else
      reals[row * resource_count() + r] = scaled;
  });
  return reals;
}

Column<double> AmountScale::read_shares(const TableRows& rows, std::string_view field,
                                        const raw::Optional<raw::Amounts>& column) const {
  if (!column) return {};
  Column<double> shares(rows.size() * resource_count(), 1.0);
  each_real(rows, *column, resource_count(), [&](std::size_t row, std::size_t r, double value) {
    if (value >= 0.0 && value <= 1.0) {
      shares[row * resource_count() + r] = value;
      return;
    }
    const std::string text = to_text(value);
    rows.problem(row, {field, resource_name(r)}, std::isfinite(value) ? "range" : "finite", text,
                 "is ", text, "; a share must be from 0 to 1");
  });
  return unless_all(std::move(shares), 1.0);
}

std::string AmountScale::units(Amount quanta, std::size_t r) const {
  const auto n = static_cast<double>(quanta);
  if (per_unit_[r] == 1) return to_text(Index{quanta});
  return to_text(per_unit_[r] != 0 ? n / static_cast<double>(per_unit_[r]) : n * quantum_[r]);
}

}  // namespace evenhand
