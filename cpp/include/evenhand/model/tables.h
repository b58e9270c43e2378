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

#include <string>
#include <string_view>
#include <vector>

#include "evenhand/core/types.h"

namespace evenhand {

enum class ResourceKind : std::uint8_t { kSlots, kCpu, kMemory, kLicense, kOther };
enum class ResourceScope : std::uint8_t { kNode, kCluster };
enum class PoolMode : std::uint8_t { kFairShare, kFifo };
enum class IntegralType : std::uint8_t { kNone, kBurst, kRelaxed };
enum class OperationKind : std::uint8_t { kBatch, kInteractive, kInference, kSystem };
enum class AllocationState : std::uint8_t { kRunning, kPreempting, kSuspended, kPreempted };

// Value of a sparse column.
template <class T>
T at_or(const std::vector<T>& column, Index row, T absent) noexcept {
  return column.empty() ? absent : column[static_cast<std::size_t>(row)];
}

// Strings of one column or table laid end to end; row i is
// bytes[offsets[i], offsets[i + 1]).
struct StringColumn {
  std::string bytes;
  std::vector<Index> offsets{0};

  Index size() const noexcept { return static_cast<Index>(offsets.size()) - 1; }
  std::string_view operator[](Index i) const noexcept {
    const auto begin = static_cast<std::size_t>(offsets[static_cast<std::size_t>(i)]);
    const auto end = static_cast<std::size_t>(offsets[static_cast<std::size_t>(i) + 1]);
    return std::string_view(bytes).substr(begin, end - begin);
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
  std::vector<std::uint8_t> is_integer;  // empty: none is
};

// A text column with few distinct values (users, tags, ...), which are sorted
// and all in use: code -1 = absent; no codes at all: every row is absent.
struct TextColumn {
  StringColumn values;
  std::vector<Id> codes;
};

// A list of texts a row (tags): row i holds codes[offsets[i] .. offsets[i + 1]);
// a single offset: every list is empty.
struct TextListColumn {
  StringColumn values;
  std::vector<Index> offsets{0};
  std::vector<Id> codes;
};

// Rows of one table grouped by a row of another: the members of g are
// items[offsets[g] .. offsets[g + 1]).
struct Grouping {
  std::vector<Index> offsets;
  std::vector<Id> items;
};

struct ResourceSpace {
  StringColumn names;
  std::vector<double> quantum;
  std::vector<ResourceKind> kind;
  std::vector<ResourceScope> scope;
  std::vector<Amount> capacity;  // cluster-scoped resources; 0 for the others
  std::vector<std::uint8_t> available_after_preemption;

  int size() const noexcept { return static_cast<int>(quantum.size()); }
};

struct IntegralColumns {
  std::vector<IntegralType> type;
  std::vector<Amount> resource_flow;  // N x R, per second
  std::vector<Amount> burst;          // N x R
  std::vector<double> relaxed_share_multiplier_limit;
  std::vector<std::uint8_t> can_accept_free_volume;
  std::vector<std::uint8_t> should_distribute_free_volume_among_children;
  std::vector<double> accumulated_volume;  // N x R, quanta x seconds
  std::vector<double> last_share_ratio;
};

struct PoolColumns {  // row 0 is the root
  NameColumn names;
  std::vector<Id> parent;    // kNoId for the root only; parents may follow their children
  std::vector<Id> top_down;  // all pools, every parent before its children, root first
  std::vector<double> weight;
  std::vector<PoolMode> mode;
  // N x R. The root's is kept as given but means nothing: the engine derives it.
  std::vector<Amount> strong_guarantee;
  std::vector<ResourceMask> strong_guarantee_given;
  std::vector<Amount> limits;  // N x R
  std::vector<ResourceMask> limits_given;
  IntegralColumns integral;
  std::vector<std::uint8_t> step_function_for_gang;
  std::vector<std::uint8_t> fifo_reordering;
  std::vector<std::uint8_t> compute_promised_guarantee;
  std::vector<std::uint8_t> priority_strong_guarantee;
  std::vector<std::uint8_t> priority_donor;
  std::vector<double> order;  // sparse (NaN); NaN: none given, sorts last

