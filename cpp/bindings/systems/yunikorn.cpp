// YuniKorn's cycles: settings and columns of Python make a planner.
#include "yunikorn.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "evenhand/policy/yunikorn/planner.h"
#include "making.h"
#include "pace.h"

namespace evenhand::bindings {
namespace from_yunikorn {

yunikorn::RowSettings rows_of(const py::dict& columns, std::size_t width) {
  yunikorn::RowSettings r;
  Reader in(columns);
  in.read("policy", r.policy);
  in.read("priority_fence", r.priority_fence);
  in.read("offset", r.offset);
  in.read("delay", r.delay);
  in.read("quota_delay", r.quota_delay);
  in.read("fair", r.fair);
  in.read("priority_first", r.priority_first);
  in.read("managed", r.managed);
  in.read("may_preempt", r.may_preempt);
  in.read("asked_zeros", r.asked_zeros);
  in.read("held_zeros", r.held_zeros);
  in.read("own_cost", r.own_cost);
  in.read("predicate_of", r.predicate_of);
  in.read("predicates", r.predicates);
  r.taken = taken_rooms(in, width);
  in.finish();
  return r;
}

yunikorn::Inputs inputs_of(const Snapshot& snapshot, const py::dict& settings, const py::dict& rows,
                           const py::dict& memory) {
  yunikorn::Inputs out{snapshot, yunikorn_settings(settings),
                       rows_of(rows, at(snapshot.tables().resource_count()))};
  Reader in(memory);
  in.read("last_preempt", out.last_preempt);
  in.read("missed", out.asks.missed);
  in.read("wait", out.asks.wait);
  in.read("last_attempt", out.asks.last_attempt);
  in.read("triggered", out.asks.triggered);
  in.read("over_quota_since", out.over_quota_since);
  out.victims = victims_of(in);
  in.finish();
  return out;
}

// What makes its planners: making.h.
struct System {
  using Planner = yunikorn::Planner;
  struct Kept {};

  static yunikorn::Inputs inputs(const Snapshot& snapshot, const py::dict& given, Kept&) {
    return inputs_of(snapshot, part(given, "settings"), part(given, "rows"), part(given, "memory"));
  }
  static void came(Planner& planner, const std::string& table, const std::vector<Id>& rows,
                   const py::dict& columns, Kept&) {
    planner.rows_came(table, rows, rows_of(columns, planner.state().width()));
  }
  static auto coming(const py::dict&, Kept&) {
    return [](Planner&, Id, Id) {};
  }
};

void offer(py::module_& m) {
  m.def(
      "yunikorn_shares",
      [](const Snapshot& snapshot, const py::dict& settings, const py::dict& rows) {
        const yunikorn::QueueShares shares =
            yunikorn::queue_shares(inputs_of(snapshot, settings, rows, py::dict()));
        const auto width = static_cast<py::ssize_t>(snapshot.tables().resource_count());
        const auto matrix = [&](const auto& cells) {
          std::vector values(cells.begin(), cells.end());
          return to_array(std::move(values),
                          {static_cast<py::ssize_t>(cells.size()) / width, width});
        };
        py::dict out;
        out["owed"] = matrix(shares.owed);
        out["used"] = matrix(shares.used);
        out["pending"] = matrix(shares.pending);
        out["ideal"] = matrix(shares.ideal);
        return out;
      },
      py::arg("snapshot"), py::arg("settings"), py::arg("rows"),
      "What queues are owed, use, ask for and should have, P x R in quanta.");
  makes_planners<System>("yunikorn");
}

const Enters enters("yunikorn", offer);

}  // namespace from_yunikorn

}  // namespace evenhand::bindings
