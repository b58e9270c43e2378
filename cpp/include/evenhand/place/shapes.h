// Requests of equal amounts fit alike: they are compared once, not once each.
#pragma once

#include <span>
#include <vector>

#include "evenhand/model/tables.h"

namespace evenhand {

class Shapes {
 public:
  Shapes() = default;
  explicit Shapes(const RequestColumns& requests, std::size_t width);  // O(n log n)

  std::size_t size() const noexcept { return width_ == 0 ? 0 : amounts_.size() / width_; }
  Id of(Id request) const noexcept { return of_[static_cast<std::size_t>(request)]; }
  const Amount* amounts(Id shape) const noexcept {
    return amounts_.data() + static_cast<std::size_t>(shape) * width_;
  }
  bool fits(Id shape, const Amount* room) const noexcept {
    const Amount* need = amounts(shape);
    for (std::size_t r = 0; r < width_; ++r)
      if (need[r] > 0 && need[r] > room[r]) return false;
    return true;
  }

 private:
  std::size_t width_ = 0;
  std::vector<Id> of_;
  std::vector<Amount> amounts_;
};

}  // namespace evenhand
