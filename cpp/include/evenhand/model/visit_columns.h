// Every column of the tables by name: one list for fingerprints, memory and bindings.
#pragma once

#include <limits>
#include <string_view>
#include <type_traits>

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

// How a column stores its rows: what an absent cell holds, whether the column is empty
// while every cell does, and whether a row has one cell a resource.
template <class T>
struct Cells {
  T absent;
  bool sparse, each;
};
template <class T>
constexpr Cells<T> dense(T absent) {
  return {absent, false, false};
}
template <class T>
constexpr Cells<T> sparse(T absent) {
  return {absent, true, false};
}
template <class T>
constexpr Cells<T> each(T absent) {
  return {absent, false, true};
}
template <class T>
constexpr Cells<T> sparse_each(T absent) {
  return {absent, true, true};
}

// Calls visit(field, &Columns::column, cells) for every column; for names and texts
// the third is 0.
template <class Visit>
void visit_members(const OperationColumns*, Visit&& visit) {
  using T = OperationColumns;
  visit("name", &T::names, 0);
  visit("pool", &T::pool, dense(kNoId));
  visit("user", &T::user, 0);
  visit("project", &T::project, 0);
  visit("account", &T::account, 0);
  visit("partition", &T::partition, 0);
  visit("qos", &T::qos, 0);
  visit("weight", &T::weight, dense(1.0));
  visit("priority", &T::priority, sparse(0.0));
  visit("priority_given", &T::priority_given, sparse(std::uint8_t{0}));
  visit("demand", &T::demand, each(Amount{0}));
  visit("usage", &T::usage, each(Amount{0}));
  visit("limits", &T::limits, each(Amount{0}));
  visit("limits_given", &T::limits_given, dense(ResourceMask{0}));
  visit("gang", &T::gang, dense(std::uint8_t{0}));
  visit("best_allocation_share", &T::best_allocation_share, sparse_each(1.0));
  visit("start_time", &T::start_time, dense(Time{0}));
  visit("fifo_start_time", &T::fifo_start_time, dense(Time{0}));
  visit("kind", &T::kind, dense(OperationKind::kBatch));
  visit("order", &T::order, sparse(kNoOrder));
}

template <class Visit>
void visit_members(const NodeColumns*, Visit&& visit) {
  using T = NodeColumns;
  visit("name", &T::names, 0);
  visit("capacity", &T::capacity, each(Amount{0}));
  visit("tags", &T::tags, 0);
  visit("schedulable", &T::schedulable, dense(std::uint8_t{1}));
  visit("overcommitted_since", &T::overcommitted_since, sparse(kNoTime));
  visit("physical", &T::physical, 0);
  visit("swap_free", &T::swap_free, sparse(Amount{-1}));
  visit("order", &T::order, sparse(kNoOrder));
}

template <class Visit>
void visit_members(const AllocationColumns*, Visit&& visit) {
  using T = AllocationColumns;
  visit("name", &T::names, 0);
  visit("operation", &T::operation, dense(kNoId));
  visit("node", &T::node, dense(kNoId));
  visit("resources", &T::resources, each(Amount{0}));
  visit("start_time", &T::start_time, dense(Time{0}));
  visit("last_job_start_time", &T::last_job_start_time, sparse(kNoTime));
  visit("last_progress_time", &T::last_progress_time, sparse(kNoTime));
  visit("planned_end", &T::planned_end, sparse(kNoTime));
  visit("priority", &T::priority, sparse(0.0));
  visit("priority_given", &T::priority_given, sparse(std::uint8_t{0}));
  visit("state", &T::state, dense(AllocationState::kRunning));
  visit("deadline", &T::deadline, sparse(kNoTime));
  visit("beneficiary.operation", &T::beneficiary_operation, 0);
  visit("beneficiary.request", &T::beneficiary_request, 0);
  visit("held", &T::held, sparse_each(Amount{0}));
  visit("interruptible", &T::interruptible, sparse(std::uint8_t{0}));
  visit("checkpointable", &T::checkpointable, sparse(std::uint8_t{0}));
  visit("rerunnable", &T::rerunnable, sparse(std::uint8_t{0}));
  visit("preemptible", &T::preemptible, sparse(std::uint8_t{1}));
  visit("originator", &T::originator, sparse(std::uint8_t{0}));
  visit("required_node", &T::required_node, sparse(kNoId));
  visit("order", &T::order, sparse(kNoOrder));
}

template <class Visit>
void visit_members(const RequestColumns*, Visit&& visit) {
  using T = RequestColumns;
  visit("name", &T::names, 0);
  visit("operation", &T::operation, dense(kNoId));
  visit("resources", &T::resources, each(Amount{0}));
  visit("count", &T::count, dense(Index{1}));
  visit("gang", &T::gang, dense(std::uint8_t{0}));
  visit("submit_time", &T::submit_time, dense(Time{0}));
  visit("priority", &T::priority, sparse(0.0));
  visit("priority_given", &T::priority_given, sparse(std::uint8_t{0}));
  visit("duration", &T::duration, sparse(kNoTime));
  visit("node_tags", &T::node_tags, 0);
  visit("required_node", &T::required_node, sparse(kNoId));
  visit("preemptible", &T::preemptible, sparse(std::uint8_t{1}));
  visit("reserve", &T::reserve, sparse(std::uint8_t{0}));
  visit("order", &T::order, sparse(kNoOrder));
}

template <class Visit>
void visit_members(const ReservationColumns*, Visit&& visit) {
  using T = ReservationColumns;
  visit("name", &T::names, 0);
  visit("request", &T::request, dense(kNoId));
  visit("allocation", &T::allocation, dense(kNoId));
  visit("node", &T::node, dense(kNoId));
  visit("resources", &T::resources, each(Amount{0}));
  visit("from", &T::from, sparse(kNoTime));
  visit("until", &T::until, sparse(kNoTime));
  visit("soft", &T::soft, sparse(std::uint8_t{0}));
}

// The times of start of a table with such a member.
template <class Member>
const Column<Time>& start_times(const auto& t) {
  return t.start_time;
}

// The columns of a table by name, as for pools.
template <class Columns, class Visit>
void visit_columns(const Columns& t, Visit&& visit) {
  visit_members(
      &t, [&]<class Member, class Of>(std::string_view field, Member member, const Of& cells) {
        if constexpr (std::is_same_v<Of, int>) {
          visit(field, t.*member, cells);
        } else {
          if constexpr (std::is_same_v<Member, Column<Time> AllocationColumns::*>)
            if (member == &AllocationColumns::last_job_start_time && (t.*member).empty())
              return visit(field, start_times<Member>(t), Time{0});
          visit(field, t.*member, cells.absent);
        }
      });
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
