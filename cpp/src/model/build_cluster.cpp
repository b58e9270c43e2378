// Nodes and what runs on, waits for and is reserved on them.
#include <algorithm>

#include "evenhand/model/building.h"
#include "evenhand/model/columns.h"

namespace evenhand {

void build_nodes(Building& b) {
  const raw::Nodes& raw = b.input.nodes;
  const TableRows& rows = b.nodes;
  NodeColumns& out = b.tables.nodes;
  const std::size_t n = rows.size(), resources = b.scale->resource_count();
  if (!raw.name) return;

  append_names(rows, *raw.name, out.names);
  out.capacity = filled(b.scale->read(rows, "capacity", raw.capacity), n * resources, Amount{0});
  for (std::size_t r = 0; r < resources; ++r) {
    if (b.tables.resources.scope[r] != ResourceScope::kCluster) continue;
    for (std::size_t i = 0; i < n; ++i)
      if (const Amount capacity = out.capacity[i * resources + r]; capacity > 0) {
        const std::string text = b.scale->units(capacity, r);
        rows.problem(i, {"capacity", b.scale->resource_name(r)}, "scope", text, "is ", text,
                     ", but the resource belongs to the whole cluster; give its capacity under "
                     "resources");
      }
  }
  out.tags = read_text_list(rows, "tags", raw.tags);
  out.schedulable =
      filled(read_flags(rows, "schedulable", raw.schedulable, true), n, std::uint8_t{1});
  out.overcommitted_since = unless_all(
      read_times(rows, "overcommitted_since", raw.overcommitted_since, kNoTime), kNoTime);
  out.physical = read_text(rows, "physical", raw.physical);
  out.swap_free =
      unless_all(read_integers(rows, "swap_free", raw.swap_free, -1, 0, kMaxAmount), Index{-1});
}

void build_allocations(Building& b) {
  const raw::Allocations& raw = b.input.allocations;
  const TableRows& rows = b.allocations;
  AllocationColumns& out = b.tables.allocations;
  const std::size_t n = rows.size(), resources = b.scale->resource_count();
  if (!raw.name) return;

  append_names(rows, *raw.name, out.names);
  RowFinder nodes(b.nodes, 0);
  out.operation = RowFinder(b.operations, 0).read(rows, "operation", raw.operation, true);
  out.node = filled(nodes.read(rows, "node", raw.node, false), n, kNoId);
  out.required_node =
      unless_all(nodes.read(rows, "required_node", raw.required_node, false), kNoId);
  out.resources = filled(b.scale->read(rows, "resources", raw.resources), n * resources, Amount{0});

  out.start_time = filled(read_times(rows, "start_time", raw.start_time, 0), n, Time{0});
  out.last_job_start_time =
      read_times(rows, "last_job_start_time", raw.last_job_start_time, kNoTime);
  for (std::size_t i = 0; i < out.last_job_start_time.size(); ++i)
    if (out.last_job_start_time[i] == kNoTime) out.last_job_start_time[i] = out.start_time[i];
  if (out.last_job_start_time == out.start_time) out.last_job_start_time = {};
  const auto times = [&](std::string_view field, const raw::Optional<raw::Numbers>& column) {
    return unless_all(read_times(rows, field, column, kNoTime), kNoTime);
  };
  out.last_progress_time = times("last_progress_time", raw.last_progress_time);
  out.planned_end = times("planned_end", raw.planned_end);
  out.deadline = times("deadline", raw.deadline);
  read_priority(rows, raw.priority, out.priority, out.priority_given);

  out.state = filled(read_enum(rows, "state", raw.state, AllocationState::kPreempted), n,
                     AllocationState::kRunning);
  out.beneficiary_operation = read_text(rows, "beneficiary.operation", raw.beneficiary_operation);
  out.beneficiary_request = read_text(rows, "beneficiary.request", raw.beneficiary_request);
  out.held = unless_all(b.scale->read(rows, "held", raw.held), Amount{0});
  for (std::size_t i = 0; i < out.held.size(); ++i) {
    if (out.held[i] <= out.resources[i] || out.resources[i] == kFaultyAmount) continue;
    const std::size_t r = i % resources;
    const std::string text = b.scale->units(out.held[i], r);
    rows.problem(i / resources, {"held", b.scale->resource_name(r)}, "held_within_resources", text,
                 "is ", text, ", more than its resources of ", b.scale->units(out.resources[i], r));
  }
  const auto flags = [&](std::string_view field, const raw::Optional<raw::Codes>& column,
                         bool absent) {
    return unless_all(read_flags(rows, field, column, absent), static_cast<std::uint8_t>(absent));
  };
  out.interruptible = flags("interruptible", raw.interruptible, false);
  out.checkpointable = flags("checkpointable", raw.checkpointable, false);
  out.rerunnable = flags("rerunnable", raw.rerunnable, false);
  out.preemptible = flags("preemptible", raw.preemptible, true);
  out.originator = flags("originator", raw.originator, false);
}

void build_requests(Building& b) {
  const raw::Requests& raw = b.input.requests;
  const TableRows& rows = b.requests;
  RequestColumns& out = b.tables.requests;
  const std::size_t n = rows.size(), resources = b.scale->resource_count();
  if (!raw.name) return;

  append_names(rows, *raw.name, out.names);
  out.operation = RowFinder(b.operations, 0).read(rows, "operation", raw.operation, true);
  out.required_node = unless_all(
      RowFinder(b.nodes, 0).read(rows, "required_node", raw.required_node, false), kNoId);
  out.resources = filled(b.scale->read(rows, "resources", raw.resources), n * resources, Amount{0});
  out.count = filled(read_integers(rows, "count", raw.count, 1, 0, kMaxAmount), n, Index{1});
  out.submit_time = filled(read_times(rows, "submit_time", raw.submit_time, 0), n, Time{0});
  read_priority(rows, raw.priority, out.priority, out.priority_given);
  out.duration = unless_all(read_durations(rows, "duration", raw.duration, kNoTime), kNoTime);
  out.node_tags = read_text_list(rows, "node_tags", raw.node_tags);
  out.preemptible =
      unless_all(read_flags(rows, "preemptible", raw.preemptible, true), std::uint8_t{1});
  out.reserve = unless_all(read_flags(rows, "reserve", raw.reserve, false), std::uint8_t{0});

  out.gang = filled(read_flags(rows, "gang", raw.gang, false), n, std::uint8_t{0});
  for (std::size_t i = 0; i < n; ++i) {
    const bool given = raw.gang && raw::given(raw.gang->given, rows.order.input(i));
    if (!given && out.operation[i] != kNoId)
      out.gang[i] = b.tables.operations.gang[out.operation[i]];
  }
}

void build_reservations(Building& b) {
  const raw::Reservations& raw = b.input.reservations;
  const TableRows& rows = b.reservations;
  ReservationColumns& out = b.tables.reservations;
  const std::size_t n = rows.size(), resources = b.scale->resource_count();
  if (!raw.name) return;

  append_names(rows, *raw.name, out.names);
  out.request =
      filled(RowFinder(b.requests, 0).read(rows, "request", raw.request, false), n, kNoId);
  out.allocation =
      filled(RowFinder(b.allocations, 0).read(rows, "allocation", raw.allocation, false), n, kNoId);
  out.node = RowFinder(b.nodes, 0).read(rows, "node", raw.node, true);
  out.resources = filled(b.scale->read(rows, "resources", raw.resources), n * resources, Amount{0});
  out.from = unless_all(read_times(rows, "from", raw.from, kNoTime), kNoTime);
  out.until = unless_all(read_times(rows, "until", raw.until, kNoTime), kNoTime);
  out.soft = unless_all(read_flags(rows, "soft", raw.soft, false), std::uint8_t{0});

  for (std::size_t row = 0; row < n; ++row) {
    const std::size_t i = rows.order.input(row);
    const bool request = raw.request && raw::given(*raw.request, i);
    const bool allocation = raw.allocation && raw::given(*raw.allocation, i);
    if (request == allocation)
      rows.problem(row, {"request"}, "one_of", "",
                   request ? "is given together with allocation; give one of the two"
                           : "is missing, and so is allocation; give one of the two");
    const Time from = at_or(out.from, row, kNoTime);
    const Time until = at_or(out.until, row, kNoTime);
    if (from != kNoTime && until != kNoTime && until < from)
      rows.problem(row, {"until"}, "range", "", "is before its from");
  }
}

}  // namespace evenhand
