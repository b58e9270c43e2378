// Makes planners of any system, for a snapshot or a living cluster.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "planner.h"
#include "reader.h"

namespace evenhand::bindings {

// What Python gives by name: the columns "settings", "rows" and "memory", and what else a system
// has.
struct Maker {
  std::function<std::shared_ptr<BoundPlanner>(const Snapshot&, const py::dict& given)> once;
  std::function<std::shared_ptr<BoundPlanner>(LiveCluster&, const py::dict& given,
                                              bool total_stated)>
      live;
};

inline py::dict part(const py::dict& given, const char* name) {
  return given[name].cast<py::dict>();
}

// Room that allocations have taken from nodes, of settings of theirs.
inline std::vector<ClusterState::TakenRoom> taken_rooms(Reader& rows, std::size_t width) {
  std::vector<Id> taken;
  std::vector<Amount> amounts;
  rows.read("room_taken_rows", taken);
  rows.read("room_taken", amounts);
  std::vector<ClusterState::TakenRoom> out;
  auto from = amounts.begin();
  for (const Id allocation : taken) {
    const auto to = from + static_cast<std::ptrdiff_t>(width);
    out.push_back({allocation, {from, to}});
    from = to;
  }
  return out;
}

// By a system's word.
std::map<std::string, Maker>& makers();

// A file of systems/ enters here what offers its system to Python, so that no other file names it.
using Offer = void (*)(py::module_&);
std::map<std::string, Offer>& systems();
struct Enters {
  Enters(const char* word, Offer offer) { systems().emplace(word, offer); }
};

// Lets planners of a system be made. It has
//   Planner, and Kept: what columns leave for those that come later;
//   inputs(snapshot, given, kept): what a planner is made of;
//   came(planner, table, rows, columns, kept): hands over settings of rows that came later;
//   coming(columns, kept): makes what hands over one row of a workload's operations.
template <class System>
void makes_planners(const std::string& word) {
  using Planner = typename System::Planner;
  using Kept = typename System::Kept;
  makers()[word] = {
      [](const Snapshot& snapshot, const py::dict& given) {
        Kept kept{};
        return bound<Planner>(System::inputs(snapshot, given, kept));
      },
      [](LiveCluster& cluster, const py::dict& given, bool total_stated) {
        const auto kept = std::make_shared<Kept>();
        auto inputs = System::inputs(cluster.state().snapshot(), given, *kept);
        const auto came = [kept](Planner& planner, const std::string& table,
                                 const std::vector<Id>& rows, const py::dict& columns) {
          System::came(planner, table, rows, columns, *kept);
        };
        const auto coming = [kept](const py::dict& columns) {
          return System::coming(columns, *kept);
        };
        using State = std::shared_ptr<ClusterState>;
        if constexpr (std::is_constructible_v<Planner, decltype(inputs), State, bool>)
          return bound<Planner>(cluster, std::move(inputs), came, coming, total_stated);
        else
          return bound<Planner>(cluster, std::move(inputs), came, coming);
      }};
}

}  // namespace evenhand::bindings
