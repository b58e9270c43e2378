#include "evenhand/model/live_keys.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>

#include "evenhand/model/row_order.h"
#include "evenhand/model/visit_columns.h"

namespace evenhand {
namespace {

// Of rows that stand by name, the beginnings of every so many names are kept beside each other: a
// search that looks at these first touches few names, which lie far apart.
constexpr Id kBetweenBeginnings = 16;

// What all names of rows in order begin with.
std::string_view common_beginning(const StringColumn& names) {
  const std::string_view first = names[0], last = names[names.size() - 1];
  const auto [end, other] = std::ranges::mismatch(first, last);
  return first.substr(0, static_cast<std::size_t>(end - first.begin()));
}

// Four bytes of a name as a number: a name that is less has none that is greater.
Id beginning(std::string_view name, std::size_t from) {
  std::uint32_t bytes = 0;
  for (std::size_t i = from; i < from + 4; ++i)
    bytes = bytes << 8 | (i < name.size() ? static_cast<unsigned char>(name[i]) : 0u);
  return std::bit_cast<Id>(bytes ^ 0x80000000u);
}

void begin_to_load([[maybe_unused]] const void* there) noexcept {
#if defined(__GNUC__)
  __builtin_prefetch(there);
#endif
}

std::uint32_t hash_of(std::string_view name) {
  return static_cast<std::uint32_t>(std::hash<std::string_view>{}(name));
}

}  // namespace

LiveKeys::LiveKeys(const NameColumn& names, const Column<double>& order)
    : names_(&names), order_(&order), rows_(static_cast<Id>(names.text.size())) {}

std::string_view LiveKeys::name(Id row) const noexcept {
  return row < rows_ ? names_->text[row] : std::string_view(later_[row - rows_].name);
}

bool LiveKeys::is_integer(Id row) const noexcept {
  return row < rows_ ? at_or(names_->is_integer, row, std::uint8_t{0}) != 0
                     : later_[row - rows_].is_integer;
}

double LiveKeys::order(Id row) const noexcept {
  return row < rows_ ? at_or(*order_, row, kNoOrder) : later_[row - rows_].order;
}

bool LiveKeys::before(Id a, double order, std::string_view text) const noexcept {
  const double its = this->order(a);
  if (order_less(its, order)) return true;
  return !order_less(order, its) && name(a) < text;
}

// Rows of the snapshot that stand before such a row.
Id LiveKeys::place(double order, std::string_view text) const {
  Id low = 0, high = rows_;
  if (order_->empty() && std::isnan(order) && rows_ > 4 * kBetweenBeginnings) {
    const std::string_view shared = common_beginning(names_->text);
    if (!text.starts_with(shared)) return text < shared ? 0 : rows_;
    if (beginnings_.empty())
      for (Id row = 0; row < rows_; row += kBetweenBeginnings)
        beginnings_.push_back(beginning(names_->text[row], shared.size()));
    const auto [from, until] =
        std::equal_range(beginnings_.begin(), beginnings_.end(), beginning(text, shared.size()));
    const auto row_of = [&](auto found) {
      return static_cast<Id>(found - beginnings_.begin()) * kBetweenBeginnings;
    };
    low = from == beginnings_.begin() ? 0 : row_of(from - 1);
    high = std::min(rows_, row_of(until));
  }
  while (low < high) {
    const Id middle = low + (high - low) / 2;
    if (before(middle, order, text))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Where a name is, or would be.
std::size_t LiveKeys::seek(std::string_view text, std::uint32_t hash) const noexcept {
  std::size_t i = home(hash);
  for (; found_[i].row != kNoId; i = (i + 1) & (found_.size() - 1))
    if (found_[i].hash == hash && name(found_[i].row) == text) break;
  return i;
}

void LiveKeys::index() const {
  names_found_ = at(rows_);
  found_.assign(std::bit_ceil(std::max<std::size_t>(8, 4 * names_found_)), Found{});
  for (Id row = 0; row < rows_; ++row) {
    const std::uint32_t hash = hash_of(name(row));
    found_[seek(name(row), hash)] = {row, hash};
  }
}

void LiveKeys::grow() const {
  Column<Found> before(2 * found_.size(), Found{});
  std::swap(before, found_);
  for (const Found& f : before) {
    if (f.row == kNoId) continue;
    std::size_t i = home(f.hash);
    while (found_[i].row != kNoId) i = (i + 1) & (found_.size() - 1);
    found_[i] = f;
  }
}

// Frees a place: what stands behind it because it was taken moves up.
void LiveKeys::forget(std::size_t at) const {
  const std::size_t last = found_.size() - 1;
  for (std::size_t i = (at + 1) & last; found_[i].row != kNoId; i = (i + 1) & last) {
    if (((i - home(found_[i].hash)) & last) < ((i - at) & last)) continue;
    found_[at] = found_[i];
    at = i;
  }
  found_[at] = {};
  --names_found_;
}

Id LiveKeys::find(std::string_view text) const {
  if (found_.empty()) index();
  return found_[seek(text, hash_of(text))].row;
}

void LiveKeys::expect(std::string_view text, bool near) const noexcept {
  if (found_.empty()) return;
  const Found& place = found_[home(hash_of(text))];
  if (!near)
    begin_to_load(&place);
  else if (place.row != kNoId && place.row < rows_)
    begin_to_load(&names_->text.offsets[place.row]);
}

void LiveKeys::add(Id row) {
  if (row == rows()) later_.emplace_back();
  Later& l = later_[row - rows_];
  l.name.clear();
  l.rank = ((Index{rows_} + 2) << kGap) + unnamed_++;
}

void LiveKeys::set_name(Id row, std::string_view name, bool is_integer, double order) {
  Later& l = later_[row - rows_];
  l.name = name;
  l.order = order;
  l.is_integer = is_integer;
}

void LiveKeys::enter(Id row) {
  Later& l = later_[row - rows_];
  if (l.name.empty()) return;
  if (found_.empty()) index();
  const std::uint32_t hash = hash_of(l.name);
  Found& found = found_[seek(l.name, hash)];
  l.hidden = found.row;
  found = {row, hash};
  if (l.hidden == kNoId && 2 * ++names_found_ > found_.size()) grow();
  const auto less = [&](Id a, const Later& b) { return before(a, b.order, b.name); };
  const auto place = std::lower_bound(sorted_.begin(), sorted_.end(), l, less);
  const Id low = this->place(l.order, l.name);
  Index above = Index{low} << kGap, below = above + (Index{1} << kGap);
  const Index end = below;
  if (place != sorted_.begin()) above = std::max(above, rank(*(place - 1)));
  if (place != sorted_.end()) below = std::min(below, rank(*place));
  // What follows all others leaves room behind it; what stands between two halves theirs.
  l.rank = above + (below == end ? std::min(kStep, (below - above) / 2) : (below - above) / 2);
  const bool full = l.rank == above;
  const auto position = static_cast<std::size_t>(place - sorted_.begin());
  sorted_.insert(place, row);
  if (full) rank_anew(position);
}

// Spreads the numbers of all later rows between the same two of the snapshot's.
void LiveKeys::rank_anew(std::size_t position) {
  const Index gap = rank(sorted_[position]) >> kGap;
  const auto inside = [&](std::size_t i) { return rank(sorted_[i]) >> kGap == gap; };
  std::size_t begin = position, end = position + 1;
  while (begin > 0 && inside(begin - 1)) --begin;
  while (end < sorted_.size() && inside(end)) ++end;
  const Index step = (Index{1} << kGap) / static_cast<Index>(end - begin + 1);
  for (std::size_t i = begin; i < end; ++i)
    later_[sorted_[i] - rows_].rank = (gap << kGap) + step * static_cast<Index>(i - begin + 1);
}

void LiveKeys::leave(Id row) {
  Later& l = later_[row - rows_];
  if (l.name.empty()) return;
  const std::size_t place = seek(l.name, hash_of(l.name));
  Id* link = &found_[place].row;
  while (*link != row) link = &later_[*link - rows_].hidden;
  *link = l.hidden;
  if (found_[place].row == kNoId) forget(place);
  sorted_.erase(std::ranges::lower_bound(sorted_, l.rank, {}, [&](Id r) { return rank(r); }));
}

}  // namespace evenhand
