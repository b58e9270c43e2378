#include "evenhand/policy/slurm/limits.h"

#include <algorithm>
#include <cmath>

namespace evenhand::slurm {
namespace {

using Size = std::size_t;

constexpr Id kOfQos = 0, kOfUser = 1, kOfAccount = 2, kOfAssociation = 3;

std::array<Id, 3> key_of(LimitOf of, bool association, Id row, const LimitedAs& as) {
  if (association) return {kOfAssociation, row, kNoId};
  if (of == LimitOf::kUser || of == LimitOf::kUserRun) return {kOfUser, row, as.user};
  if (of == LimitOf::kAccount || of == LimitOf::kAccountRun) return {kOfAccount, row, as.account};
  return {kOfQos, row, kNoId};
}

}  // namespace

void LimitUse::add(const Limits& limits, const LimitedAs& as, const Uses& uses) {
  const auto put = [&](const Key& key) {
    Column<double>& sum = use_[key];
    sum.resize(2 * limits.measures.size(), 0);
    for (Size m = 0; m < limits.measures.size(); ++m) {
      sum[m] += uses.amounts[m];
      sum[limits.measures.size() + m] += uses.amounts[m] * uses.seconds;
    }
  };
  for (const Id qos : as.qos) {
    put({kOfQos, qos, kNoId});
    put({kOfUser, qos, as.user});
    put({kOfAccount, qos, as.account});
  }
  for (const Id one : as.associations) put({kOfAssociation, one, kNoId});
}

double LimitUse::used(const Key& key, Size measure, bool run) const {
  const auto found = use_.find(key);
  return found == use_.end() ? 0 : found->second[measure + (run ? found->second.size() / 2 : 0)];
}

LimitHit LimitUse::hit(const Limits& limits, const LimitedAs& as, const Uses& uses) const {
  const Size width = limits.measures.size();
  // Which limits a QOS before has said, by table and measure; the last one is that of time.
  std::vector<std::uint8_t> said(kLimitTables * width + 1, 0);
  const auto look = [&](const LimitRows& rows, Id row, bool association, bool first) -> LimitHit {
    if (!rows.unread.empty() && !rows.unread[static_cast<Size>(row)].empty())
      return {LimitOf::kUnread, association, row, 0, 0, 0, 0};
    for (Size t = 0; t < kLimitTables; ++t) {
      const auto of = static_cast<LimitOf>(t);
      const bool alone = of == LimitOf::kJob || of == LimitOf::kNode || of == LimitOf::kLeast;
      const bool inherited = of == LimitOf::kGroup || of == LimitOf::kGroupRun;
      if (rows.of[t].empty() || (association && !inherited && !first)) continue;
      for (Size m = 0; m < width; ++m) {
        const double most = rows.of[t][static_cast<Size>(row) * width + m];
        if (std::isinf(most) || said[t * width + m]) continue;
        if (!association) said[t * width + m] = 1;
        const bool run = is_run(of);
        double asked = of == LimitOf::kNode ? uses.on_node[m] : uses.amounts[m];
        if (run) asked *= uses.seconds;
        const double now = alone ? 0 : used(key_of(of, association, row, as), m, run);
        if (of == LimitOf::kLeast ? asked < most : asked > 0 && now + asked > most)
          return {of, association, row, static_cast<Index>(m), now, asked, most};
      }
    }
    if (!rows.wall.empty() && !std::isinf(rows.wall[row]) && !said.back() &&
        (first || !association)) {
      if (!association) said.back() = 1;
      if (uses.seconds > rows.wall[row])
        return {LimitOf::kWall, association, row, 0, 0, uses.seconds, rows.wall[row]};
    }
    return {};
  };
  for (const Id qos : as.qos)
    if (const LimitHit found = look(limits.qos, qos, false, false); found.row != kNoId)
      return found;
  bool first = true;
  for (const Id one : as.associations) {
    if (const LimitHit found = look(limits.associations, one, true, first); found.row != kNoId)
      return found;
    first = false;
  }
  return {};
}

}  // namespace evenhand::slurm
