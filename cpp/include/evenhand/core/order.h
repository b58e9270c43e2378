// Stable ascending order of non-negative doubles in O(n) for keys that spread.
//
// The bit patterns of non-negative doubles are in the order of their values and
// spread values of any magnitude about evenly. One counting pass puts them into
// as many buckets as there are keys; buckets of a few are sorted by insertion,
// crowded ones by comparison: O(n log n) at worst. Equal keys keep the order of
// their positions.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace evenhand {

class KeyOrder {
 public:
  // Positions of the keys, in the order of the keys.
  void sort(std::span<const double> keys, std::span<const std::uint32_t> positions,
            std::vector<std::uint32_t>& out) {
    const std::size_t n = positions.size();
    const std::size_t base = out.size();
    out.resize(base + n);
    if (n == 0) return;
    sorted_.resize(n);
    std::uint64_t low = ~std::uint64_t{0}, high = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const auto bits = std::bit_cast<std::uint64_t>(keys[positions[i]]);
      low = std::min(low, bits);
      high = std::max(high, bits);
    }
    const int size_bits = static_cast<int>(std::bit_width(n));
    const int shift = std::max(static_cast<int>(std::bit_width(high - low)) - size_bits, 0);
    const std::size_t buckets = static_cast<std::size_t>((high - low) >> shift) + 1;
    starts_.assign(buckets + 1, 0);
    for (std::size_t i = 0; i < n; ++i)
      ++starts_[bucket(keys[positions[i]], low, shift) + 1];
    for (std::size_t b = 0; b < buckets; ++b) starts_[b + 1] += starts_[b];
    for (std::size_t i = 0; i < n; ++i) {
      const double key = keys[positions[i]];
      sorted_[starts_[bucket(key, low, shift)]++] = {key, positions[i]};
    }
    // starts_[b] is now the end of bucket b.
    std::uint32_t begin = 0;
    for (std::size_t b = 0; b < buckets; ++b) {
      sort_bucket(begin, starts_[b]);
      begin = starts_[b];
    }
    for (std::size_t i = 0; i < n; ++i) out[base + i] = sorted_[i].position;
  }

 private:
  struct Item {
    double key;
    std::uint32_t position;
  };

  static std::size_t bucket(double key, std::uint64_t low, int shift) noexcept {
    return static_cast<std::size_t>((std::bit_cast<std::uint64_t>(key) - low) >> shift);
  }

  void sort_bucket(std::uint32_t begin, std::uint32_t end) {
    constexpr std::uint32_t kCrowded = 24;
    Item* items = sorted_.data();
    if (end - begin > kCrowded) {
      std::stable_sort(items + begin, items + end,
                       [](const Item& a, const Item& b) { return a.key < b.key; });
      return;
    }
    for (std::uint32_t i = begin + 1; i < end; ++i) {
      const Item item = items[i];
      std::uint32_t at = i;
      for (; at > begin && item.key < items[at - 1].key; --at) items[at] = items[at - 1];
      items[at] = item;
    }
  }

  std::vector<Item> sorted_;
  std::vector<std::uint32_t> starts_;
};

}  // namespace evenhand
