#include "evenhand/place/timeline.h"

#include <algorithm>

namespace evenhand {

using Size = std::size_t;

NodeSet node_set(Id nodes) { return NodeSet((at(nodes) + 63) / 64, 0); }

Timeline::Timeline(Time begin, Time end, const NodeSet& free)
    : words_(free.size()), begin_{begin}, end_{end}, free_(free) {}

Time Timeline::open(Time since, Time end, const NodeSet& among, NodeSet& set) const noexcept {
  Time later = kNoTime;
  for (Size i = 0; i < begin_.size(); ++i) {
    if (end_[i] <= since) continue;
    bool more = false;  // as the system does, also in the first span beyond the end
    for (Size w = 0; w < words_ && i + 1 < begin_.size(); ++w)
      more |= (free(i + 1)[w] & among[w] & ~(set[w] & free(i)[w])) != 0;
    if (more && later == kNoTime) later = end_[i];
    if (begin_[i] > end) break;
    for (Size w = 0; w < words_; ++w) set[w] &= free(i)[w];
  }
  return later;
}

Time Timeline::next(Time after) const noexcept {
  const auto found = std::ranges::upper_bound(begin_, after);
  return found == begin_.end() ? kNoTime : *found;
}

bool Timeline::taken(const NodeSet& nodes, Time begin, Time end) const noexcept {
  for (Size i = 0; i < begin_.size(); ++i) {
    if (end_[i] <= begin || begin_[i] >= end) continue;
    for (Size w = 0; w < words_; ++w)
      if ((nodes[w] & ~free(i)[w]) != 0) return true;
  }
  return false;
}

bool Timeline::ever_taken(const NodeSet& nodes) const noexcept {
  for (Size i = 0; i < begin_.size(); ++i)
    for (Size w = 0; w < words_; ++w)
      if ((nodes[w] & ~free(i)[w]) != 0) return true;
  return false;
}

void Timeline::cut(Time at) {
  for (Size i = 0; i < begin_.size(); ++i) {
    if (begin_[i] >= at || end_[i] <= at) continue;
    const auto place = static_cast<std::ptrdiff_t>(i);
    const NodeSet same(free(i), free(i) + words_);
    begin_.insert(begin_.begin() + place + 1, at);
    end_.insert(end_.begin() + place, at);
    free_.insert(free_.begin() + static_cast<std::ptrdiff_t>(i * words_), same.begin(), same.end());
    return;
  }
}

void Timeline::keep(const NodeSet& nodes, Time begin, Time end) {
  cut(begin);
  cut(end);
  for (Size i = 0; i < begin_.size(); ++i) {
    if (begin_[i] < begin || end_[i] > end) continue;
    for (Size w = 0; w < words_; ++w) free_[i * words_ + w] &= ~nodes[w];
  }
}

}  // namespace evenhand
