#include "evenhand/share/attributes.h"

namespace evenhand {

std::vector<double> usage_share(const Tables& t) {
  const auto r_count = static_cast<std::size_t>(t.resource_count());
  const auto pools = static_cast<std::size_t>(t.pools.size());
  std::vector<Amount> amounts(static_cast<std::size_t>(t.element_count()) * r_count);
  for (std::size_t o = 0; o < t.operations.pool.size(); ++o)
    for (std::size_t r = 0; r < r_count; ++r) {
      const Amount used = t.operations.usage[o * r_count + r];
      amounts[(pools + o) * r_count + r] = used;
      for (Id p = t.operations.pool[o]; p != kNoId; p = t.pools.parent[static_cast<std::size_t>(p)])
        amounts[static_cast<std::size_t>(p) * r_count + r] += used;
    }
  std::vector<double> shares(amounts.size());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const Amount total = t.total[i % r_count];
    shares[i] = total > 0 ? static_cast<double>(amounts[i]) / static_cast<double>(total) : 0.0;
  }
  return shares;
}

}  // namespace evenhand
