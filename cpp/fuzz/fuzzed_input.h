// Raw columns out of arbitrary bytes: mostly of the right shape, with values
// near the edges, so that inputs which build are common enough to check.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "evenhand/model/raw.h"

namespace evenhand::fuzz {

class FuzzedInput {
 public:
  FuzzedInput(const std::uint8_t* data, std::size_t size) : bytes_(data, size) {
    resources_ = bytes_.ConsumeIntegralInRange<std::size_t>(1, 3);
    hostile_ = bytes_.ConsumeBool();
    fill_head();
    fill("root", input_.root);
    input_.root.name.reset();
    input_.root.parent.reset();
    input_.root.weight.reset();
    fill("pools", input_.pools);
    fill("operations", input_.operations);
    fill("nodes", input_.nodes);
    fill("allocations", input_.allocations);
    fill("requests", input_.requests);
    fill("reservations", input_.reservations);
  }

  const raw::Input& input() const noexcept { return input_; }

  // One overload a kind of column, for for_each_field().
  void operator()(std::string_view, raw::Optional<raw::Names>& c) { c = names(true); }
  void operator()(std::string_view field, raw::Optional<raw::Reference>& c) {
    const bool needed = field == "operation" || field == "node" || field == "request";
    if (!needed && !maybe()) return;
    c.emplace();
    if (bytes_.ConsumeBool()) {
      std::vector<std::int64_t> index(length());
      for (std::int64_t& row : index)
        row = hostile() ? bytes_.ConsumeIntegral<std::int64_t>()
                        : bytes_.ConsumeIntegralInRange<std::int64_t>(-1, 2);
      c->index = keep(std::move(index));
    } else {
      c->names = names(false);
    }
  }
  void operator()(std::string_view, raw::Optional<raw::Numbers>& c) {
    if (maybe()) c = numbers(length(), false);
  }
  void operator()(std::string_view, raw::Optional<raw::Amounts>& c) {
    if (maybe()) c = raw::Amounts{numbers(length() * resources_, true)};
  }
  void operator()(std::string_view, raw::Optional<raw::Codes>& c) {
    if (!maybe()) return;
    std::vector<std::uint8_t> values(length());
    for (std::uint8_t& v : values)
      v = hostile() ? bytes_.ConsumeIntegral<std::uint8_t>()
                    : bytes_.ConsumeIntegralInRange<std::uint8_t>(0, 1);
    c = raw::Codes{keep(std::move(values)), mask(rows_)};
  }
  void operator()(std::string_view, raw::Optional<raw::Text>& c) {
    if (maybe()) c = raw::Text{texts(), codes(length(), -1)};
  }
  void operator()(std::string_view, raw::Optional<raw::TextList>& c) {
    if (!maybe()) return;
    const auto list = codes(rows_ * 2, 0);
    c = raw::TextList{texts(), offsets(length(), list.size()), list};
  }

 private:
  bool maybe() { return bytes_.ConsumeIntegralInRange<int>(0, 3) == 0; }
  bool hostile() { return hostile_ && bytes_.ConsumeIntegralInRange<int>(0, 15) == 0; }

  // The table's rows, now and then something else.
  std::size_t length() {
    return hostile() ? bytes_.ConsumeIntegralInRange<std::size_t>(0, 9) : rows_;
  }

  template <class Table>
  void fill(std::string_view name, Table& table) {
    rows_ = name == "root" ? 1 : bytes_.ConsumeIntegralInRange<std::size_t>(0, 6);
    if (rows_ > 0) raw::for_each_field(table, *this);
  }

  void fill_head() {
    raw::Resources& r = input_.resources;
    rows_ = resources_;
    constexpr double kQuanta[] = {1.0, 0.001, 0.3, 1024.0, 1e-300, 0.0, -1.0, NAN};
    std::vector<double> quantum(resources_);
    for (std::size_t i = 0; i < resources_; ++i) {
      quantum[i] = kQuanta[bytes_.ConsumeIntegralInRange<std::size_t>(0, hostile() ? 7 : 3)];
      r.names.push_back(text(static_cast<int>(i)));
    }
    r.quantum = keep(std::move(quantum));
    r.kind = keep(std::vector<std::uint8_t>(length(), 4));
    std::vector<std::uint8_t> scope(length());
    for (std::uint8_t& s : scope) s = maybe() ? 1 : 0;
    r.scope = keep(std::move(scope));
    r.available_after_preemption = keep(std::vector<std::uint8_t>(resources_, 1));
    if (maybe()) r.capacity = raw::Amounts{numbers(resources_, true)};
    if (maybe()) input_.total = raw::Amounts{numbers(resources_, true)};
    input_.now.seconds = real(false);
    if (maybe()) input_.previous_update = raw::Instant{0.0, bytes_.ConsumeIntegral<std::int64_t>()};
    input_.rounding = maybe() ? raw::Rounding::kNearest : raw::Rounding::kExact;
  }

