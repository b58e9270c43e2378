// The columns of one scheduling domain in canonical order: plain data, no behaviour.
//
// Every table is a struct of arrays. Amounts are row-major N x R in quanta, R
// being the snapshot's own number of resources. "Absent" is a bit in a mask or
// a null value, never a magic amount. Columns marked "sparse" are empty vectors
// if every row has the default; read them through at_or().
//
// Row 0 of the pools is the root, called <Root>; a pool or operation without a
// parent belongs to it. An *element* is a pool (its row) or an operation (its
// row plus the number of pools).
#pragma once

#include <cassert>
#include <string>
#include <string_view>
#include <vector>

#include "evenhand/core/column.h"

namespace evenhand {

enum class ResourceKind : std::uint8_t { kSlots, kCpu, kMemory, kLicense, kOther };
enum class ResourceScope : std::uint8_t { kNode, kCluster };
enum class PoolMode : std::uint8_t { kFairShare, kFifo };
enum class IntegralType : std::uint8_t { kNone, kBurst, kRelaxed };
enum class OperationKind : std::uint8_t { kBatch, kInteractive, kInference, kSystem };
enum class AllocationState : std::uint8_t { kRunning, kPreempting, kSuspended, kPreempted };

// Value of a sparse column.
template <class T, std::integral Row>
T at_or(const Column<T>& column, Row row, T absent) noexcept {
  return column.empty() ? absent : column[row];
}

// Strings of one column or table laid end to end; row i is
// bytes[offsets[i], offsets[i + 1]).
struct StringColumn {
  std::string bytes;
  Column<Index> offsets{0};

  Index size() const noexcept { return offsets.rows() - 1; }
  std::string_view operator[](Index i) const noexcept {
    assert(i >= 0 && i < size());
    return {bytes.data() + offsets[i], at(offsets[i + 1] - offsets[i])};
  }
  void push_back(std::string_view text) {
    bytes.append(text);
    offsets.push_back(static_cast<Index>(bytes.size()));
  }
};

// Names of a table's rows. Integers are kept as their decimal text and a flag,
// so that they come back as integers.
struct NameColumn {
  StringColumn text;
  Column<std::uint8_t> is_integer;  // empty: none is
};

// A text column with few distinct values (users, tags, ...), which are sorted
// and all in use: code -1 = absent; no codes at all: every row is absent.
struct TextColumn {
  StringColumn values;
  Column<Id> codes;
};

// A list of texts a row (tags): row i holds codes[offsets[i] .. offsets[i + 1]);
// a single offset: every list is empty.
struct TextListColumn {
  StringColumn values;
  Column<Index> offsets{0};
  Column<Id> codes;

  template <std::integral Row>
  View<const Id> of(Row row) const noexcept {
    if (offsets.size() == 1) return {};
    return slice(codes, offsets[row], offsets[row + 1]);
  }
};

// Rows of one table grouped by a row of another: the members of g are
// items[offsets[g] .. offsets[g + 1]).
struct Grouping {
  Column<Index> offsets;
  Column<Id> items;

  template <std::integral Row>
  View<const Id> of(Row group) const noexcept {
    return slice(items, offsets[group], offsets[group + 1]);
  }
};

struct ResourceSpace {
  StringColumn names;
  Column<double> quantum;
  Column<ResourceKind> kind;
  Column<ResourceScope> scope;
  Column<Amount> capacity;  // cluster-scoped resources; 0 for the others
  Column<std::uint8_t> available_after_preemption;

  int size() const noexcept { return static_cast<int>(quantum.size()); }
};

struct IntegralColumns {
  Column<IntegralType> type;
  Column<Amount> resource_flow;  // N x R, per second
  Column<Amount> burst;          // N x R
  Column<double> relaxed_share_multiplier_limit;
  Column<std::uint8_t> can_accept_free_volume;
  Column<std::uint8_t> should_distribute_free_volume_among_children;
  Column<double> accumulated_volume;  // N x R, quanta x seconds
  Column<double> last_share_ratio;
};

struct PoolColumns {  // row 0 is the root
  NameColumn names;
  Column<Id> parent;    // kNoId for the root only; parents may follow their children
  Column<Id> top_down;  // all pools, every parent before its children, root first
  Column<double> weight;
  Column<PoolMode> mode;
  // N x R. The root's is kept as given but means nothing: the engine derives it.
  Column<Amount> strong_guarantee;
  Column<ResourceMask> strong_guarantee_given;
  Column<Amount> limits;  // N x R
  Column<ResourceMask> limits_given;
  IntegralColumns integral;
  Column<std::uint8_t> step_function_for_gang;
  Column<std::uint8_t> fifo_reordering;
  Column<std::uint8_t> compute_promised_guarantee;
  Column<std::uint8_t> priority_strong_guarantee;
  Column<std::uint8_t> priority_donor;
  Column<double> order;  // sparse (NaN); NaN: none given, sorts last

