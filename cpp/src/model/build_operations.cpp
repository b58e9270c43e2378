#include "evenhand/model/building.h"
#include "evenhand/model/columns.h"

namespace evenhand {

void build_operations(Building& b) {
  const raw::Operations& raw = b.input.operations;
  const TableRows& rows = b.operations;
  OperationColumns& out = b.tables.operations;
  const std::size_t n = rows.size(), cells = n * b.scale->resource_count();
  if (!raw.name) return;

  append_names(rows, *raw.name, out.names);
  out.pool = filled(RowFinder(b.pools, 1).read(rows, "pool", raw.pool, false), n, kNoId);
  for (Id& pool : out.pool)
    if (pool == kNoId) pool = 0;
  out.user = read_text(rows, "user", raw.user);
  out.project = read_text(rows, "project", raw.project);
  out.account = read_text(rows, "account", raw.account);
  out.partition = read_text(rows, "partition", raw.partition);
  out.qos = read_text(rows, "qos", raw.qos);
  out.weight = filled(read_numbers(rows, "weight", raw.weight, 1.0, kPositive), n, 1.0);
  read_priority(rows, raw.priority, out.priority, out.priority_given);
  // usage and demand: derive_usage_and_demand()
  out.limits =
      filled(b.scale->read(rows, "limits", raw.limits, &out.limits_given), cells, Amount{0});
  out.gang = filled(read_flags(rows, "gang", raw.gang, false), n, std::uint8_t{0});
  out.best_allocation_share =
      b.scale->read_shares(rows, "best_allocation_share", raw.best_allocation_share);
  out.start_time = filled(read_times(rows, "start_time", raw.start_time, 0), n, Time{0});
  out.fifo_start_time = read_times(rows, "fifo_start_time", raw.fifo_start_time, kNoTime);
  if (out.fifo_start_time.empty()) out.fifo_start_time.assign(n, kNoTime);
  for (std::size_t i = 0; i < n; ++i)
    if (out.fifo_start_time[i] == kNoTime) out.fifo_start_time[i] = out.start_time[i];
  out.kind =
      filled(read_enum(rows, "kind", raw.kind, OperationKind::kSystem), n, OperationKind::kBatch);
}

}  // namespace evenhand
