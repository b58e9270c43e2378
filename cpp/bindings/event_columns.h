// Events as columns: one cell an event and field, fields of rows and amounts dotted.
#pragma once

#include <memory>
#include <vector>

#include "evenhand/model/cluster_state.h"
#include "event_cells.h"

namespace evenhand::bindings {

class EventColumns {
 public:
  // Names to (values, valid or None), (bytes, offsets, valid or None), or a list.
  EventColumns(const py::dict& columns, const std::vector<std::string>& resources,
               py::ssize_t rows);

  py::ssize_t rows() const noexcept { return rows_; }
  // Reads an event; its amounts stand here until the next one. False: it has a cell in a column
  // that is none of its fields, or one that only objects can say more about.
  bool load(py::ssize_t row, EventCells& out);
  // Begins to load what finding the names of an event will read; nothing of one beyond the last.
  void expect(py::ssize_t row, const ClusterState& state, bool near) const;

 private:
  enum class Form : std::uint8_t { kIntegers, kReals, kFlags, kStrings, kList };
  enum class Place : std::uint8_t {
    kEvent,
    kField,
    kAmount,
    kRow,
    kRowAmount,
    kSettings,
    kStrange
  };
  enum class Names : std::uint8_t { kNothing, kAllocations, kOperations, kRequests, kNodes };
  struct Column {
    Form form = Form::kList;
    Place place = Place::kStrange;
    Names names = Names::kNothing;
    EventField field = EventField::kCount_;
    std::size_t resource = 0, group = 0;  // of amounts
    std::string name;                     // of a row's field
    const void* values = nullptr;
    const std::int64_t* offsets = nullptr;
    const bool* valid = nullptr;
  };
  struct Group {  // amounts of one field
    EventField field;
    std::string name;
    AmountCells cells;
    bool any = false;
  };

  static Names names_of(std::string_view field) noexcept;
  void read(Column& column, py::handle given);
  void settle(Column& column, const std::string& name, const std::vector<std::string>& resources);
  std::size_t group(EventField field, const std::string& name);
  Cell cell(const Column& column, py::ssize_t row) const;

  py::ssize_t rows_;
  std::vector<Column> columns_;
  std::vector<Group> groups_;
  std::vector<py::object> kept_;
};

}  // namespace evenhand::bindings
