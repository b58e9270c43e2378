// Amounts: units of a resource to whole quanta, exactly or not at all.
//
// An amount v is n quanta of q if |v - n q| <= 1e-9 v, and none if |v| <= 1e-12 q
// (the noise that differences of sums leave); otherwise it is an error that
// proposes a quantum, or is rounded to the nearest quantum where the caller
// asked for it, halves up. Amounts are
// finite, not negative and at most kMaxAmount quanta, and so is every sum.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "evenhand/model/table_rows.h"

namespace evenhand {

// Stands in for a cell that broke a rule, so that later rules can leave it out.
inline constexpr Amount kFaultyAmount = -1;

class AmountScale {
 public:
  AmountScale(const ResourceSpace& resources, raw::Rounding rounding);

  // N x R quanta in canonical order, 0 where none is given and kFaultyAmount
  // where a rule is broken; empty if the column is absent. `given` (optional) gets a mask a row.
  // Linear in the cells.
  Column<Amount> read(const TableRows& rows, std::string_view field,
                      const raw::Optional<raw::Amounts>& column,
                      Column<ResourceMask>* given = nullptr) const;

  // N x R finite, not negative reals in quanta (volumes).
  Column<double> read_reals(const TableRows& rows, std::string_view field,
                            const raw::Optional<raw::Amounts>& column) const;

  // N x R shares within 0..1, 1 where none is given; empty: all are 1.
  Column<double> read_shares(const TableRows& rows, std::string_view field,
                             const raw::Optional<raw::Amounts>& column) const;

  // One amount in quanta; none: it breaks a rule.
  std::optional<Amount> quanta(double value, std::size_t resource) const noexcept {
    return unless_wrong(convert(value, resource));
  }
  std::optional<Amount> quanta(std::int64_t value, std::size_t resource) const noexcept {
    return unless_wrong(convert(value, resource));
  }

  // Quanta as a person would write the amount.
  std::string units(Amount quanta, std::size_t resource) const;

  std::size_t resource_count() const noexcept { return per_unit_.size(); }
  std::string_view resource_name(std::size_t resource) const noexcept {
    return (*names_)[static_cast<Index>(resource)];
  }

 private:
  enum class Fault { kNone, kNotFinite, kNegative, kTooLarge, kOffQuantum };
  struct Cell {
    Amount quanta;
    Fault fault;
  };

  static std::optional<Amount> unless_wrong(const Cell& cell) noexcept {
    return cell.fault == Fault::kNone ? std::optional(cell.quanta) : std::nullopt;
  }
  Cell convert(double value, std::size_t resource) const noexcept;
  Cell convert(std::int64_t value, std::size_t resource) const noexcept;
  bool is_whole(double value, std::size_t resource, Amount& quanta) const noexcept;
  bool is_whole(std::int64_t value, std::size_t resource, Amount& quanta) const noexcept;
  void report(const TableRows& rows, std::size_t row, std::string_view field, std::size_t resource,
              double value, const std::string& text, Fault fault) const;
  template <class Value>
  void read_cells(const TableRows& rows, std::string_view field, std::span<const Value> values,
                  raw::Mask given, Column<Amount>& quanta) const;

  const StringColumn* names_;
  std::span<const double> quantum_;
  // By resource: quanta in a unit if that is a whole number, else 0; and the
  // largest whole number of units that is an amount then, else -1.
  Column<Amount> per_unit_, largest_whole_;
  Column<double> real_per_unit_;
  bool nearest_;
};

// total += amount; false, and kMaxAmount, if that is beyond it. Both not negative.
inline bool add_checked(Amount& total, Amount amount) noexcept {
  total += amount;
  if (total <= kMaxAmount) return true;
  total = kMaxAmount;
  return false;
}

// amount * count, or kMaxAmount + 1 if that is beyond kMaxAmount. A faulty
// amount stays negative.
inline Amount times_checked(Amount amount, Index count) noexcept {
  return amount > 0 && count > kMaxAmount / amount ? kMaxAmount + 1 : amount * count;
}

}  // namespace evenhand
