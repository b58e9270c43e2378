// The pace of preemption, which all systems have alike: its settings and its memory.
#pragma once

#include "evenhand/preempt/pace.h"
#include "reader.h"

namespace evenhand::bindings {

// Settings under "pace", if there are any.
inline PaceSettings pace_of(Reader& settings) {
  PaceSettings pace;
  Reader in(settings.part("pace"));
  in.read("victim_cooldown", pace.victim_cooldown);
  in.read("spare_if_ran_less_than", pace.spare_if_ran_less_than);
  in.read("spare_if_ends_within", pace.spare_if_ends_within);
  in.read("most_victims", pace.most_victims);
  Column<Id> pool, zone;
  Column<Time> from, to;
  in.read("hours_pool", pool);
  in.read("hours_from", from);
  in.read("hours_to", to);
  in.read("hours_zone", zone);
  for (Id i = 0; i < pool.rows(); ++i)
    pace.immune_hours.push_back({pool[i], from[i], to[i], zone[i]});
  // Of all zones one after the other, from a place on each.
  Column<Id> begin;
  Column<Time> since, ahead;
  in.read("zone_begin", begin);
  in.read("zone_since", since);
  in.read("zone_ahead", ahead);
  in.finish();
  for (Id z = 0; z < begin.rows(); ++z) {
    const Id end = z + 1 < begin.rows() ? begin[z + 1] : since.rows();
    PaceSettings::Zone one;
    one.since.assign(since.begin() + begin[z], since.begin() + end);
    one.ahead.assign(ahead.begin() + begin[z], ahead.begin() + end);
    pace.zones.push_back(std::move(one));
  }
  return pace;
}

inline VictimTimes victims_of(Reader& memory) {
  VictimTimes victims;
  memory.read("victims_element", victims.element);
  memory.read("victims_time", victims.time);
  return victims;
}

}  // namespace evenhand::bindings
