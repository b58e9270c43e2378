// Every column of the tables by name: one list for fingerprints, memory and bindings.
#pragma once

#include <limits>
#include <string_view>

#include "evenhand/model/tables.h"

namespace evenhand {

// What a sparse column stands for while it is empty; columns that are not
// sparse and columns of amounts pass zero.
inline constexpr double kNoOrder = std::numeric_limits<double>::quiet_NaN();

// Calls visit(field, column, absent) for every column of a table. The names are
// those of the file format; masks are `<field>_given`.
template <class Visit>
void visit_columns(const PoolColumns& t, Visit&& visit) {
  visit("name", t.names, 0);
  visit("parent", t.parent, kNoId);
  visit("top_down", t.top_down, kNoId);
  visit("weight", t.weight, 1.0);
  visit("mode", t.mode, PoolMode::kFairShare);
  visit("strong_guarantee", t.strong_guarantee, Amount{0});
  visit("strong_guarantee_given", t.strong_guarantee_given, ResourceMask{0});
  visit("limits", t.limits, Amount{0});
  visit("limits_given", t.limits_given, ResourceMask{0});
  const IntegralColumns& i = t.integral;
  visit("integral.type", i.type, IntegralType::kNone);
  visit("integral.resource_flow", i.resource_flow, Amount{0});
  visit("integral.burst", i.burst, Amount{0});
  visit("integral.relaxed_share_multiplier_limit", i.relaxed_share_multiplier_limit, 3.0);
  visit("integral.can_accept_free_volume", i.can_accept_free_volume, std::uint8_t{1});
  visit("integral.should_distribute_free_volume_among_children",
        i.should_distribute_free_volume_among_children, std::uint8_t{0});
  visit("integral.accumulated_volume", i.accumulated_volume, 0.0);
  visit("integral.last_share_ratio", i.last_share_ratio, 0.0);
  visit("step_function_for_gang", t.step_function_for_gang, std::uint8_t{1});
  visit("fifo_reordering", t.fifo_reordering, std::uint8_t{0});
  visit("compute_promised_guarantee", t.compute_promised_guarantee, std::uint8_t{0});
  visit("priority_strong_guarantee", t.priority_strong_guarantee, std::uint8_t{0});
  visit("priority_donor", t.priority_donor, std::uint8_t{0});
  visit("order", t.order, kNoOrder);
}

template <class Visit>
void visit_columns(const OperationColumns& t, Visit&& visit) {
  visit("name", t.names, 0);
  visit("pool", t.pool, kNoId);
  visit("user", t.user, 0);
  visit("project", t.project, 0);
  visit("account", t.account, 0);
  visit("partition", t.partition, 0);
  visit("qos", t.qos, 0);
  visit("weight", t.weight, 1.0);
  visit("priority", t.priority, 0.0);
  visit("priority_given", t.priority_given, std::uint8_t{0});
  visit("demand", t.demand, Amount{0});
  visit("usage", t.usage, Amount{0});
  visit("limits", t.limits, Amount{0});
  visit("limits_given", t.limits_given, ResourceMask{0});
  visit("gang", t.gang, std::uint8_t{0});
  visit("best_allocation_share", t.best_allocation_share, 1.0);
  visit("start_time", t.start_time, Time{0});
  visit("fifo_start_time", t.fifo_start_time, Time{0});
  visit("kind", t.kind, OperationKind::kBatch);
  visit("order", t.order, kNoOrder);
}

template <class Visit>
void visit_columns(const NodeColumns& t, Visit&& visit) {
  visit("name", t.names, 0);
  visit("capacity", t.capacity, Amount{0});
  visit("tags", t.tags, 0);
  visit("schedulable", t.schedulable, std::uint8_t{1});
  visit("overcommitted_since", t.overcommitted_since, kNoTime);
  visit("physical", t.physical, 0);
  visit("swap_free", t.swap_free, Amount{-1});
  visit("order", t.order, kNoOrder);
}

template <class Visit>
void visit_columns(const AllocationColumns& t, Visit&& visit) {
  visit("name", t.names, 0);
  visit("operation", t.operation, kNoId);
  visit("node", t.node, kNoId);
  visit("resources", t.resources, Amount{0});
  visit("start_time", t.start_time, Time{0});
  visit("last_job_start_time", t.last_job_start_time.empty() ? t.start_time : t.last_job_start_time,
        Time{0});
  visit("last_progress_time", t.last_progress_time, kNoTime);
  visit("planned_end", t.planned_end, kNoTime);
  visit("priority", t.priority, 0.0);
  visit("priority_given", t.priority_given, std::uint8_t{0});
  visit("state", t.state, AllocationState::kRunning);
  visit("deadline", t.deadline, kNoTime);
  visit("beneficiary.operation", t.beneficiary_operation, 0);
  visit("beneficiary.request", t.beneficiary_request, 0);
  visit("held", t.held, Amount{0});
  visit("interruptible", t.interruptible, std::uint8_t{0});
  visit("checkpointable", t.checkpointable, std::uint8_t{0});
  visit("rerunnable", t.rerunnable, std::uint8_t{0});
  visit("preemptible", t.preemptible, std::uint8_t{1});
  visit("originator", t.originator, std::uint8_t{0});
  visit("required_node", t.required_node, kNoId);
  visit("order", t.order, kNoOrder);
}

template <class Visit>
void visit_columns(const RequestColumns& t, Visit&& visit) {
  visit("name", t.names, 0);
  visit("operation", t.operation, kNoId);
  visit("resources", t.resources, Amount{0});
  visit("count", t.count, Index{1});
  visit("gang", t.gang, std::uint8_t{0});
  visit("submit_time", t.submit_time, Time{0});
  visit("priority", t.priority, 0.0);
  visit("priority_given", t.priority_given, std::uint8_t{0});
  visit("duration", t.duration, kNoTime);
  visit("node_tags", t.node_tags, 0);
  visit("required_node", t.required_node, kNoId);
  visit("preemptible", t.preemptible, std::uint8_t{1});
  visit("reserve", t.reserve, std::uint8_t{0});
  visit("order", t.order, kNoOrder);
}

template <class Visit>
void visit_columns(const ReservationColumns& t, Visit&& visit) {
  visit("name", t.names, 0);
  visit("request", t.request, kNoId);
  visit("allocation", t.allocation, kNoId);
  visit("node", t.node, kNoId);
  visit("resources", t.resources, Amount{0});
  visit("from", t.from, kNoTime);
  visit("until", t.until, kNoTime);
  visit("soft", t.soft, std::uint8_t{0});
}

// Calls visit(name, table, row count) for every table of rows.
template <class Visit>
void visit_tables(const Tables& t, Visit&& visit) {
  visit("pools", t.pools, t.pools.size());
  visit("operations", t.operations, t.operations.size());
  visit("nodes", t.nodes, t.nodes.size());
  visit("allocations", t.allocations, t.allocations.size());
  visit("requests", t.requests, t.requests.size());
  visit("reservations", t.reservations, t.reservations.size());
}

}  // namespace evenhand
