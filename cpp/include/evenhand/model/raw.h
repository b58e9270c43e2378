// Raw columns: what a builder hands to build(), before anything is checked.
//
// Everything here borrows: spans into arrays that the caller keeps alive and
// unchanged during the call. Row i of every column of a table is the same row;
// an absent optional means that every row takes the default. Amounts are in
// units (not quanta), times in seconds (reals) or microseconds (integers).
// Nothing is trusted: sizes, offsets, codes and text are all checked by build().
//
// Every table has for_each_field(table, visit), which calls visit(name, column)
// with the names of the file format; bindings and length checks go through it.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "evenhand/core/column.h"

namespace evenhand::raw {

// Nonzero: the cell holds a value. Empty: every cell does.
using Mask = std::span<const std::uint8_t>;

inline bool given(Mask mask, std::size_t i) noexcept { return mask.empty() || mask[i] != 0; }

// UTF-8 strings end to end: string i is bytes[offsets[i], offsets[i + 1]).
struct Strings {
  std::string_view bytes;
  std::span<const std::int64_t> offsets;  // size() + 1 of them, or none

  std::size_t size() const noexcept { return offsets.empty() ? 0 : offsets.size() - 1; }
  std::string_view operator[](std::size_t i) const noexcept {
    const auto begin = static_cast<std::size_t>(offsets[i]);
    return {bytes.data() + begin, static_cast<std::size_t>(offsets[i + 1]) - begin};
  }
};

// Names, or references by name: all integers, or strings of which some are the
// decimal text of an integer.
struct Names {
  std::optional<std::span<const std::int64_t>> integers;
  Strings strings;  // used without integers
  Mask is_integer;  // of the strings; empty: none is
  Mask given;

  std::size_t size() const noexcept { return integers ? integers->size() : strings.size(); }
};

// A reference by name, or by the row of the other table in its input order
// (-1: none). If both are there, the row counts.
struct Reference {
  std::optional<Names> names;
  std::optional<std::span<const std::int64_t>> index;
};

inline bool given(const Reference& reference, std::size_t i) noexcept {
  if (reference.index) return (*reference.index)[i] != kNoId;
  return reference.names && given(reference.names->given, i);
}

// One value a row, as reals or as integers.
struct Numbers {
  std::span<const double> reals = {};
  std::span<const std::int64_t> integers = {};
  Mask given = {};

  std::size_t size() const noexcept { return std::max(reals.size(), integers.size()); }
  bool is_real() const noexcept { return integers.empty(); }
};

// R values a row, row by row.
struct Amounts : Numbers {};

// Flags (0 or not) and enumerations (codes in the order of tables.h).
struct Codes {
  std::span<const std::uint8_t> values = {};
  Mask given = {};

  std::size_t size() const noexcept { return values.size(); }
};

struct Text {
  Column<std::string_view> values;
  std::span<const std::int32_t> codes;  // -1: none

  std::size_t size() const noexcept { return codes.size(); }
};

struct TextList {
  Column<std::string_view> values;
  std::span<const std::int64_t> offsets;
  std::span<const std::int32_t> codes;

