#include "yunikorn.h"

#include <vector>

#include "pace.h"

namespace evenhand::bindings {
namespace {

template <class E>
void codes_of(Reader& in, const char* name, std::vector<E>& to) {
  Column<std::uint8_t> codes;
  in.read(name, codes);
  if (!codes.empty()) to.clear();
  for (const auto code : codes) to.push_back(static_cast<E>(code));
}

}  // namespace

yunikorn::Settings yunikorn_settings(const py::dict& values) {
  yunikorn::Settings s;
  Reader in(values);
  yunikorn::Switches& w = s.switches;
  in.read("gives_below_guarantee", w.gives_below_guarantee);
  in.read("ancestors_by_path_text", w.ancestors_by_path_text);
  in.read("stops_at_unfitting_victim", w.stops_at_unfitting_victim);
  in.read("ignores_free_room", w.ignores_free_room);
  in.read("stops_at_any_type", w.stops_at_any_type);
  in.read("common_ancestors_lift_ask", w.common_ancestors_lift_ask);
  in.read("unguaranteed_types_open", w.unguaranteed_types_open);
  in.read("disabled_queues_preempt", w.disabled_queues_preempt);
  in.read("newest_before_lowest_priority", w.newest_before_lowest_priority);
  in.read("drops_predicate_victims", w.drops_predicate_victims);
  in.read("any_reservation_frees_node", w.any_reservation_frees_node);
  in.read("quota_takes_opted_out_first", w.quota_takes_opted_out_first);
  in.read("quota_takes_larger_excess", w.quota_takes_larger_excess);
  in.read("fair_max_by_position", w.fair_max_by_position);
  in.read("required_node_ignores_free_room", w.required_node_ignores_free_room);
  in.read("per_ask", s.per_ask);
  in.read("n_alloc", s.n_alloc);
  in.read("ask_candidates", s.ask_candidates);
  in.read("limit_share", s.limit_share);
  in.read("limit", s.limit);
  codes_of(in, "policies", s.policies);
  codes_of(in, "cost", s.cost);
  in.read("dead_zone", s.dead_zone);
  in.read("shotgun", s.shotgun);
  in.read("grace", s.grace);
  in.read("enabled", s.enabled);
  in.read("quota_enabled", s.quota_enabled);
  in.read("attempts", s.attempts);
  in.read("retry", s.retry);
  in.read("asks_once", s.asks_once);
  in.read("reservation_timeout", s.reservation_timeout);
  in.read("reservation_delay", s.reservation_delay);
  s.pace = pace_of(in);
  in.finish();
  return s;
}

}  // namespace evenhand::bindings
