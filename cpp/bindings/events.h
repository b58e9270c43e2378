// Events carried out on a live cluster, one after the other, as long as they are plain.
//
// Every change goes through the owner's methods, those of its deltas and rows. An event that is
// unusual or wrong is left to the caller, which says what is wrong with it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "deltas.h"
#include "event_columns.h"
#include "event_steps.h"

namespace evenhand::bindings {

inline constexpr Index kNoNote = -2;  // of a row that has nothing beside its columns

template <class Owner>
class Events {
 public:
  explicit Events(Owner& owner) : owner_(owner), reader_(owner.state()) {}

  // `stage` keeps what stands beside the columns: `noted(settings, labels)` returns the number of
  // a row's, `take(slot, amounts)` changes an allocation's; `room_was_taken`: whether the snapshot
  // has settings that it would change.
  void begin(py::handle stage) {
    stage_ = stage;
    owner_.settle();
  }

  // Carries an event out once `load(cells)` has read it. False: it is not plain; nothing changed.
  template <class Load>
  bool carry_out(Load&& load) {
    cells_.clear();
    if (!load(cells_)) return false;
    note_ = kNoNote;
    if (cells_.settings || cells_.labels) {
      if (!noted()) return false;
      cells_.clear();  // Python code ran: what it refers to may have changed
      if (!load(cells_)) return false;
    }
    step_ = {};
    if (!reader_.read(cells_, step_)) return false;
    // Code of the caller runs in the middle of these: there is a way back when it fails.
    if (step_.kind == EventStep::Kind::kResume || step_.kind == EventStep::Kind::kTake)
      owner_.mark();
    act();
    return true;
  }
  // What the last event breaks; none: it is carried out.
  py::object broken() const {
    const BrokenRule& broken = reader_.broken();
    if (broken.rule.empty()) throw py::value_error("an event with right cells cannot be read");
    std::string field(broken.field);
    if (broken.resource != BrokenRule::kNoResource)
      field +=
          "." +
          std::string(owner_.state().tables().resources.names[static_cast<Index>(broken.resource)]);
    return py::make_tuple(field.empty() ? py::object(py::none()) : py::str(field),
                          py::str(broken.rule.data(), broken.rule.size()));
  }
  // Lets go of what the last event referred to.
  void end() { cells_.clear(); }

 private:
  bool noted() {
    const auto given = [](const py::object& o) { return o ? o : py::object(py::none()); };
    try {
      note_ =
          py::cast<Index>(stage_.attr("noted_cells")(given(cells_.settings), given(cells_.labels)));
      return true;
    } catch (const py::error_already_set& error) {
      if (!error.matches(PyExc_ValueError)) throw;
      return false;
    }
  }

  std::span<const Amount> amounts() const {
    return std::span(step_.amounts).first(owner_.state().width());
  }

  // What it will keep; empty: nothing is said of that.
  std::vector<Amount> held() const {
    return step_.held ? std::vector<Amount>(amounts().begin(), amounts().end())
                      : std::vector<Amount>();
  }

  // Settings of a row may have changed: planners that follow are handed them.
  void came(const char* table, Id row) {
    if (owner_.followed())
      stage_.attr("came").attr("append")(py::make_tuple(table, owner_.name(table, row)));
  }
  void slot_came(Id slot) {
    if (owner_.note(slot) != kNoNote) came("allocations", slot);
  }
  void request_came(Id request) {
    if (note_ != kNoNote) came("requests", request);
  }

  void ask(Id request, Index count) {
    if (count == 0)
      owner_.remove_request(request);
    else
      owner_.on({.kind = Delta::Kind::kPending, .row = request, .count = count});
  }

  void act() {
    using K = EventStep::Kind;
    const EventStep& s = step_;
    RowReader& rows = reader_.rows;
    const RowReferences& to = rows.refers;
    switch (s.kind) {
      case K::kAdvance:
        return owner_.advance(s.time);
      case K::kStart:
        if (s.gone != kNoId) owner_.on({.kind = Delta::Kind::kEnd, .row = s.gone});
        if (s.request != kNoId) ask(s.request, s.count);
        return slot_came(owner_.put(rows.allocations, 0, to.operation, to.node, to.required_node,
                                    s.time, s.second, note_, s.state));
      case K::kEnd:
        owner_.on({.kind = Delta::Kind::kEnd, .row = s.row});
        return;
      case K::kLeave:
        owner_.leave(s.row, s.time, std::string(s.operation), std::string(s.asked), held());
        return slot_came(s.row);
      case K::kSuspend:
        owner_.on({.kind = Delta::Kind::kSuspend, .row = s.row, .amounts = amounts()});
        return;
      case K::kResume:
        owner_.on({.kind = Delta::Kind::kResume, .row = s.row, .node = s.node, .time = s.time});
        if (owner_.note(s.row) == kNoNote) return;
        if (owner_.note(s.row) >= 0 || py::cast<bool>(stage_.attr("room_was_taken")))
          stage_.attr("take")(s.row, py::none());
        return came("allocations", s.row);
      case K::kTouch:
        owner_.on(
            {.kind = Delta::Kind::kTouch, .row = s.row, .time = s.time, .progress = s.second});
        return;
      case K::kResize:
        owner_.on({.kind = Delta::Kind::kResize, .row = s.row, .amounts = amounts()});
        return;
      case K::kTake:
        stage_.attr("take")(s.row, py::handle(cells_[EventField::kResources].object));
        return came("allocations", s.row);
      case K::kPending:
        return ask(s.row, s.count);
      case K::kNode:
        if (s.capacity) {
          owner_.on({.kind = Delta::Kind::kCapacity, .row = s.row, .amounts = amounts()});
          came("nodes", s.row);
        }
        if (s.flagged)
          owner_.on({.kind = Delta::Kind::kSchedulable, .row = s.row, .schedulable = s.flag});
        return;
      case K::kPutOperation: {
        const Id row = owner_.put(rows.operations, 0, to.pool, note_, s.row, s.gone);
        came("operations", row);
        if (!s.stated) return;
        std::vector<Amount> besides = rows.operations.demand;
        for (std::size_t r = 0; r < besides.size(); ++r) besides[r] -= rows.operations.usage[r];
        return owner_.set_stated(row, rows.operations.usage, besides);
      }
      case K::kPutRequest:
        return request_came(
            owner_.put(rows.requests, 0, to.operation, to.required_node, note_, s.row, s.gone));
      case K::kPutNode:
        return came("nodes", owner_.put(rows.nodes, 0, note_, s.row, s.gone));
      case K::kPutReservation:
        if (s.gone != kNoId) owner_.release(s.gone);
        owner_.reserve(rows.reservations, 0, to.request, to.allocation, to.node, note_);
        return;
      case K::kRemoveOperation:
        return owner_.remove_operation(s.row);
      case K::kRemoveRequest:
        return owner_.remove_request(s.row);
      case K::kRemoveNode:
        came("nodes", s.row);
        return owner_.remove_node(s.row);
      case K::kRelease:
        return owner_.release(s.row);
    }
  }

