#include "evenhand/place/queue.h"

#include <algorithm>
#include <limits>

namespace evenhand {
namespace {

bool at_least(Id id, std::size_t bound) { return static_cast<std::size_t>(id) >= bound; }

}  // namespace

QueuePlaces QueuePlaces::of(const Tables& t, std::span<const Id> fifo_index) {
  const auto pools = static_cast<std::size_t>(t.pools.size());
  const auto operations = static_cast<std::size_t>(t.operations.size());
  QueuePlaces out;
  out.place.assign(operations, kNoId);
  out.fifo_pool.assign(operations, kNoId);
  out.fifo_begin.assign(pools + 1, 0);
  std::vector<std::vector<Id>> members(pools);
  std::vector<Id> stack{0}, children;
  Id next = 0;
  while (!stack.empty()) {
    const Id element = stack.back();
    stack.pop_back();
    if (at_least(element, pools)) {
      out.place[static_cast<std::size_t>(element) - pools] = next++;
      continue;
    }
    const auto pool = static_cast<std::size_t>(element);
    children.assign(t.children.items.begin() + t.children.offsets[pool],
                    t.children.items.begin() + t.children.offsets[pool + 1]);
    if (t.pools.mode[pool] == PoolMode::kFifo) {
      std::ranges::stable_sort(children, {}, [&](Id child) {
        return at_least(child, pools) ? fifo_index[static_cast<std::size_t>(child) - pools] : -1;
      });
      for (const Id child : children)
        if (at_least(child, pools)) {
          members[pool].push_back(child - static_cast<Id>(pools));
          out.fifo_pool[static_cast<std::size_t>(child) - pools] = element;
        }
    }
    stack.insert(stack.end(), children.rbegin(), children.rend());
  }
  for (std::size_t p = 0; p < pools; ++p) {
    out.fifo_members.insert(out.fifo_members.end(), members[p].begin(), members[p].end());
    out.fifo_begin[p + 1] = static_cast<Index>(out.fifo_members.size());
  }
  return out;
}

void ServiceQueue::reset(const QueuePlaces& places, const std::vector<double>& satisfaction,
                         std::vector<Id> members) {
  places_ = &places;
  satisfaction_ = &satisfaction;
  member_.assign(places.place.size(), 0);
  key_.assign(places.place.size(), 0);
  entries_.clear();
  for (const Id o : members) {
    member_[at(o)] = 1;
    key_[at(o)] = satisfaction[at(o)];
  }
  for (std::size_t p = 0; p + 1 < places.fifo_begin.size(); ++p) {
    double least = std::numeric_limits<double>::infinity();
    for (Index i = places.fifo_begin[p + 1]; i-- > places.fifo_begin[p];) {
      const Id o = places.fifo_members[static_cast<std::size_t>(i)];
      if (!member_[at(o)]) continue;
      least = std::min(least, satisfaction[at(o)]);
      key_[at(o)] = least;
    }
  }
  entries_.reserve(members.size());
  for (const Id o : members) entries_.push_back({key_[at(o)], places.place[at(o)], o});
  std::ranges::sort(entries_, before);
}

std::size_t ServiceQueue::find(const Entry& entry) const {
  return static_cast<std::size_t>(
      std::lower_bound(entries_.begin(), entries_.end(), entry, before) - entries_.begin());
}

void ServiceQueue::rekey(Id operation, double key) {
  if (key == key_[at(operation)]) return;
  const Entry moved{key, places_->place[at(operation)], operation};
  const std::size_t from = find(entry(operation)), to = find(moved);
  key_[at(operation)] = key;
  const auto first = entries_.begin() + static_cast<std::ptrdiff_t>(from);
  const auto target = entries_.begin() + static_cast<std::ptrdiff_t>(to);
  if (to > from) {
    std::move(first + 1, target, first);
    entries_[to - 1] = moved;
  } else {
    std::move_backward(target, first, first + 1);
    entries_[to] = moved;
  }
}

void ServiceQueue::rekey_fifo(Id pool) {
  double least = std::numeric_limits<double>::infinity();
  for (Index i = places_->fifo_begin[at(pool) + 1]; i-- > places_->fifo_begin[at(pool)];) {
    const Id o = places_->fifo_members[static_cast<std::size_t>(i)];
    if (!member_[at(o)]) continue;
    least = std::min(least, (*satisfaction_)[at(o)]);
    rekey(o, least);
  }
}

void ServiceQueue::update(Id operation) {
  const Id pool = places_->fifo_pool[at(operation)];
  if (pool == kNoId)
    rekey(operation, (*satisfaction_)[at(operation)]);
  else
    rekey_fifo(pool);
}

void ServiceQueue::remove(Id operation) {
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(find(entry(operation))));
  member_[at(operation)] = 0;
  if (const Id pool = places_->fifo_pool[at(operation)]; pool != kNoId) rekey_fifo(pool);
}

}  // namespace evenhand
