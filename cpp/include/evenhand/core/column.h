// Columns whose cells are counted by any integer.
//
// Rows are signed numbers, as -1 is none; standard containers count by unsigned ones. A Column is
// a vector and a View a span, in all but the brackets, where the one turns into the other. Where
// assert holds every place is checked (as in plain vectors and spans: see CMakeLists.txt), else
// none.
#pragma once

#include <cassert>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "evenhand/core/types.h"

namespace evenhand {

// What counts cells: rows, positions, enumerators.
template <class T>
concept Countable = std::integral<T> || std::is_enum_v<T>;

// As the place that it stands for.
template <Countable Row>
constexpr std::size_t at(Row row) noexcept {
  return static_cast<std::size_t>(row);
}

template <class Base>
class Indexed : public Base {
 public:
  using Base::Base;
  Indexed() = default;
  Indexed(Base&& base) noexcept : Base(std::move(base)) {}
  Indexed(const Base& view) noexcept
  requires std::is_trivially_copyable_v<Base>
      : Base(view) {}

  template <Countable Row>
  decltype(auto) operator[](Row row) noexcept {
    assert(at(row) < this->size());
    return Base::operator[](at(row));
  }
  template <Countable Row>
  decltype(auto) operator[](Row row) const noexcept {
    assert(at(row) < this->size());
    return Base::operator[](at(row));
  }

  // The cells of a row, where each has so many.
  template <Countable Row>
  auto* row(Row row, std::size_t width) noexcept {
    assert((at(row) + 1) * width <= this->size());
    return this->data() + at(row) * width;
  }
  template <Countable Row>
  auto* row(Row row, std::size_t width) const noexcept {
    assert((at(row) + 1) * width <= this->size());
    return this->data() + at(row) * width;
  }
  Id rows() const noexcept { return static_cast<Id>(this->size()); }
};

template <class T>
using Column = Indexed<std::vector<T>>;
template <class T>
using View = Indexed<std::span<T>>;

// The cells from one place on until another, which is not among them.
template <class T, std::integral Place>
View<const T> slice(const std::vector<T>& column, Place begin, Place end) noexcept {
  assert(at(begin) <= at(end) && at(end) <= column.size());
  return {column.data() + begin, at(end - begin)};
}

}  // namespace evenhand
