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
using Items = std::span<Keyed>;

// Stable, least significant byte first; bytes in which all keys agree are skipped.
void radix_sort(Items items, std::vector<Keyed>& buffer) {
  std::uint64_t varying = 0;
  for (const Keyed& item : items) varying |= item.key ^ items.front().key;
  buffer.resize(std::max(buffer.size(), items.size()));
  Items from = items, to(buffer.data(), items.size());
  for (int shift = 0; shift < 64; shift += 8) {
    if (((varying >> shift) & 0xFF) == 0) continue;
    std::array<std::uint32_t, 257> begin{};
    for (const Keyed& item : from) ++begin[((item.key >> shift) & 0xFF) + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    for (const Keyed& item : from) to[begin[(item.key >> shift) & 0xFF]++] = item;
    std::swap(from, to);
  }
  if (from.data() != items.data()) std::copy(from.begin(), from.end(), items.begin());
}

bool strictly_ascending(const raw::Strings& names) {
  for (std::size_t i = 1; i < names.size(); ++i)
    if (names[i - 1] >= names[i]) return false;
  return true;
}

class NameSort {
 public:
  NameSort(const raw::Strings& names, std::vector<Duplicate>& duplicates)
      : names_(names), duplicates_(duplicates) {}

  Column<Id> rows() {
    std::vector<Keyed> items(names_.size());
    for (std::size_t i = 0; i < items.size(); ++i) items[i].row = static_cast<Id>(i);
    sort(items, 0);
    Column<Id> rows(items.size());
    std::transform(items.begin(), items.end(), rows.begin(), [](const Keyed& k) { return k.row; });
    return rows;
  }

 private:
  std::string_view name(const Keyed& item) const noexcept { return names_[at(item.row)]; }

  // Sorts names that agree in their first `agreed` bytes and stand in input
  // order: by the eight bytes after their common prefix, then each run of names
  // that agree in these too.
  void sort(Items items, std::size_t agreed) {
    constexpr std::size_t kFew = 24;
    if (items.size() <= kFew) return compare_sort(items);
    const std::size_t prefix = common_prefix(items, agreed);
    bool ends_early = false;  // zero padding would tie with real zero bytes
    for (Keyed& item : items) {
      const std::string_view rest = name(item).substr(prefix);
      item.key = leading_bytes(rest);
      ends_early = ends_early || (rest.size() < 8 && rest.find('\0') != rest.npos);
    }
    if (ends_early) return compare_sort(items);
    radix_sort(items, buffer_);
    for (std::size_t begin = 0; begin < items.size();) {
      std::size_t end = begin + 1;
      while (end < items.size() && items[end].key == items[begin].key) ++end;
      if (end - begin > 1) sort_run(items.subspan(begin, end - begin), prefix + 8);
      begin = end;
    }
  }

  void sort_run(Items run, std::size_t agreed) {
    const bool all_longer = std::all_of(
        run.begin(), run.end(), [&](const Keyed& item) { return name(item).size() > agreed; });
    if (all_longer)
      sort(run, agreed);
    else
      compare_sort(run);
  }

  void compare_sort(Items items) {
    std::sort(items.begin(), items.end(), [&](const Keyed& a, const Keyed& b) {
      const int order = name(a).compare(name(b));
      return order != 0 ? order < 0 : a.row < b.row;
    });
    std::size_t first = 0;
    for (std::size_t i = 1; i < items.size(); ++i) {
      if (name(items[first]) == name(items[i]))
        duplicates_.push_back({items[i].row, items[first].row});
      else
        first = i;
    }
  }

  std::size_t common_prefix(Items items, std::size_t agreed) const {
    const std::string_view first = name(items.front());
    std::size_t length = first.size();
    for (const Keyed& item : items) {
      const std::string_view other = name(item);
      const std::size_t limit = std::min(length, other.size());
      std::size_t same = agreed;
      while (same < limit && first[same] == other[same]) ++same;
      length = same;
    }
    return length;
  }

  // The first eight bytes, big-endian, padded with zeros: orders as the bytes do.
  static std::uint64_t leading_bytes(std::string_view text) {
    std::uint64_t key = 0;
    const std::size_t length = std::min<std::size_t>(text.size(), 8);
    for (std::size_t i = 0; i < length; ++i)
      key |= std::uint64_t{static_cast<unsigned char>(text[i])} << (56 - 8 * i);
    return key;
  }

  const raw::Strings& names_;
  std::vector<Duplicate>& duplicates_;
  std::vector<Keyed> buffer_;
};

// Unsigned integers that order as the doubles do; NaN last, both zeros equal.
std::uint64_t ordered_bits(double key) {
  if (std::isnan(key)) return std::numeric_limits<std::uint64_t>::max();
  const auto bits = std::bit_cast<std::uint64_t>(key + 0.0);
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

}  // namespace

Column<Id> RowOrder::canonical() const {
  Column<Id> rows(source_.size());
  for (std::size_t i = 0; i < source_.size(); ++i) rows[source_[i]] = static_cast<Id>(i);
  return rows;
}

RowOrder sorted_by_name(const raw::Strings& names, std::vector<Duplicate>& duplicates) {
  if (strictly_ascending(names)) return RowOrder(names.size());
  return RowOrder(NameSort(names, duplicates).rows());
}

RowOrder sorted_by_key(RowOrder rows, std::span<const double> keys) {
  const auto key = [&](std::size_t row) { return keys[rows.input(row)]; };
  bool sorted = true;
  for (std::size_t i = 1; i < rows.size() && sorted; ++i) sorted = !order_less(key(i), key(i - 1));
  if (sorted) return rows;

  std::vector<Keyed> items(rows.size());
  for (std::size_t i = 0; i < items.size(); ++i)
    items[i] = {ordered_bits(key(i)), static_cast<Id>(rows.input(i))};
  std::vector<Keyed> buffer;
  radix_sort(items, buffer);
  Column<Id> source(items.size());
  bool identity = true;
  for (std::size_t i = 0; i < items.size(); ++i) {
    source[i] = items[i].row;
    identity = identity && source[i] == static_cast<Id>(i);
  }
  return identity ? RowOrder(items.size()) : RowOrder(std::move(source));
}

}  // namespace evenhand
