#include "event_columns.h"

#include <algorithm>

namespace evenhand::bindings {
namespace {

bool is_amounts(EventField field) noexcept {
  return field == EventField::kResources || field == EventField::kHeld ||
         field == EventField::kCapacity;
}

}  // namespace

EventColumns::EventColumns(const py::dict& columns, const std::vector<std::string>& resources,
                           py::ssize_t rows)
    : rows_(rows) {
  for (const auto& [key, given] : columns) {
    Column& column = columns_.emplace_back();
    read(column, given);
    settle(column, py::cast<std::string>(key), resources);
  }
}

void EventColumns::read(Column& column, py::handle given) {
  const auto borrow = [&](py::handle part, const char* dtype, py::ssize_t size) {
    const auto array = py::reinterpret_borrow<py::array>(part);
    if (!py::isinstance<py::array>(part) || !array.dtype().equal(py::dtype(dtype)) ||
        array.ndim() != 1 || array.size() < size || !(array.flags() & py::array::c_style))
      throw py::type_error("a column of another form");
    kept_.push_back(array);
    return array.data();
  };
  if (py::isinstance<py::list>(given)) {
    if (static_cast<py::ssize_t>(py::len(given)) != rows_)
      throw py::type_error("a column of another length");
    kept_.push_back(py::reinterpret_borrow<py::object>(given));
    column.values = given.ptr();
    return;
  }
  const auto parts = py::cast<py::tuple>(given);
  const py::object valid = parts[parts.size() - 1];
  if (!valid.is_none()) column.valid = static_cast<const bool*>(borrow(valid, "bool", rows_));
  if (parts.size() == 3) {
    column.form = Form::kStrings;
    column.offsets = static_cast<const std::int64_t*>(borrow(parts[1], "int64", rows_ + 1));
    column.values = borrow(parts[0], "uint8", 0);
    return;
  }
  const char kind = py::cast<py::array>(parts[0]).dtype().kind();
  column.form = kind == 'b' ? Form::kFlags : kind == 'f' ? Form::kReals : Form::kIntegers;
  column.values = borrow(parts[0], kind == 'b' ? "bool" : kind == 'f' ? "float64" : "int64", rows_);
}

std::size_t EventColumns::group(EventField field, const std::string& name) {
  const auto found = std::ranges::find_if(
      groups_, [&](const Group& g) { return g.field == field && g.name == name; });
  if (found != groups_.end()) return static_cast<std::size_t>(found - groups_.begin());
  groups_.push_back({field, name, {}});
  return groups_.size() - 1;
}

// Which table's rows a field names; a row's own name is an allocation's, mostly.
EventColumns::Names EventColumns::names_of(std::string_view field) noexcept {
  return field == "allocation" || field == "name" ? Names::kAllocations
         : field == "operation"                   ? Names::kOperations
         : field == "request"                     ? Names::kRequests
         : field == "node"                        ? Names::kNodes
                                                  : Names::kNothing;
}

// Finds out what a column is by its name.
void EventColumns::settle(Column& column, const std::string& name,
                          const std::vector<std::string>& resources) {
  if (name == "event") {
    column.place = Place::kEvent;
    return;
  }
  column.field = event_field(name);
  if (column.field != EventField::kCount_) {
    column.place = Place::kField;
    column.names = names_of(name);
    return;
  }
  const bool of_row = name.starts_with("row.");
  const std::string inner = of_row ? name.substr(4) : name;
  const std::size_t dot = inner.find('.');
  const std::string head = inner.substr(0, dot);
  column.name = inner;
  if (of_row && (head == "settings" || head == "labels")) {
    column.place = Place::kSettings;  // for the reader of objects
    return;
  }
  if (dot != std::string::npos && head != "beneficiary") {
    const auto found = std::ranges::find(resources, inner.substr(dot + 1));
    column.field = of_row ? EventField::kRow : event_field(head);
    if (found == resources.end() || (!of_row && !is_amounts(column.field))) return;
    column.resource = static_cast<std::size_t>(found - resources.begin());
    column.group = group(column.field, head);
    column.place = of_row ? Place::kRowAmount : Place::kAmount;
  } else if (of_row) {
    column.place = Place::kRow;
    column.names = names_of(inner);
  }
}

void EventColumns::expect(py::ssize_t row, const ClusterState& state, bool near) const {
  if (row >= rows_) return;
  for (const Column& column : columns_) {
    if (column.names == Names::kNothing) continue;
    const Cell found = cell(column, row);
    if (found.kind != Cell::Kind::kText) continue;
    const auto of = [&](const auto& table) { table.keys().expect(found.text, near); };
    switch (column.names) {
      case Names::kAllocations:
        of(state.allocations());
        break;
      case Names::kOperations:
        of(state.operations());
        break;
      case Names::kRequests:
        of(state.requests());
        break;
      case Names::kNodes:
        of(state.nodes());
        break;
      case Names::kNothing:
        break;
    }
  }
}

Cell EventColumns::cell(const Column& column, py::ssize_t row) const {
  Cell cell;
  const auto i = static_cast<std::size_t>(row);
  if (column.valid != nullptr && !column.valid[i]) return cell;
  switch (column.form) {
    case Form::kIntegers:
      cell.kind = Cell::Kind::kInteger;
      cell.integer = static_cast<const std::int64_t*>(column.values)[i];
      break;
    case Form::kReals:
      cell.kind = Cell::Kind::kReal;
      cell.real = static_cast<const double*>(column.values)[i];
      break;
    case Form::kFlags:
      cell.kind = Cell::Kind::kFlag;
      cell.flag = static_cast<const bool*>(column.values)[i];
      break;
    case Form::kStrings:
      cell.kind = Cell::Kind::kText;
      cell.text = {static_cast<const char*>(column.values) + column.offsets[i],
                   static_cast<std::size_t>(column.offsets[i + 1] - column.offsets[i])};
      break;
    case Form::kList:
      return cell_of(
          PyList_GET_ITEM(static_cast<PyObject*>(const_cast<void*>(column.values)), row));
  }
  return cell;
}

bool EventColumns::load(py::ssize_t row, EventCells& out) {
  for (Group& g : groups_)
    if (g.any) {
      g.cells = {};
      g.any = false;
    }
  for (const Column& column : columns_) {
    const Cell found = cell(column, row);
    if (found.none()) continue;
    switch (column.place) {
      case Place::kEvent:
        if (found.kind != Cell::Kind::kText) return false;
        out.kind = event_kind(found.text);
        break;
      case Place::kField:
        if (column.field == EventField::kRow) return false;
        out.present |= bit(column.field);
        out.cells[static_cast<std::size_t>(column.field)] = found;
        break;
      case Place::kRow:
        out.present |= bit(EventField::kRow);
        out.row.push_back({column.name, found});
        break;
      case Place::kAmount:
      case Place::kRowAmount:
        groups_[column.group].cells.cells[column.resource] = found;
        groups_[column.group].any = true;
        break;
      case Place::kSettings:
      case Place::kStrange:
        return false;
    }
  }
  for (const Group& g : groups_) {
    if (!g.any) continue;
    Cell amounts;
    amounts.kind = Cell::Kind::kAmounts;
    amounts.amounts = &g.cells;
    if (g.field == EventField::kRow) {
      out.row.push_back({g.name, amounts});
    } else {
      if (out.present & bit(g.field)) return false;  // given as a whole, too
      out.cells[static_cast<std::size_t>(g.field)] = amounts;
    }
    out.present |= bit(g.field);
  }
  return out.kind != EventKind::kNone && (out.present & ~fields_of(out.kind)) == 0;
}

}  // namespace evenhand::bindings
