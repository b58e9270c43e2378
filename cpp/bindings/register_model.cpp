// Snapshots: built from raw columns, read back as arrays.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>

#include "arrays.h"
#include "evenhand/model/snapshot.h"
#include "evenhand/model/visit_columns.h"
#include "pybind.h"
#include "raw_columns.h"
#include "register.h"

namespace evenhand::bindings {
namespace {

py::str decoded(std::string_view text) {
  return py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

[[noreturn]] void throw_invalid(const py::object& type, const Problems& problems) {
  py::list listed;
  for (const Problem& p : problems.kept())
    listed.append(py::make_tuple(decoded(p.table), p.row, decoded(p.name), decoded(p.field),
                                 decoded(p.rule), decoded(p.value), decoded(p.message)));
  const py::object error = type(std::to_string(problems.total()) + " problems in the columns");
  error.attr("problems") = listed;
  error.attr("total") = problems.total();
  PyErr_SetObject(type.ptr(), error.ptr());
  throw py::error_already_set();
}

py::list strings(const StringColumn& column) {
  py::list result;
  for (Index i = 0; i < column.size(); ++i) result.append(decoded(column[i]));
  return result;
}

py::list names(const NameColumn& column) {
  py::list result;
  for (Index i = 0; i < column.text.size(); ++i) {
    py::object text = decoded(column.text[i]);
    const bool integer = !column.is_integer.empty() && column.is_integer[i];
    result.append(integer ? py::object(py::int_(text)) : text);
  }
  return result;
}

// Read-only view of a frozen column: the array keeps the snapshot alive.
template <class T>
py::object frozen(const Snapshot& snapshot, const std::vector<T>& column,
                  std::vector<py::ssize_t> shape) {
  py::capsule owner(new Snapshot(snapshot), [](void* p) { delete static_cast<Snapshot*>(p); });
  py::array_t<T> a(std::move(shape), column.data(), owner);
  a.attr("flags").attr("writeable") = false;
  return a;
}

template <class T>
auto plain(const std::vector<T>& column) {
  if constexpr (std::is_enum_v<T>) {
    using U = std::underlying_type_t<T>;
    std::vector<U> values(column.size());
    for (std::size_t i = 0; i < column.size(); ++i) values[i] = static_cast<U>(column[i]);
    return values;
  } else {
    return column;
  }
}

bool has_resource_axis(std::string_view field) {
  for (const std::string_view name :
       {"demand", "usage", "limits", "strong_guarantee", "capacity", "resources", "held",
        "best_allocation_share", "integral.resource_flow", "integral.burst",
        "integral.accumulated_volume"})
    if (field == name) return true;
  return false;
}

// What `column`, `text`, `text_list` and `names` have in common: finding a column.
template <class Convert>
py::object find_column(const Snapshot& s, const std::string& table, const std::string& field,
                       Convert&& convert) {
  py::object found;
  visit_tables(s.tables(), [&](std::string_view name, const auto& columns, Index rows) {
    if (name != table) return;
    visit_columns(columns, [&](std::string_view column_name, const auto& column, auto absent) {
      if (column_name == field) found = convert(column, absent, rows);
    });
  });
  if (!found) throw py::key_error("no such column: " + table + "." + field);
  return found;
}

py::object numeric_column(const Snapshot& s, const std::string& table, const std::string& field) {
  return find_column(s, table, field, [&](const auto& column, auto absent, Index rows) {
    using Column = std::decay_t<decltype(column)>;
    if constexpr (requires { typename Column::value_type; }) {
      using T = typename Column::value_type;
      std::vector<py::ssize_t> shape{rows};
      if (has_resource_axis(field)) shape.push_back(s.tables().resource_count());
      if constexpr (!std::is_enum_v<T>)
        if (!column.empty()) return frozen(s, column, shape);
      auto values = plain(column);
      if (values.empty()) {
        const auto cells =
            static_cast<std::size_t>(shape.size() == 2 ? rows * s.tables().resource_count() : rows);
        values.assign(cells, static_cast<typename decltype(values)::value_type>(absent));
      }
      py::object a = to_array(std::move(values), shape);
      a.attr("flags").attr("writeable") = false;
      return a;
    } else {
      return py::object();
    }
  });
}

py::object text_column(const Snapshot& s, const std::string& table, const std::string& field) {
  return find_column(s, table, field, [&](const auto& column, auto, Index rows) -> py::object {
    if constexpr (std::is_same_v<std::decay_t<decltype(column)>, TextColumn>) {
      std::vector<Id> codes = column.codes;
      codes.resize(static_cast<std::size_t>(rows), kNoId);
      return py::make_tuple(strings(column.values), to_array(std::move(codes)));
    } else {
      return py::object();
    }
  });
}

py::object text_list_column(const Snapshot& s, const std::string& table, const std::string& field) {
  return find_column(s, table, field, [&](const auto& column, auto, Index rows) -> py::object {
    if constexpr (std::is_same_v<std::decay_t<decltype(column)>, TextListColumn>) {
      std::vector<Index> offsets = column.offsets;
      offsets.resize(static_cast<std::size_t>(rows) + 1, 0);
      return py::make_tuple(strings(column.values), to_array(std::move(offsets)),
                            to_array(column.codes));
    } else {
      return py::object();
    }
  });
}

py::object name_column(const Snapshot& s, const std::string& table) {
  return find_column(s, table, "name", [&](const auto& column, auto, Index) -> py::object {
    if constexpr (std::is_same_v<std::decay_t<decltype(column)>, NameColumn>)
      return names(column);
    else
      return py::object();
  });
}

// Whether a column has a cell that is not the absent one.
template <class Column, class T>
bool says_something(const Column& column, const T& absent) {
  if constexpr (requires { typename Column::value_type; }) {
    return std::ranges::any_of(column, [&](const auto& cell) {
      if constexpr (std::is_floating_point_v<T>) {
        return cell != absent && !(std::isnan(cell) && std::isnan(absent));
      } else {
        return cell != absent;
      }
    });
  } else if constexpr (std::is_same_v<Column, TextColumn>) {
    return std::ranges::any_of(column.codes, [](Id code) { return code >= 0; });
  } else if constexpr (std::is_same_v<Column, TextListColumn>) {
    return !column.codes.empty();
  } else {
    return true;  // names
  }
}

py::typing::Set<py::str> filled_columns(const Snapshot& s, const std::string& table) {
  py::typing::Set<py::str> found;
  visit_tables(s.tables(), [&](std::string_view name, const auto& columns, Index) {
    if (name != table) return;
    visit_columns(columns, [&](std::string_view field, const auto& column, auto absent) {
      if (says_something(column, absent)) found.add(decoded(field));
    });
  });
  return found;
}

py::array_t<Id> permutation(const Snapshot& s, const std::string& table) {
  const RowOrders& o = s.orders();
  const auto rows = [&](const RowOrder& order, bool root) {
    std::vector<Id> source(root ? 1 : 0, kNoId);
    for (std::size_t i = 0; i < order.size(); ++i)
      source.push_back(static_cast<Id>(order.input(i)));
    return to_array(std::move(source));
  };
  if (table == "pools") return rows(o.pools, true);
  if (table == "operations") return rows(o.operations, false);
  if (table == "nodes") return rows(o.nodes, false);
  if (table == "allocations") return rows(o.allocations, false);
  if (table == "requests") return rows(o.requests, false);
  if (table == "reservations") return rows(o.reservations, false);
  throw py::key_error("no such table: " + table);
}

py::object time_or_none(Time time) {
  return time == kNoTime ? py::object(py::none()) : py::object(py::int_(time));
}

}  // namespace

void register_model(py::module_& m) {
  const auto invalid = py::reinterpret_steal<py::object>(PyErr_NewExceptionWithDoc(
      "evenhand._core.InvalidColumns", "Raw columns that break rules: .problems (tuples), .total.",
      PyExc_ValueError, nullptr));
  m.attr("InvalidColumns") = invalid;

  py::class_<Snapshot>(m, "Snapshot", "Frozen tables of one scheduling domain.")
      .def_property_readonly("resource_count",
                             [](const Snapshot& s) { return s.tables().resource_count(); })
      .def_property_readonly("pool_count",
                             [](const Snapshot& s) { return s.tables().pools.size(); })
      .def_property_readonly("operation_count",
                             [](const Snapshot& s) { return s.tables().operations.size(); })
      .def_property_readonly("node_count",
                             [](const Snapshot& s) { return s.tables().nodes.size(); })
      .def_property_readonly("allocation_count",
                             [](const Snapshot& s) { return s.tables().allocations.size(); })
      .def_property_readonly("request_count",
                             [](const Snapshot& s) { return s.tables().requests.size(); })
      .def_property_readonly("reservation_count",
                             [](const Snapshot& s) { return s.tables().reservations.size(); })
      .def_property_readonly(
          "now", [](const Snapshot& s) { return s.tables().now; }, "Microseconds.")
      .def_property_readonly(
          "previous_update",
          [](const Snapshot& s) { return time_or_none(s.tables().previous_update); },
          "Microseconds, or None.")
      .def_property_readonly(
          "total",
          [](const Snapshot& s) {
            return frozen(s, s.tables().total, {s.tables().resource_count()});
          },
          "Quanta of each resource.")
      .def_property_readonly(
          "capacity",
          [](const Snapshot& s) {
            return frozen(s, s.tables().resources.capacity, {s.tables().resource_count()});
          },
          "Cluster-scoped quanta of each resource.")
      .def("permutation", &permutation, py::arg("table"),
           "Input row of each canonical row (-1: the root).")
      .def("names", &name_column, py::arg("table"), "Names in canonical order.")
      .def("column", &numeric_column, py::arg("table"), py::arg("field"),
           "A column in canonical order: amounts in quanta, times in microseconds.")
      .def("filled", &filled_columns, py::arg("table"),
           "Columns in which a cell is not the absent one.")
      .def("text", &text_column, py::arg("table"), py::arg("field"), "(values, codes).")
      .def("text_list", &text_list_column, py::arg("table"), py::arg("field"),
           "(values, offsets, codes).")
      .def(
          "children",
          [](const Snapshot& s) {
            const Grouping& g = s.tables().children;
            return py::make_tuple(
                frozen(s, g.offsets, {static_cast<py::ssize_t>(g.offsets.size())}),
                frozen(s, g.items, {static_cast<py::ssize_t>(g.items.size())}));
          },
          "(offsets, items): the elements below each pool in canonical order.")
      .def_property_readonly("nbytes", [](const Snapshot& s) { return memory_bytes(s.tables()); })
      .def(
          "fingerprint", [](const Snapshot& s) { return fingerprint(s.tables()); },
          py::call_guard<py::gil_scoped_release>(), "Hexadecimal; the same for rows in any order.");

  const auto checked = [invalid](std::variant<Built, Problems> result) {
    if (const auto* problems = std::get_if<Problems>(&result)) throw_invalid(invalid, *problems);
    return Snapshot(std::get<Built>(std::move(result)));
  };

  m.def(
      "at_instant",
      [checked](const Snapshot& snapshot, py::handle now, py::handle previous_update) {
        std::optional<raw::Instant> previous;
        if (!previous_update.is_none()) previous = read_instant(previous_update, "previous_update");
        return checked(at_instant(snapshot.built(), read_instant(now, "now"), previous));
      },
      py::arg("snapshot"), py::arg("now"), py::arg("previous_update") = py::none(),
      "The same rows at another instant; raises InvalidColumns.");

  m.def(
      "build_snapshot",
      [checked](const py::dict& head, const py::dict& tables, const std::string& rounding) {
        const RawColumns columns(head, tables, rounding);
        std::optional<std::variant<Built, Problems>> result;
        {
          const py::gil_scoped_release release;
          result = build(columns.input());
        }
        return checked(std::move(*result));
      },
      py::arg("head"), py::arg("tables"), py::arg("rounding") = "exact",
      "Build a snapshot from raw columns; raises InvalidColumns.");
}

}  // namespace evenhand::bindings