  Owner& owner_;
  py::handle stage_;  // of the call
  EventReader reader_;
  EventCells cells_;
  EventStep step_;
  Index note_ = kNoNote;
};

// What carries out the events of one call. An owner keeps the reader from call to call; a call
// inside another one (settings may be any mapping) has a reader of its own.
template <class Owner>
class EventsOfCall {
 public:
  EventsOfCall(Owner& owner, py::handle stage) : owner_(owner), events_(std::move(owner.events)) {
    if (!events_) events_ = std::make_unique<Events<Owner>>(owner);
    events_->begin(stage);
  }
  EventsOfCall(const EventsOfCall&) = delete;
  EventsOfCall& operator=(const EventsOfCall&) = delete;
  ~EventsOfCall() {
    events_->end();
    owner_.events = std::move(events_);
  }

  py::ssize_t carry_out(const py::list& given, py::ssize_t first, const py::tuple& classes) {
    while (first < static_cast<py::ssize_t>(given.size())) {
      const auto event = py::reinterpret_borrow<py::object>(PyList_GET_ITEM(given.ptr(), first));
      if (!events_->carry_out([&](EventCells& out) { return load_event(event, classes, out); }))
        break;
      ++first;
    }
    return first;
  }
  py::object carry_out(const py::object& event, const py::tuple& classes) {
    const auto load = [&](EventCells& out) { return load_event(event, classes, out); };
    return events_->carry_out(load) ? py::none() : events_->broken();
  }
  py::ssize_t carry_out(EventColumns& given, py::ssize_t first) {
    const auto load = [&](EventCells& out) {
      // Names lie far apart: the memory of those that follow is loaded meanwhile.
      given.expect(first + 8, owner_.state(), false);
      given.expect(first + 4, owner_.state(), true);
      return given.load(first, out);
    };
    while (first < given.rows() && events_->carry_out(load)) ++first;
    return first;
  }

 private:
  Owner& owner_;
  std::unique_ptr<Events<Owner>> events_;
};

// Defines what carries events out on a class that has the methods used above, and `events`.
template <class Owner, class Class>
void define_events(Class& c) {
  c.def(
       "carry_out",
       [](Owner& o, const py::list& given, py::ssize_t first, const py::tuple& classes,
          const py::object& stage) {
         return EventsOfCall<Owner>(o, stage).carry_out(given, first, classes);
       },
       py::arg("events"), py::arg("first"), py::arg("classes"), py::arg("stage"),
       "The place of the first that is left to the caller; their number: none is.")
      .def(
          "carry_out_one",
          [](Owner& o, const py::object& event, const py::tuple& classes, const py::object& stage) {
            return EventsOfCall<Owner>(o, stage).carry_out(event, classes);
          },
          py::arg("event"), py::arg("classes"), py::arg("stage"),
          "An event whose cells are right: field and rule that it breaks, or None.")
      .def(
          "happen",
          [](Owner& o, const py::list& given, const py::tuple& classes, const py::object& own,
             const py::object& stage, bool recorded) -> py::object {
            const bool left = o.followed() && removes_nodes(given, classes);
            if (!recorded) o.reclaim();
            // One that is left to the caller has changed nothing.
            if (!recorded && (left || given.size() != 1)) o.mark();
            const py::ssize_t first =
                left ? 0 : EventsOfCall<Owner>(o, stage).carry_out(given, 0, classes);
            if (first < static_cast<py::ssize_t>(given.size())) {
              if (!recorded) o.mark();
              return py::int_(first);
            }
            return own_events(given, own);
          },
          py::arg("events"), py::arg("classes"), py::arg("own"), py::arg("stage"),
          py::arg("recorded"),
          "Carry out events from the first on; a copy of all, or the place of the first that is "
          "left to the caller. recorded: a way back is kept to what was before; else one is kept "
          "to where events that are left to the caller began.")
      .def(
          "carry_out_columns",
          [](Owner& o, EventColumns& given, py::ssize_t first, const py::object& stage) {
            return EventsOfCall<Owner>(o, stage).carry_out(given, first);
          },
          py::arg("events"), py::arg("first"), py::arg("stage"), "As `carry_out`.");
}

}  // namespace evenhand::bindings
