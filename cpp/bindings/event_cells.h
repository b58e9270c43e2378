// Events and their rows as plain cells, whether they came as objects or as columns.
//
// A cell is what it is only where nothing about it is unusual: a reader that meets any other
// kind declines, and the builders of whole tables look at it and say what is wrong.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "evenhand/core/types.h"
#include "pybind.h"

namespace evenhand::bindings {

struct AmountCells;

struct Cell {
  enum class Kind : std::uint8_t { kNone, kInteger, kReal, kFlag, kText, kObject, kAmounts };
  Kind kind = Kind::kNone;
  bool flag = false;
  union {
    std::int64_t integer = 0;
    double real;
    PyObject* object;            // borrowed; of whatever type
    const AmountCells* amounts;  // one cell a resource
  };
  std::string_view text{};

  bool none() const noexcept { return kind == Kind::kNone; }
};

struct AmountCells {
  std::array<Cell, kMaxResources> cells{};
};

struct RowCell {
  std::string_view field;
  Cell cell;
};

enum class EventField : std::uint8_t {
  kAllocation,
  kRequest,
  kNode,
  kName,
  kTable,
  kNow,
  kCount,
  kDeadline,
  kBeneficiary,
  kBeneficiaryOperation,  // of columns; in objects both stand inside the field before
  kBeneficiaryRequest,
  kResources,
  kHeld,
  kCapacity,
  kSchedulable,
  kStartTime,
  kLastJobStartTime,
  kLastProgressTime,
  kRow,
  kCount_
};
inline constexpr std::size_t kEventFields = static_cast<std::size_t>(EventField::kCount_);

inline constexpr std::array<std::string_view, kEventFields> kEventFieldNames = {
    "allocation",
    "request",
    "node",
    "name",
    "table",
    "now",
    "count",
    "deadline",
    "beneficiary",
    "beneficiary.operation",
    "beneficiary.request",
    "resources",
    "held",
    "capacity",
    "schedulable",
    "start_time",
    "last_job_start_time",
    "last_progress_time",
    "row"};

enum class EventKind : std::uint8_t {
  kTime,
  kStart,
  kEnd,
  kLeave,
  kSuspend,
  kResume,
  kJob,
  kResize,
  kTake,
  kCount,
  kNode,
  kPut,
  kRemove,
  kNone
};

constexpr std::uint32_t bit(EventField field) noexcept {
  return std::uint32_t{1} << static_cast<unsigned>(field);
}

// One event. What its cells refer to stays as long as nothing runs Python code.
struct EventCells {
  EventKind kind = EventKind::kNone;
  std::uint32_t present = 0;  // fields that are there, if only with no value
  std::array<Cell, kEventFields> cells{};
  std::vector<RowCell> row;     // where `row` is none
  py::object settings, labels;  // of the row, where it has any

  const Cell& operator[](EventField field) const noexcept {
    return cells[static_cast<std::size_t>(field)];
  }
  void clear() {
    kind = EventKind::kNone;
    present = 0;
    cells.fill({});
    row.clear();
    settings = labels = py::object();
  }
};

// The cell of a Python object.
Cell cell_of(PyObject* object) noexcept;

// The text of a name, an integer as its decimal text in `buffer`; empty: it is no name.
std::string_view name_of(const Cell& cell, std::string& buffer);

EventKind event_kind(std::string_view word) noexcept;
EventField event_field(std::string_view name) noexcept;  // kCount_: none

// Fields that an event of a kind may have.
std::uint32_t fields_of(EventKind kind) noexcept;

// Reads an event that is a dict or an object of one of the classes, in the order of the kinds.
// False: it is none of these, or its keys are no fields of its kind.
bool load_event(py::handle given, const py::tuple& classes, EventCells& out);

// Whether some of the events remove nodes, as far as they are plain.
bool removes_nodes(const py::list& events, const py::tuple& classes);

// Copies of events whose cells no other code holds. `own` copies what is no plain dict.
py::list own_events(const py::list& events, const py::object& own);

}  // namespace evenhand::bindings
