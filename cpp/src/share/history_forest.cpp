#include "evenhand/share/history/forest.h"

namespace evenhand::history {

Forest::Forest(std::span<const Id> parents)
    : parent(parents.begin(), parents.end()), first(parents.size() + 2), child(parents.size()) {
  const std::size_t n = parent.size();
  const auto slot = [n](Id p) { return p == kNoId ? n : static_cast<std::size_t>(p); };
  for (const Id p : parent) ++first[slot(p) + 1];
  for (std::size_t v = 0; v <= n; ++v) first[v + 1] += first[v];
  Column<Index> next(first.begin(), first.end() - 1);
  for (std::size_t v = 0; v < n; ++v) child[next[slot(parent[v])]++] = static_cast<Id>(v);
  order.reserve(n);
  order.assign(children(kNoId).begin(), children(kNoId).end());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto below = children(order[i]);
    order.insert(order.end(), below.begin(), below.end());
  }
}

Column<double> Forest::roll_up(std::span<const double> own,
                               std::span<const std::uint8_t> total) const {
  Column<double> sum(own.begin(), own.end());
  for (auto row = order.rbegin(); row != order.rend(); ++row) {
    const auto v = static_cast<std::size_t>(*row);
    if (!total.empty() && total[v]) continue;
    for (const Id c : children(*row)) sum[v] += sum[c];
  }
  return sum;
}

}  // namespace evenhand::history