  Index size() const noexcept { return static_cast<Index>(parent.size()); }
};

struct OperationColumns {
  NameColumn names;
  std::vector<Id> pool;
  TextColumn user, project, account, partition, qos;
  std::vector<double> weight;
  std::vector<double> priority;              // sparse (0)
  std::vector<std::uint8_t> priority_given;  // sparse (0)
  std::vector<Amount> demand;                // N x R, running part included
  std::vector<Amount> usage;                 // N x R
  std::vector<Amount> limits;                // N x R
  std::vector<ResourceMask> limits_given;
  std::vector<std::uint8_t> gang;
  std::vector<double> best_allocation_share;  // N x R, sparse (1)
  std::vector<Time> start_time;
  std::vector<Time> fifo_start_time;
  std::vector<OperationKind> kind;
  std::vector<double> order;  // sparse (NaN)

  Index size() const noexcept { return static_cast<Index>(pool.size()); }
};

struct NodeColumns {
  NameColumn names;
  std::vector<Amount> capacity;  // N x R
  TextListColumn tags;
  std::vector<std::uint8_t> schedulable;
  std::vector<Time> overcommitted_since;  // sparse (kNoTime: is not)
  TextColumn physical;
  std::vector<Amount> swap_free;  // bytes; sparse (-1: unknown)
  std::vector<double> order;      // sparse (NaN)

  Index size() const noexcept { return static_cast<Index>(schedulable.size()); }
};

struct AllocationColumns {
  NameColumn names;
  std::vector<Id> operation;
  std::vector<Id> node;           // kNoId: on none
  std::vector<Amount> resources;  // N x R
  std::vector<Time> start_time;
  std::vector<Time> last_job_start_time;     // empty: start_time
  std::vector<Time> last_progress_time;      // sparse (kNoTime: never saved)
  std::vector<Time> planned_end;             // sparse (kNoTime: unknown)
  std::vector<double> priority;              // sparse (0)
  std::vector<std::uint8_t> priority_given;  // sparse (0: the operation's counts)
  std::vector<AllocationState> state;
  std::vector<Time> deadline;                             // sparse (kNoTime: none)
  TextColumn beneficiary_operation, beneficiary_request;  // names of what it leaves for
  std::vector<Amount> held;  // N x R, sparse (0); at most the resources
  std::vector<std::uint8_t> interruptible, checkpointable, rerunnable;  // sparse (0)
  std::vector<std::uint8_t> preemptible;                                // sparse (1)
  std::vector<std::uint8_t> originator;                                 // sparse (0)
  std::vector<Id> required_node;                                        // sparse (kNoId: any)
  std::vector<double> order;                                            // sparse (NaN)

  Index size() const noexcept { return static_cast<Index>(operation.size()); }
};

struct RequestColumns {
  NameColumn names;
  std::vector<Id> operation;
  std::vector<Amount> resources;  // N x R, of one of count
  std::vector<Index> count;
  std::vector<std::uint8_t> gang;  // the operation's where none is given
  std::vector<Time> submit_time;
  std::vector<double> priority;              // sparse (0)
  std::vector<std::uint8_t> priority_given;  // sparse (0: the operation's counts)
  std::vector<Time> duration;                // sparse (kNoTime: unknown)
  TextListColumn node_tags;
  std::vector<Id> required_node;          // sparse (kNoId: any)
  std::vector<std::uint8_t> preemptible;  // sparse (1)
  std::vector<std::uint8_t> reserve;      // sparse (0)
  std::vector<double> order;              // sparse (NaN)

  Index size() const noexcept { return static_cast<Index>(operation.size()); }
};

struct ReservationColumns {
  NameColumn names;
  std::vector<Id> request;  // exactly one of request and allocation is given
  std::vector<Id> allocation;
  std::vector<Id> node;
  std::vector<Amount> resources;   // N x R
  std::vector<Time> from, until;   // sparse (kNoTime: open)
  std::vector<std::uint8_t> soft;  // sparse (0)

  Index size() const noexcept { return static_cast<Index>(node.size()); }
};

struct Tables {
  Time now = 0;
  Time previous_update = kNoTime;
  ResourceSpace resources;
  std::vector<Amount> total;  // R
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
