#include "evenhand/model/row_order.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace evenhand {
namespace {

struct Keyed {
  std::uint64_t key;
  Id row;
};

// Stable, least significant byte first; bytes in which all keys agree are skipped.
void radix_sort(std::vector<Keyed>& items) {
  std::uint64_t varying = 0;
  for (const Keyed& item : items) varying |= item.key ^ items.front().key;
  std::vector<Keyed> other(items.size());
  for (int shift = 0; shift < 64; shift += 8) {
    if (((varying >> shift) & 0xFF) == 0) continue;
    std::array<std::uint32_t, 257> begin{};
    for (const Keyed& item : items) ++begin[((item.key >> shift) & 0xFF) + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    for (const Keyed& item : items) other[begin[(item.key >> shift) & 0xFF]++] = item;
    items.swap(other);
  }
}

std::size_t common_prefix(const raw::Strings& names) {
  const std::string_view first = names[0];
  std::size_t length = first.size();
  for (std::size_t i = 1; i < names.size() && length > 0; ++i) {
    const std::string_view name = names[i];
    length = std::min(length, name.size());
    length = static_cast<std::size_t>(
        std::mismatch(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(length),
                      name.begin())
            .first -
        first.begin());
  }
  return length;
}

// The first eight bytes, big-endian, padded with zeros: orders as the bytes do,
// except that it does not tell a missing byte from a zero byte.
std::uint64_t leading_bytes(std::string_view text) {
  std::uint64_t key = 0;
  const std::size_t length = std::min<std::size_t>(text.size(), 8);
  for (std::size_t i = 0; i < length; ++i)
    key |= std::uint64_t{static_cast<unsigned char>(text[i])} << (56 - 8 * i);
  return key;
}

bool strictly_ascending(const raw::Strings& names) {
  for (std::size_t i = 1; i < names.size(); ++i)
    if (names[i - 1] >= names[i]) return false;
  return true;
}

// Unsigned integers that order as the doubles do; NaN last, both zeros equal.
std::uint64_t ordered_bits(double key) {
  if (std::isnan(key)) return std::numeric_limits<std::uint64_t>::max();
  const auto bits = std::bit_cast<std::uint64_t>(key + 0.0);
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

}  // namespace

std::vector<Id> RowOrder::canonical() const {
  std::vector<Id> rows(source_.size());
  for (std::size_t i = 0; i < source_.size(); ++i)
    rows[static_cast<std::size_t>(source_[i])] = static_cast<Id>(i);
  return rows;
}

RowOrder sorted_by_name(const raw::Strings& names, std::vector<Duplicate>& duplicates) {
  const std::size_t size = names.size();
  if (strictly_ascending(names)) return RowOrder(size);

  const std::size_t prefix = common_prefix(names);
  std::vector<Keyed> items(size);
  for (std::size_t i = 0; i < size; ++i)
    items[i] = {leading_bytes(names[i].substr(prefix)), static_cast<Id>(i)};
  radix_sort(items);

  const auto name = [&](const Keyed& item) { return names[static_cast<std::size_t>(item.row)]; };
  const auto less = [&](const Keyed& a, const Keyed& b) {
    const int order = name(a).compare(name(b));
    return order != 0 ? order < 0 : a.row < b.row;
  };
  for (auto run = items.begin(); run != items.end();) {
    const auto end =
        std::find_if(run, items.end(), [&](const Keyed& item) { return item.key != run->key; });
    if (end - run > 1) {
      std::sort(run, end, less);
      for (auto first = run, next = run + 1; next != end; ++next) {
        if (name(*first) == name(*next))
          duplicates.push_back({next->row, first->row});
        else
          first = next;
      }
    }
    run = end;
  }
  std::vector<Id> source(size);
  std::transform(items.begin(), items.end(), source.begin(), [](const Keyed& k) { return k.row; });
  return RowOrder(std::move(source));
}

RowOrder sorted_by_key(RowOrder rows, std::span<const double> keys) {
  const auto key = [&](std::size_t row) { return keys[rows.input(row)]; };
  bool sorted = true;
  for (std::size_t i = 1; i < rows.size() && sorted; ++i) sorted = !order_less(key(i), key(i - 1));
  if (sorted) return rows;

  std::vector<Keyed> items(rows.size());
  for (std::size_t i = 0; i < items.size(); ++i)
    items[i] = {ordered_bits(key(i)), static_cast<Id>(rows.input(i))};
  radix_sort(items);
  std::vector<Id> source(items.size());
  bool identity = true;
  for (std::size_t i = 0; i < items.size(); ++i) {
    source[i] = items[i].row;
    identity = identity && source[i] == static_cast<Id>(i);
  }
  return identity ? RowOrder(items.size()) : RowOrder(std::move(source));
}

}  // namespace evenhand
