#include "evenhand/place/where.h"

#include <algorithm>
#include <span>

namespace evenhand {
namespace {

using Size = std::size_t;

std::span<const Id> tags(const TextListColumn& column, Id row) {
  const auto i = static_cast<Size>(row);
  if (column.offsets.size() <= 1) return {};
  return std::span(column.codes)
      .subspan(static_cast<Size>(column.offsets[i]),
               static_cast<Size>(column.offsets[i + 1] - column.offsets[i]));
}

// Of all rows, each once, ascending.
template <class Columns>
std::vector<Id> codes_of(const LiveTable<Columns>& table, TextListColumn Columns::* column) {
  std::vector<Id> found;
  for (Id row = 0; row < table.rows(); ++row)
    for (const Id code : table.list(column, row)) found.push_back(code);
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace

Where::Where(const Tables& t) {
  const StringColumn &from = t.requests.node_tags.values, &to = t.nodes.tags.values;
  node_tag_of_.assign(static_cast<Size>(from.size()), kNoId);
  for (Index i = 0; i < from.size(); ++i)
    for (Index j = 0; j < to.size(); ++j)
      if (from[i] == to[j]) node_tag_of_[static_cast<Size>(i)] = static_cast<Id>(j);
}

Where::Where(const ClusterState& state) {
  const std::vector<Id> asked = codes_of(state.requests(), &RequestColumns::node_tags);
  if (asked.empty()) return;
  const std::vector<Id> had = codes_of(state.nodes(), &NodeColumns::tags);
  node_tag_of_.assign(static_cast<Size>(asked.back()) + 1, kNoId);
  for (const Id from : asked)
    for (const Id to : had)
      if (state.requests().word(&RequestColumns::node_tags, from) ==
          state.nodes().word(&NodeColumns::tags, to))
        node_tag_of_[static_cast<Size>(from)] = to;
}

Place Where::why_not(const ClusterState& state, Id request, Id node) const {
  const Id required = state.requests().get(&RequestColumns::required_node, request, kNoId);
  if (required != kNoId && required != node) return Place::kOtherNode;
  const std::span<const Id> has = state.nodes().list(&NodeColumns::tags, node);
  for (const Id tag : state.requests().list(&RequestColumns::node_tags, request)) {
    const Id code = node_tag_of_[static_cast<Size>(tag)];
    if (code == kNoId || std::ranges::find(has, code) == has.end()) return Place::kTagMissing;
  }
  return Place::kAllowed;
}

Place Where::why_not(const Tables& t, Id request, Id node) const {
  if (const Id required = at_or(t.requests.required_node, request, kNoId);
      required != kNoId && required != node)
    return Place::kOtherNode;
  const auto has = tags(t.nodes.tags, node);
  for (const Id tag : tags(t.requests.node_tags, request)) {
    const Id code = node_tag_of_[static_cast<Size>(tag)];
    if (code == kNoId || std::ranges::find(has, code) == has.end()) return Place::kTagMissing;
  }
  return Place::kAllowed;
}

}  // namespace evenhand
