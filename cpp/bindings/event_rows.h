// One row of a table from its cells, as the builders of whole tables read it.
#pragma once

#include <string>
#include <vector>

#include "evenhand/model/amounts.h"
#include "evenhand/model/cluster_state.h"
#include "event_cells.h"

namespace evenhand::bindings {

// Rows that a row refers to, and what stands beside its columns.
struct RowReferences {
  Id pool = 0, operation = kNoId, node = kNoId, required_node = kNoId, request = kNoId,
     allocation = kNoId;
  bool gang = false, started = false;  // whether these are given
  Time last_job_start = kNoTime;       // kNoTime: none is given
  ResourceMask usage = 0, demand = 0;  // which are given
};

// Reads rows one after the other; each stands in row 0 of its columns until the next.
// A reader returns false for whatever is unusual or wrong.
class RowReader {
 public:
  explicit RowReader(const ClusterState& state)
      : state_(state), scale_(state.tables().resources, raw::Rounding::kExact) {}

  AllocationColumns allocations;
  OperationColumns operations;
  RequestColumns requests;
  NodeColumns nodes;
  ReservationColumns reservations;
  RowReferences refers;

  bool read_allocation(const std::vector<RowCell>& row) { return read(allocations, row); }
  bool read_operation(const std::vector<RowCell>& row) { return read(operations, row); }
  bool read_request(const std::vector<RowCell>& row);
  bool read_node(const std::vector<RowCell>& row);
  bool read_reservation(const std::vector<RowCell>& row);

  // Cells of events. Absent amounts are 0; `given` gets the others.
  bool amounts(const Cell& cell, Amount* quanta, ResourceMask* given = nullptr) const;
  // Absent shares stay as they are.
  bool shares(const Cell& cell, double* shares) const;
  static bool time(const Cell& cell, Time& time);
  static bool whole(const Cell& cell, Index least, Index& value);
  Id pool(std::string_view name) const;
  // Whether amounts of a node are of resources that nodes have.
  bool of_nodes(const Amount* amounts) const;

 private:
  template <class Columns>
  bool read(Columns& columns, const std::vector<RowCell>& row);
  bool place(const Cell& cell, const AmountCells*& cells, AmountCells& buffer) const;

  const ClusterState& state_;
  AmountScale scale_;
  std::string buffer_;

  friend struct RowFields;
};

}  // namespace evenhand::bindings
