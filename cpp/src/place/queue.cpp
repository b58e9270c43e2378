#include "evenhand/place/queue.h"

#include <algorithm>
#include <limits>

namespace evenhand {
namespace {

bool at_least(Id id, std::size_t bound) { return static_cast<std::size_t>(id) >= bound; }

}  // namespace

QueuePlaces QueuePlaces::of(const Tables& t, std::span<const Id> fifo_index,
                            const Column<Column<Id>>* lists) {
  const auto pools = static_cast<std::size_t>(t.pools.size());
  const auto operations = static_cast<std::size_t>(t.operations.size());
  QueuePlaces out;
  out.place.assign(operations, kNoId);
  out.fifo_pool.assign(operations, kNoId);
  Column<Id> stack{0}, children;
  Id next = 0;
  while (!stack.empty()) {
    const Id element = stack.back();
    stack.pop_back();
    if (at_least(element, pools)) {
      out.place[static_cast<std::size_t>(element) - pools] = next++;
      continue;
    }
    const View<const Id> below =
        lists == nullptr ? t.children.of(element) : View<const Id>((*lists)[element]);
    if (t.pools.mode[element] != PoolMode::kFifo) {
      stack.insert(stack.end(), below.rbegin(), below.rend());
      continue;
    }
    children.assign(below.begin(), below.end());
    std::ranges::stable_sort(children, {}, [&](Id child) {
      return at_least(child, pools) ? fifo_index[static_cast<std::size_t>(child) - pools] : -1;
    });
    out.fifo_begin.resize(pools, 0);
    out.fifo_end.resize(pools, 0);
    out.fifo_pools.push_back(element);
    out.fifo_begin[element] = static_cast<Index>(out.fifo_members.size());
    for (const Id child : children)
      if (at_least(child, pools)) {
        out.fifo_members.push_back(child - static_cast<Id>(pools));
        out.fifo_pool[static_cast<std::size_t>(child) - pools] = element;
      }
    out.fifo_end[element] = static_cast<Index>(out.fifo_members.size());
    stack.insert(stack.end(), children.rbegin(), children.rend());
  }
  return out;
}

// Members of a FIFO pool, last first, each with the least satisfaction from it on.
template <class Visit>
void ServiceQueue::for_fifo_members(Id pool, Visit&& visit) const {
  double least = std::numeric_limits<double>::infinity();
  for (Index i = places_->fifo_end[pool]; i-- > places_->fifo_begin[pool];) {
    const Id operation = places_->fifo_members[i];
    if (!member_[operation]) continue;
    least = std::min(least, (*satisfaction_)[operation]);
    visit(operation, least);
  }
}

void ServiceQueue::reset(const QueuePlaces& places, const Column<double>& satisfaction,
                         Column<Id> members) {
  places_ = &places;
  satisfaction_ = &satisfaction;
  size_ = members.size();
  moved_.clear();
  parted_.clear();
  stale_.clear();
  if (members.empty()) {
    member_.clear();
    key_.clear();
    touched_.clear();
    apart_.clear();
    entries_.clear();
    return;
  }
  member_.assign(places.place.size(), 0);
  apart_.assign(places.place.size(), 0);
  key_.assign(places.place.size(), 0);
  touched_.assign(places.place.size(), 0);
  for (const Id o : members) {
    member_[o] = 1;
    key_[o] = satisfaction[o];
  }
  for (const Id pool : places.fifo_pools)
    for_fifo_members(pool, [&](Id o, double key) { key_[o] = key; });
  // What stands where it stood is in order already.
  std::erase_if(entries_, [&](const Entry& e) {
    if (at_least(e.operation, member_.size()) || !member_[e.operation]) return true;
    const bool stays = e.key == key_[e.operation] && e.place == places.place[e.operation];
    touched_[e.operation] = stays;
    return !stays;
  });
  for (const Id o : members)
    if (!touched_[o]) moved_.push_back({key_[o], places.place[o], o});
  std::ranges::fill(touched_, std::uint8_t{0});
  std::ranges::sort(moved_, before);
  merge_moved();
}

void ServiceQueue::move_places() {
  if (places_ == nullptr) return;
  gather();
  for (Entry& e : entries_) e.place = places_->place[e.operation];
}

void ServiceQueue::merge_moved() {
  const auto middle = static_cast<std::ptrdiff_t>(entries_.size());
  entries_.insert(entries_.end(), moved_.begin(), moved_.end());
  std::inplace_merge(entries_.begin(), entries_.begin() + middle, entries_.end(), before);
  moved_.clear();
}

// Puts what is apart into its place, all of it in one pass.
void ServiceQueue::gather() {
  if (parted_.empty()) return;
  std::erase_if(entries_, [&](const Entry& e) { return apart_[e.operation] != 0; });
  merge_moved();
  for (const Id operation : parted_) apart_[operation] = 0;
  parted_.clear();
}

// Its entry no longer counts, wherever it stands.
void ServiceQueue::take(Id operation) {
  if (apart_[operation]) {
    const Entry entry{key_[operation], places_->place[operation], operation};
    moved_.erase(std::ranges::lower_bound(moved_, entry, before));
    return;
  }
  apart_[operation] = 1;
  parted_.push_back(operation);
}

void ServiceQueue::put(Id operation) {
  if (!apart_[operation]) {
    apart_[operation] = 1;
    parted_.push_back(operation);
  }
  const Entry entry{key_[operation], places_->place[operation], operation};
  moved_.insert(std::ranges::upper_bound(moved_, entry, before), entry);
  if (parted_.size() > kApart) gather();
}

void ServiceQueue::rekey(Id operation, double key) {
  if (key == key_[operation]) return;
  take(operation);
  key_[operation] = key;
  put(operation);
}

void ServiceQueue::rekey_fifo(Id pool) {
  for_fifo_members(pool, [&](Id operation, double key) { rekey(operation, key); });
}

void ServiceQueue::touch(Id operation) {
  if (touched_[operation] ||
      (places_->fifo_pool[operation] == kNoId && key_[operation] == (*satisfaction_)[operation]))
    return;
  touched_[operation] = 1;
  stale_.push_back(operation);
}

ServiceQueue::Entry ServiceQueue::entry(Id operation) {
  const Id place = places_->place[operation];
  if (places_->fifo_pool[operation] == kNoId)
    return {(*satisfaction_)[operation], place, operation};
  settle();
  return {key_[operation], place, operation};
}

// One by one if they are few, else in one pass over all.
void ServiceQueue::settle() {
  constexpr std::size_t kFew = 4;
  if (stale_.size() > kFew) return settle_together();
  for (const Id operation : stale_) {
    touched_[operation] = 0;
    if (!member_[operation]) continue;
    const Id pool = places_->fifo_pool[operation];
    if (pool == kNoId)
      rekey(operation, (*satisfaction_)[operation]);
    else
      rekey_fifo(pool);
  }
  stale_.clear();
}

void ServiceQueue::settle_together() {
  gather();
  const auto move = [&](Id operation, double key) {
    touched_[operation] = 1;
    key_[operation] = key;
    moved_.push_back({key, places_->place[operation], operation});
  };
  Column<Id> fifo_pools;
  for (const Id operation : stale_) {
    const Id pool = places_->fifo_pool[operation];
    if (pool != kNoId)
      fifo_pools.push_back(pool);
    else if (member_[operation])
      move(operation, (*satisfaction_)[operation]);
  }
  std::ranges::sort(fifo_pools);
  fifo_pools.erase(std::unique(fifo_pools.begin(), fifo_pools.end()), fifo_pools.end());
  for (const Id pool : fifo_pools)
    for_fifo_members(pool, [&](Id operation, double key) { move(operation, key); });
  std::ranges::sort(moved_, before);
  std::erase_if(entries_, [&](const Entry& e) { return touched_[e.operation] != 0; });
  for (const Entry& e : moved_) touched_[e.operation] = 0;
  for (const Id operation : stale_) touched_[operation] = 0;
  merge_moved();
  stale_.clear();
}

void ServiceQueue::remove(Id operation) {
  settle();
  take(operation);
  member_[operation] = 0;
  --size_;
  if (parted_.size() > kApart) gather();
  if (const Id pool = places_->fifo_pool[operation]; pool != kNoId) rekey_fifo(pool);
}

void ServiceQueue::insert(Id operation) {
  settle();
  if (at_least(operation, member_.size()))
    for (const std::size_t size = places_->place.size();
         Column<std::uint8_t>* flags : {&member_, &touched_, &apart_})
      flags->resize(size, 0);
  key_.resize(member_.size(), 0);
  member_[operation] = 1;
  key_[operation] = (*satisfaction_)[operation];
  ++size_;
  put(operation);
  if (const Id pool = places_->fifo_pool[operation]; pool != kNoId) rekey_fifo(pool);
}

}  // namespace evenhand
