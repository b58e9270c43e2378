#include "host_kinds.h"

#include <algorithm>
#include <utility>

#include "evenhand/model/tables.h"

namespace evenhand::gridengine {

void HostKinds::begin(Id nodes, Index most) {
  most_ = most;
  kind_.assign(at(nodes), kNoId);
}

void HostKinds::put(Id node, const Profile& parts, bool exact) {
  for (auto& known : best_) known.clear();
  through_victims_ = -1;
  Id& kind = kind_[node];
  if (kind != kNoId) --kinds_[at(kind)].count;
  kind = kNoId;
  if (parts.back() == 0) return;
  const auto [found, fresh] = number_.try_emplace((exact ? 'e' : 'g') + parts, kinds_.size());
  if (fresh) kinds_.push_back({parts, exact, 0, {}});
  kind = static_cast<Id>(found->second);
  ++kinds_[found->second].count;
  if (!exact) kinds_[found->second].hosts.push_back(node);
}

const Column<Index>& HostKinds::best_without(Id kind, bool guesses) {
  if (kind != kNoId && kinds_[at(kind)].parts[0] == 0 && kinds_[at(kind)].count > most_)
    kind = kNoId;  // one more or less of it makes no difference
  auto& known = best_[guesses ? 1 : 0];
  known.resize(kinds_.size() + 1);
  Column<Index>& sum = known[at(kind + 1)];
  if (!sum.empty()) return sum;
  sum.assign(static_cast<Size>(most_) + 1, 0);
  fill(sum, kind, guesses, nullptr);
  return sum;
}

void HostKinds::fill(Column<Index>& sum, Id without, bool guesses, std::vector<Step>* steps) const {
  Column<Index> next;
  for (Id k = 0; k < static_cast<Id>(kinds_.size()); ++k) {
    const Kind& kind = kinds_[at(k)];
    const Index count = kind.count - (k == without ? 1 : 0), free = kind.parts[0];
    if (!guesses && !kind.exact) {  // what they hold without victims is no guess
      for (Index& s : sum) s += count * free;
      continue;
    }
    for (Index c = 0; c < std::min(count, most_ + 1); ++c) {
      next = sum;
      for (Size m = 0; m < sum.size(); ++m)
        for (Size v = 0; v <= m; ++v)
          next[m] = std::max<Index>(next[m], sum[m - v] + kind.parts[v]);
      if (next == sum) break;
      if (steps != nullptr) steps->push_back({k, sum});
      sum.swap(next);
    }
    if (count > most_ + 1)  // no victim is left for these
      for (Index& s : sum) s += (count - most_ - 1) * free;
  }
}

Index HostKinds::through(Id kind, Index victims) {
  if (through_victims_ != victims) {
    through_victims_ = victims;
    const Column<Index>& all = best_without(kNoId, true);
    through_.assign(kinds_.size(), 0);
    for (Size k = 0; k < kinds_.size(); ++k)
      for (Size v = 1; v <= static_cast<Size>(victims); ++v)
        through_[k] =
            std::max<Index>(through_[k], kinds_[k].parts[v] + all[static_cast<Size>(victims) - v]);
  }
  return through_[kind];
}

Column<Id> HostKinds::guessed(Id kind, Id without, Index victims) {
  std::vector<Step> steps;
  Column<Index> sum(static_cast<Size>(most_) + 1, 0);
  fill(sum, kind, true, &steps);
  Column<Id> found;
  auto left = static_cast<Size>(victims);
  for (Size s = steps.size(); s-- > 0;) {
    Kind& one = kinds_[at(steps[s].kind)];
    const Column<Index>& before = steps[s].before;
    Index best = -1;
    Size used = 0;
    for (Size v = 0; v <= left; ++v)
      if (const Index has = before[left - v] + one.parts[v]; has > best) {
        best = has;
        used = v;
      }
    if (used == 0) continue;
    left -= used;
    if (one.exact) continue;
    // Any of the kind: it is taken off, as it will not be a guess any more.
    Column<Id>& of = one.hosts;
    std::erase_if(of, [&](Id n) { return kind_[n] != steps[s].kind; });
    if (of.size() > 1 && of.back() == without) std::swap(of.back(), of.front());
    if (of.empty() || of.back() == without) continue;
    found.push_back(of.back());
    of.pop_back();
  }
  return found;
}

}  // namespace evenhand::gridengine
