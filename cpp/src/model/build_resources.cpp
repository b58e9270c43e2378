#include <cmath>

#include "evenhand/model/building.h"
#include "evenhand/model/utf8.h"

namespace evenhand {
namespace {

raw::Strings laid_out(const StringColumn& texts, std::span<const std::int64_t> offsets) {
  return {texts.bytes, offsets};
}

}  // namespace

bool build_resources(Building& b) {
  const raw::Resources& raw = b.input.resources;
  ResourceSpace& space = b.tables.resources;
  const std::size_t count = raw.names.size();
  for (const std::string_view name : raw.names) space.names.push_back(name);

  TableRows rows{"resources", "resource", RowOrder(count),
                 laid_out(space.names, space.names.offsets), &b.problems};
  for (std::size_t r = 0; r < count; ++r) {
    const std::string_view name = raw.names[r];
    if (name.empty())
      rows.problem(r, {"name"}, "required", "", "is empty; every resource needs a name");
    else if (!is_utf8(name))
      rows.problem(r, {"name"}, "utf8", name, "is not valid Unicode text");
    for (std::size_t earlier = 0; earlier < r; ++earlier)
      if (raw.names[earlier] == name) {
        rows.problem(r, {"name"}, "unique", name, "is given twice");
        break;
      }
    double quantum = raw.quantum[r];
    if (!std::isfinite(quantum) || quantum <= 0.0) {
      const std::string text = to_text(quantum);
      rows.problem(r, {"quantum"}, std::isfinite(quantum) ? "positive" : "finite", text, "is ",
                   text, "; it must be a finite number greater than 0");
      quantum = 1.0;
    }
    space.quantum.push_back(quantum);
    space.available_after_preemption.push_back(raw.available_after_preemption[r] != 0 ? 1 : 0);
    const auto code = [&](std::string_view field, std::uint8_t value, int last) {
      if (value <= last) return value;
      rows.problem(r, {field}, "choice", to_text(Index{value}), "has the code ", Index{value},
                   "; the codes are 0 to ", Index{last});
      return std::uint8_t{0};
    };
    space.kind.push_back(static_cast<ResourceKind>(
        code("kind", raw.kind[r], static_cast<int>(ResourceKind::kOther))));
    space.scope.push_back(static_cast<ResourceScope>(
        code("scope", raw.scope[r], static_cast<int>(ResourceScope::kCluster))));
  }
  b.scale.emplace(space, b.input.rounding);

  // The capacities are one row of R cells.
  TableRows head{"resources", "cluster", RowOrder(1), {}, &b.problems, true};
  Column<ResourceMask> given;
  space.capacity = b.scale->read(head, "capacity", raw.capacity, &given);
  space.capacity.resize(count, 0);
  for (std::size_t r = 0; r < count; ++r)
    if ((given[0] >> r & 1) != 0 && space.capacity[r] != 0 &&
        space.scope[r] != ResourceScope::kCluster)
      rows.problem(r, {"capacity"}, "scope", b.scale->units(space.capacity[r], r),
                   "is only for resources of scope cluster; nodes say what they have of this one");
  return true;
}

}  // namespace evenhand