  std::size_t size() const noexcept { return offsets.empty() ? 0 : offsets.size() - 1; }
};

template <class Cells>
using Optional = std::optional<Cells>;

struct Resources {
  std::vector<std::string_view> names;
  std::span<const double> quantum;
  std::span<const std::uint8_t> kind, scope, available_after_preemption;
  Optional<Amounts> capacity;  // of cluster-scoped resources, R cells
};

// Pools without the root; the root itself is a table of at most one row.
struct Pools {
  Optional<Names> name;
  Optional<Reference> parent;
  Optional<Numbers> weight, order;
  Optional<Amounts> strong_guarantee, limits;
  Optional<Codes> mode, step_function_for_gang, fifo_reordering, compute_promised_guarantee,
      priority_strong_guarantee, priority_donor;
  Optional<Codes> integral_type, can_accept_free_volume, should_distribute_free_volume;
  Optional<Numbers> relaxed_share_multiplier_limit, last_share_ratio;
  Optional<Amounts> resource_flow, burst, accumulated_volume;
};

struct Operations {
  Optional<Names> name;
  Optional<Reference> pool;
  Optional<Text> user, project, account, partition, qos;
  Optional<Numbers> weight, priority, start_time, fifo_start_time, order;
  Optional<Amounts> demand, usage, limits, best_allocation_share;
  Optional<Codes> gang, kind;
};

struct Nodes {
  Optional<Names> name;
  Optional<Amounts> capacity;
  Optional<Numbers> overcommitted_since, swap_free, order;
  Optional<TextList> tags;
  Optional<Codes> schedulable;
  Optional<Text> physical;
};

struct Allocations {
  Optional<Names> name;
  Optional<Reference> operation, node, required_node;
  Optional<Amounts> resources, held;
  Optional<Numbers> start_time, last_job_start_time, last_progress_time, planned_end, deadline,
      priority, order;
  Optional<Codes> state, interruptible, checkpointable, rerunnable, preemptible, originator;
  Optional<Text> beneficiary_operation, beneficiary_request;
};

struct Requests {
  Optional<Names> name;
  Optional<Reference> operation, required_node;
  Optional<Amounts> resources;
  Optional<Numbers> count, submit_time, priority, duration, order;
  Optional<Codes> gang, preemptible, reserve;
  Optional<TextList> node_tags;
};

struct Reservations {
  Optional<Names> name;
  Optional<Reference> request, allocation, node;
  Optional<Amounts> resources;
  Optional<Numbers> from, until;
  Optional<Codes> soft;
};

// Seconds or microseconds, as for columns of times.
struct Instant {
  double seconds = 0.0;
  std::optional<std::int64_t> microseconds;
};

enum class Rounding : std::uint8_t { kExact, kNearest };

struct Input {
  Resources resources;
  Optional<Amounts> total;  // R cells; none: nodes and capacities add up to it
  Instant now;
  std::optional<Instant> previous_update;
  Rounding rounding = Rounding::kExact;
  Pools root;  // one row without name, or empty
  Pools pools;
  Operations operations;
  Nodes nodes;
  Allocations allocations;
  Requests requests;
  Reservations reservations;
};

template <class Table, class Visit>
requires std::same_as<std::remove_const_t<Table>, Pools>
void for_each_field(Table& t, Visit&& visit) {
  visit("name", t.name);
  visit("parent", t.parent);
  visit("weight", t.weight);
  visit("mode", t.mode);
  visit("strong_guarantee", t.strong_guarantee);
  visit("limits", t.limits);
  visit("integral.type", t.integral_type);
  visit("integral.resource_flow", t.resource_flow);
  visit("integral.burst", t.burst);
  visit("integral.relaxed_share_multiplier_limit", t.relaxed_share_multiplier_limit);
  visit("integral.can_accept_free_volume", t.can_accept_free_volume);
  visit("integral.should_distribute_free_volume_among_children", t.should_distribute_free_volume);
  visit("integral.accumulated_volume", t.accumulated_volume);
  visit("integral.last_share_ratio", t.last_share_ratio);
  visit("step_function_for_gang", t.step_function_for_gang);
  visit("fifo_reordering", t.fifo_reordering);
  visit("compute_promised_guarantee", t.compute_promised_guarantee);
  visit("priority_strong_guarantee", t.priority_strong_guarantee);
  visit("priority_donor", t.priority_donor);
  visit("order", t.order);
}

template <class Table, class Visit>
requires std::same_as<std::remove_const_t<Table>, Operations>
void for_each_field(Table& t, Visit&& visit) {
  visit("name", t.name);
  visit("pool", t.pool);
  visit("user", t.user);
  visit("project", t.project);
  visit("account", t.account);
  visit("partition", t.partition);
  visit("qos", t.qos);
  visit("weight", t.weight);
  visit("priority", t.priority);
  visit("demand", t.demand);
  visit("usage", t.usage);
  visit("limits", t.limits);
  visit("gang", t.gang);
  visit("best_allocation_share", t.best_allocation_share);
  visit("start_time", t.start_time);
  visit("fifo_start_time", t.fifo_start_time);
  visit("kind", t.kind);
  visit("order", t.order);
}

template <class Table, class Visit>
requires std::same_as<std::remove_const_t<Table>, Nodes>
void for_each_field(Table& t, Visit&& visit) {
  visit("name", t.name);
  visit("capacity", t.capacity);
  visit("tags", t.tags);
  visit("schedulable", t.schedulable);
  visit("overcommitted_since", t.overcommitted_since);
  visit("physical", t.physical);
  visit("swap_free", t.swap_free);
  visit("order", t.order);
}

template <class Table, class Visit>
requires std::same_as<std::remove_const_t<Table>, Allocations>
void for_each_field(Table& t, Visit&& visit) {
  visit("name", t.name);
  visit("operation", t.operation);
  visit("node", t.node);
  visit("resources", t.resources);
  visit("start_time", t.start_time);
  visit("last_job_start_time", t.last_job_start_time);
  visit("last_progress_time", t.last_progress_time);
  visit("planned_end", t.planned_end);
  visit("priority", t.priority);
  visit("state", t.state);
  visit("deadline", t.deadline);
  visit("beneficiary.operation", t.beneficiary_operation);
  visit("beneficiary.request", t.beneficiary_request);
  visit("held", t.held);
  visit("interruptible", t.interruptible);
  visit("checkpointable", t.checkpointable);
  visit("rerunnable", t.rerunnable);
  visit("preemptible", t.preemptible);
  visit("originator", t.originator);
  visit("required_node", t.required_node);
  visit("order", t.order);
}

template <class Table, class Visit>
requires std::same_as<std::remove_const_t<Table>, Requests>
void for_each_field(Table& t, Visit&& visit) {
  visit("name", t.name);
  visit("operation", t.operation);
  visit("resources", t.resources);
  visit("count", t.count);
  visit("gang", t.gang);
  visit("submit_time", t.submit_time);
  visit("priority", t.priority);
  visit("duration", t.duration);
  visit("node_tags", t.node_tags);
  visit("required_node", t.required_node);
  visit("preemptible", t.preemptible);
  visit("reserve", t.reserve);
  visit("order", t.order);
}

template <class Table, class Visit>
requires std::same_as<std::remove_const_t<Table>, Reservations>
void for_each_field(Table& t, Visit&& visit) {
  visit("name", t.name);
  visit("request", t.request);
  visit("allocation", t.allocation);
  visit("node", t.node);
  visit("resources", t.resources);
  visit("from", t.from);
  visit("until", t.until);
  visit("soft", t.soft);
}

}  // namespace evenhand::raw
