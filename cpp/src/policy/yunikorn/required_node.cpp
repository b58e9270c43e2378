#include "evenhand/policy/yunikorn/parts.h"
#include "stable_by_place.h"

namespace evenhand::yunikorn {

void sort_by_type(const Held& held, Column<Id>& allocations) {
  const auto kind = [&](Id a) { return held.originator[a] != 0 ? 2 : held.allows[a] == 0 ? 1 : 0; };
  sort_as_go(allocations, [&](Id left, Id right) {
    if (kind(left) != kind(right)) return kind(left) < kind(right);
    if (held.priority[left] != held.priority[right])
      return held.priority[left] < held.priority[right];
    if (held.created[left] != held.created[right]) return held.created[left] > held.created[right];
    const Resource more = sub(held.resources[left], held.resources[right]);
    return any_negative(more, more.types) || zero(more);
  });
}

RequiredNodeAnswer required_node_victims(const Held& held, const Amount* free, std::size_t width,
                                         const Resource& ask, double priority, bool counts_free,
                                         const Column<std::uint8_t>& needs_node,
                                         const Column<std::uint8_t>& released) {
  RequiredNodeAnswer out;
  for (Id a = 0; a < held.rows(); ++a) {
    ++out.total;
    if (needs_node[a] != 0)
      ++out.required_node;
    else if (held.priority[a] > priority)
      ++out.higher_priority;
    else if (held.preempted[a] != 0)
      ++out.preempted;
    else if ((held.resources[a].types & ask.types) == 0)
      ++out.no_common_type;
    else if (released[a] != 0)
      ++out.released;
    else
      out.candidates.push_back(a);
  }
  sort_by_type(held, out.candidates);
  Resource room;
  room.nil = false;
  for (std::size_t r = 0; r < width; ++r) room.set(static_cast<int>(r), free[r]);
  Resource total = counts_free ? room : Resource{};
  const auto covers = [&](const Resource& have) {
    return every_type(ask.types, [&](std::size_t r) { return have.v[r] >= ask.v[r]; });
  };
  for (const Id a : out.candidates) {
    if (covers(total)) break;
    add_to(total, held.resources[a]);
    out.victims.push_back(a);
  }
  if (!covers(counts_free ? total : add(total, room))) out.victims.clear();
  return out;
}

}  // namespace evenhand::yunikorn
