#include "event_rows.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "evenhand/model/columns.h"
#include "evenhand/model/visit_columns.h"

namespace evenhand::bindings {
namespace {

using Kind = Cell::Kind;

bool number(const Cell& cell, double& value) {
  if (cell.kind == Kind::kReal)
    value = cell.real;
  else if (cell.kind == Kind::kInteger)
    value = static_cast<double>(cell.integer);
  else
    return false;
  return std::isfinite(value);
}

template <class T>
void put(std::vector<T>& column, T value) {
  column.assign(1, value);
}

void put_text(TextColumn& column, std::string_view text) {
  column.values.push_back(text);
  column.codes.assign(1, 0);
}

template <class Member>
struct ColumnsOf;
template <class Column, class Columns>
struct ColumnsOf<Column Columns::*> {
  using Type = Columns;
};

// Lets columns be those of one row in which every cell is absent.
template <class Columns>
void reset(Columns& columns, std::size_t width) {
  columns.names.text.bytes.clear();
  columns.names.text.offsets.assign(1, 0);
  columns.names.is_integer.clear();
  visit_members(&columns, [&]<class Member>(std::string_view, Member member, const auto& cells) {
    auto& column = columns.*member;
    using Column = std::remove_reference_t<decltype(column)>;
    if constexpr (std::is_same_v<Column, TextColumn>) {
      if (column.codes.empty()) return;
      column.codes.clear();
      column.values.bytes.clear();
      column.values.offsets.assign(1, 0);
    } else if constexpr (std::is_same_v<Column, TextListColumn>) {
      if (column.offsets.size() == 1) return;
      column = {};
    } else if constexpr (!std::is_same_v<Column, NameColumn>) {
      if (cells.sparse)
        column.clear();
      else
        column.assign(cells.each ? width : 1, cells.absent);
    }
  });
}

}  // namespace

// How the cells of each field are read; R: what is read of a row besides.
struct RowFields {
  template <class Columns>
  using Read = bool (*)(RowReader&, Columns&, const Cell&);

  template <auto Member>
  static bool time(RowReader&, ColumnsOf<decltype(Member)>::Type& c, const Cell& cell) {
    Time value = 0;
    if (!RowReader::time(cell, value)) return false;
    put(c.*Member, value);
    return true;
  }
  template <auto Member>
  static bool flag(RowReader&, ColumnsOf<decltype(Member)>::Type& c, const Cell& cell) {
    if (cell.kind != Kind::kFlag) return false;
    put(c.*Member, std::uint8_t{cell.flag});
    return true;
  }
  template <auto Member>
  static bool text(RowReader&, ColumnsOf<decltype(Member)>::Type& c, const Cell& cell) {
    if (cell.kind != Kind::kText) return false;
    put_text(c.*Member, cell.text);
    return true;
  }
  template <auto Member>
  static bool label(RowReader& r, ColumnsOf<decltype(Member)>::Type& c, const Cell& cell) {
    const std::string_view name = name_of(cell, r.buffer_);
    if (!name.empty()) put_text(c.*Member, name);
    return !name.empty();
  }
  template <auto Member>
  static bool texts(RowReader&, ColumnsOf<decltype(Member)>::Type& c, const Cell& cell) {
    if (cell.kind != Kind::kObject || !PyList_CheckExact(cell.object)) return false;
    TextListColumn& column = c.*Member;
    column = {};
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(cell.object); ++i) {
      const Cell item = cell_of(PyList_GET_ITEM(cell.object, i));
      if (item.kind != Kind::kText) return false;
      column.values.push_back(item.text);
      column.codes.push_back(static_cast<Id>(i));
    }
    column.offsets.push_back(static_cast<Index>(column.codes.size()));
    return true;
  }
  template <auto Member>
  static bool amounts(RowReader& r, ColumnsOf<decltype(Member)>::Type& c, const Cell& cell) {
    std::vector<Amount>& column = c.*Member;
    column.assign(r.state_.width(), 0);
    return r.amounts(cell, column.data());
  }
  template <auto Member>
  static bool order(RowReader&, ColumnsOf<decltype(Member)>::Type& c, const Cell& cell) {
    double value = 0;
    if (!number(cell, value)) return false;
    put(c.*Member, value);
    return true;
  }
  template <class Columns>
  static bool priority(RowReader&, Columns& c, const Cell& cell) {
    double value = 0;
    if (!number(cell, value)) return false;
    put(c.priority, value);
    put(c.priority_given, std::uint8_t{1});
    return true;
  }
  static bool weight(RowReader&, OperationColumns& c, const Cell& cell) {
    return number(cell, c.weight[0]) && c.weight[0] > 0;
  }
  template <class Columns>
  static bool name(RowReader& r, Columns& c, const Cell& cell) {
    const std::string_view text = name_of(cell, r.buffer_);
    c.names.text.push_back(text);
    if (cell.kind == Kind::kInteger) c.names.is_integer.assign(1, 1);
    return !text.empty();
  }
  template <auto Table, Id RowReferences::* To, class Columns>
  static bool reference(RowReader& r, Columns&, const Cell& cell) {
    const std::string_view text = name_of(cell, r.buffer_);
    return !text.empty() && (r.refers.*To = (r.state_.*Table)().find(text)) != kNoId;
  }
  static bool slot(RowReader& r, ReservationColumns&, const Cell& cell) {
    const std::string_view text = name_of(cell, r.buffer_);
    const Id found = text.empty() ? kNoId : r.state_.allocations().find(text);
    if (found == kNoId || (r.state_.gone(found) && !r.state_.away(found))) return false;
    r.refers.allocation = found;
    return true;
  }
  static bool pool(RowReader& r, OperationColumns&, const Cell& cell) {
    const std::string_view text = name_of(cell, r.buffer_);
    return !text.empty() && (r.refers.pool = r.pool(text)) != kNoId;
  }
  template <auto Member, std::size_t N>
  static bool word(ColumnsOf<decltype(Member)>::Type& c, const Cell& cell,
                   const std::array<std::string_view, N>& words) {
    if (cell.kind != Kind::kText) return false;
    const auto found = std::ranges::find(words, cell.text);
    if (found == words.end()) return false;
    using Word = std::remove_reference_t<decltype((c.*Member)[0])>;
    (c.*Member)[0] = static_cast<Word>(found - words.begin());
    return true;
  }

