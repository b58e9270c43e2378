#include "evenhand/core/order.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

namespace evenhand::order_test {
namespace {

std::vector<std::uint32_t> sorted(const std::vector<double>& keys) {
  KeyOrder order;
  std::vector<std::uint32_t> out;
  for (int round = 0; round < 2; ++round) {  // storage is reused
    out.clear();
    order.clear();
    for (std::uint32_t i = 0; i < keys.size(); ++i) order.add(keys[i], i);
    order.append_sorted(out);
  }
  return out;
}

void expect_stable_order(const std::vector<double>& keys) {
  std::vector<std::uint32_t> expected(keys.size());
  std::iota(expected.begin(), expected.end(), 0u);
  std::ranges::stable_sort(expected, {}, [&](std::uint32_t i) { return keys[i]; });
  EXPECT_EQ(sorted(keys), expected);
}

TEST(KeyOrder, HandlesFewKeys) {
  expect_stable_order({});
  expect_stable_order({0.5});
  expect_stable_order({0.5, 0.25, 0.5, 0.125});
}

TEST(KeyOrder, HandlesManySpreadKeys) {
  std::vector<double> keys;
  double x = 0.3;
  for (int i = 0; i < 5000; ++i)
    keys.push_back(std::ldexp(x = std::fmod(x * 7.13 + 0.1, 1.0) + 1e-9, -i % 60));
  expect_stable_order(keys);
}

TEST(KeyOrder, KeepsEqualKeysInOrderOfAddition) {
  expect_stable_order(std::vector<double>(1000, 0.25));
}

TEST(KeyOrder, HandlesOneFarKeyBesideACrowd) {
  std::vector<double> keys(1000);
  for (std::size_t i = 0; i < keys.size(); ++i)
    keys[i] = 0.5 + 1e-15 * static_cast<double>(i * 7919 % 1000);
  keys[500] = 1e-300;
  expect_stable_order(keys);
}

}  // namespace
}  // namespace evenhand::order_test
