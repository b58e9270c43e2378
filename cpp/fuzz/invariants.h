// What holds for every built snapshot, whatever it was built from.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "evenhand/model/snapshot.h"
#include "evenhand/model/utf8.h"
#include "evenhand/model/visit_columns.h"

#define REQUIRE(condition)                                                 \
  do {                                                                     \
    if (!(condition)) {                                                    \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                        \
    }                                                                      \
  } while (false)

namespace evenhand::fuzz {

inline std::size_t at(Index i) { return static_cast<std::size_t>(i); }

inline void require_references(const std::vector<Id>& column, Index rows, bool none) {
  for (const Id id : column) REQUIRE((none && id == kNoId) || (id >= 0 && id < rows));
}

inline void require_amounts(const std::vector<Amount>& column) {
  for (const Amount amount : column) REQUIRE(amount >= 0 && amount <= kMaxAmount);
}

// Rows ascend by (order, name); names are unique, not empty, valid text.
inline void require_order(const NameColumn& names, const std::vector<double>& order, Index first) {
  for (Index i = first; i < names.text.size(); ++i) {
    REQUIRE(!names.text[i].empty() && is_utf8(names.text[i]));
    for (Index j = first; j < i; ++j) REQUIRE(names.text[i] != names.text[j]);
    if (i == first) continue;
    const double before = at_or(order, i - 1, kNoOrder), here = at_or(order, i, kNoOrder);
    REQUIRE(!order_less(here, before));
    if (!order_less(before, here)) REQUIRE(names.text[i - 1] < names.text[i]);
  }
}

inline void require_grouping(const Grouping& g, const std::vector<Id>& group_of, Index groups) {
  REQUIRE(static_cast<Index>(g.offsets.size()) == groups + 1 && g.offsets[0] == 0);
  REQUIRE(g.offsets.back() == static_cast<Index>(g.items.size()));
  Index members = 0;
  for (const Id group : group_of) members += group != kNoId;
  REQUIRE(members == g.offsets.back());
  for (Index group = 0; group < groups; ++group)
    for (Index i = g.offsets[at(group)]; i < g.offsets[at(group) + 1]; ++i) {
      REQUIRE(group_of[at(g.items[at(i)])] == group);
      if (i > g.offsets[at(group)]) REQUIRE(g.items[at(i) - 1] < g.items[at(i)]);
    }
}

inline void require_tree(const Tables& t) {
  const Index pools = t.pools.size();
  REQUIRE(pools >= 1 && t.pools.parent[0] == kNoId);
  require_references({t.pools.parent.begin() + 1, t.pools.parent.end()}, pools, false);
  REQUIRE(static_cast<Index>(t.pools.top_down.size()) == pools);
  std::vector<int> seen(at(pools), 0);
  for (const Id p : t.pools.top_down) {
    REQUIRE(seen[at(p)] == 0);
    REQUIRE(p == 0 || seen[at(t.pools.parent[at(p)])] == 1);
    seen[at(p)] = 1;
  }
  REQUIRE(static_cast<Index>(t.children.items.size()) == t.element_count() - 1);
  std::vector<int> listed(at(t.element_count()), 0);
  const auto order = [&](Id e) {
    return e < pools ? at_or(t.pools.order, e, kNoOrder)
                     : at_or(t.operations.order, e - pools, kNoOrder);
  };
  for (Index p = 0; p < pools; ++p)
    for (Index i = t.children.offsets[at(p)]; i < t.children.offsets[at(p) + 1]; ++i) {
      const Id child = t.children.items[at(i)];
      REQUIRE((child < pools ? t.pools.parent[at(child)] : t.operations.pool[at(child - pools)]) ==
              p);
      REQUIRE(listed[at(child)]++ == 0);
      if (i == t.children.offsets[at(p)]) continue;
      const Id before = t.children.items[at(i) - 1];
      REQUIRE(!order_less(order(child), order(before)));
      if (!order_less(order(before), order(child))) REQUIRE(before < child);
    }
}

inline void require_sums(const Tables& t) {
  const auto resources = at(t.resource_count());
  for (const auto* column : {&t.operations.usage, &t.operations.demand, &t.allocations.resources,
                             &t.nodes.capacity, &t.reservations.resources}) {
    require_amounts(*column);
    std::vector<Amount> sum(resources, 0);
    for (std::size_t i = 0; i < column->size(); ++i) {
      sum[i % resources] += (*column)[i];
      REQUIRE(sum[i % resources] <= kMaxAmount);
    }
  }
  for (std::size_t i = 0; i < t.operations.usage.size(); ++i)
    REQUIRE(t.operations.usage[i] <= t.operations.demand[i]);
  for (std::size_t i = 0; i < t.allocations.held.size(); ++i)
    REQUIRE(t.allocations.held[i] <= t.allocations.resources[i]);
  require_amounts(t.total);
  require_amounts(t.pools.strong_guarantee);
  require_amounts(t.pools.limits);
  require_amounts(t.operations.limits);
  require_amounts(t.requests.resources);
}

inline void require_shapes(const Tables& t) {
  visit_tables(t, [&](std::string_view, const auto& table, Index rows) {
    visit_columns(table, [&](std::string_view, const auto& column, const auto&) {
      using Column = std::decay_t<decltype(column)>;
      if constexpr (std::is_same_v<Column, NameColumn>)
        REQUIRE(column.text.size() == rows);
      else if constexpr (std::is_same_v<Column, TextColumn>)
        REQUIRE(column.codes.empty() || static_cast<Index>(column.codes.size()) == rows);
      else if constexpr (std::is_same_v<Column, TextListColumn>)
        REQUIRE(column.offsets.size() == 1 ||
                static_cast<Index>(column.offsets.size()) == rows + 1);
      else
        REQUIRE(column.empty() || static_cast<Index>(column.size()) == rows ||
                static_cast<Index>(column.size()) == rows * t.resource_count());
    });
  });
}

inline void require_invariants(const Tables& t) {
  require_shapes(t);
  require_order(t.pools.names, t.pools.order, 1);
  require_order(t.operations.names, t.operations.order, 0);
  require_order(t.nodes.names, t.nodes.order, 0);
  require_order(t.allocations.names, t.allocations.order, 0);
  require_order(t.requests.names, t.requests.order, 0);
  require_order(t.reservations.names, {}, 0);
  require_tree(t);
  require_references(t.allocations.operation, t.operations.size(), false);
  require_references(t.allocations.node, t.nodes.size(), true);
  require_references(t.allocations.required_node, t.nodes.size(), true);
  require_references(t.requests.operation, t.operations.size(), false);
  require_references(t.requests.required_node, t.nodes.size(), true);
  require_references(t.reservations.node, t.nodes.size(), false);
  require_references(t.reservations.request, t.requests.size(), true);
  require_references(t.reservations.allocation, t.allocations.size(), true);
  require_grouping(t.allocations_by_operation, t.allocations.operation, t.operations.size());
  require_grouping(t.allocations_by_node, t.allocations.node, t.nodes.size());
  require_grouping(t.requests_by_operation, t.requests.operation, t.operations.size());
  require_sums(t);
}

// Problems read well whatever the input held.
inline void require_sentences(const Problems& problems) {
  REQUIRE(problems.total() >= 1 && !problems.kept().empty());
  REQUIRE(problems.kept().size() <= Problems::kKept);
  for (const Problem& p : problems.kept()) {
    REQUIRE(!p.table.empty() && !p.rule.empty() && !p.message.empty());
    for (const std::string* text : {&p.name, &p.field, &p.value, &p.message})
      REQUIRE(is_utf8(*text) && text->size() < 2000);
  }
}

}  // namespace evenhand::fuzz