  static const auto& of(const AllocationColumns*) {
    using C = AllocationColumns;
    static const std::unordered_map<std::string_view, Read<C>> fields = {
        {"name", name<C>},
        {"operation", reference<&ClusterState::operations, &RowReferences::operation, C>},
        {"node", reference<&ClusterState::nodes, &RowReferences::node, C>},
        {"required_node", reference<&ClusterState::nodes, &RowReferences::required_node, C>},
        {"resources", amounts<&C::resources>},
        {"start_time",
         [](RowReader& r, C& c, const Cell& cell) {
           return r.refers.started = time<&C::start_time>(r, c, cell);
         }},
        {"last_job_start_time",
         [](RowReader& r, C&, const Cell& cell) {
           return RowReader::time(cell, r.refers.last_job_start);
         }},
        {"last_progress_time", time<&C::last_progress_time>},
        {"planned_end", time<&C::planned_end>},
        {"priority", priority<C>},
        {"state",
         [](RowReader&, C& c, const Cell& cell) {
           static constexpr std::array<std::string_view, 4> words = {"running", "preempting",
                                                                     "suspended", "preempted"};
           return word<&C::state>(c, cell, words);
         }},
        {"deadline", time<&C::deadline>},
        {"beneficiary",
         [](RowReader& r, C& c, const Cell& cell) {
           return label<&C::beneficiary_request>(r, c, cell);  // a bare name
         }},
        {"beneficiary.operation", label<&C::beneficiary_operation>},
        {"beneficiary.request", label<&C::beneficiary_request>},
        {"held", amounts<&C::held>},
        {"interruptible", flag<&C::interruptible>},
        {"checkpointable", flag<&C::checkpointable>},
        {"rerunnable", flag<&C::rerunnable>},
        {"preemptible", flag<&C::preemptible>},
        {"originator", flag<&C::originator>},
        {"order", order<&C::order>}};
    return fields;
  }
  static const auto& of(const OperationColumns*) {
    using C = OperationColumns;
    static const std::unordered_map<std::string_view, Read<C>> fields = {
        {"name", name<C>},
        {"pool", pool},
        {"user", text<&C::user>},
        {"project", text<&C::project>},
        {"account", text<&C::account>},
        {"partition", text<&C::partition>},
        {"qos", text<&C::qos>},
        {"weight", weight},
        {"priority", priority<C>},
        {"usage",
         [](RowReader& r, C& c, const Cell& cell) {
           return r.amounts(cell, c.usage.data(), &r.refers.usage);
         }},
        {"demand",
         [](RowReader& r, C& c, const Cell& cell) {
           return r.amounts(cell, c.demand.data(), &r.refers.demand);
         }},
        {"limits",
         [](RowReader& r, C& c, const Cell& cell) {
           return r.amounts(cell, c.limits.data(), &c.limits_given[0]);
         }},
        {"best_allocation_share",
         [](RowReader& r, C& c, const Cell& cell) {
           c.best_allocation_share.assign(r.state_.width(), 1.0);
           return r.shares(cell, c.best_allocation_share.data());
         }},
        {"gang", flag<&C::gang>},
        {"start_time", time<&C::start_time>},
        {"fifo_start_time",
         [](RowReader& r, C& c, const Cell& cell) {
           return r.refers.started = time<&C::fifo_start_time>(r, c, cell);
         }},
        {"kind",
         [](RowReader&, C& c, const Cell& cell) {
           static constexpr std::array<std::string_view, 4> words = {"batch", "interactive",
                                                                     "inference", "system"};
           return word<&C::kind>(c, cell, words);
         }},
        {"order", order<&C::order>}};
    return fields;
  }
  static const auto& of(const RequestColumns*) {
    using C = RequestColumns;
    static const std::unordered_map<std::string_view, Read<C>> fields = {
        {"name", name<C>},
        {"operation", reference<&ClusterState::operations, &RowReferences::operation, C>},
        {"required_node", reference<&ClusterState::nodes, &RowReferences::required_node, C>},
        {"resources", amounts<&C::resources>},
        {"count",
         [](RowReader&, C& c, const Cell& cell) { return RowReader::whole(cell, 0, c.count[0]); }},
        {"gang", [](RowReader& r, C& c,
                    const Cell& cell) { return r.refers.gang = flag<&C::gang>(r, c, cell); }},
        {"submit_time", time<&C::submit_time>},
        {"priority", priority<C>},
        {"duration",
         [](RowReader& r, C& c, const Cell& cell) {
           return time<&C::duration>(r, c, cell) && c.duration[0] >= 0;
         }},
        {"node_tags", texts<&C::node_tags>},
        {"preemptible", flag<&C::preemptible>},
        {"reserve", flag<&C::reserve>},
        {"order", order<&C::order>}};
    return fields;
  }
  static const auto& of(const NodeColumns*) {
    using C = NodeColumns;
    static const std::unordered_map<std::string_view, Read<C>> fields = {
        {"name", name<C>},
        {"capacity", amounts<&C::capacity>},
        {"tags", texts<&C::tags>},
        {"schedulable", flag<&C::schedulable>},
        {"overcommitted_since", time<&C::overcommitted_since>},
        {"physical", text<&C::physical>},
        {"swap_free",
         [](RowReader&, C& c, const Cell& cell) {
           c.swap_free.assign(1, 0);
           return RowReader::whole(cell, 0, c.swap_free[0]);
         }},
        {"order", order<&C::order>}};
    return fields;
  }
  static const auto& of(const ReservationColumns*) {
    using C = ReservationColumns;
    static const std::unordered_map<std::string_view, Read<C>> fields = {
        {"name", name<C>},
        {"request", reference<&ClusterState::requests, &RowReferences::request, C>},
        {"allocation", slot},
        {"node", reference<&ClusterState::nodes, &RowReferences::node, C>},
        {"resources", amounts<&C::resources>},
        {"from", time<&C::from>},
        {"until", time<&C::until>},
        {"soft", flag<&C::soft>}};
    return fields;
  }
};