  Index size() const noexcept { return parent.rows(); }
};

struct OperationColumns {
  NameColumn names;
  Column<Id> pool;
  TextColumn user, project, account, partition, qos;
  Column<double> weight;
  Column<double> priority;              // sparse (0)
  Column<std::uint8_t> priority_given;  // sparse (0)
  Column<Amount> demand;                // N x R, running part included
  Column<Amount> usage;                 // N x R
  Column<Amount> limits;                // N x R
  Column<ResourceMask> limits_given;
  Column<std::uint8_t> gang;
  Column<double> best_allocation_share;  // N x R, sparse (1)
  Column<Time> start_time;
  Column<Time> fifo_start_time;
  Column<OperationKind> kind;
  Column<double> order;  // sparse (NaN)

  Index size() const noexcept { return pool.rows(); }
};

struct NodeColumns {
  NameColumn names;
  Column<Amount> capacity;  // N x R
  TextListColumn tags;
  Column<std::uint8_t> schedulable;
  Column<Time> overcommitted_since;  // sparse (kNoTime: is not)
  TextColumn physical;
  Column<Amount> swap_free;  // bytes; sparse (-1: unknown)
  Column<double> order;      // sparse (NaN)

  Index size() const noexcept { return schedulable.rows(); }
};

struct AllocationColumns {
  NameColumn names;
  Column<Id> operation;
  Column<Id> node;           // kNoId: on none
  Column<Amount> resources;  // N x R
  Column<Time> start_time;
  Column<Time> last_job_start_time;     // empty: start_time
  Column<Time> last_progress_time;      // sparse (kNoTime: never saved)
  Column<Time> planned_end;             // sparse (kNoTime: unknown)
  Column<double> priority;              // sparse (0)
  Column<std::uint8_t> priority_given;  // sparse (0: the operation's counts)
  Column<AllocationState> state;
  Column<Time> deadline;                                  // sparse (kNoTime: none)
  TextColumn beneficiary_operation, beneficiary_request;  // names of what it leaves for
  Column<Amount> held;  // N x R, sparse (0); at most the resources
  Column<std::uint8_t> interruptible, checkpointable, rerunnable;  // sparse (0)
  Column<std::uint8_t> preemptible;                                // sparse (1)
  Column<std::uint8_t> originator;                                 // sparse (0)
  Column<Id> required_node;                                        // sparse (kNoId: any)
  Column<double> order;                                            // sparse (NaN)

  Index size() const noexcept { return operation.rows(); }
};

struct RequestColumns {
  NameColumn names;
  Column<Id> operation;
  Column<Amount> resources;  // N x R, of one of count
  Column<Index> count;
  Column<std::uint8_t> gang;  // the operation's where none is given
  Column<Time> submit_time;
  Column<double> priority;              // sparse (0)
  Column<std::uint8_t> priority_given;  // sparse (0: the operation's counts)
  Column<Time> duration;                // sparse (kNoTime: unknown)
  TextListColumn node_tags;
  Column<Id> required_node;          // sparse (kNoId: any)
  Column<std::uint8_t> preemptible;  // sparse (1)
  Column<std::uint8_t> reserve;      // sparse (0)
  Column<double> order;              // sparse (NaN)

  Index size() const noexcept { return operation.rows(); }
};

struct ReservationColumns {
  NameColumn names;
  Column<Id> request;  // exactly one of request and allocation is given
  Column<Id> allocation;
  Column<Id> node;
  Column<Amount> resources;   // N x R
  Column<Time> from, until;   // sparse (kNoTime: open)
  Column<std::uint8_t> soft;  // sparse (0)

  Index size() const noexcept { return node.rows(); }
};

struct Tables {
  Time now = 0;
  Time previous_update = kNoTime;
  ResourceSpace resources;
  Column<Amount> total;  // R
  PoolColumns pools;
  OperationColumns operations;
  NodeColumns nodes;
  AllocationColumns allocations;
  RequestColumns requests;
  ReservationColumns reservations;

  // Elements of each pool in canonical child order: by `order`, then pools
  // before operations, then name.
  Grouping children;
  Grouping allocations_by_operation;
  Grouping allocations_by_node;  // those on a node
  Grouping requests_by_operation;

  int resource_count() const noexcept { return resources.size(); }
  Index element_count() const noexcept { return pools.size() + operations.size(); }
};

}  // namespace evenhand
