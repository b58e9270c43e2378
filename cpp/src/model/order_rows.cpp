#include <algorithm>
#include <cmath>

#include "evenhand/model/building.h"
#include "evenhand/model/columns.h"

namespace evenhand {
namespace {

// `orders`, where given: the canonical column of `order` values (sparse).
TableRows ordered(std::string_view table, std::string_view row,
                  const raw::Optional<raw::Names>& names, NameText& text,
                  const raw::Optional<raw::Numbers>& order, Column<double>& orders,
                  Problems& problems) {
  TableRows rows{table, row, RowOrder(), {}, &problems};
  if (!names) return rows;
  text = NameText(*names);
  rows.names = text.strings();
  rows.order = RowOrder(rows.names.size());

  Column<double> keys = read_numbers(rows, "order", order, std::nan(""), kAnyNumber);
  std::vector<Duplicate> duplicates;
  rows.order = sorted_by_name(rows.names, duplicates);
  if (std::any_of(keys.begin(), keys.end(), [](double k) { return !std::isnan(k); })) {
    rows.order = sorted_by_key(std::move(rows.order), keys);
    orders.resize(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) orders[i] = keys[rows.order.input(i)];
  }
  check_names(rows, *names, duplicates);
  return rows;
}

}  // namespace

void order_rows(Building& b) {
  const raw::Input& in = b.input;
  Tables& t = b.tables;
  Problems& p = b.problems;
  b.root = {"root", "root", RowOrder(1), {}, &p, true};
  Column<double> pool_orders;
  b.pools = ordered("pools", "pool", in.pools.name, b.pool_names, in.pools.order, pool_orders, p);
  if (!pool_orders.empty()) {
    t.pools.order.push_back(std::nan(""));
    t.pools.order.insert(t.pools.order.end(), pool_orders.begin(), pool_orders.end());
  }
  b.operations = ordered("operations", "operation", in.operations.name, b.operation_names,
                         in.operations.order, t.operations.order, p);
  b.nodes = ordered("nodes", "node", in.nodes.name, b.node_names, in.nodes.order, t.nodes.order, p);
  b.allocations = ordered("allocations", "allocation", in.allocations.name, b.allocation_names,
                          in.allocations.order, t.allocations.order, p);
  b.requests = ordered("requests", "request", in.requests.name, b.request_names, in.requests.order,
                       t.requests.order, p);
  Column<double> no_orders;
  b.reservations = ordered("reservations", "reservation", in.reservations.name, b.reservation_names,
                           {}, no_orders, p);
}

}  // namespace evenhand
