// Snapshots: built from raw columns, read back as arrays.
#include <string>

#include "arrays.h"
#include "evenhand/model/snapshot.h"
#include "pybind.h"
#include "register.h"

namespace evenhand::bindings {
namespace {

template <class T>
std::vector<T> column(const py::dict& table, const char* name) {
  auto a = py::array_t<T, py::array::c_style | py::array::forcecast>(table[name]);
  return {a.data(), a.data() + a.size()};
}

void group_children(Tables& t) {
  const auto pools = static_cast<std::size_t>(t.pools.size());
  std::vector<std::vector<Id>> members(pools);
  for (std::size_t p = 1; p < pools; ++p)
    members[static_cast<std::size_t>(t.pools.parent[p])].push_back(static_cast<Id>(p));
  for (std::size_t o = 0; o < t.operations.pool.size(); ++o)
    members[static_cast<std::size_t>(t.operations.pool[o])].push_back(static_cast<Id>(pools + o));
  t.children.offsets.push_back(0);
  for (auto& m : members) {
    t.children.items.insert(t.children.items.end(), m.begin(), m.end());
    t.children.offsets.push_back(static_cast<Index>(t.children.items.size()));
  }
}

// Walking skeleton: trusts its input, which is already in canonical order.
Snapshot build(const py::dict& head, const py::dict& tables) {
  Tables t;
  for (auto name : head["resources"]) t.resources.names.push_back(py::cast<std::string>(name));
  t.resources.quantum = column<double>(head, "quantum");
  t.total = column<Amount>(head, "total");
  const py::dict pools = tables["pools"];
  const py::dict operations = tables["operations"];
  t.pools.parent = column<Id>(pools, "parent");
  t.pools.weight = column<double>(pools, "weight");
  t.operations.pool = column<Id>(operations, "pool");
  t.operations.weight = column<double>(operations, "weight");
  t.operations.demand = column<Amount>(operations, "demand");
  t.operations.usage = column<Amount>(operations, "usage");
  for (auto name : pools["name"]) t.pools.names.text.push_back(py::cast<std::string>(name));
  for (auto name : operations["name"]) t.operations.names.text.push_back(py::cast<std::string>(name));
  group_children(t);
  const auto width = t.total.size(), n = t.pools.parent.size(), m = t.operations.pool.size();
  t.resources.kind.resize(width, ResourceKind::kOther);
  t.pools.mode.resize(n);
  t.pools.strong_guarantee.resize(n * width);
  t.pools.strong_guarantee_given.resize(n);
  t.pools.limits.resize(n * width);
  t.pools.limits_given.resize(n);
  t.pools.integral.type.resize(n);
  t.pools.integral.resource_flow.resize(n * width);
  t.pools.integral.burst.resize(n * width);
  t.pools.integral.relaxed_share_multiplier_limit.resize(n, 3.0);
  t.pools.integral.can_accept_free_volume.resize(n, 1);
  t.pools.integral.should_distribute_free_volume_among_children.resize(n);
  t.pools.integral.accumulated_volume.resize(n * width);
  t.pools.integral.last_share_ratio.resize(n);
  t.pools.step_function_for_gang.resize(n, 1);
  for (auto* flags : {&t.pools.fifo_reordering, &t.pools.compute_promised_guarantee,
                      &t.pools.priority_strong_guarantee, &t.pools.priority_donor})
    flags->resize(n);
  t.operations.limits.resize(m * width);
  t.operations.limits_given.resize(m);
  t.operations.gang.resize(m);
  t.operations.fifo_start_time.resize(m);
  return Snapshot(std::move(t));
}

}  // namespace

void register_model(py::module_& m) {
  py::class_<Snapshot>(m, "Snapshot", "Frozen tables of one scheduling domain.")
      .def_property_readonly("resource_count",
                             [](const Snapshot& s) { return s.tables().resource_count(); });
  m.def("build_snapshot", &build, py::arg("head"), py::arg("tables"),
        "Build a snapshot from raw columns.");
}

}  // namespace evenhand::bindings
