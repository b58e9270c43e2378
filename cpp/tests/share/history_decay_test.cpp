#include <gtest/gtest.h>

#include <vector>

#include "evenhand/share/history/decay.h"

namespace evenhand::history::history_decay_test {
namespace {

constexpr double kDay = 86400;

TEST(Decay, ExactHalvesExactly) {
  const Decay decay = Decay::exact(7 * kDay);
  EXPECT_EQ(decay.factor(0), 1);
  EXPECT_EQ(decay.factor(7 * kDay), 0.5);
  EXPECT_EQ(decay.factor(21 * kDay), 0.125);
}

TEST(Decay, GridEngineMultipliesOncePerInterval) {
  const Decay decay = Decay::gridengine(168 * 3600, 60);
  EXPECT_NEAR(decay.factor(60), 0.999931235398754, 1e-15);
  EXPECT_NEAR(decay.factor(168 * 3600), 0.499988, 1e-6);
}

TEST(Decay, SlurmUsesItsRoundedLogarithm) {
  // 0.693 < ln 2: a little more than half is left.
  const double left = Decay::slurm(7 * kDay).factor(7 * kDay);
  EXPECT_GT(left, 0.5);
  EXPECT_NEAR(left, 0.5, 1e-4);
}

TEST(Decay, ZeroHalfLifeKeepsAllAndNegativeKeepsNothing) {
  for (const Decay keep : {Decay::exact(0), Decay::slurm(0), Decay::gridengine(0, 60)})
    EXPECT_EQ(keep.factor(1e9), 1);
  const Decay forget = Decay::gridengine(-3600, 60);
  EXPECT_EQ(forget.factor(0), 1);
  EXPECT_EQ(forget.factor(1e-3), 0);
}

TEST(Decay, StepsCountWholeStepsOnly) {
  Decay flat = Decay::exact(7 * kDay);
  flat.step = 7 * kDay;
  EXPECT_EQ(flat.factor(6.9 * kDay), 1);
  EXPECT_EQ(flat.factor(7 * kDay), 0.5);
  EXPECT_EQ(flat.factor(13 * kDay), 0.5);
}

TEST(Decay, AccumulatesByRow) {
  const std::vector<Id> row{1, 0, 1};
  const std::vector<double> amount{8, 80, 1, 10, 4, 40};
  const std::vector<double> age{100, 0, 200};
  std::vector<double> into{0, 0, 1, 2};
  accumulate(Decay::exact(100), 2, row, amount, age, into);
  EXPECT_EQ(into, (std::vector<double>{1, 10, 6, 52}));
}

}  // namespace
}  // namespace evenhand::history::history_decay_test
