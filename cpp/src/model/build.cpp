#include "evenhand/model/build.h"

#include <utility>

#include "evenhand/model/building.h"

namespace evenhand {

std::variant<Built, Problems> build(const raw::Input& input) {
  Building b(input);
  if (!check_shapes(input, b.problems) || !build_resources(b)) return std::move(b.problems);
  order_rows(b);
  build_pools(b);
  build_operations(b);
  build_tree(b);
  check_pool_rules(b);
  build_nodes(b);
  build_allocations(b);
  build_requests(b);
  build_reservations(b);
  group_rows(b.tables);
  derive_usage_and_demand(b);
  derive_total(b);
  check_sums(b);
  if (!b.problems.none()) return std::move(b.problems);
  return Built{std::move(b.tables),
               {std::move(b.pools.order), std::move(b.operations.order), std::move(b.nodes.order),
                std::move(b.allocations.order), std::move(b.requests.order),
                std::move(b.reservations.order)}};
}

std::variant<Built, Problems> at_instant(Built built, const raw::Instant& now,
                                         const std::optional<raw::Instant>& previous_update) {
  Problems problems;
  read_instants(now, previous_update, built.tables, problems);
  if (!problems.none()) return problems;
  return built;
}

}  // namespace evenhand
