// Owns the arrays behind raw columns of a test.
#pragma once

#include <cmath>
#include <deque>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "evenhand/model/build.h"

namespace evenhand::testing {

class Arena {
 public:
  template <class T>
  std::span<const T> keep(std::vector<T> values) {
    auto& pool = std::get<std::deque<std::vector<T>>>(kept_);
    return pool.emplace_back(std::move(values));
  }

  raw::Numbers numbers(std::vector<double> values, std::vector<std::uint8_t> given = {}) {
    return {.reals = keep(std::move(values)), .given = keep(std::move(given))};
  }
  raw::Numbers integers(std::vector<std::int64_t> values, std::vector<std::uint8_t> given = {}) {
    return {.integers = keep(std::move(values)), .given = keep(std::move(given))};
  }
  raw::Amounts amounts(std::vector<double> values, std::vector<std::uint8_t> given = {}) {
    return {numbers(std::move(values), std::move(given))};
  }
  raw::Amounts whole_amounts(std::vector<std::int64_t> values) {
    return {integers(std::move(values))};
  }
  raw::Codes codes(std::vector<std::uint8_t> values, std::vector<std::uint8_t> given = {}) {
    return {.values = keep(std::move(values)), .given = keep(std::move(given))};
  }

  raw::Strings strings(const std::vector<std::string>& texts) {
    std::vector<std::int64_t> offsets{0};
    std::string& bytes = texts_.emplace_back();
    for (const std::string& text : texts) {
      bytes += text;
      offsets.push_back(static_cast<std::int64_t>(bytes.size()));
    }
    return {.bytes = bytes, .offsets = keep(std::move(offsets))};
  }
  raw::Names names(const std::vector<std::string>& texts) {
    raw::Names result;
    result.strings = strings(texts);
    return result;
  }
  raw::Names integer_names(std::vector<std::int64_t> values) {
    raw::Names result;
    result.integers = keep(std::move(values));
    return result;
  }
  // Empty optionals are nulls.
  raw::Reference reference(const std::vector<std::optional<std::string>>& texts) {
    std::vector<std::string> filled;
    std::vector<std::uint8_t> given;
    for (const auto& text : texts) {
      filled.push_back(text.value_or(""));
      given.push_back(text ? 1 : 0);
    }
    raw::Names result = names(filled);
    result.given = keep(std::move(given));
    return {.names = result, .index = {}};
  }
  raw::Reference rows(std::vector<std::int64_t> index) {
    return {.names = {}, .index = keep(std::move(index))};
  }
  raw::Text text(const std::vector<std::string>& values, std::vector<std::int32_t> codes) {
    return {views(values), keep(std::move(codes))};
  }
  raw::TextList text_list(const std::vector<std::string>& values, std::vector<std::int64_t> offsets,
                          std::vector<std::int32_t> codes) {
    return {views(values), keep(std::move(offsets)), keep(std::move(codes))};
  }
  std::vector<std::string_view> views(const std::vector<std::string>& values) {
    std::vector<std::string_view> result;
    for (const std::string& value : values) result.push_back(texts_.emplace_back(value));
    return result;
  }

  // An input without rows whose resources have these quanta: r0, r1, ...
  raw::Input input(std::vector<double> quantum = {1.0}) {
    raw::Input in;
    const std::size_t count = quantum.size();
    std::vector<std::string> names;
    for (std::size_t r = 0; r < count; ++r) names.push_back("r" + std::to_string(r));
    in.resources.names = views(names);
    in.resources.quantum = keep(std::move(quantum));
    in.resources.kind = keep(std::vector<std::uint8_t>(count, 4));
    in.resources.scope = keep(std::vector<std::uint8_t>(count, 0));
    in.resources.available_after_preemption = keep(std::vector<std::uint8_t>(count, 1));
    return in;
  }

 private:
  std::tuple<std::deque<std::vector<double>>, std::deque<std::vector<std::int64_t>>,
             std::deque<std::vector<std::int32_t>>, std::deque<std::vector<std::uint8_t>>>
      kept_;
  std::deque<std::string> texts_;
};

// The problems of an input, "none" if it builds; one line each:
// table[row] name field rule.
inline std::vector<std::string> problems(const raw::Input& in) {
  std::vector<std::string> lines;
  const auto result = build(in);
  if (const auto* p = std::get_if<Problems>(&result))
    for (const Problem& problem : p->kept())
      lines.push_back(problem.table + "[" + std::to_string(problem.row) + "] " + problem.name +
                      " " + problem.field + " " + problem.rule);
  return lines;
}

// The message of the only problem.
inline std::string only_message(const raw::Input& in) {
  const auto result = build(in);
  const auto* p = std::get_if<Problems>(&result);
  if (p == nullptr) return "no problem";
  if (p->total() != 1) return std::to_string(p->total()) + " problems: " + p->kept()[0].message;
  return p->kept()[0].message;
}

inline Tables built(const raw::Input& in) {
  auto result = build(in);
  if (auto* b = std::get_if<Built>(&result)) return std::move(b->tables);
  throw std::runtime_error(std::get<Problems>(result).kept().at(0).message);
}

}  // namespace evenhand::testing
