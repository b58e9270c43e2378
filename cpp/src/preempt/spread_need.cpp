#include "evenhand/preempt/spread_need.h"

namespace evenhand {

Amount* FreedByNode::add(Id job, Id node) {
  Column<Id>& jobs = jobs_[node];
  Column<Amount>& amounts = amounts_[node];
  if (jobs.empty() || jobs.back() != job) {
    jobs.push_back(job);
    amounts.resize(amounts.size() + width_, 0);
  }
  return amounts.data() + amounts.size() - width_;
}

bool FreedByNode::covers(Id node, std::span<const Amount> lacks) const {
  const Column<Amount>& amounts = amounts_[node];
  for (std::size_t r = 0; r < width_; ++r) {
    Amount left = lacks[r];
    for (std::size_t i = r; left > 0 && i < amounts.size(); i += width_) left -= amounts[i];
    if (left > 0) return false;
  }
  return true;
}

void SpreadNeed::add(std::span<const Id> jobs, std::span<const Amount> amounts,
                     std::span<const Amount> lacks, bool must, Id node) {
  const auto levels = static_cast<Index>(lacks.size() / width);
  sites.push_back({job.size(), jobs.size(), lack.size(), levels, must, node});
  job.insert(job.end(), jobs.begin(), jobs.end());
  amount.insert(amount.end(), amounts.begin(), amounts.end());
  lack.insert(lack.end(), lacks.begin(), lacks.end());
}

}  // namespace evenhand
