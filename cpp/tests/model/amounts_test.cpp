#include "evenhand/model/amounts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "arena.h"

namespace evenhand::amounts_test {
namespace {

using testing::Arena;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// The quanta, or the first problem, of an operation's demand.
struct Outcome {
  Amount quanta = -1;
  std::string rule, message;
};

Outcome demand(Arena& arena, raw::Amounts amounts, double quantum, raw::Rounding rounding) {
  raw::Input in = arena.input({quantum});
  in.rounding = rounding;
  in.operations.name = arena.names({"o"});
  in.operations.demand = amounts;
  const auto result = build(in);
  if (const auto* problems = std::get_if<Problems>(&result))
    return {-1, problems->kept()[0].rule, problems->kept()[0].message};
  return {std::get<Built>(result).tables.operations.demand[0], "", ""};
}

Outcome real(double value, double quantum, raw::Rounding rounding = raw::Rounding::kExact) {
  Arena arena;
  return demand(arena, arena.amounts({value}), quantum, rounding);
}

Outcome whole(std::int64_t value, double quantum, raw::Rounding rounding = raw::Rounding::kExact) {
  Arena arena;
  return demand(arena, arena.whole_amounts({value}), quantum, rounding);
}

TEST(Amounts, MultiplesOfTheQuantumAreExact) {
  EXPECT_EQ(real(0.0, 0.001).quanta, 0);
  EXPECT_EQ(real(2.5, 0.001).quanta, 2500);
  EXPECT_EQ(real(0.1 + 0.2, 0.1).quanta, 3);
  EXPECT_EQ(real(1.1, 0.01).quanta, 110);
  EXPECT_EQ(real(3072.0, 1024.0).quanta, 3);
  EXPECT_EQ(real(0.6, 0.3).quanta, 2);
  EXPECT_EQ(real(4503599627370497.0, 1.0).quanta, 4503599627370497);  // 2^52 + 1
  EXPECT_EQ(whole(7, 1.0).quanta, 7);
  EXPECT_EQ(whole(7, 0.001).quanta, 7000);
  EXPECT_EQ(whole(3072, 1024.0).quanta, 3);
  EXPECT_EQ(whole(3, 1.5).quanta, 2);
}

TEST(Amounts, EveryHundredthIsExact) {
  constexpr std::int64_t kRows = 20'000;
  Arena arena;
  raw::Input in = arena.input({0.01});
  std::vector<std::int64_t> names;
  std::vector<double> hundredths;
  for (std::int64_t i = 0; i < kRows; ++i) {
    names.push_back(kRows + i);  // all of five digits, so that text orders as numbers do
    hundredths.push_back(static_cast<double>(i) / 100.0);
  }
  in.nodes.name = arena.integer_names(names);
  in.nodes.capacity = arena.amounts(hundredths);
  const Tables t = testing::built(in);
  for (std::size_t i = 0; i < static_cast<std::size_t>(kRows); ++i)
    EXPECT_EQ(t.nodes.capacity[i], static_cast<Amount>(i));
}

TEST(Amounts, NoiseWithinOneInABillionIsAccepted) {
  EXPECT_EQ(real(1.0 + 5e-10, 1.0).quanta, 1);
  EXPECT_EQ(real(1.0 - 5e-10, 1.0).quanta, 1);
  EXPECT_EQ(real(-1e-17, 1.0).quanta, 0);
  EXPECT_EQ(real(1.0 + 5e-9, 1.0).rule, "quantum");
  EXPECT_EQ(real(1.0, 1073741824.0).rule, "quantum");  // GiB meant, bytes given
  EXPECT_EQ(whole(1, 1073741824.0).rule, "quantum");
  EXPECT_EQ(real(1e6 * (1.0 + 5e-10), 1.0).quanta, 1000000);
  EXPECT_EQ(real(1e6 * (1.0 + 5e-9), 1.0).rule, "quantum");
}

TEST(Amounts, OffTheQuantumProposesOne) {
  const Outcome half = real(0.0005, 0.001);
  EXPECT_EQ(half.rule, "quantum");
  EXPECT_NE(half.message.find("a quantum of 0.0001 would hold it"), std::string::npos)
      << half.message;
  EXPECT_NE(real(1.5, 1.0).message.find("a quantum of 0.1 would"), std::string::npos);
  EXPECT_NE(whole(1000, 1024.0).message.find("a quantum of 1 would"), std::string::npos);
  EXPECT_NE(real(1.0 / 3.0, 1.0).message.find("choose a smaller quantum"), std::string::npos);
}

TEST(Amounts, ProposedQuantumHoldsTheAmount) {
  for (const double value : {0.25, 1.125, 3.0005, 17.123456}) {
    const std::string message = real(value, 1.0).message;
    const auto at = message.find("a quantum of ");
    ASSERT_NE(at, std::string::npos) << message;
    EXPECT_EQ(real(value, std::stod(message.substr(at + 13))).rule, "");
  }
}

TEST(Amounts, NearestRounds) {
  constexpr auto kNearest = raw::Rounding::kNearest;
  EXPECT_EQ(real(1.4, 1.0, kNearest).quanta, 1);
  EXPECT_EQ(real(1.5, 1.0, kNearest).quanta, 2);
  EXPECT_EQ(real(0.49999999999999994, 1.0, kNearest).quanta, 0);  // + 0.5 would round up
  EXPECT_EQ(whole(1535, 1024.0, kNearest).quanta, 1);
  EXPECT_EQ(whole(1536, 1024.0, kNearest).quanta, 2);
  EXPECT_EQ(real(kNaN, 1.0, kNearest).rule, "finite");
  EXPECT_EQ(real(-0.4, 1.0, kNearest).rule, "non_negative");
}

TEST(Amounts, RefusesWhatIsNoAmount) {
  EXPECT_EQ(real(kNaN, 1.0).rule, "finite");
  EXPECT_EQ(real(kInf, 1.0).rule, "finite");
  EXPECT_EQ(real(-kInf, 1.0).rule, "finite");
  EXPECT_EQ(real(-1.0, 1.0).rule, "non_negative");
  EXPECT_EQ(real(-1e300, 1.0).rule, "non_negative");
  EXPECT_EQ(whole(-1, 1.0).rule, "non_negative");
  EXPECT_EQ(whole(-3, 1.5).rule, "non_negative");
  EXPECT_EQ(whole(std::numeric_limits<std::int64_t>::min(), 1024.0).rule, "non_negative");
}

TEST(Amounts, TwoToTheSixtiethIsTheLast) {
  const double limit = std::ldexp(1.0, 60);
  EXPECT_EQ(real(limit, 1.0).quanta, kMaxAmount);
  EXPECT_EQ(real(std::nextafter(limit, kInf), 1.0).rule, "overflow");
  EXPECT_EQ(real(1e300, 1.0).rule, "overflow");
  EXPECT_EQ(real(1e308, 1e-300).rule, "overflow");  // the quotient is infinite
  EXPECT_EQ(whole(kMaxAmount, 1.0).quanta, kMaxAmount);
  EXPECT_EQ(whole(kMaxAmount + 1, 1.0).rule, "overflow");
  EXPECT_EQ(whole(kMaxAmount / 1000 + 1, 0.001).rule, "overflow");
  EXPECT_EQ(whole(std::numeric_limits<std::int64_t>::max(), 2.0).rule, "overflow");
}

TEST(Amounts, NullCellsAreZeroAndNotGiven) {
  Arena arena;
  raw::Input in = arena.input({1.0, 0.5});
  in.pools.name = arena.names({"p", "q"});
  in.pools.strong_guarantee = arena.amounts({1.0, kNaN, kNaN, kNaN}, {1, 0, 0, 0});
  in.pools.limits = arena.amounts({0.0, 2.5, 1.0, 1.0});
  const Tables t = testing::built(in);
  EXPECT_EQ(t.pools.strong_guarantee, (std::vector<Amount>{0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(t.pools.strong_guarantee_given, (std::vector<ResourceMask>{0, 1, 0}));
  EXPECT_EQ(t.pools.limits, (std::vector<Amount>{0, 0, 0, 5, 1, 2}));
  EXPECT_EQ(t.pools.limits_given, (std::vector<ResourceMask>{0, 3, 3}));
}

TEST(Amounts, VolumesAreRealQuanta) {
  Arena arena;
  raw::Input in = arena.input({0.01});
  in.pools.name = arena.names({"p"});
  in.pools.accumulated_volume = arena.amounts({1.2345});
  EXPECT_DOUBLE_EQ(testing::built(in).pools.integral.accumulated_volume[1], 123.45);
  in.pools.accumulated_volume = arena.amounts({-1.0});
  EXPECT_EQ(testing::problems(in),
            std::vector<std::string>{"pools[0] p integral.accumulated_volume.r0 non_negative"});
  in.pools.accumulated_volume = arena.amounts({kInf});
  EXPECT_EQ(testing::problems(in),
            std::vector<std::string>{"pools[0] p integral.accumulated_volume.r0 finite"});
}

TEST(Amounts, SharesLieWithinOne) {
  Arena arena;
  raw::Input in = arena.input({1.0, 1.0});
  in.operations.name = arena.names({"o"});
  in.operations.best_allocation_share = arena.amounts({1.0, 1.0});
  EXPECT_TRUE(testing::built(in).operations.best_allocation_share.empty());
  in.operations.best_allocation_share = arena.amounts({0.25, kNaN}, {1, 0});
  EXPECT_EQ(testing::built(in).operations.best_allocation_share, (std::vector<double>{0.25, 1.0}));
  in.operations.best_allocation_share = arena.amounts({1.5, -0.1});
  EXPECT_EQ(testing::problems(in),
            (std::vector<std::string>{"operations[0] o best_allocation_share.r0 range",
                                      "operations[0] o best_allocation_share.r1 range"}));
}

TEST(Amounts, ChecksOnSums) {
  Amount sum = kMaxAmount - 1;
  EXPECT_TRUE(add_checked(sum, 1));
  EXPECT_FALSE(add_checked(sum, 1));
  EXPECT_EQ(sum, kMaxAmount);
  EXPECT_EQ(times_checked(kMaxAmount / 3, 3), kMaxAmount / 3 * 3);
  EXPECT_EQ(times_checked(kMaxAmount / 2 + 1, 2), kMaxAmount + 1);
  EXPECT_EQ(times_checked(0, kMaxAmount), 0);
  EXPECT_LT(times_checked(kFaultyAmount, 5), 0);
}

}  // namespace
}  // namespace evenhand::amounts_test
