// Rules between pools that YTsaurus' masters enforce and its fair share relies on.
// Sums of guarantees above the parent's are legal here: the share engine scales
// and reports them.
#include <array>

#include "evenhand/model/building.h"

namespace evenhand {
namespace {

constexpr std::array<std::string_view, 3> kTypeNames{"none", "burst", "relaxed"};

class PoolRules {
 public:
  explicit PoolRules(Building& b)
      : b_(b), pools_(b.tables.pools), resources_(b.scale->resource_count()) {}

  void check() {
    check_root_burst();
    Column<Id> integral(pools_.parent.size(), kNoId);  // the integral pool at or above each
    for (const Id p : pools_.top_down) {
      const std::size_t row = at(p);
      const Id above = p == 0 ? kNoId : integral[pools_.parent[row]];
      integral[row] = pools_.integral.type[row] != IntegralType::kNone ? p : above;
      if (p == 0) continue;
      check_fifo(row);
      check_burst_on_relaxed(row);
      if (above != kNoId) check_nested(row, at(above));
    }
  }

 private:
  std::string name(std::size_t pool) const {
    return quoted(pools_.names.text[static_cast<Index>(pool)]);
  }

  void check_fifo(std::size_t p) {
    const std::size_t parent = at(pools_.parent[p]);
    if (pools_.mode[parent] != PoolMode::kFifo) return;
    b_.pools.problem(p - 1, {"parent"}, "fifo_children", pools_.names.text[pools_.parent[p]],
                     "is the FIFO pool ", name(parent),
                     ", which may contain operations only; make that pool fair_share or move "
                     "this one");
    if (pools_.strong_guarantee_given[p] != 0)
      b_.pools.problem(p - 1, {"strong_guarantee"}, "guarantee_under_fifo", "",
                       "is given, but children of the FIFO pool ", name(parent),
                       " cannot have guarantees");
  }

  void check_burst_on_relaxed(std::size_t p) { check_burst_on_relaxed(b_.pools, p - 1, p); }
  void check_root_burst() { check_burst_on_relaxed(b_.root, 0, 0); }
  void check_burst_on_relaxed(const TableRows& rows, std::size_t row, std::size_t p) {
    if (pools_.integral.type[p] != IntegralType::kRelaxed) return;
    for (std::size_t r = 0; r < resources_; ++r)
      if (const Amount burst = pools_.integral.burst[p * resources_ + r]; burst > 0) {
        const std::string text = b_.scale->units(burst, r);
        rows.problem(row, {"integral.burst", b_.scale->resource_name(r)}, "burst_on_relaxed", text,
                     "is ", text,
                     ", but a relaxed pool has no burst guarantee; leave it out or "
                     "make the type burst");
      }
  }

  void check_nested(std::size_t p, std::size_t above) {
    const IntegralColumns& integral = pools_.integral;
    const std::string_view outer = kTypeNames[static_cast<std::size_t>(integral.type[above])];
    if (integral.type[p] != IntegralType::kNone) {
      const std::string_view type = kTypeNames[static_cast<std::size_t>(integral.type[p])];
      b_.pools.problem(p - 1, {"integral.type"}, "nested_integral", type, "is ", type,
                       ", but the pool lies under ", name(above), " of type ", outer,
                       "; integral pools cannot be nested");
      return;
    }
    check_unset(p, above, outer, "integral.resource_flow", integral.resource_flow);
    check_unset(p, above, outer, "integral.burst", integral.burst);
  }

  void check_unset(std::size_t p, std::size_t above, std::string_view outer, std::string_view field,
                   const Column<Amount>& amounts) {
    for (std::size_t r = 0; r < resources_; ++r)
      if (const Amount amount = amounts[p * resources_ + r]; amount > 0) {
        const std::string text = b_.scale->units(amount, r);
        b_.pools.problem(p - 1, {field, b_.scale->resource_name(r)}, "nested_integral", text, "is ",
                         text, ", but the pool lies under ", name(above), " of type ", outer,
                         "; pools under an integral pool have no flow or burst");
      }
  }

  Building& b_;
  const PoolColumns& pools_;
  std::size_t resources_;
};

}  // namespace

void check_pool_rules(Building& b) { PoolRules(b).check(); }

}  // namespace evenhand
