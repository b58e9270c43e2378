// What is served next: operations in the order of a walk down the pool tree that
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
// of FIFO pools in the given order.
struct QueuePlaces {
  Column<Id> place;      // O
  Column<Id> fifo_pool;  // O: the pool if it is FIFO, else kNoId
  // Operations of each FIFO pool in order, one after the other.
  Column<Id> fifo_members;
  Column<Id> fifo_pools;     // as they stand there; empty: there are none
  Column<Index> fifo_begin;  // P: of a FIFO pool's members, and where they
  Column<Index> fifo_end;    // P: end; both may be empty

  // children: of each pool, as the tables list them, but for pools without operations below;
  // nullptr: as they do. O(what is listed + O).
  static QueuePlaces of(const Tables& tables, std::span<const Id> fifo_index,
                        const Column<Column<Id>>* children = nullptr);
};

class ServiceQueue {
 public:
  struct Entry {
    double key;
    Id place;
    Id operation;
  };

  // places and satisfaction (O) stay the caller's and outlive the queue.
  void reset(const QueuePlaces& places, const Column<double>& satisfaction, Column<Id> members);
  // Of a copy: from here on these are the caller's, equal to what the queue was last reset with.
  void refer(const QueuePlaces& places, const Column<double>& satisfaction) noexcept {
    if (places_ == nullptr) return;
    places_ = &places;
    satisfaction_ = &satisfaction;
  }
  // Operations that stay stand as they stood to each other, but have other places; there are no
  // FIFO pools. O(members).
  void move_places();

  // Visits at most so many in order, until a visit returns true; first settles what was touched:
  // at most kApart moves of 16 bytes for each, and O(n) once in kApart.
  template <class Visit>
  void walk(std::size_t most, Visit&& visit) {
    settle();
    std::size_t i = 0, j = 0;
    for (; most > 0; --most) {
      while (i < entries_.size() && apart_[entries_[i].operation]) ++i;
      const bool one = i < entries_.size(), other = j < moved_.size();
      if (!one && !other) return;
      const bool first = one && !(other && before(moved_[j], entries_[i]));
      if (visit(first ? entries_[i++] : moved_[j++])) return;
    }
  }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  bool contains(Id operation) const noexcept {
    return at(operation) < member_.size() && member_[operation] != 0;
  }

  Entry entry(Id operation);  // its place now
  static bool before(const Entry& a, const Entry& b) noexcept {
    return a.key != b.key ? a.key < b.key : a.place < b.place;
  }

  // The satisfaction of a member changed: it is put into its place when the order is
  // asked for next.
  void touch(Id operation);
  void remove(Id operation);
  void insert(Id operation);  // one that has a place

 private:
  static constexpr std::size_t kApart = 64;

  void settle();
  void settle_together();
  void merge_moved();
  void gather();
  void take(Id operation);
  void put(Id operation);
  template <class Visit>
  void for_fifo_members(Id pool, Visit&& visit) const;
  void rekey_fifo(Id pool);
  void rekey(Id operation, double key);

  const QueuePlaces* places_ = nullptr;
  const Column<double>* satisfaction_ = nullptr;
  Column<std::uint8_t> member_;   // O
  std::size_t size_ = 0;          // members
  Column<double> key_;            // O: as in entries_ or moved_
  std::vector<Entry> entries_;    // ascending (key, place), of those not apart and some that are
  std::vector<Entry> moved_;      // ascending, of members that are
  Column<std::uint8_t> apart_;    // O: an entry in entries_ is of before
  Column<Id> parted_;             // which are
  Column<std::uint8_t> touched_;  // O
  Column<Id> stale_;
};

}  // namespace evenhand
