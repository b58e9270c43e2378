// Ids that are collected in any order, however often each, and read in theirs.
//
// A bit for each id, and one for every 64 of them: adding costs O(1), reading O(what is there + ids
// / 4096).
#pragma once

#include <bit>
#include <cstdint>

#include "evenhand/core/column.h"

namespace evenhand {

class IdSet {
 public:
  // Ids below this number may be added from here on.
  void fit(std::size_t ids) {
    if (ids <= 64 * words_.size()) return;
    words_.resize((ids + 63) / 64, 0);
    groups_.resize((words_.size() + 63) / 64, 0);
  }
  void add(Id id) noexcept {
    const std::size_t word = at(id) / 64;
    words_[word] |= std::uint64_t{1} << (id % 64);
    groups_[word / 64] |= std::uint64_t{1} << (word % 64);
  }
  // All that have been added, ascending; then none is there any more.
  void take(Column<Id>& out) {
    out.clear();
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (std::uint64_t group = groups_[g]; group != 0; group &= group - 1) {
        const std::size_t w = 64 * g + at(std::countr_zero(group));
        for (std::uint64_t word = words_[w]; word != 0; word &= word - 1)
          out.push_back(static_cast<Id>(64 * w) + static_cast<Id>(std::countr_zero(word)));
        words_[w] = 0;
      }
      groups_[g] = 0;
    }
  }

 private:
  Column<std::uint64_t> words_, groups_;
};

}  // namespace evenhand
