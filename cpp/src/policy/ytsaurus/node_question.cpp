// What the search for the least victims on a node was asked.
#include "node_work.h"

namespace evenhand::ytsaurus {

void NodeWork::write_question(std::span<const Amount> shortage) {
  const VictimSelector& selector = workspace_.selector;
  const VictimCosts costs{workspace_.settings.victim_cost, workspace_.rows.preemption_cost};
  question_ = {};
  question_.kind = MinimumQuestion::Kind::kAmounts;
  question_.budget = workspace_.settings.minimum_budget;
  question_.slots = true;
  question_.node = node_;
  question_.candidates = wanted_;
  for (const Id slot : wanted_) {
    const Amount* amounts = workspace_.state.amounts(slot);
    question_.amounts.insert(question_.amounts.end(), amounts, amounts + width_);
    question_.costs.push_back(costs.of(workspace_.state, slot));
  }
  question_.shortage.assign(shortage.begin(), shortage.end());
  question_.multipliers.assign(selector.multipliers().begin(), selector.multipliers().end());
}

}  // namespace evenhand::ytsaurus
