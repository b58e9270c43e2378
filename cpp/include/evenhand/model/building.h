// Work in progress of build(): the steps in the order in which they run. Each
// reports what is wrong and leaves tables that the next can read all the same.
#pragma once

#include <optional>

#include "evenhand/model/amounts.h"
#include "evenhand/model/names.h"
#include "evenhand/model/raw.h"
#include "evenhand/model/table_rows.h"
#include "evenhand/model/tables.h"

namespace evenhand {

struct Building {
  explicit Building(const raw::Input& raw) : input(raw) {}

  const raw::Input& input;
  Problems problems;
  Tables tables;
  std::optional<AmountScale> scale;

  NameText pool_names, operation_names, node_names, allocation_names, request_names,
      reservation_names;
  TableRows root, pools, operations, nodes, allocations, requests, reservations;
};

// Row counts, offsets, masks: false if columns cannot be read at all.
bool check_shapes(const raw::Input& input, Problems& problems);
// False if amounts cannot be read at all.
bool build_resources(Building& b);
// Names, uniqueness, canonical order of every table.
void order_rows(Building& b);

void build_pools(Building& b);
void build_operations(Building& b);
void build_nodes(Building& b);
void build_allocations(Building& b);
void build_requests(Building& b);
void build_reservations(Building& b);

// Cycles of parents (cut at one pool, so that what follows ends), children, top_down.
void build_tree(Building& b);
void check_pool_rules(Building& b);

// What follows from several tables.
void group_rows(Tables& t);
// Children of the pools and their order from the root down: follows from the parents.
void order_tree(Tables& t);
void derive_usage_and_demand(Building& b);
void derive_total(Building& b);
Column<Amount> derived_total(const Tables& t);  // where none is stated
void read_instants(const raw::Instant& now, const std::optional<raw::Instant>& previous_update,
                   Tables& tables, Problems& problems);
void check_sums(Building& b);

// Members of each of `groups` groups in ascending order; kNoId is in none. O(n).
Grouping grouped(const Column<Id>& group_of, std::size_t groups);

}  // namespace evenhand
