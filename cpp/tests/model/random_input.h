// A random snapshot that is right, and the same rows in another order.
#pragma once

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "arena.h"

namespace evenhand::testing {

using Rows = std::vector<std::size_t>;  // new row -> old row

// Copies the columns of one table with its rows in another order.
class Shuffler {
 public:
  Shuffler(Arena& arena, const Rows& rows, std::size_t resources,
           const std::map<std::string, Rows, std::less<>>& inverse_of)
      : arena_(arena), rows_(rows), resources_(resources), inverse_of_(inverse_of) {}

  void operator()(std::string_view, raw::Optional<raw::Names>& c) const {
    if (c) names(*c);
  }
  void operator()(std::string_view field, raw::Optional<raw::Reference>& c) const {
    if (!c) return;
    if (c->names) names(*c->names);
    if (!c->index) return;
    std::vector<std::int64_t> index = gathered(*c->index, 1);
    const Rows& inverse = inverse_of_.find(target(field))->second;
    for (std::int64_t& row : index)
      if (row >= 0) row = static_cast<std::int64_t>(inverse[static_cast<std::size_t>(row)]);
    c->index = arena_.keep(std::move(index));
  }
  void operator()(std::string_view, raw::Optional<raw::Numbers>& c) const {
    if (c) numbers(*c, 1);
  }
  void operator()(std::string_view, raw::Optional<raw::Amounts>& c) const {
    if (c) numbers(*c, resources_);
  }
  void operator()(std::string_view, raw::Optional<raw::Codes>& c) const {
    if (!c) return;
    c->values = arena_.keep(gathered(c->values, 1));
    c->given = arena_.keep(gathered(c->given, 1));
  }
  void operator()(std::string_view, raw::Optional<raw::Text>& c) const {
    if (!c) return;
    std::vector<std::int32_t> codes = gathered(c->codes, 1);
    // The dictionary of a shuffled frame is in another order, too.
    std::reverse(c->values.begin(), c->values.end());
    for (std::int32_t& code : codes)
      if (code >= 0) code = static_cast<std::int32_t>(c->values.size()) - 1 - code;
    c->codes = arena_.keep(std::move(codes));
  }
  void operator()(std::string_view, raw::Optional<raw::TextList>& c) const {
    if (!c) return;
    std::vector<std::int64_t> offsets{0};
    std::vector<std::int32_t> codes;
    for (const std::size_t old : rows_) {
      for (auto i = c->offsets[old]; i < c->offsets[old + 1]; ++i)
        codes.push_back(c->codes[static_cast<std::size_t>(i)]);
      offsets.push_back(static_cast<std::int64_t>(codes.size()));
    }
    c->offsets = arena_.keep(std::move(offsets));
    c->codes = arena_.keep(std::move(codes));
  }

 private:
  static std::string target(std::string_view field) {
    if (field == "parent" || field == "pool") return "pools";
    if (field == "required_node") return "nodes";
    return std::string(field) + "s";
  }
  template <class T>
  std::vector<T> gathered(std::span<const T> values, std::size_t width) const {
    std::vector<T> result;
    if (values.empty()) return result;
    for (const std::size_t old : rows_)
      for (std::size_t r = 0; r < width; ++r) result.push_back(values[old * width + r]);
    return result;
  }
  void numbers(raw::Numbers& c, std::size_t width) const {
    c.reals = arena_.keep(gathered(c.reals, width));
    c.integers = arena_.keep(gathered(c.integers, width));
    c.given = arena_.keep(gathered(c.given, width));
  }
  void names(raw::Names& c) const {
    c.given = arena_.keep(gathered(c.given, 1));
    c.is_integer = arena_.keep(gathered(c.is_integer, 1));
    if (c.integers) {
      c.integers = arena_.keep(gathered(*c.integers, 1));
      return;
    }
    std::vector<std::string> texts;
    for (const std::size_t old : rows_) texts.emplace_back(c.strings[old]);
    c.strings = arena_.strings(texts);
  }

