// The deltas of a mutable cluster as methods, checked: of its bare state and of every planner.
#pragma once

#include <stdexcept>
#include <vector>

#include "arrays.h"
#include "evenhand/model/delta.h"
#include "pybind.h"

namespace evenhand::bindings {

inline void check_row(Id row, Index rows) {
  if (row < 0 || row >= rows) throw py::index_error("no such row");
}

inline void check_present(const ClusterState& state, Id slot) {
  check_row(slot, state.slots());
  if (state.gone(slot) && !state.away(slot)) throw py::value_error("the allocation has ended");
}

inline void check_holding(const ClusterState& state, Id slot) {
  check_row(slot, state.slots());
  if (!state.holds(slot)) throw py::value_error("the allocation holds nothing");
}

template <class Columns>
void check_present(const LiveTable<Columns>& rows, Id row) {
  check_row(row, rows.rows());
  if (!rows.present(row)) throw py::value_error("the row has gone");
}

inline std::vector<Amount> checked_amounts(const ClusterState& state,
                                           const py::array_t<Amount>& amounts) {
  std::vector<Amount> out = to_vector(amounts);
  if (out.size() != state.width()) throw py::value_error("one amount a resource");
  for (const Amount amount : out)
    if (amount < 0 || amount > kMaxAmount) throw py::value_error("an amount is out of range");
  return out;
}

// Defines the methods of a class that has `state()` and `on(delta)`.
template <class Owner, class Class>
void define_deltas(Class& c) {
  using Kind = Delta::Kind;
  using Amounts = py::array_t<Amount>;
  c.def(
       "start",
       [](Owner& o, Id operation, Id node, const Amounts& amounts, Time time) {
         check_present(o.state().operations(), operation);
         if (node != kNoId) check_present(o.state().nodes(), node);
         const std::vector<Amount> size = checked_amounts(o.state(), amounts);
         return o.on(
             {.kind = Kind::kStart, .row = operation, .node = node, .amounts = size, .time = time});
       },
       py::arg("operation"), py::arg("node"), py::arg("amounts"), py::arg("time"), "The slot.")
      .def(
          "end",
          [](Owner& o, Id slot) {
            check_present(o.state(), slot);
            o.on({.kind = Kind::kEnd, .row = slot});
          },
          py::arg("slot"))
      .def(
          "preempt",
          [](Owner& o, Id slot, Id operation, Id request) {
            const Tables& t = o.state().tables();
            check_holding(o.state(), slot);
            if (operation != kNoId) check_present(o.state().operations(), operation);
            if (request != kNoId) {
              check_row(request, t.requests.size());
              operation = t.requests.operation[request];
            }
            o.on({.kind = Kind::kPreempt, .row = slot, .beneficiary = {operation, request}});
          },
          py::arg("slot"), py::arg("operation") = kNoId, py::arg("request") = kNoId,
          "It must leave, for an operation or a request.")
      .def(
          "suspend",
          [](Owner& o, Id slot, const Amounts& held) {
            check_present(o.state(), slot);
            if (o.state().away(slot)) throw py::value_error("the allocation is suspended already");
            const std::vector<Amount> kept = checked_amounts(o.state(), held);
            for (std::size_t r = 0; r < kept.size(); ++r)
              if (kept[r] > o.state().amounts(slot)[r])
                throw py::value_error("it keeps more than it has");
            o.on({.kind = Kind::kSuspend, .row = slot, .amounts = kept});
          },
          py::arg("slot"), py::arg("held"), "It keeps so much (R); all else that it had is free.")
      .def(
          "resume",
          [](Owner& o, Id slot, Id node, Time time) {
            check_row(slot, o.state().slots());
            if (!o.state().away(slot)) throw py::value_error("the allocation is not suspended");
            if (node != kNoId) check_present(o.state().nodes(), node);
            o.on({.kind = Kind::kResume, .row = slot, .node = node, .time = time});
          },
          py::arg("slot"), py::arg("node"), py::arg("time"), "It runs again; node -1: none.")
      .def(
          "touch",
          [](Owner& o, Id slot, Time last_start, Time last_progress) {
            check_present(o.state(), slot);
            o.on(
                {.kind = Kind::kTouch, .row = slot, .time = last_start, .progress = last_progress});
          },
          py::arg("slot"), py::arg("last_start"), py::arg("last_progress"))
      .def(
          "resize",
          [](Owner& o, Id slot, const Amounts& amounts) {
            check_holding(o.state(), slot);
            const std::vector<Amount> size = checked_amounts(o.state(), amounts);
            o.on({.kind = Kind::kResize, .row = slot, .amounts = size});
          },
          py::arg("slot"), py::arg("amounts"))
      .def(
          "set_pending",
          [](Owner& o, Id request, Index count) {
            check_present(o.state().requests(), request);
            o.on({.kind = Kind::kPending, .row = request, .count = count});
          },
          py::arg("request"), py::arg("count"))
      .def(
          "set_capacity",
          [](Owner& o, Id node, const Amounts& amounts) {
            check_present(o.state().nodes(), node);
            const std::vector<Amount> size = checked_amounts(o.state(), amounts);
            o.on({.kind = Kind::kCapacity, .row = node, .amounts = size});
          },
          py::arg("node"), py::arg("amounts"))
      .def(
          "set_schedulable",
          [](Owner& o, Id node, bool schedulable) {
            check_present(o.state().nodes(), node);
            o.on({.kind = Kind::kSchedulable, .row = node, .schedulable = schedulable});
          },
          py::arg("node"), py::arg("schedulable"));
}

}  // namespace evenhand::bindings
