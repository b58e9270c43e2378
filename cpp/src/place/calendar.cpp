#include "evenhand/place/calendar.h"

namespace evenhand {

using Size = std::size_t;

Calendar::Calendar(Time now, Id nodes, std::span<const ResourceScope> scope)
    : nodes_(nodes), width_(scope.size()), now_(now), rows_(at(nodes) + 1) {
  for (const ResourceScope s : scope) wide_.push_back(s == ResourceScope::kCluster);
  for (Row& row : rows_) {
    row.since.assign(1, now);
    row.free.assign(width_, 0);
  }
}

void Calendar::set(Id row, const Amount* free) {
  std::copy_n(free, width_, rows_[at(row)].free.begin());
}

Size Calendar::step_at(const Row& row, Time instant) const noexcept {
  const auto found = std::ranges::upper_bound(row.since, instant);
  return found == row.since.begin() ? 0 : static_cast<Size>(found - row.since.begin()) - 1;
}

// The step that begins at an instant, which is made if there is none.
Size Calendar::cut(Row& row, Time instant) {
  const Size i = step_at(row, instant);
  if (row.since[i] >= instant) return i;
  const auto place = static_cast<std::ptrdiff_t>(i) + 1;
  row.since.insert(row.since.begin() + place, instant);
  const auto begin = static_cast<std::ptrdiff_t>(i * width_);
  const auto wide = static_cast<std::ptrdiff_t>(width_);
  const Column<Amount> same(row.free.begin() + begin, row.free.begin() + begin + wide);
  row.free.insert(row.free.begin() + begin + wide, same.begin(), same.end());
  return i + 1;
}

void Calendar::add_row(Id number, const Amount* amounts, Time from, Time until, Amount sign) {
  bool any = false;
  for (Size r = 0; r < width_; ++r) any |= amounts[r] != 0 && counts(number, r);
  from = std::max(from, now_);
  if (!any || from >= until) return;
  Row& row = rows_[at(number)];
  const Size begin = cut(row, from);
  const Size end = until == kForever ? row.since.size() : cut(row, until);
  for (Size i = begin; i < end; ++i)
    for (Size r = 0; r < width_; ++r)
      if (counts(number, r)) row.free[i * width_ + r] += sign * amounts[r];
}

void Calendar::add(Id node, const Amount* amounts, Time from, Time until, Amount sign) {
  if (node != kNoId) add_row(node, amounts, from, until, sign);
  add_row(nodes_, amounts, from, until, sign);
}

Index Calendar::copies(Id number, const Amount* need, Time from, Time until,
                       Index most) const noexcept {
  const Row& row = rows_[at(number)];
  for (Size i = step_at(row, from); i < row.since.size() && row.since[i] < until && most > 0; ++i)
    for (Size r = 0; r < width_; ++r)
      if (need[r] > 0 && counts(number, r))
        most = std::min<Index>(most, std::max<Amount>(row.free[i * width_ + r], 0) / need[r]);
  return most;
}

void Calendar::least(Id number, Time from, Time until, Amount* free) const noexcept {
  const Row& row = rows_[at(number)];
  for (Size i = step_at(row, from); i < row.since.size() && row.since[i] < until; ++i)
    for (Size r = 0; r < width_; ++r)
      if (counts(number, r)) free[r] = std::min(free[r], row.free[i * width_ + r]);
}

Time Calendar::earliest(Id number, const Amount* need, Time from, Time duration,
                        Time limit) const noexcept {
  const Row& row = rows_[at(number)];
  Time since = from;
  for (Size i = step_at(row, from); i < row.since.size(); ++i) {
    const Time end = i + 1 < row.since.size() ? row.since[i + 1] : kForever;
    bool fits = true;
    for (Size r = 0; r < width_ && fits; ++r)
      fits = need[r] <= 0 || !counts(number, r) || need[r] <= row.free[i * width_ + r];
    if (!fits) since = end;
    if (since >= limit) return kForever;
    if (end >= after(since, duration)) return since;
  }
  return kForever;
}

}  // namespace evenhand
