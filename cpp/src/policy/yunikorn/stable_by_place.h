// The stable sort of Go's library: insertion in blocks, then merging in place. The running system
// uses orders that are none (ties that count as less, values looked up by position), so what it
// answers depends on which places are compared in which order.
#pragma once

#include <utility>

#include "evenhand/core/types.h"

namespace evenhand::yunikorn {

// `less(i, j)` compares the rows that stand at two places, `swap(i, j)` exchanges them.
template <class Less, class Swap>
class StableByPlace {
 public:
  StableByPlace(Less less, Swap swap) : less_(std::move(less)), swap_(std::move(swap)) {}

  void sort(Index count) {
    Index block = 20, from = 0;
    for (; from + block <= count; from += block) insert(from, from + block);
    insert(from, count);
    for (; block < count; block *= 2) {
      for (from = 0; from + 2 * block <= count; from += 2 * block)
        merge(from, from + block, from + 2 * block);
      if (from + block < count) merge(from, from + block, count);
    }
  }

 private:
  void insert(Index from, Index to) {
    for (Index i = from + 1; i < to; ++i)
      for (Index j = i; j > from && less_(j, j - 1); --j) swap_(j, j - 1);
  }
  void exchange(Index a, Index b, Index count) {
    for (Index i = 0; i < count; ++i) swap_(a + i, b + i);
  }
  void rotate(Index from, Index middle, Index to) {
    Index i = middle - from, j = to - middle;
    while (i != j)
      if (i > j) {
        exchange(middle - i, middle, j);
        i -= j;
      } else {
        exchange(middle - i, middle + j - i, i);
        j -= i;
      }
    exchange(middle - i, middle, i);
  }
  void merge(Index a, Index m, Index b) {
    if (m - a == 1) {
      Index i = m, j = b;
      while (i < j)
        if (const Index h = (i + j) / 2; less_(h, a))
          i = h + 1;
        else
          j = h;
      for (Index k = a; k < i - 1; ++k) swap_(k, k + 1);
      return;
    }
    if (b - m == 1) {
      Index i = a, j = m;
      while (i < j)
        if (const Index h = (i + j) / 2; !less_(m, h))
          i = h + 1;
        else
          j = h;
      for (Index k = m; k > i; --k) swap_(k, k - 1);
      return;
    }
    const Index middle = (a + b) / 2, both = middle + m;
    Index start = m > middle ? both - b : a, rest = m > middle ? middle : m;
    while (start < rest)
      if (const Index c = (start + rest) / 2; !less_(both - 1 - c, c))
        start = c + 1;
      else
        rest = c;
    const Index end = both - start;
    if (start < m && m < end) rotate(start, m, end);
    if (a < start && start < middle) merge(a, start, middle);
    if (middle < end && end < b) merge(middle, end, b);
  }

  Less less_;
  Swap swap_;
};

// Sorts rows whose order depends on nothing but the rows.
template <class Rows, class Less>
void sort_as_go(Rows& rows, Less less) {
  StableByPlace([&](Index i, Index j) { return less(rows[at(i)], rows[at(j)]); },
                [&](Index i, Index j) { std::swap(rows[at(i)], rows[at(j)]); })
      .sort(static_cast<Index>(rows.size()));
}

}  // namespace evenhand::yunikorn
