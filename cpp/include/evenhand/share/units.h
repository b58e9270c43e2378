// Quotients of amounts as YTsaurus takes them: of doubles in units.
//
// Cpu is kept in fractions of a unit there, so 2.8 of 10 cpu is the quotient of these two doubles,
// a little less than 280 / 1000; what is then cut to whole numbers can differ by one. All other
// resources are whole numbers there, and their quantum is their unit here.
#pragma once

#include <cmath>
#include <vector>

#include "evenhand/model/tables.h"

namespace evenhand {

class Units {
 public:
  explicit Units(const ResourceSpace& resources) : per_unit_(resources.quantum.size(), 1.0) {
    for (std::size_t r = 0; r < per_unit_.size(); ++r)
      if (resources.kind[r] == ResourceKind::kCpu) per_unit_[r] = in_a_unit(resources.quantum[r]);
  }

  double of(double quanta, std::size_t r) const noexcept { return quanta / per_unit_[r]; }
  double quanta(double units, std::size_t r) const noexcept { return units * per_unit_[r]; }
  // 0 of what there is nothing of.
  double ratio(Amount part, Amount whole, std::size_t r) const noexcept {
    return whole > 0 ? of(static_cast<double>(part), r) / of(static_cast<double>(whole), r) : 0.0;
  }

 private:
  // Whole for 1, 0.01 or 0.25; the nearest double otherwise.
  static double in_a_unit(double quantum) noexcept {
    const double whole = std::round(1.0 / quantum);
    return whole >= 1.0 && quantum == 1.0 / whole ? whole : 1.0 / quantum;
  }

  Column<double> per_unit_;  // R
};

}  // namespace evenhand
