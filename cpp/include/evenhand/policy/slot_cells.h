// Cells of a state's slots that only the snapshot's rows have, and slots by operation.
#pragma once

#include <vector>

#include "evenhand/model/building.h"
#include "evenhand/model/cluster_state.h"

namespace evenhand {

// A slot that came after the snapshot has the value that stands for an absent cell.
template <class T>
T cell_of(const ClusterState& state, const std::vector<T>& column, Id slot, T absent) noexcept {
  return slot < state.slots_of_snapshot() ? at_or(column, slot, absent) : absent;
}

inline Time start_of(const ClusterState& state, Id slot) noexcept {
  return cell_of(state, state.tables().allocations.start_time, slot, state.last_start(slot));
}

// Slots of every operation, ascending. O(1) without new slots, else O(slots).
class SlotsByOperation {
 public:
  explicit SlotsByOperation(const ClusterState& state)
      : groups_(&state.tables().allocations_by_operation) {
    if (state.slots() == state.slots_of_snapshot()) return;
    std::vector<Id> operation(static_cast<std::size_t>(state.slots()));
    for (std::size_t slot = 0; slot < operation.size(); ++slot)
      operation[slot] = state.operation_of(static_cast<Id>(slot));
    own_ = grouped(operation, static_cast<std::size_t>(state.tables().operations.size()));
    groups_ = &own_;
  }
  SlotsByOperation(const SlotsByOperation&) = delete;
  SlotsByOperation& operator=(const SlotsByOperation&) = delete;

  std::span<const Id> of(Id operation) const noexcept {
    const Index* offsets = groups_->offsets.data() + operation;
    return {groups_->items.data() + offsets[0], static_cast<std::size_t>(offsets[1] - offsets[0])};
  }

 private:
  const Grouping* groups_;
  Grouping own_;
};

}  // namespace evenhand
