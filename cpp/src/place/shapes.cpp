#include "evenhand/place/shapes.h"

#include <algorithm>
#include <numeric>

namespace evenhand {

Shapes::Shapes(const RequestColumns& requests, std::span<const ResourceScope> scope)
    : width_(scope.size()) {
  const std::size_t width = width_;
  const auto n = static_cast<std::size_t>(requests.size());
  const auto row = [&](Id q) {
    return std::span(requests.resources).subspan(static_cast<std::size_t>(q) * width, width);
  };
  Column<Id> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](Id a, Id b) {
    const auto x = row(a), y = row(b);
    const auto [i, j] = std::ranges::mismatch(x, y);
    return i == x.end() ? a < b : *i < *j;
  });
  of_.resize(n);
  for (std::size_t k = 0; k < n; ++k) {
    const auto own = row(order[k]);
    if (k == 0 || !std::ranges::equal(own, row(order[k - 1])))
      amounts_.insert(amounts_.end(), own.begin(), own.end());
    of_[order[k]] = static_cast<Id>(amounts_.size() / width - 1);
  }
  least_room_ = amounts_;
  for (std::size_t i = 0; i < least_room_.size(); ++i)
    if (least_room_[i] == 0 && scope[i % width] == ResourceScope::kCluster)
      least_room_[i] = kAnyRoom;
}

void Shapes::set(Id request, const Amount* amounts, std::span<const ResourceScope> scope) {
  width_ = scope.size();
  if (known_.empty())
    for (std::size_t i = 0; i < size(); ++i) {
      const Amount* its = this->amounts(static_cast<Id>(i));
      known_.emplace(Column<Amount>(its, its + width_), static_cast<Id>(i));
    }
  const auto [found, fresh] =
      known_.try_emplace({amounts, amounts + width_}, static_cast<Id>(size()));
  if (static_cast<std::size_t>(request) >= of_.size())
    of_.resize(static_cast<std::size_t>(request) + 1, kNoId);
  of_[request] = found->second;
  if (!fresh) return;
  for (std::size_t r = 0; r < width_; ++r) {
    amounts_.push_back(amounts[r]);
    least_room_.push_back(amounts[r] == 0 && scope[r] == ResourceScope::kCluster ? kAnyRoom
                                                                                 : amounts[r]);
  }
}

}  // namespace evenhand
