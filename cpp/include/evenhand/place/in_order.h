// Some rows of a live table in canonical order.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "evenhand/model/live_table.h"

namespace evenhand {

// O(n), O(n log n) where rows came later.
template <class Columns>
void put_in_order(const LiveTable<Columns>& table, std::span<Id> rows) {
  const auto rank = [&](Id row) { return table.keys().rank(row); };
  if (!std::ranges::is_sorted(rows, {}, rank)) std::ranges::sort(rows, {}, rank);
}

template <class Columns>
Column<Id> in_order(const LiveTable<Columns>& table, std::span<const Id> rows) {
  Column<Id> out(rows.begin(), rows.end());
  put_in_order(table, out);
  return out;
}

}  // namespace evenhand
