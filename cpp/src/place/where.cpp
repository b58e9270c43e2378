#include "evenhand/place/where.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <unordered_map>

namespace evenhand {

using Size = std::size_t;

Place Where::why_not(const ClusterState& state, Id request, Id node) {
  const LiveTable<RequestColumns>& requests = state.requests();
  const LiveTable<NodeColumns>& nodes = state.nodes();
  if (const Id required = requests.get(&RequestColumns::required_node, request, kNoId);
      required != kNoId && required != node)
    return Place::kOtherNode;
  const std::span<const Id> wanted = requests.list(&RequestColumns::node_tags, request);
  if (wanted.empty()) return Place::kAllowed;
  const Index from = requests.words(&RequestColumns::node_tags),
              to = nodes.words(&NodeColumns::tags);
  if (from != request_words_ || to != node_words_) {
    request_words_ = from;
    node_words_ = to;
    node_tag_of_.assign(static_cast<Size>(from), kNoId);
    std::unordered_map<std::string_view, Id> codes;
    for (Index j = 0; j < to; ++j)
      codes.emplace(nodes.word(&NodeColumns::tags, static_cast<Id>(j)), static_cast<Id>(j));
    for (Index i = 0; i < from; ++i)
      if (const auto found =
              codes.find(requests.word(&RequestColumns::node_tags, static_cast<Id>(i)));
          found != codes.end())
        node_tag_of_[i] = found->second;
  }
  const std::span<const Id> has = nodes.list(&NodeColumns::tags, node);
  for (const Id tag : wanted) {
    const Id code = node_tag_of_[tag];
    if (code == kNoId || std::ranges::find(has, code) == has.end()) return Place::kTagMissing;
  }
  return Place::kAllowed;
}

}  // namespace evenhand
