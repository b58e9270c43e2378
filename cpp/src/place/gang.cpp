#include "evenhand/place/gang.h"

#include <algorithm>
#include <optional>

#include "evenhand/core/poll.h"

namespace evenhand {

using Size = std::size_t;

void JobRequest::reset(const ResourceSpace& resources, std::span<const Id> order, Size rows,
                       bool whole_nodes, std::vector<Part> parts, const NodeChoice& choice) {
  order_ = order;
  nodes_ = rows;
  whole_nodes_ = whole_nodes;
  open_ = nullptr;
  cpu_ = kNoId;
  parts_ = std::move(parts);
  choice_ = choice;
  Index nodes = 0;
  for (const Part& part : parts_) nodes += part.takes_node ? part.count : 0;
  one_node_ = nodes == 1;
  licences_.assign(static_cast<Size>(resources.size()), 0);
  of_node_.resize(licences_.size());
  for (Size r = licences_.size(); r-- > 0;) {
    of_node_[r] = resources.scope[r] == ResourceScope::kNode;
    if (of_node_[r] && resources.kind[r] == ResourceKind::kCpu) cpu_ = static_cast<Id>(r);
  }
  for (const Part& part : parts_)
    for (Size r = 0; r < licences_.size(); ++r)
      if (!of_node_[r]) licences_[r] += part.amounts[r] * part.count;
}

bool JobRequest::licences_fit(const Occupancy& room) const noexcept {
  for (Size r = 0; r < licences_.size(); ++r)  // whatever node: there is one row of these
    if (licences_[r] > 0 && licences_[r] > room.rooms.at(0, r)) return false;
  return true;
}

bool JobRequest::fits(const Part& part, const Occupancy& room, Id node) const noexcept {
  std::uint8_t usable = 0;
  return find_usable(part, room, node, node + 1, &usable) > 0;
}

void JobRequest::begin(const Occupancy& room) {
  usable_.assign(parts_.size(), {});
  usable_count_.assign(parts_.size(), 0);
  for (Size p = 0; p < parts_.size(); ++p) {
    if (!parts_[p].takes_node) continue;
    usable_[p].resize(nodes_);
    usable_count_[p] = find_usable(parts_[p], room, 0, static_cast<Id>(nodes_), usable_[p].data());
  }
}

void JobRequest::changed(const Occupancy& room, Id node) {
  const auto n = static_cast<Size>(node);
  for (Size p = 0; p < parts_.size(); ++p) {
    if (!parts_[p].takes_node) continue;
    usable_count_[p] -= usable_[p][n];
    usable_[p][n] = fits(parts_[p], room, node);
    usable_count_[p] += usable_[p][n];
  }
}

bool JobRequest::may_fit(const Occupancy& room) const noexcept {
  for (Size p = 0; p < parts_.size(); ++p)
    if (parts_[p].takes_node && usable_count_[p] < parts_[p].count) return false;
  return licences_fit(room);
}

// A pass over the nodes for each resource that the part takes. What is written may stand for
// anything, as bytes do: all that is read is held apart from it.
Index JobRequest::find_usable(const Part& part, const Occupancy& room, Id begin, Id end,
                              std::uint8_t* const here) const noexcept {
  const auto first = static_cast<Size>(begin);
  const Size nodes = static_cast<Size>(end) - first, width = licences_.size();
  const std::uint8_t *const allowed = part.allowed().data() + first, *const open =
                                                                         open_ == nullptr
                                                                             ? nullptr
                                                                             : open_ + first;
  const std::int32_t *const taken = room.exclusives.data() + first, *const there =
                                                                        room.occupants.data() +
                                                                        first;
  for (Size n = 0; n < nodes; ++n) here[n] = allowed[n] & static_cast<std::uint8_t>(taken[n] <= 0);
  if (open != nullptr)
    for (Size n = 0; n < nodes; ++n) here[n] &= open[n];
  if (whole_nodes_)
    for (Size n = 0; n < nodes; ++n) here[n] &= static_cast<std::uint8_t>(there[n] <= 0);
  for (Size r = 0; r < width; ++r) {
    const Amount need = part.amounts[r];
    if (!of_node_[r] || need <= 0) continue;
    const Amount* const free = room.rooms.of_nodes() + first * width + r;
    const auto enough = [need](Amount has) {  // has >= need, without a comparison of 64 bits
      return static_cast<std::uint8_t>(1 ^ (static_cast<std::uint64_t>(has - need) >> 63));
    };
    if (width == 1)
      for (Size n = 0; n < nodes; ++n) here[n] &= enough(free[n]);
    else
      for (Size n = 0; n < nodes; ++n) here[n] &= enough(free[n * width]);
  }
  std::int32_t count = 0;
  for (Size n = 0; n < nodes; ++n) count += here[n];
  return count;
}

// With how many cpus a node counts in the choice.
Amount JobRequest::counted(const Part& part, const Occupancy& room, Id node) const noexcept {
  if (cpu_ == kNoId) return 1;
  if (choice_.counts_taken) return std::max<Amount>(part.amounts[cpu_], 1);
  const Amount free = room.rooms.at(node, static_cast<Size>(cpu_));
  return free - free % choice_.step;
}

// The first of the least weight.
void JobRequest::pick_first(const Column<std::uint8_t>& usable, Column<Id>& nodes) const {
  Id best = kNoId;
  for (const Id node : order_)
    if (usable[node] != 0 && (best == kNoId || weight(node) < weight(best))) best = node;
  nodes.assign(1, best);
}

// Of as many usable nodes as the part wants at least.
bool JobRequest::pick(const Part& part, const Column<std::uint8_t>& usable, const Occupancy& room,
                      Column<Id>& nodes) const {
  if (choice_.first_for_one && one_node_) {
    pick_first(usable, nodes);
    return true;
  }
  const Index count = part.count;
  const auto cpus = [&](Index i) { return counted(part, room, order_[at(i)]); };
  std::vector<Stretch>& runs = stretches_;
  runs.clear();
  bool before = false;
  for (Index i = 0; at(i) < order_.size(); ++i) {  // runs follow one another in canonical order
    const Id node = order_[at(i)];
    const bool here = usable[node] != 0;
    if (here && !(before && runs.back().weight == weight(node)))
      runs.push_back({i, 0, 0, weight(node)});
    before = here;
    if (!here) continue;
    ++runs.back().size;
    runs.back().cpus += cpus(i);
  }
  nodes.clear();
  while (static_cast<Index>(nodes.size()) < count && !runs.empty()) {
    const Index left = count - static_cast<Index>(nodes.size());
    const auto better = [left](const Stretch& a, const Stretch& b) {
      if (a.weight != b.weight) return a.weight < b.weight;
      const bool enough_a = a.size >= left, enough_b = b.size >= left;
      if (enough_a != enough_b) return enough_a;
      return enough_a ? a.cpus < b.cpus : a.cpus > b.cpus;
    };
    // The first of the best, as they stand in the order of the nodes.
    const auto best = std::ranges::min_element(runs, better);
    Index first = best->begin;
    if (left == 1)  // of the last node the least is left over
      for (Index i = first; i < best->begin + best->size; ++i)
        if (cpus(i) < cpus(first)) first = i;
    for (Index i = 0; i < std::min(best->size, left); ++i)
      nodes.push_back(static_cast<Id>(first + i));
    runs.erase(best);
  }
  std::ranges::sort(nodes);
  for (Id& node : nodes) node = order_[node];
  return static_cast<Index>(nodes.size()) == count;
}

bool JobRequest::place(const Occupancy& room, std::vector<Spot>& spots) const {
  poll();
  spots.clear();
  if (!licences_fit(room)) return false;
  const bool several = parts_.size() > 1;
  std::optional<Occupancy> trial;
  if (several) trial = room;
  for (const Part& part : parts_) {
    if (!part.takes_node) {
      for (Index i = 0; i < part.count; ++i) spots.push_back({part.request, kNoId});
      continue;
    }
    const Occupancy& now = several ? *trial : room;
    now_usable_.resize(nodes_);
    if (find_usable(part, now, 0, static_cast<Id>(nodes_), now_usable_.data()) < part.count ||
        !pick(part, now_usable_, now, chosen_))
      return false;
    for (const Id node : chosen_) {
      spots.push_back({part.request, node});
      if (!several) continue;
      if (whole_nodes_) ++trial->exclusives[node];
      trial->rooms.take(part.amounts, node);
    }
  }
  return true;
}

}  // namespace evenhand
