#include "evenhand/place/timeline.h"

#include <algorithm>

namespace evenhand {

void Timeline::sort() {
  std::ranges::sort(events_, [](const Event& a, const Event& b) {
    return a.at != b.at ? a.at < b.at : a.row < b.row;
  });
}

std::span<const Timeline::Event> Timeline::instant(std::size_t first) const noexcept {
  std::size_t last = first;
  while (last < events_.size() && events_[last].at == events_[first].at) ++last;
  return std::span(events_).subspan(first, last - first);
}

}  // namespace evenhand
