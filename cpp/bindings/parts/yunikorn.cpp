// The parts of YuniKorn's preemption, one by one: for tests against cases that are no plan. They
// are a module of their own, evenhand._parts, which published wheels go without.
#include "yunikorn.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "evenhand/policy/yunikorn/parts.h"
#include "evenhand/policy/yunikorn/search.h"

namespace evenhand::bindings {
namespace {

using namespace yunikorn;

// None: no resource; else amounts by the number of their type.
Resource resource_of(const py::handle& value) {
  Resource out;
  if (value.is_none()) return out;
  out.nil = false;
  for (const auto& [type, amount] : py::cast<py::dict>(value))
    out.set(type.cast<int>(), amount.cast<Amount>());
  return out;
}
py::object object_of(const Resource& value) {
  if (value.nil) return py::none();
  py::dict out;
  each_type(value.types, [&](std::size_t r) { out[py::int_(r)] = value.v[r]; });
  return out;
}
Column<Resource> resources_of(const py::list& values) {
  Column<Resource> out;
  for (const py::handle value : values) out.push_back(resource_of(value));
  return out;
}
// What is set to zeros alone is not set.
Column<Resource> set_ones(const py::list& values) {
  Column<Resource> out = resources_of(values);
  for (Resource& one : out)
    if (zero(one)) one = {};
  return out;
}

template <class T>
Column<T> column(const py::dict& of, const char* name) {
  return to_vector(py::cast<py::array_t<T>>(of[name]));
}

Queues queues_of(const py::dict& q) {
  Queues out;
  out.parent = column<Id>(q, "parent");
  out.leaf = column<std::uint8_t>(q, "leaf");
  for (const auto code : column<std::uint8_t>(q, "policy"))
    out.policy.push_back(static_cast<QueuePolicy>(code));
  out.priority_fence = column<std::uint8_t>(q, "priority_fence");
  out.offset = column<std::int64_t>(q, "offset");
  out.path = q["path"].cast<std::vector<std::string>>();
  out.max = set_ones(q["max"]);
  out.guaranteed = set_ones(q["guaranteed"]);
  out.allocated = resources_of(q["allocated"]);
  out.preempting = resources_of(q["preempting"]);
  return out;
}
Held held_of(const py::dict& a) {
  Held out;
  out.queue = column<Id>(a, "queue");
  out.node = column<Id>(a, "node");
  out.priority = column<double>(a, "priority");
  out.created = column<Time>(a, "created");
  out.allows = column<std::uint8_t>(a, "allows");
  out.originator = column<std::uint8_t>(a, "originator");
  out.barred = column<std::uint8_t>(a, "barred");
  out.preempted = column<std::uint8_t>(a, "preempted");
  out.resources = resources_of(a["resources"]);
  return out;
}
NodeRooms nodes_of(const py::dict& n, std::size_t width) {
  return {width, column<std::uint8_t>(n, "schedulable"), column<Amount>(n, "capacity"),
          column<Amount>(n, "free")};
}
Reserved reserved_of(const py::dict& r) {
  return {column<Id>(r, "node"),
          column<Id>(r, "ask"),
          column<double>(r, "priority"),
          column<Time>(r, "age"),
          column<std::uint8_t>(r, "triggered"),
          column<std::uint8_t>(r, "required")};
}

// A plug-in that accepts all, or calls of a list alone.
class Listed final : public Predicates {
 public:
  explicit Listed(const py::dict& from)
      : all_(from["all"].cast<bool>()),
        fits_on_(from["fits_on"].cast<Id>()),
        calls_(from["calls"].cast<std::vector<Call>>()) {}
  bool fits(Id node) const override { return all_ || node == fits_on_; }
  Index fits_after(Id node, std::span<const Id> victims, Index start) const override {
    if (all_) return start;
    for (const auto& [on, list, from, answer] : calls_)
      if (on == node && from == start && std::ranges::equal(list, victims)) return answer;
    return -1;
  }