  Arena& arena_;
  const Rows& rows_;
  std::size_t resources_;
  const std::map<std::string, Rows, std::less<>>& inverse_of_;
};

class RandomInput {
 public:
  explicit RandomInput(unsigned seed) : random_(seed) { fill(); }

  const raw::Input& input() const noexcept { return input_; }

  // Arrays live in `arena`.
  raw::Input shuffled(Arena& arena) {
    raw::Input in = input_;
    std::map<std::string, Rows, std::less<>> rows, inverse;
    const auto draw = [&](const char* name, const auto& table) {
      Rows order(table.name ? table.name->size() : 0);
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::shuffle(order.begin(), order.end(), random_);
      Rows& back = inverse[name];
      back.resize(order.size());
      for (std::size_t i = 0; i < order.size(); ++i) back[order[i]] = i;
      rows[name] = std::move(order);
    };
    draw("pools", in.pools);
    draw("operations", in.operations);
    draw("nodes", in.nodes);
    draw("allocations", in.allocations);
    draw("requests", in.requests);
    draw("reservations", in.reservations);
    const auto shuffle = [&](const char* name, auto& table) {
      raw::for_each_field(table, Shuffler(arena, rows[name], resources_, inverse));
    };
    shuffle("pools", in.pools);
    shuffle("operations", in.operations);
    shuffle("nodes", in.nodes);
    shuffle("allocations", in.allocations);
    shuffle("requests", in.requests);
    shuffle("reservations", in.reservations);
    return in;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool chance(int percent) { return below(100) < percent; }

  std::vector<double> draw(std::size_t n, int values) {
    std::vector<double> result(n);
    for (double& v : result) v = below(values);
    return result;
  }
  std::vector<std::uint8_t> bytes(std::size_t n, int values) {
    std::vector<std::uint8_t> result(n);
    for (std::uint8_t& v : result) v = static_cast<std::uint8_t>(below(values));
    return result;
  }
  raw::Amounts amounts(std::size_t n) {
    const std::size_t cells = n * resources_;
    return arena_.amounts(draw(cells, 20),
                          chance(50) ? bytes(cells, 2) : std::vector<std::uint8_t>());
  }
  raw::Codes flags(std::size_t n) { return arena_.codes(bytes(n, 2), bytes(n, 2)); }
  raw::Numbers times(std::size_t n) { return arena_.numbers(draw(n, 1000), bytes(n, 2)); }
  raw::Numbers order(std::size_t n) {
    return arena_.numbers(draw(n, 3), chance(30) ? std::vector<std::uint8_t>(n, 0) : bytes(n, 2));
  }
  raw::Text text(std::size_t n) {
    std::vector<std::int32_t> codes(n);
    for (std::int32_t& code : codes) code = below(4) - 1;
    return arena_.text({"ann", "bob", "cy"}, codes);
  }
  raw::TextList text_list(std::size_t n) {
    std::vector<std::int64_t> offsets{0};
    std::vector<std::int32_t> codes;
    for (std::size_t i = 0; i < n; ++i) {
      for (int k = below(3); k > 0; --k) codes.push_back(below(3));
      offsets.push_back(static_cast<std::int64_t>(codes.size()));
    }
    return arena_.text_list({"ssd", "gpu", "rack-7"}, offsets, codes);
  }
  raw::Names names(std::size_t n) {
    std::vector<std::int64_t> numbers(n);
    std::iota(numbers.begin(), numbers.end(), -2);
    std::shuffle(numbers.begin(), numbers.end(), random_);
    if (chance(40)) return arena_.integer_names(numbers);
    std::vector<std::string> texts;
    for (const std::int64_t number : numbers) texts.push_back("row " + std::to_string(number));
    return arena_.names(texts);
  }
  raw::Reference reference(std::size_t n, const raw::Names& target, bool required) {
    std::vector<std::int64_t> index(n);
    const int rows = static_cast<int>(target.size());
    for (std::int64_t& row : index) row = rows == 0 || (!required && chance(20)) ? -1 : below(rows);
    if (chance(50)) return arena_.rows(index);
    std::vector<std::optional<std::string>> texts(n);
    for (std::size_t i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(index[i]);
      if (index[i] >= 0)
        texts[i] = target.integers ? std::to_string((*target.integers)[at])
                                   : std::string(target.strings[at]);
    }
    return arena_.reference(texts);
  }

  void fill() {
    resources_ = 1 + random_() % 4;
    input_ = arena_.input(std::vector<double>(resources_, 0.5));
    fill_pools(random_() % 12);
    fill_operations(1 + random_() % 40);
    fill_nodes(random_() % 6);
    fill_allocations(random_() % 60);
    fill_requests(random_() % 10);
    fill_reservations(random_() % 5);
  }
  void fill_pools(std::size_t n) {
    raw::Pools& t = input_.pools;
    t.name = names(n);
    std::vector<std::int64_t> parents(n);
    for (std::size_t i = 0; i < n; ++i) parents[i] = below(static_cast<int>(i) + 1) - 1;
    t.parent = arena_.rows(parents);
    t.strong_guarantee = amounts(n);
    t.limits = amounts(n);
    t.priority_donor = flags(n);
    t.resource_flow = amounts(n);
    t.accumulated_volume = amounts(n);
    t.order = order(n);
  }
  void fill_operations(std::size_t n) {
    raw::Operations& t = input_.operations;
    t.name = names(n);
    t.pool = reference(n, *input_.pools.name, false);
    t.user = text(n);
    t.limits = amounts(n);
    t.gang = flags(n);
    t.priority = times(n);
    t.start_time = times(n);
    t.fifo_start_time = times(n);
    t.kind = arena_.codes(bytes(n, 4));
    t.order = order(n);
  }
  void fill_nodes(std::size_t n) {
    raw::Nodes& t = input_.nodes;
    t.name = names(n);
    t.capacity = amounts(n);
    t.tags = text_list(n);
    t.schedulable = flags(n);
    t.overcommitted_since = times(n);
    t.physical = text(n);
    t.swap_free = times(n);
    t.order = order(n);
  }
  void fill_allocations(std::size_t n) {
    raw::Allocations& t = input_.allocations;
    t.name = names(n);
    t.operation = reference(n, *input_.operations.name, true);
    t.node = reference(n, *input_.nodes.name, false);
    t.required_node = reference(n, *input_.nodes.name, false);
    t.resources = amounts(n);
    t.state = arena_.codes(bytes(n, 4));
    t.start_time = times(n);
    t.last_job_start_time = times(n);
    t.deadline = times(n);
    t.priority = times(n);
    t.beneficiary_operation = text(n);
    t.beneficiary_request = text(n);
    t.preemptible = flags(n);
    t.order = order(n);
  }
  void fill_requests(std::size_t n) {
    raw::Requests& t = input_.requests;
    t.name = names(n);
    t.operation = reference(n, *input_.operations.name, true);
    t.resources = amounts(n);
    t.count = times(n);
    t.gang = flags(n);
    t.duration = times(n);
    t.node_tags = text_list(n);
    t.order = order(n);
  }
  void fill_reservations(std::size_t n) {
    if (input_.nodes.name->size() == 0 || input_.requests.name->size() == 0) return;
    raw::Reservations& t = input_.reservations;
    t.name = names(n);
    t.node = reference(n, *input_.nodes.name, true);
    t.request = reference(n, *input_.requests.name, true);
    t.resources = amounts(n);
    t.soft = flags(n);
  }

  std::mt19937 random_;
  Arena arena_;
  raw::Input input_;
  std::size_t resources_ = 1;
};

}  // namespace evenhand::testing