template <class Columns>
bool RowReader::read(Columns& columns, const std::vector<RowCell>& row) {
  reset(columns, state_.width());
  refers = {};
  const auto& fields = RowFields::of(&columns);
  for (const RowCell& r : row) {
    const auto found = fields.find(r.field);
    if (found == fields.end()) return false;
    if (!r.cell.none() && !found->second(*this, columns, r.cell)) return false;
  }
  if (columns.names.text.size() != 1) return false;
  if constexpr (std::is_same_v<Columns, AllocationColumns>) {
    if (refers.operation == kNoId) return false;
    for (std::size_t r = 0; r < columns.held.size(); ++r)
      if (columns.held[r] > columns.resources[r]) return false;
  } else if constexpr (std::is_same_v<Columns, OperationColumns>) {
    if (!refers.started) columns.fifo_start_time = columns.start_time;
    if (refers.usage != 0 && refers.demand == 0) columns.demand = columns.usage;
    for (std::size_t r = 0; r < columns.usage.size(); ++r)
      if (columns.usage[r] > columns.demand[r]) return false;
  }
  return true;
}

template bool RowReader::read(AllocationColumns&, const std::vector<RowCell>&);
template bool RowReader::read(OperationColumns&, const std::vector<RowCell>&);

bool RowReader::read_request(const std::vector<RowCell>& row) {
  if (!read(requests, row) || refers.operation == kNoId) return false;
  if (!refers.gang)
    requests.gang[0] = state_.operations().get(&OperationColumns::gang, refers.operation);
  return true;
}