 private:
  using Call = std::tuple<Id, std::vector<Id>, Index, Index>;
  bool all_;
  Id fits_on_;
  std::vector<Call> calls_;
};

const char* word(Failure failure) {
  constexpr const char* kWords[] = {"",
                                    "queue_guarantee_check",
                                    "no_node",
                                    "additional_victims_over_guarantee",
                                    "no_victims",
                                    "shortfall",
                                    "victim_released"};
  return kWords[static_cast<int>(failure)];
}

class BoundWorld {
 public:
  BoundWorld(const py::dict& settings, const py::dict& queues, const py::dict& held,
             const py::dict& nodes, const py::dict& reserved, std::size_t width)
      : settings_(yunikorn_settings(settings)),
        world_(queues_of(queues), held_of(held), nodes_of(nodes, width), reserved_of(reserved),
               !settings_.switches.newest_before_lowest_priority),
        search_(world_, settings_.switches, settings_.reservation_timeout) {}
  BoundWorld(const BoundWorld&) = delete;
  BoundWorld& operator=(const BoundWorld&) = delete;

  void begin(Id row, Id queue, const py::object& resources, double priority) {
    search_.begin({row, queue, resource_of(resources), priority});
  }
  py::dict attempt(bool nodes_tried, const py::object& predicates, std::vector<Id> released) {
    std::unique_ptr<Listed> plugged;
    if (!predicates.is_none()) plugged = std::make_unique<Listed>(py::cast<py::dict>(predicates));
    const Attempt found = search_.attempt(nodes_tried, plugged.get(), released);
    py::dict out;
    out["success"] = found.success();
    out["failure"] = word(found.failure);
    out["guarantee_check"] = found.guarantee_holds;
    out["node"] = found.node;
    out["victims"] = std::vector<Id>(found.victims);
    out["cancelled"] = found.cancelled;
    return out;
  }
  std::vector<std::tuple<Id, Index, std::vector<Id>>> solutions(bool nodes_tried) {
    std::vector<std::pair<Id, Id>> cancelled;
    std::vector<std::tuple<Id, Index, std::vector<Id>>> out;
    for (const Solution& one : search_.solutions(nodes_tried, cancelled))
      out.emplace_back(one.node, one.start, one.victims);
    return out;
  }
  // What follows from a success: its victims are leaving, and the node is kept for the ask.
  void carry_out(const std::vector<Id>& victims, Id node, Id ask, double priority) {
    for (const Id v : victims) world_.preempt(v);
    Reserved& all = world_.reserved();
    all.node.push_back(node);
    all.ask.push_back(ask);
    all.priority.push_back(priority);
    all.age.push_back(0);
    all.triggered.push_back(1);
    all.required.push_back(0);
  }
  const World& world() const { return world_; }
  const Search& search() const { return search_; }
  bool guarantee_check() { return search_.guarantee_check(); }
  const Switches& switches() const { return settings_.switches; }

