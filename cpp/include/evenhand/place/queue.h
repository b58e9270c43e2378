// Who is served next: operations in the order of a walk down the pool tree that
// always enters the child with the lowest satisfaction; FIFO pools in their order.
//
// Source: YTsaurus, choice of the next operation in a stage. A pool's satisfaction is
// the least among its members that still wait, so the walk visits leaves by (their
// own satisfaction, canonical place in the tree); in a FIFO pool by (the least from
// there on, place in the FIFO order).
#pragma once

#include <span>
#include <vector>

#include "evenhand/model/tables.h"

namespace evenhand {

// Canonical place of every operation in the tree, children in canonical order, those
// of FIFO pools in the given order. O(E).
struct QueuePlaces {
  std::vector<Id> place;      // O
  std::vector<Id> fifo_pool;  // O: the pool if it is FIFO, else kNoId
  // Operations of each FIFO pool in order, one after the other.
  std::vector<Id> fifo_members;
  std::vector<Index> fifo_begin;  // P + 1

  static QueuePlaces of(const Tables& tables, std::span<const Id> fifo_index);
};

class ServiceQueue {
 public:
  struct Entry {
    double key;
    Id place;
    Id operation;
  };

  // places and satisfaction (O) stay the caller's and outlive the queue.
  void reset(const QueuePlaces& places, const std::vector<double>& satisfaction,
             std::vector<Id> members);

  std::span<const Entry> entries() const noexcept { return entries_; }
  bool empty() const noexcept { return entries_.empty(); }
  bool contains(Id operation) const noexcept { return member_[at(operation)] != 0; }

  Entry entry(Id operation) const noexcept {
    return {key_[at(operation)], places_->place[at(operation)], operation};
  }
  static bool before(const Entry& a, const Entry& b) noexcept {
    return a.key != b.key ? a.key < b.key : a.place < b.place;
  }

  // After the satisfaction of a member changed. O(n) moves of 16 bytes.
  void update(Id operation);
  void remove(Id operation);

 private:
  static std::size_t at(Id id) noexcept { return static_cast<std::size_t>(id); }
  std::size_t find(const Entry& entry) const;
  void rekey_fifo(Id pool);
  void rekey(Id operation, double key);

  const QueuePlaces* places_ = nullptr;
  const std::vector<double>* satisfaction_ = nullptr;
  std::vector<std::uint8_t> member_;  // O
  std::vector<double> key_;           // O: as in entries_
  std::vector<Entry> entries_;        // ascending (key, place)
};

}  // namespace evenhand
