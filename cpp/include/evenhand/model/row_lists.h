// Rows of one table grouped by a row of another, as they come and go; no order within a
// group. Starts as a grouping of a snapshot, which it shares: a group is copied when it
// first changes. add, remove: O(1), but for that copy.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "evenhand/model/tables.h"

namespace evenhand {

class RowLists {
 public:
  explicit RowLists(const Grouping& base) : base_(&base) {
    lists_.resize(base.offsets.empty() ? 0 : base.offsets.size() - 1);
    for (std::size_t g = 0; g < lists_.size(); ++g)
      lists_[g] = {base.offsets[g],
                   static_cast<std::int32_t>(base.offsets[g + 1] - base.offsets[g]), kShared};
  }

  std::span<const Id> of(Id group) const noexcept {
    const List& list = lists_[group];
    const Id* items = list.capacity == kShared ? base_->items.data() : items_.data();
    return {items + list.begin, at(list.size)};
  }
  void add_group() { lists_.push_back({0, 0, 0}); }
  void pop_group() { lists_.pop_back(); }

  void add(Id group, Id row) {
    List& list = lists_[group];
    if (list.size >= list.capacity) grow(list);
    set(row, list.size);
    items_[list.begin + list.size++] = row;
  }
  void remove(Id group, Id row) {
    List& list = lists_[group];
    if (list.capacity == kShared) grow(list);
    Id* items = items_.data() + list.begin;
    const Id last = items[--list.size];
    items[place_[row]] = last;
    place_[last] = place_[row];
  }

  std::size_t memory_bytes() const noexcept {
    return lists_.capacity() * sizeof(List) + items_.capacity() * sizeof(Id) +
           place_.capacity() * sizeof(std::int32_t);
  }

 private:
  static constexpr std::int32_t kShared = -1;  // the rows are the snapshot's
  struct List {
    Index begin;
    std::int32_t size, capacity;
  };

  void set(Id row, std::int32_t place) {
    if (at(row) >= place_.size()) place_.resize(std::max(2 * place_.size(), at(row) + 1));
    place_[row] = place;
  }
  // Moves a group to the end of the store, with room to grow.
  void grow(List& list) {
    const auto begin = static_cast<Index>(items_.size());
    const std::int32_t capacity = std::max(8, 2 * list.size);
    items_.resize(items_.size() + at(capacity), kNoId);
    const Id* from = list.capacity == kShared ? base_->items.data() : items_.data();
    std::copy_n(from + list.begin, list.size, items_.begin() + begin);
    if (list.capacity == kShared)
      for (std::int32_t i = 0; i < list.size; ++i) set(items_[begin + i], i);
    list.begin = begin;
    list.capacity = capacity;
  }

  const Grouping* base_;
  Column<List> lists_;
  Column<Id> items_;
  Column<std::int32_t> place_;  // of a row in its group, where that is not shared
};

}  // namespace evenhand
