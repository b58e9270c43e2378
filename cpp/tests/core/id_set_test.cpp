#include "evenhand/core/id_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace evenhand::id_set_test {
namespace {

TEST(IdSet, TakesEachOnceInOrderAndIsEmptyThen) {
  std::mt19937 random(7);
  IdSet ids;
  Column<Id> taken;
  for (const std::size_t size : {1u, 64u, 65u, 5000u, 4096u * 64u + 3u}) {
    ids.fit(size);
    for (const int count : {0, 1, 90}) {
      std::set<Id> expected;
      for (int i = 0; i < count; ++i) {
        const auto id = static_cast<Id>(random() % size);
        ids.add(id);
        ids.add(id);
        expected.insert(id);
      }
      if (count > 1) {
        ids.add(static_cast<Id>(size - 1));
        expected.insert(static_cast<Id>(size - 1));
      }
      ids.take(taken);
      EXPECT_EQ(taken, Column<Id>(expected.begin(), expected.end())) << size;
    }
  }
}

}  // namespace
}  // namespace evenhand::id_set_test
