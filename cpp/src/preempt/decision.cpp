#include "evenhand/preempt/decision.h"

#include <algorithm>

namespace evenhand {

void Decisions::add(const Decision& decision, const DecisionAmounts& amounts) {
  rows_.push_back(decision);
  std::size_t to = amounts_.size();
  amounts_.resize(to + 5 * width_, 0);
  for (const Amount* values :
       {amounts.freed, amounts.free_before, amounts.needed, amounts.usage_before, amounts.kept}) {
    if (values != nullptr) std::copy_n(values, width_, amounts_.data() + to);
    to += width_;
  }
}

Column<Amount> Decisions::amounts(int which) const {
  Column<Amount> out;
  out.reserve(rows_.size() * width_);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Amount* values = amounts_.data() + (5 * i + static_cast<std::size_t>(which)) * width_;
    out.insert(out.end(), values, values + width_);
  }
  return out;
}

}  // namespace evenhand