 private:
  Settings settings_;
  World world_;
  Search search_;
};

void define_world(py::module_& m) {
  py::class_<BoundWorld>(m, "YuniKornWorld", "What YuniKorn's preemptors look at.")
      .def(py::init<const py::dict&, const py::dict&, const py::dict&, const py::dict&,
                    const py::dict&, std::size_t>(),
           py::arg("settings"), py::arg("queues"), py::arg("held"), py::arg("nodes"),
           py::arg("reserved"), py::arg("width"))
      .def("begin", &BoundWorld::begin, py::arg("row"), py::arg("queue"), py::arg("resources"),
           py::arg("priority"), "Begin with an ask.")
      .def("attempt", &BoundWorld::attempt, py::arg("nodes_tried"), py::arg("predicates"),
           py::arg("released"), "Victims for the ask.")
      .def("solutions", &BoundWorld::solutions, py::arg("nodes_tried"),
           "Nodes with the victims that make room there.")
      .def("carry_out", &BoundWorld::carry_out, py::arg("victims"), py::arg("node"), py::arg("ask"),
           py::arg("priority"), "What follows from a success.")
      .def("guarantee_check", &BoundWorld::guarantee_check)
      .def_property_readonly("fence_root",
                             [](const BoundWorld& w) { return w.search().fence_root(); })
      .def("candidates", [](const BoundWorld& w) { return to_array(w.search().candidates()); })
      .def("snapshots", [](const BoundWorld& w) { return to_array(w.search().snapshots()); })
      .def("remaining_guaranteed",
           [](const BoundWorld& w, Id q) { return object_of(w.search().remaining_guaranteed(q)); })
      .def("preemptible",
           [](const BoundWorld& w, Id q) { return object_of(w.search().preemptible(q)); })
      .def("quota_target", [](const BoundWorld& w,
                              Id q) { return object_of(quota_target(w.world(), q, w.switches())); })
      .def("quota_distribution",
           [](const BoundWorld& w, Id q, const py::object& target) {
             py::dict out;
             for (const auto& [leaf, part] : quota_distribution(w.world(), q, resource_of(target)))
               out[py::int_(leaf)] = object_of(part);
             return out;
           })
      .def("quota_candidates",
           [](const BoundWorld& w, Id leaf, const py::object& target) {
             return to_array(quota_candidates(w.world(), leaf, resource_of(target)));
           })
      .def("quota_victims", [](const BoundWorld& w, Id q) {
        QuotaAnswer found = quota_victims(w.world(), q, w.switches());
        return std::pair(to_array(std::move(found.victims)), to_array(std::move(found.order)));
      });
}

void define_sums(py::module_& m) {
  m.def(
      "yunikorn_within",
      [](const py::object& ask, const py::object& remaining) {
        const Resource rest = resource_of(remaining);
        return !rest.nil && !any_negative(rest, resource_of(ask).types);
      },
      py::arg("ask"), py::arg("remaining"), "Whether an asker is within its guarantee.");
  m.def(
      "yunikorn_over",
      [](const py::object& ask, const py::object& remaining) {
        const Resource rest = resource_of(remaining);
        return rest.nil || any_negative(rest, resource_of(ask).types);
      },
      py::arg("ask"), py::arg("remaining"), "Whether a victim's queue is over its guarantee.");
  m.def(
      "yunikorn_score",
      [](const py::dict& held, bool known, bool success, Index index) {
        World world({}, held_of(held), {}, {}, false);
        std::vector<Id> rows(at(world.held().rows()));
        for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<Id>(i);
        const std::span<const Id> all(rows);
        return solution_score(world, known ? &all : nullptr, success, index);
      },
      py::arg("held"), py::arg("known"), py::arg("success"), py::arg("index"),
      "Score of a plug-in's answer.");
  m.def(
      "yunikorn_sort_by_type",
      [](const py::dict& held) {
        const Held all = held_of(held);
        Column<Id> rows;
        for (Id a = 0; a < all.rows(); ++a) rows.push_back(a);
        sort_by_type(all, rows);
        return to_array(std::move(rows));
      },
      py::arg("held"), "Order of the victims of an ask that needs its node.");
  m.def(
      "yunikorn_sort_by_target",
      [](const py::dict& held, const py::object& target, const py::object& total,
         bool opted_out_first) {
        const Held all = held_of(held);
        Column<Id> rows;
        for (Id a = 0; a < all.rows(); ++a) rows.push_back(a);
        sort_by_target(all, rows, resource_of(target), resource_of(total), opted_out_first);
        return to_array(std::move(rows));
      },
      py::arg("held"), py::arg("target"), py::arg("total"), py::arg("opted_out_first"),
      "Order of the victims of a quota.");
  m.def(
      "yunikorn_required_node",
      [](const py::dict& held, const std::vector<Amount>& free, const py::object& ask,
         double priority, bool counts_free, const std::vector<std::uint8_t>& needs_node,
         const std::vector<std::uint8_t>& released) {
        const RequiredNodeAnswer found = required_node_victims(
            held_of(held), free.data(), free.size(), resource_of(ask), priority, counts_free,
            Column<std::uint8_t>(std::vector(needs_node)),
            Column<std::uint8_t>(std::vector(released)));
        py::dict out;
        out["total"] = found.total;
        out["required_node"] = found.required_node;
        out["no_common_type"] = found.no_common_type;
        out["higher_priority"] = found.higher_priority;
        out["already_preempted"] = found.preempted;
        out["released"] = found.released;
        out["candidates"] = std::vector<Id>(found.candidates);
        out["victims"] = std::vector<Id>(found.victims);
        return out;
      },
      py::arg("held"), py::arg("free"), py::arg("ask"), py::arg("priority"), py::arg("counts_free"),
      py::arg("needs_node"), py::arg("released"), "Victims of an ask that needs its node.");
}

void define_rules(py::module_& m) {
  m.def(
      "yunikorn_may_try",
      [](bool may_preempt, bool triggered, bool needs_node, Time age, std::optional<Time> since,
         Time delay, Time retry) {
        return may_try({may_preempt, triggered, needs_node, age, since.value_or(kNoTime)}, delay,
                       retry);
      },
      py::arg("may_preempt"), py::arg("triggered"), py::arg("needs_node"), py::arg("age"),
      py::arg("since"), py::arg("delay"), py::arg("retry"), "Whether an ask may preempt now.");
  m.def(
      "yunikorn_quota_start",
      [](const py::object& old_max, const py::object& max, const py::object& allocated,
         Time old_delay, Time delay, std::optional<Time> start, bool running, Time now) {
        const auto set = [](const py::object& of) {
          const Resource found = resource_of(of);
          return zero(found) ? Resource{} : found;
        };
        const Time found = quota_start({set(old_max), set(max), resource_of(allocated), old_delay,
                                        delay, start.value_or(kNoTime), running},
                                       now);
        return found == kNoTime ? std::nullopt : std::optional(found);
      },
      py::arg("old_max"), py::arg("new_max"), py::arg("allocated"), py::arg("old_delay"),
      py::arg("delay"), py::arg("start"), py::arg("running"), py::arg("now"),
      "When a queue above its max is preempted from.");
  m.def(
      "yunikorn_quota_may_begin",
      [](const py::object& max, const py::object& allocated, bool managed, bool running,
         std::optional<Time> start, Time now) {
        return quota_may_begin(resource_of(max), resource_of(allocated), managed, running,
                               start.value_or(kNoTime), now);
      },
      py::arg("most"), py::arg("allocated"), py::arg("managed"), py::arg("running"),
      py::arg("start"), py::arg("now"), "Whether it is preempted from now.");
  m.def(
      "yunikorn_fair_share",
      [](const py::object& allocated, const py::object& guaranteed, const py::object& most) {
        return fair_share(resource_of(allocated), resource_of(guaranteed), resource_of(most));
      },
      py::arg("allocated"), py::arg("guaranteed"), py::arg("fair_max"), "Largest share of usage.");
  m.def(
      "yunikorn_fairness_ratio",
      [](const py::object& left, const py::object& right, const py::object& total) {
        return fairness_ratio(resource_of(left), resource_of(right), resource_of(total));
      },
      py::arg("left"), py::arg("right"), py::arg("total"), "Ratio of the largest shares.");
  m.def(
      "yunikorn_fair_max",
      [](const py::object& parent, const py::object& most) {
        const Resource own = resource_of(most);
        return object_of(fair_max(resource_of(parent), zero(own) ? Resource{} : own));
      },
      py::arg("parent"), py::arg("most"), "What a queue may use at most, for its share.");
  m.def("yunikorn_queue_priority", &queue_priority, py::arg("highest"), py::arg("offset"),
        py::arg("fence"), "What a queue hands upward of the priority of its asks.");
  m.def(
      "yunikorn_queue_order",
      [](const py::list& allocated, const py::list& guaranteed, const py::list& pending,
         const py::list& most, const std::vector<double>& priority, bool fair, bool priority_first,
         bool by_position) {
        std::vector<OrderedQueue> queues;
        for (std::size_t i = 0; i < priority.size(); ++i)
          queues.push_back({resource_of(allocated[i]), resource_of(guaranteed[i]),
                            resource_of(pending[i]), resource_of(most[i]), priority[i]});
        return queue_order(queues, fair, priority_first, by_position);
      },
      py::arg("allocated"), py::arg("guaranteed"), py::arg("pending"), py::arg("fair_max"),
      py::arg("priority"), py::arg("fair"), py::arg("priority_first"), py::arg("by_position"),
      "Places of queues in the order in which they are served.");
  m.def(
      "yunikorn_app_order",
      [](const py::list& allocated, const std::vector<Time>& submitted,
         const std::vector<double>& priority, const py::object& guaranteed, bool fair,
         bool priority_first) {
        std::vector<OrderedApplication> applications;
        for (std::size_t i = 0; i < priority.size(); ++i)
          applications.push_back({resource_of(allocated[i]), submitted[i], priority[i]});
        return app_order(applications, resource_of(guaranteed), fair, priority_first);
      },
      py::arg("allocated"), py::arg("submitted"), py::arg("priority"), py::arg("guaranteed"),
      py::arg("fair"), py::arg("priority_first"),
      "Places of applications in the order in which they are served.");
}

}  // namespace
}  // namespace evenhand::bindings

PYBIND11_MODULE(_parts, m, py::mod_gil_not_used()) {
  m.doc() = "Parts of policies, for tests.";
  evenhand::bindings::define_world(m);
  evenhand::bindings::define_sums(m);
  evenhand::bindings::define_rules(m);
}
