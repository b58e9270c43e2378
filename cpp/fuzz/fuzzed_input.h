// Raw columns out of arbitrary bytes: mostly of the right shape, with values
// near the edges, so that inputs which build are common enough to check.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "evenhand/model/raw.h"

namespace evenhand::fuzz {

class FuzzedInput {
 public:
  FuzzedInput(const std::uint8_t* data, std::size_t size) : bytes_(data, size) {
    resources_ = bytes_.ConsumeIntegralInRange<std::size_t>(1, 3);
    hostility_ = bytes_.ConsumeIntegralInRange<int>(0, 3);
    fill_head();
    fill("root", input_.root);
    input_.root.name.reset();
    input_.root.parent.reset();
    input_.root.weight.reset();
    pool_rows_ = fill("pools", input_.pools);
    operation_rows_ = fill("operations", input_.operations);
    node_rows_ = fill("nodes", input_.nodes);
    allocation_rows_ = fill("allocations", input_.allocations);
    request_rows_ = fill("requests", input_.requests);
    fill("reservations", input_.reservations);
  }

  const raw::Input& input() const noexcept { return input_; }

  // One overload a kind of column, for for_each_field().
  void operator()(std::string_view, raw::Optional<raw::Names>& c) { c = names(); }
  void operator()(std::string_view field, raw::Optional<raw::Reference>& c) {
    const bool needed = field == "operation" || field == "node" || field == "request";
    if (field == "allocation" ? !hostile() : !needed && !maybe()) return;
    std::vector<std::int64_t> index(length());
    const auto rows = static_cast<std::int64_t>(field == "parent" ? 0 : rows_of_target(field));
    for (std::size_t i = 0; i < index.size(); ++i) {
      const std::int64_t last = field == "parent" ? static_cast<std::int64_t>(i) - 1 : rows - 1;
      const std::int64_t low = needed && last >= 0 ? 0 : -1;
      index[i] = hostile() ? bytes_.ConsumeIntegral<std::int64_t>()
                           : bytes_.ConsumeIntegralInRange<std::int64_t>(low, last);
    }
    c.emplace();
    if (bytes_.ConsumeBool())
      c->index = keep(std::move(index));
    else
      c->names = names_of(index);
  }
  void operator()(std::string_view, raw::Optional<raw::Numbers>& c) {
    if (maybe()) c = numbers(length(), 1.0);
  }
  void operator()(std::string_view field, raw::Optional<raw::Amounts>& c) {
    if (maybe() && (!is_risky(field) || maybe()))
      c = raw::Amounts{
          numbers(length() * resources_, field == "best_allocation_share" ? 0.2 : kUnit)};
  }
  void operator()(std::string_view field, raw::Optional<raw::Codes>& c) {
    if (!maybe() || (is_risky(field) && !maybe())) return;
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
  static constexpr double kUnit = 3072.0;  // a multiple of every likely quantum

  // Fields that contradict others unless chosen with care.
  static bool is_risky(std::string_view field) {
    return field == "held" || field == "mode" || field == "integral.type" ||
           field == "integral.burst";
  }
  std::size_t rows_of_target(std::string_view field) const {
    if (field == "pool") return pool_rows_;
    if (field == "operation") return operation_rows_;
    if (field == "request") return request_rows_;
    return field == "allocation" ? allocation_rows_ : node_rows_;
  }

  bool maybe() { return bytes_.ConsumeIntegralInRange<int>(0, 3) == 0; }
  // Never, or one time in 512, 128 or 32: a single wrong value among right ones
  // gets furthest.
  bool hostile() {
    return hostility_ > 0 && bytes_.ConsumeIntegralInRange<int>(0, 2048 >> 2 * hostility_) == 1;
  }

  // The table's rows, now and then something else.
  std::size_t length() {
    return hostile() ? bytes_.ConsumeIntegralInRange<std::size_t>(0, 9) : rows_;
  }

  template <class Table>
  std::size_t fill(std::string_view name, Table& table) {
    rows_ = name == "root" ? 1 : bytes_.ConsumeIntegralInRange<std::size_t>(0, 6);
    const bool hangs = name == "allocations" || name == "requests";
    if (hangs && operation_rows_ == 0 && !hostile()) rows_ = 0;
    if (name == "reservations" && (node_rows_ == 0 || request_rows_ == 0) && !hostile()) rows_ = 0;
    if (rows_ > 0) raw::for_each_field(table, *this);
    return rows_;
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
    if (hostile()) r.capacity = raw::Amounts{numbers(resources_, kUnit)};
    if (maybe()) input_.total = raw::Amounts{numbers(resources_, kUnit)};
    input_.now.seconds = real(9.0);
    if (maybe()) input_.previous_update = raw::Instant{real(1.0), {}};
    input_.rounding = maybe() ? raw::Rounding::kNearest : raw::Rounding::kExact;
  }

  double real(double scale) {
    if (hostile()) {
      constexpr double kEdges[] = {-1.0,      -0.0,   0.5,      NAN,  INFINITY,
                                   -INFINITY, 0x1p60, 0x1.8p60, 1e300};
      const auto choice = bytes_.ConsumeIntegralInRange<std::size_t>(0, std::size(kEdges));
      if (choice < std::size(kEdges)) return kEdges[choice];
      const auto bits = bytes_.ConsumeIntegral<std::uint64_t>();
      double value;
      std::memcpy(&value, &bits, sizeof value);
      return value;
    }
    return scale * bytes_.ConsumeIntegralInRange<int>(1, 5);
  }
  std::int64_t whole(double scale) {
    if (hostile()) return bytes_.ConsumeIntegral<std::int64_t>();
    return bytes_.ConsumeIntegralInRange<std::int64_t>(0, 1) *
           (scale < kUnit ? 1 : static_cast<std::int64_t>(kUnit));
  }
  raw::Numbers numbers(std::size_t cells, double scale) {
    raw::Numbers result;
    if (bytes_.ConsumeBool()) {
      std::vector<double> values(cells);
      for (double& v : values) v = real(scale);
      result.reals = keep(std::move(values));
    } else {
      std::vector<std::int64_t> values(cells);
      for (std::int64_t& v : values) v = whole(scale);
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

  // Name of row i, distinct for the few rows there are and not in their order.
  static std::int64_t number(std::size_t i) { return static_cast<std::int64_t>((i * 5 + 3) % 7); }

  raw::Names names() {
    std::vector<std::int64_t> rows(length());
    std::iota(rows.begin(), rows.end(), 0);
    return names_of(rows);
  }
  // Names of rows, null for negative ones.
  raw::Names names_of(const std::vector<std::int64_t>& rows) {
    const auto name = [&](std::int64_t row) {
      return hostile() ? whole(1.0) : number(static_cast<std::size_t>(row));
    };
    raw::Names result;
    if (maybe()) {
      std::vector<std::int64_t> values;
      for (const std::int64_t row : rows) values.push_back(name(row));
      result.integers = keep(std::move(values));
    } else {
      std::string& all = texts_.emplace_back();
      std::vector<std::int64_t> ends{0};
      for (const std::int64_t row : rows) {
        all += hostile() ? bytes_.ConsumeRandomLengthString(20) : std::to_string(name(row));
        ends.push_back(static_cast<std::int64_t>(all.size()));
      }
      if (hostile()) ends.back() = bytes_.ConsumeIntegral<std::int64_t>();
      result.strings = {all, keep(std::move(ends))};
      if (maybe()) result.is_integer = mask(rows.size());
    }
    std::vector<std::uint8_t> given;
    for (const std::int64_t row : rows) given.push_back(row < 0 ? 0 : 1);
    result.given = keep(std::move(given));
    return result;
  }

  template <class T>
  std::span<const T> keep(std::vector<T> values) {
    return std::get<std::deque<std::vector<T>>>(kept_).emplace_back(std::move(values));
  }

  FuzzedDataProvider bytes_;
  std::size_t resources_ = 1, rows_ = 0;
  std::size_t pool_rows_ = 0, operation_rows_ = 0, node_rows_ = 0, allocation_rows_ = 0,
              request_rows_ = 0;
  int hostility_ = 0;
  raw::Input input_;
  std::tuple<std::deque<std::vector<double>>, std::deque<std::vector<std::int64_t>>,
             std::deque<std::vector<std::int32_t>>, std::deque<std::vector<std::uint8_t>>>
      kept_;
  std::deque<std::string> texts_;
};

}  // namespace evenhand::fuzz
