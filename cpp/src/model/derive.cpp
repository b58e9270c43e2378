// What follows from several tables: groupings, usage, demand, total, and that
// every sum stays within kMaxAmount.
#include <algorithm>
#include <numeric>

#include "evenhand/model/building.h"
#include "evenhand/model/columns.h"

namespace evenhand {
namespace {

Index group_size(const Grouping& groups, std::size_t group) {
  return groups.offsets[group + 1] - groups.offsets[group];
}

void report_sum(Building& b, std::string_view table, std::string_view field, std::size_t r,
                std::string_view what) {
  b.problems.add([&] {
    const Field cell{field, b.scale->resource_name(r)};
    return Problem{.table = std::string(table),
                   .row = kNoId,
                   .name = {},
                   .field = cell.text(),
                   .rule = "overflow",
                   .value = {},
                   .message = concat(what, " add up to more than 2^60 quanta of ",
                                     b.tables.resources.quantum[r], " in ", cell.text(),
                                     "; choose a larger unit or quantum")};
  });
}

void check_column_sum(Building& b, std::string_view table, std::string_view field,
                      const Column<Amount>& amounts, std::string_view what) {
  const std::size_t resources = b.scale->resource_count();
  Column<Amount> sums(resources, 0);
  Column<std::uint8_t> beyond(resources, 0);
  for (std::size_t i = 0; i < amounts.size(); i += resources)
    for (std::size_t r = 0; r < resources; ++r)
      if (!add_checked(sums[r], amounts[i + r])) beyond[r] = 1;
  for (std::size_t r = 0; r < resources; ++r)
    if (beyond[r]) report_sum(b, table, field, r, what);
}

// Amounts of the child pools of every pool.
void check_child_sums(Building& b, std::string_view field, const Column<Amount>& amounts) {
  const PoolColumns& pools = b.tables.pools;
  const std::size_t resources = b.scale->resource_count();
  Column<Amount> sums(pools.parent.size() * resources, 0);
  for (std::size_t p = 1; p < pools.parent.size(); ++p)
    for (std::size_t r = 0; r < resources; ++r)
      if (!add_checked(sums.row(pools.parent[p], resources)[r], amounts[p * resources + r]))
        report_sum(b, "pools", field, r,
                   concat("the children of the pool ", quoted(pools.names.text[pools.parent[p]])));
}

// What an allocation has that counts as used: all of it while it runs or is
// suspended by a person, nothing while it is leaving, and what it keeps once
// the engine has preempted it.
const Amount* used_by(const AllocationColumns& a, std::size_t row, std::size_t resources) {
  switch (a.state[row]) {
    case AllocationState::kRunning:
    case AllocationState::kSuspended:
      return a.resources.row(row, resources);
    case AllocationState::kPreempted:
      return a.held.empty() ? nullptr : a.held.row(row, resources);
    case AllocationState::kPreempting:
      break;
  }
  return nullptr;
}

struct Derived {
  Column<Amount> usage, pending;  // N x R, of operations; negative: unknown
};

// A sum with a faulty amount in it is unknown: what is added later is not enough
// to make it positive without breaking kMaxAmount.
constexpr Amount kUnknownSum = -4 * kMaxAmount;

void add(Amount& sum, Amount amount) {
  if (amount < 0)
    sum = kUnknownSum;
  else
    add_checked(sum, amount);
}

// Sums beyond kMaxAmount are cut to it: check_sums() reports them.
Derived add_up(const Tables& t, std::size_t resources) {
  const std::size_t cells = t.operations.pool.size() * resources;
  Derived d{Column<Amount>(cells, 0), Column<Amount>(cells, 0)};
  for (std::size_t i = 0; i < t.allocations.operation.size(); ++i) {
    const Amount* used = used_by(t.allocations, i, resources);
    if (used == nullptr || t.allocations.operation[i] == kNoId) continue;
    Amount* sum = d.usage.row(t.allocations.operation[i], resources);
    for (std::size_t r = 0; r < resources; ++r) add(sum[r], used[r]);
  }
  for (std::size_t i = 0; i < t.requests.operation.size(); ++i) {
    if (t.requests.operation[i] == kNoId) continue;
    Amount* sum = d.pending.row(t.requests.operation[i], resources);
    for (std::size_t r = 0; r < resources; ++r)
      add(sum[r], std::min(kMaxAmount, times_checked(t.requests.resources[i * resources + r],
                                                     t.requests.count[i])));
  }
  return d;
}

std::string difference(const AmountScale& scale, Amount given, Amount sum, std::size_t r) {
  return given > sum ? concat(scale.units(given - sum, r), " less")
                     : concat(scale.units(sum - given, r), " more");
}

}  // namespace

Grouping grouped(const Column<Id>& group_of, std::size_t groups) {
  Grouping result;
  result.offsets.assign(groups + 1, 0);
  for (const Id group : group_of)
    if (group != kNoId) ++result.offsets[group + 1];
  std::partial_sum(result.offsets.begin(), result.offsets.end(), result.offsets.begin());
  result.items.resize(at(result.offsets.back()));
  Column<Index> next(result.offsets.begin(), result.offsets.end() - 1);
  for (Id row = 0; row < group_of.rows(); ++row)
    if (group_of[row] != kNoId) result.items[next[group_of[row]]++] = row;
  return result;
}

void group_rows(Tables& t) {
  t.allocations_by_operation = grouped(t.allocations.operation, t.operations.pool.size());
  t.allocations_by_node = grouped(t.allocations.node, t.nodes.schedulable.size());
  t.requests_by_operation = grouped(t.requests.operation, t.operations.pool.size());
}

void derive_usage_and_demand(Building& b) {
  Tables& t = b.tables;
  const raw::Operations& raw = b.input.operations;
  const AmountScale& scale = *b.scale;
  const TableRows& rows = b.operations;
  const std::size_t n = rows.size(), resources = scale.resource_count(), cells = n * resources;
  Column<ResourceMask> usage_given, demand_given;
  auto& usage = t.operations.usage =
      filled(scale.read(rows, "usage", raw.usage, &usage_given), cells, Amount{0});
  auto& demand = t.operations.demand =
      filled(scale.read(rows, "demand", raw.demand, &demand_given), cells, Amount{0});
  const Derived derived = add_up(t, resources);

  for (std::size_t i = 0; i < n; ++i) {
    const bool itemised =
        group_size(t.allocations_by_operation, i) > 0 || group_size(t.requests_by_operation, i) > 0;
    for (std::size_t r = 0; r < resources; ++r) {
      const std::size_t cell = i * resources + r;
      const Amount running = derived.usage[cell], pending = derived.pending[cell];
      const std::string_view resource = scale.resource_name(r);
      if (usage[cell] < 0 || demand[cell] < 0 || running < 0 || pending < 0) continue;
      if (usage_given[i] == 0) {
        usage[cell] = running;
      } else if (itemised && usage[cell] != running) {
        const std::string text = scale.units(usage[cell], r);
        rows.problem(i, {"usage", resource}, "sum_agrees", text, "is ", text,
                     ", but its allocations that are not leaving add up to ",
                     scale.units(running, r), " (", difference(scale, usage[cell], running, r),
                     "); leave usage out or correct it");
        usage[cell] = running;
      }
      Amount wanted = usage[cell];
      if (!add_checked(wanted, pending))
        rows.problem(i, {"demand", resource}, "overflow", "", "(usage and requests) is more than ",
                     "2^60 quanta; choose a larger unit or quantum");
      if (demand_given[i] == 0) {
        demand[cell] = wanted;
      } else if (itemised && demand[cell] != wanted) {
        const std::string text = scale.units(demand[cell], r);
        rows.problem(i, {"demand", resource}, "sum_agrees", text, "is ", text, ", but its usage (",
                     scale.units(usage[cell], r), ") and its requests (", scale.units(pending, r),
                     ") add up to ", scale.units(wanted, r), " (",
                     difference(scale, demand[cell], wanted, r),
                     "); leave demand out or correct it");
        demand[cell] = wanted;
      }
      if (usage[cell] > demand[cell]) {
        const std::string text = scale.units(usage[cell], r);
        rows.problem(i, {"usage", resource}, "usage_within_demand", text, "is ", text,
                     ", more than its demand of ", scale.units(demand[cell], r),
                     "; demand includes what is running");
      }
    }
  }
}

void read_instants(const raw::Instant& now, const std::optional<raw::Instant>& previous_update,
                   Tables& t, Problems& problems) {
  t.now = read_instant(now, "now", problems);
  t.previous_update = kNoTime;
  if (!previous_update) return;
  t.previous_update = read_instant(*previous_update, "previous_update", problems);
  if (t.previous_update <= t.now) return;
  problems.add([&] {
    const auto seconds = [](Time time) {
      return to_text(static_cast<double>(time) / static_cast<double>(kMicrosecondsPerSecond));
    };
    return Problem{.table = "snapshot",
                   .row = kNoId,
                   .name = {},
                   .field = "previous_update",
                   .rule = "range",
                   .value = seconds(t.previous_update),
                   .message = concat("previous_update (", seconds(t.previous_update),
                                     ") is after now (", seconds(t.now), ")")};
  });
}

Column<Amount> derived_total(const Tables& t) {
  Column<Amount> total = t.resources.capacity;
  const std::size_t resources = total.size();
  for (std::size_t node = 0; node < t.nodes.schedulable.size(); ++node)
    if (t.nodes.schedulable[node])
      for (std::size_t r = 0; r < resources; ++r)
        add_checked(total[r], t.nodes.capacity[node * resources + r]);
  return total;
}

void derive_total(Building& b) {
  Tables& t = b.tables;
  read_instants(b.input.now, b.input.previous_update, t, b.problems);
  if (b.input.total) {
    const TableRows head{"snapshot", "snapshot", RowOrder(1), {}, &b.problems, true};
    t.total = b.scale->read(head, "total", b.input.total);
    return;
  }
  t.total = derived_total(t);
}

void check_sums(Building& b) {
  const Tables& t = b.tables;
  const std::size_t resources = b.scale->resource_count();
  check_column_sum(b, "nodes", "capacity", t.nodes.capacity, "the capacities of all nodes");
  check_column_sum(b, "allocations", "resources", t.allocations.resources,
                   "the resources of all allocations");
  check_column_sum(b, "operations", "usage", t.operations.usage, "the usages of all operations");
  check_column_sum(b, "operations", "demand", t.operations.demand, "the demands of all operations");
  check_column_sum(b, "reservations", "resources", t.reservations.resources,
                   "the resources of all reservations");
  check_child_sums(b, "strong_guarantee", t.pools.strong_guarantee);
  check_child_sums(b, "integral.resource_flow", t.pools.integral.resource_flow);
  check_child_sums(b, "integral.burst", t.pools.integral.burst);

  Column<Amount> pending(t.requests.resources.size());
  for (std::size_t i = 0; i < pending.size(); ++i)
    pending[i] = times_checked(t.requests.resources[i], t.requests.count[i / resources]);
  check_column_sum(b, "requests", "resources", pending, "all requests (resources times count)");
}

}  // namespace evenhand