  double real(bool amount) {
    if (hostile()) {
      const auto bits = bytes_.ConsumeIntegral<std::uint64_t>();
      double value;
      std::memcpy(&value, &bits, sizeof value);
      return value;
    }
    const auto n = bytes_.ConsumeIntegralInRange<std::int64_t>(amount ? 0 : 1, 5);
    return static_cast<double>(n) * (amount ? 1024.0 * 3.0 : 1.0);
  }
  std::int64_t whole() {
    if (hostile()) return bytes_.ConsumeIntegral<std::int64_t>();
    return bytes_.ConsumeIntegralInRange<std::int64_t>(0, 3);
  }
  raw::Numbers numbers(std::size_t cells, bool amounts) {
    raw::Numbers result;
    if (bytes_.ConsumeBool()) {
      std::vector<double> values(cells);
      for (double& v : values) v = real(amounts);
      result.reals = keep(std::move(values));
    } else {
      std::vector<std::int64_t> values(cells);
      for (std::int64_t& v : values) v = whole();
      result.integers = keep(std::move(values));
    }
    result.given = mask(cells);
    return result;
  }
  raw::Mask mask(std::size_t cells) {
    if (!maybe()) return {};
    std::vector<std::uint8_t> given(hostile() ? 3 : cells);
    for (std::uint8_t& g : given) g = bytes_.ConsumeBool() ? 1 : 0;
    return keep(std::move(given));
  }

  std::string_view text(int number) {
    std::string& result = texts_.emplace_back("n");
    result += std::to_string(number);
    if (hostile()) result = bytes_.ConsumeRandomLengthString(12);
    return result;
  }
  std::vector<std::string_view> texts() { return {text(0), text(1)}; }
  std::span<const std::int32_t> codes(std::size_t n, int low) {
    std::vector<std::int32_t> values(n);
    for (std::int32_t& v : values)
      v = hostile() ? bytes_.ConsumeIntegral<std::int32_t>()
                    : bytes_.ConsumeIntegralInRange<std::int32_t>(low, 1);
    return keep(std::move(values));
  }
  std::span<const std::int64_t> offsets(std::size_t rows, std::size_t end) {
    std::vector<std::int64_t> values(rows + 1, 0);
    for (std::size_t i = 1; i <= rows; ++i) {
      values[i] = values[i - 1] + bytes_.ConsumeIntegralInRange<std::int64_t>(0, 2);
      if (hostile())
        values[i] = bytes_.ConsumeIntegral<std::int64_t>();
      else
        values[i] = std::min(values[i], static_cast<std::int64_t>(end));
    }
    return keep(std::move(values));
  }

  // Row names are distinct unless bytes make them hostile; references to them
  // are drawn from the first few.
  raw::Names names(bool own) {
    raw::Names result;
    const std::size_t n = length();
    const auto number = [&](std::size_t i) {
      return own ? static_cast<std::int64_t>((i * 5 + 3) % 7)
                 : bytes_.ConsumeIntegralInRange<std::int64_t>(0, 6);
    };
    if (maybe()) {
      std::vector<std::int64_t> values(n);
      for (std::size_t i = 0; i < n; ++i) values[i] = hostile() ? whole() : number(i);
      result.integers = keep(std::move(values));
    } else {
      std::string& all = texts_.emplace_back();
      std::vector<std::int64_t> ends{0};
      for (std::size_t i = 0; i < n; ++i) {
        all += hostile() ? bytes_.ConsumeRandomLengthString(20) : std::to_string(number(i));
        ends.push_back(static_cast<std::int64_t>(all.size()));
      }
      if (hostile()) ends.back() = bytes_.ConsumeIntegral<std::int64_t>();
      result.strings = {all, keep(std::move(ends))};
      if (maybe()) result.is_integer = mask(n);
    }
    if (!own) result.given = mask(n);
    return result;
  }

  template <class T>
  std::span<const T> keep(std::vector<T> values) {
    return std::get<std::deque<std::vector<T>>>(kept_).emplace_back(std::move(values));
  }

  FuzzedDataProvider bytes_;
  std::size_t resources_ = 1, rows_ = 0;
  bool hostile_ = false;
  raw::Input input_;
  std::tuple<std::deque<std::vector<double>>, std::deque<std::vector<std::int64_t>>,
             std::deque<std::vector<std::int32_t>>, std::deque<std::vector<std::uint8_t>>>
      kept_;
  std::deque<std::string> texts_;
};

}  // namespace evenhand::fuzz
