#include "evenhand/model/row_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "arena.h"

namespace evenhand::row_order_test {
namespace {

using testing::Arena;

std::vector<std::string> in_order(const RowOrder& order, const std::vector<std::string>& names) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < order.size(); ++i) result.push_back(names[order.input(i)]);
  return result;
}

void expect_sorted(const std::vector<std::string>& names) {
  Arena arena;
  std::vector<Duplicate> duplicates;
  const RowOrder order = sorted_by_name(arena.strings(names), duplicates);
  std::vector<std::string> expected = names;
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(in_order(order, names), expected);

  std::size_t repeated = 0;
  for (std::size_t i = 1; i < expected.size(); ++i) repeated += expected[i] == expected[i - 1];
  EXPECT_EQ(duplicates.size(), repeated);
  for (const Duplicate& d : duplicates) {
    EXPECT_LT(d.first, d.row);
    EXPECT_EQ(names[static_cast<std::size_t>(d.first)], names[static_cast<std::size_t>(d.row)]);
    EXPECT_EQ(std::find(names.begin(), names.end(), names[static_cast<std::size_t>(d.row)]) -
                  names.begin(),
              d.first);
  }
  const std::vector<Id> canonical = order.canonical();
  for (std::size_t i = 0; i < canonical.size(); ++i)
    EXPECT_EQ(canonical[order.input(i)], static_cast<Id>(i));
}

TEST(RowOrder, SortedNamesAreTheIdentity) {
  Arena arena;
  std::vector<Duplicate> duplicates;
  const RowOrder order = sorted_by_name(arena.strings({"a", "aa", "b"}), duplicates);
  EXPECT_TRUE(order.is_identity());
  EXPECT_TRUE(duplicates.empty());
  EXPECT_EQ(order.size(), 3u);
}

TEST(RowOrder, SortsByUnsignedBytes) { expect_sorted({"z", "\xC3\xA9", "a", "", "Z", "~"}); }

TEST(RowOrder, PrefixesComeFirst) { expect_sorted({"job-10", "job-1", "job-", "job-100", "job"}); }

TEST(RowOrder, ZeroBytesAreBytes) {
  const std::string zero(1, '\0');
  expect_sorted({"a" + zero, "a", "a" + zero + zero, "a" + zero + "b", "aa"});
  std::vector<std::string> many;
  for (int i = 0; i < 200; ++i)
    many.push_back("name" + std::string(static_cast<std::size_t>(i % 12), '\0'));
  expect_sorted(many);
}

TEST(RowOrder, EverythingEqual) { expect_sorted(std::vector<std::string>(300, "same name here")); }

TEST(RowOrder, RandomNamesOfManyShapes) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const int alphabet = 1 + static_cast<int>(random() % 4);
    const std::size_t longest = random() % 40, prefix = random() % 12;
    std::vector<std::string> names(random() % 400);
    for (std::string& name : names) {
      name.assign(prefix, 'p');
      const std::size_t length = longest == 0 ? 0 : random() % longest;
      for (std::size_t i = 0; i < length; ++i)
        name +=
            static_cast<char>((round % 3 == 0 ? 0 : 'a') + static_cast<int>(random()) % alphabet);
    }
    expect_sorted(names);
  }
}

TEST(RowOrder, ManyNumberedNames) {
  std::vector<std::string> names(5000);
  for (std::size_t i = 0; i < names.size(); ++i)
    names[i] = "operation-" + std::to_string(i % 70) + "/allocation-" + std::to_string(i);
  std::shuffle(names.begin(), names.end(), std::mt19937(3));
  expect_sorted(names);
}

TEST(RowOrder, KeysGoBeforeNamesAndNoneGoesLast) {
  Arena arena;
  const std::vector<std::string> names{"a", "b", "c", "d", "e", "f"};
  const double none = std::nan("");
  const std::vector<double> keys{none, 2.0, -0.0, 0.0, -5.5, none};
  std::vector<Duplicate> duplicates;
  const RowOrder order = sorted_by_key(sorted_by_name(arena.strings(names), duplicates), keys);
  EXPECT_EQ(in_order(order, names), (std::vector<std::string>{"e", "c", "d", "b", "a", "f"}));
}

TEST(RowOrder, KeysThatFollowTheInputGiveTheIdentity) {
  Arena arena;
  std::vector<Duplicate> duplicates;
  const RowOrder order = sorted_by_key(sorted_by_name(arena.strings({"c", "b", "a"}), duplicates),
                                       std::vector<double>{0.0, 1.0, 2.0});
  EXPECT_TRUE(order.is_identity());
}

TEST(RowOrder, RandomKeysSortStably) {
  std::mt19937 random(11);
  const double inf = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 50; ++round) {
    std::vector<double> keys(random() % 300);
    const std::vector<double> choices{-inf,   -1e300, -1.0, -1e-300,     0.0,
                                      1e-300, 1.0,    inf,  std::nan("")};
    for (double& key : keys) key = choices[random() % choices.size()];
    std::vector<Id> expected(keys.size());
    std::iota(expected.begin(), expected.end(), 0);
    std::stable_sort(expected.begin(), expected.end(), [&](Id a, Id b) {
      return order_less(keys[static_cast<std::size_t>(a)], keys[static_cast<std::size_t>(b)]);
    });
    const RowOrder order = sorted_by_key(RowOrder(keys.size()), keys);
    for (std::size_t i = 0; i < keys.size(); ++i)
      EXPECT_EQ(order.input(i), static_cast<std::size_t>(expected[i]));
  }
}

}  // namespace
}  // namespace evenhand::row_order_test
