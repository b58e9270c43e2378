#include "evenhand/model/live_keys.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>

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

Id LiveKeys::of_snapshot(std::string_view text) const {
  const auto less = [&](Id row, std::string_view other) { return names_->text[row] < other; };
  if (!order_->empty() && by_name_.empty()) {
    by_name_.resize(at(rows_));
    std::iota(by_name_.begin(), by_name_.end(), Id{0});
    std::ranges::sort(by_name_, {}, [&](Id row) { return names_->text[row]; });
  }
  Id low = 0;
  Column<Id>& beginnings = by_name_;
  if (!order_->empty()) {
    const auto found = std::lower_bound(by_name_.begin(), by_name_.end(), text, less);
    low = found == by_name_.end() ? rows_ : *found;
  } else {
    Id high = rows_;
    if (rows_ > 4 * kBetweenBeginnings) {
      const std::string_view shared = common_beginning(names_->text);
      if (!text.starts_with(shared)) return kNoId;
      if (beginnings.empty())
        for (Id row = 0; row < rows_; row += kBetweenBeginnings)
          beginnings.push_back(beginning(names_->text[row], shared.size()));
      const auto [from, until] =
          std::ranges::equal_range(beginnings, beginning(text, shared.size()));
      const auto place = [&](auto found) {
        return static_cast<Id>(found - beginnings.begin()) * kBetweenBeginnings;
      };
      low = from == beginnings.begin() ? 0 : place(from - 1);
      high = std::min(rows_, place(until));
    }
    while (low < high) {
      const Id middle = low + (high - low) / 2;
      if (less(middle, text))
        low = middle + 1;
      else
        high = middle;
    }
  }
  return low < rows_ && names_->text[low] == text ? low : kNoId;
}

Id LiveKeys::find(std::string_view text) const {
  const auto found = named_.find(text);
  return found != named_.end() ? found->second : of_snapshot(text);
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
  named_[l.name] = row;
  const auto less = [&](Id a, const Later& b) { return before(a, b.order, b.name); };
  const auto place = std::lower_bound(sorted_.begin(), sorted_.end(), l, less);
  Id low = 0;
  for (Id high = rows_; low < high;) {  // the snapshot's rows before it
    const Id middle = low + (high - low) / 2;
    if (less(middle, l))
      low = middle + 1;
    else
      high = middle;
  }
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
  named_.erase(named_.find(l.name));
  const auto less = [&](Id a, const Later& b) { return before(a, b.order, b.name); };
  sorted_.erase(std::lower_bound(sorted_.begin(), sorted_.end(), l, less));
}

}  // namespace evenhand
