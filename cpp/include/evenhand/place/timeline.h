// What becomes free when: work that ends by itself, or has been told to leave by a time.
#pragma once

#include <span>
#include <vector>

#include "evenhand/core/types.h"

namespace evenhand {

// Rows (allocations) by the instant at which their room is free again.
class Timeline {
 public:
  struct Event {
    Time at;
    Id row;
  };

  void add(Time at, Id row) { events_.push_back({at, row}); }
  // By time, equal times by row; once all are added. O(n log n).
  void sort();

  std::span<const Event> events() const noexcept { return events_; }
  // Events from `first` on that come at one instant.
  std::span<const Event> instant(std::size_t first) const noexcept;

 private:
  std::vector<Event> events_;
};

}  // namespace evenhand
