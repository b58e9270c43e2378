// From raw columns to frozen tables: validation, quanta, canonical order, and
// what follows from the rows (groupings, demand, usage, total).
//
// Source: the snapshot format (docs/reference/snapshot) and, for the rules of
// pools, YTsaurus' configuration rules. Bad data never throws: everything that
// is wrong is collected. The same rows in any order give the same bytes.
// O(n) for tables in canonical order or with names that differ in the eight
// bytes after their common prefix, else O(n log n). One thread.
#pragma once

#include <optional>
#include <variant>

#include "evenhand/model/problems.h"
#include "evenhand/model/raw.h"
#include "evenhand/model/row_order.h"
#include "evenhand/model/tables.h"

namespace evenhand {

// Canonical row -> input row of each table; of pools without the root.
struct RowOrders {
  RowOrder pools, operations, nodes, allocations, requests, reservations;
};

struct Built {
  Tables tables;
  RowOrders orders;
};

std::variant<Built, Problems> build(const raw::Input& input);

// The same rows at another instant: one copy of the columns.
std::variant<Built, Problems> at_instant(Built built, const raw::Instant& now,
                                         const std::optional<raw::Instant>& previous_update);

}  // namespace evenhand
