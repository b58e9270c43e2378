// What the search for the least victims on a node was asked.
#include "node_work.h"

namespace evenhand::ytsaurus {

void NodeWork::write_question(std::span<const Amount> shortage) {
  const VictimSelector& selector = workspace_.selector;
  const VictimCosts costs{workspace_.settings.victim_cost, workspace_.rows.preemption_cost};
  MinimumQuestion& question = workspace_.question;
  question = {};
  question.kind = MinimumQuestion::Kind::kAmounts;
  question.budget = workspace_.settings.minimum_budget;
  question.slots = true;
  question.node = node_;
  question.candidates = wanted_;
  for (const Id slot : wanted_) {
    const Amount* amounts = workspace_.state.amounts(slot);
    question.amounts.insert(question.amounts.end(), amounts, amounts + width_);
    question.costs.push_back(costs.of(workspace_.state, slot));
  }
  question.shortage.assign(shortage.begin(), shortage.end());
  question.multipliers.assign(selector.multipliers().begin(), selector.multipliers().end());
}

}  // namespace evenhand::ytsaurus
