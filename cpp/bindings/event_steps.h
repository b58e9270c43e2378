// From the cells of an event to what it does: the rows that it is about, found and checked.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "event_cells.h"
#include "event_rows.h"

namespace evenhand::bindings {

// What carries out an event, in this order where it takes several.
struct EventStep {
  enum class Kind : std::uint8_t {
    kAdvance,
    kStart,  // or put an allocation
    kEnd,
    kLeave,
    kSuspend,
    kResume,
    kTouch,
    kResize,
    kTake,
    kPending,
    kNode,
    kPutOperation,
    kPutRequest,
    kPutNode,
    kPutReservation,
    kRemoveOperation,
    kRemoveRequest,
    kRemoveNode,
    kRelease
  };
  Kind kind = Kind::kAdvance;
  Id row = kNoId;      // that it is about
  Id gone = kNoId;     // one of its name that goes before
  Id request = kNoId;  // kStart: that it serves
  Id node = kNoId;     // kResume
  Index count = 0;     // of a request, from now on
  Time time = kNoTime, second = kNoTime;
  bool capacity = false, flagged = false, flag = false;  // kNode: what is given
  bool held = false;                                     // kLeave: whether `amounts` are given
  bool stated = false;                                   // kPutOperation: what it uses and wants is
  AllocationState state = AllocationState::kRunning;
  std::array<Amount, kMaxResources> amounts{};
  std::string_view operation, asked;  // kLeave: names of what it leaves for
};

// The rule of a cluster that an event breaks whose cells are right: field and rule, in the words
// of errors; and the resource, where it is about one.
struct BrokenRule {
  static constexpr std::size_t kNoResource = SIZE_MAX;
  std::string_view field, rule;
  std::size_t resource = kNoResource;
};

class EventReader {
 public:
  explicit EventReader(const ClusterState& state) : state_(state), rows(state) {}

 private:
  const ClusterState& state_;
  std::string buffer_, operation_, asked_;

 public:
  RowReader rows;

  // False: the event is unusual or wrong. Columns of a row stand in `rows` until the next.
  bool read(const EventCells& event, EventStep& step);
  // What the last one breaks, if its cells are right; no rule: it is right, or unusual.
  const BrokenRule& broken() const noexcept { return broken_; }

 private:
  using F = EventField;

  bool breaks(std::string_view field, std::string_view rule,
              std::size_t resource = BrokenRule::kNoResource) {
    broken_ = {field, rule, resource};
    return false;
  }
  Id alive(const Cell& name);
  template <class Columns>
  Id find(const LiveTable<Columns>& table, const Cell& name);
  bool label(const Cell& cell, std::string& text, std::string_view& found);
  bool fits(const std::vector<Amount>& sums, const Amount* before, Index times, const Amount* after,
            Index times_after);
  const Amount* each_of(Id request) const;
  bool reserved_for(Column<Id> ReservationColumns::* column, Id row) const;
  template <class Columns>
  Id named(const LiveTable<Columns>& table, const Columns& row);
  template <class Columns>
  bool in_place(const LiveTable<Columns>& table, const Columns& row, Id old) const;

  bool time(const EventCells& e, EventStep& s);
  bool start(const EventCells& e, EventStep& s);
  bool held(const EventCells& e, EventStep& s);
  bool leave(const EventCells& e, EventStep& s);
  bool suspend(const EventCells& e, EventStep& s);
  bool resume(const EventCells& e, EventStep& s);
  bool job(const EventCells& e, EventStep& s);
  bool resize(const EventCells& e, EventStep& s);
  bool count(const EventCells& e, EventStep& s);
  bool node(const EventCells& e, EventStep& s);
  bool put(const EventCells& e, EventStep& s);
  bool put_allocation(const EventCells& e, EventStep& s);
  bool put_operation(const EventCells& e, EventStep& s);
  bool put_request(const EventCells& e, EventStep& s);
  bool put_node(const EventCells& e, EventStep& s);
  bool put_reservation(const EventCells& e, EventStep& s);
  bool remove(const EventCells& e, EventStep& s);

  BrokenRule broken_;
};

}  // namespace evenhand::bindings