bool RowReader::read_node(const std::vector<RowCell>& row) {
  return read(nodes, row) && of_nodes(nodes.capacity.data());
}

bool RowReader::read_reservation(const std::vector<RowCell>& row) {
  if (!read(reservations, row) || refers.node == kNoId) return false;
  const std::vector<Time>&from = reservations.from, &until = reservations.until;
  return (refers.request == kNoId) != (refers.allocation == kNoId) &&
         (from.empty() || until.empty() || from[0] <= until[0]);
}

// The cells of an object of amounts, one a resource.
bool RowReader::place(const Cell& cell, const AmountCells*& cells, AmountCells& buffer) const {
  if (cell.kind == Kind::kAmounts) {
    cells = cell.amounts;
    return true;
  }
  if (cell.kind != Kind::kObject || !PyDict_CheckExact(cell.object)) return false;
  const StringColumn& names = state_.tables().resources.names;
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t at = 0;
  while (PyDict_Next(cell.object, &at, &key, &value)) {
    const Cell name = cell_of(key);
    if (name.kind != Kind::kText) return false;
    std::size_t r = 0;
    while (r < state_.width() && names[static_cast<Index>(r)] != name.text) ++r;
    if (r == state_.width()) return false;
    buffer.cells[r] = cell_of(value);
  }
  cells = &buffer;
  return true;
}

bool RowReader::amounts(const Cell& cell, Amount* quanta, ResourceMask* given) const {
  AmountCells buffer;
  const AmountCells* found = nullptr;
  if (!place(cell, found, buffer)) return false;
  // As in a table of one row: whole numbers are exact unless one of them is not whole.
  const auto begin = found->cells.begin(),
             end = begin + static_cast<std::ptrdiff_t>(state_.width());
  const bool real = std::any_of(begin, end, [](const Cell& c) { return c.kind == Kind::kReal; });
  for (std::size_t r = 0; r < state_.width(); ++r) {
    const Cell& c = found->cells[r];
    quanta[r] = 0;
    if (c.none()) continue;
    if (c.kind != Kind::kReal && c.kind != Kind::kInteger) return false;
    const double value = c.kind == Kind::kReal ? c.real : static_cast<double>(c.integer);
    const std::optional<Amount> whole =
        real ? scale_.quanta(value, r) : scale_.quanta(c.integer, r);
    if (!whole) return false;
    quanta[r] = *whole;
    if (given != nullptr) *given |= ResourceMask{1} << r;
  }
  return true;
}

bool RowReader::shares(const Cell& cell, double* shares) const {
  AmountCells buffer;
  const AmountCells* found = nullptr;
  if (!place(cell, found, buffer)) return false;
  for (std::size_t r = 0; r < state_.width(); ++r)
    if (const Cell& c = found->cells[r]; !c.none())
      if (!number(c, shares[r]) || shares[r] < 0 || shares[r] > 1) return false;
  return true;
}

bool RowReader::time(const Cell& cell, Time& time) {
  double seconds = 0;
  if (!number(cell, seconds)) return false;
  const std::optional<Time> found = time_of(seconds);
  if (found) time = *found;
  return found.has_value();
}

bool RowReader::whole(const Cell& cell, Index least, Index& value) {
  if (cell.kind != Kind::kInteger) return false;
  value = cell.integer;
  return value >= least && value <= kMaxAmount;
}

Id RowReader::pool(std::string_view name) const {
  const PoolColumns& pools = state_.tables().pools;
  const StringColumn& names = pools.names.text;
  if (pools.order.empty()) {
    Index low = 1;
    for (Index high = names.size(); low < high;) {
      const Index middle = low + (high - low) / 2;
      if (names[middle] < name)
        low = middle + 1;
      else
        high = middle;
    }
    if (low < names.size() && names[low] == name) return static_cast<Id>(low);
  } else {
    for (Index p = 1; p < names.size(); ++p)
      if (names[p] == name) return static_cast<Id>(p);
  }
  return names[0] == name ? 0 : kNoId;
}

bool RowReader::of_nodes(const Amount* amounts) const {
  const std::vector<ResourceScope>& scope = state_.tables().resources.scope;
  for (std::size_t r = 0; r < scope.size(); ++r)
    if (scope[r] == ResourceScope::kCluster && amounts[r] > 0) return false;
  return true;
}

}  // namespace evenhand::bindings
