// Stable ascending order of positive doubles in O(n) for keys that spread.
//
// The bit patterns of positive doubles are in the order of their values and spread
// values of any magnitude about evenly. One counting pass puts them into as many
// buckets as there are keys, an insertion sort does the rest; where a bucket is
// crowded all are sorted by comparison: O(n log n) at worst. Equal keys keep the
// order in which they were added.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace evenhand {

class KeyOrder {
 public:
  void clear() {
    items_.clear();
    low_ = ~std::uint64_t{0};
    high_ = 0;
  }

  void add(double key, std::uint32_t position) {
    const auto bits = std::bit_cast<std::uint64_t>(key);
    low_ = std::min(low_, bits);
    high_ = std::max(high_, bits);
    items_.push_back({bits, position});
  }

  // Appends the positions in the order of their keys.
  void append_sorted(std::vector<std::uint32_t>& out) {
    const std::size_t n = items_.size();
    if (n > kFew && !spread(n)) {
      std::ranges::stable_sort(items_, {}, &Item::key);
      sorted_.swap(items_);
    } else {
      if (n <= kFew) sorted_.swap(items_);
      insertion_sort(n);
    }
    const std::size_t before = out.size();
    out.resize(before + n);
    for (std::size_t i = 0; i < n; ++i) out[before + i] = sorted_[i].position;
  }

 private:
  static constexpr std::size_t kFew = 12;
  static constexpr std::uint32_t kCrowded = 32;

  struct Item {
    std::uint64_t key;
    std::uint32_t position;
  };

  // Scatters the items into buckets, in sorted_; false if one is crowded.
  bool spread(std::size_t n) {
    const int bits = static_cast<int>(std::bit_width(high_ - low_));
    const int shift = std::max(bits - static_cast<int>(std::bit_width(n)), 0);
    starts_.assign(static_cast<std::size_t>((high_ - low_) >> shift) + 2, 0);
    for (const Item& item : items_) ++starts_[((item.key - low_) >> shift) + 1];
    std::uint32_t most = 0;
    for (std::size_t b = 1; b < starts_.size(); ++b) {
      most = std::max(most, starts_[b]);
      starts_[b] += starts_[b - 1];
    }
    if (most > kCrowded) return false;
    sorted_.resize(n);
    for (const Item& item : items_) sorted_[starts_[(item.key - low_) >> shift]++] = item;
    return true;
  }

  void insertion_sort(std::size_t n) {
    Item* items = sorted_.data();
    for (std::size_t i = 1; i < n; ++i) {
      const Item item = items[i];
      std::size_t at = i;
      for (; at > 0 && item.key < items[at - 1].key; --at) items[at] = items[at - 1];
      items[at] = item;
    }
  }

  std::vector<Item> items_, sorted_;
  std::vector<std::uint32_t> starts_;
  std::uint64_t low_ = 0, high_ = 0;
};

}  // namespace evenhand
