// All that a planner says of its last trigger, as lines.
#pragma once

#include <string>
#include <vector>

#include "evenhand/policy/planner.h"

namespace evenhand::testing {

// Rows by the number that they have elsewhere.
struct Rows {
  ClusterState::Sources of;

  static Id at(const std::vector<Id>& rows, Id row) {
    return row < 0 || rows.empty() ? row : rows[static_cast<std::size_t>(row)];
  }
};

inline std::vector<std::string> said(const Planner& planner, const Rows& rows = {}) {
  std::vector<std::string> lines;
  const auto line = [&](auto... values) {
    std::string text;
    ((text += std::to_string(values) + " "), ...);
    lines.push_back(std::move(text));
  };
  const auto operation = [&](Id row) { return Rows::at(rows.of.operations, row); };
  const auto request = [&](Id row) { return Rows::at(rows.of.requests, row); };
  const Decisions& decisions = planner.decisions();
  for (const Decision& d : decisions.rows())
    line(static_cast<int>(d.action), static_cast<int>(d.stage), static_cast<int>(d.reason),
         static_cast<int>(d.mode), static_cast<int>(d.group), d.within_fair_share,
         d.action == Action::kStart ? kNoId : Rows::at(rows.of.allocations, d.slot),
         request(d.request), operation(d.operation), Rows::at(rows.of.nodes, d.node), d.step,
         d.violated, operation(d.beneficiary.operation), request(d.beneficiary.request), d.grace,
         d.at, d.until, d.soft);
  for (int which = 0; which < 5; ++which)
    for (const Amount a : decisions.amounts(which)) line(a);
  for (const auto& [name, count] : planner.counts()) lines.push_back(name + std::to_string(count));
  const Refusals refusals = planner.refusals();
  for (std::size_t i = 0; i < refusals.request.size(); ++i)
    line(request(refusals.request[i]), static_cast<int>(refusals.rule[i]), refusals.nodes[i]);
  for (const Amount a : refusals.missing) line(a);
  for (const Id job : planner.contested().beneficiary) line(operation(job));
  line(planner.next_due());
  return lines;
}

}  // namespace evenhand::testing
