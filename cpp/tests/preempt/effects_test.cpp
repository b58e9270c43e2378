#include "evenhand/preempt/effects.h"

#include <gtest/gtest.h>

#include <vector>

namespace evenhand {
namespace {

constexpr HeldKind kSlots = HeldKind::kSlots, kMemory = HeldKind::kMemory,
                   kOther = HeldKind::kOther, kManaged = HeldKind::kManagedLicense;

TEST(Effects, WhatEndsGivesBackAll) {
  for (const Mode mode : {Mode::kTerminate, Mode::kRequeue, Mode::kCheckpoint})
    for (const HeldKind kind : {kSlots, kMemory, kOther, kManaged})
      for (const bool available : {true, false}) EXPECT_TRUE(frees(mode, kind, available));
}

TEST(Effects, WhatStopsGivesBackByTheTable) {
  const auto row = [](Mode mode, bool available) {
    return std::vector<bool>{frees(mode, kSlots, available), frees(mode, kMemory, available),
                             frees(mode, kOther, available), frees(mode, kManaged, available)};
  };
  EXPECT_EQ(row(Mode::kPreempt, true), (std::vector<bool>{true, true, true, true}));
  EXPECT_EQ(row(Mode::kPreempt, false), (std::vector<bool>{false, false, false, true}));
  EXPECT_EQ(row(Mode::kEnhancedSuspend, true), (std::vector<bool>{true, false, true, true}));
  EXPECT_EQ(row(Mode::kEnhancedSuspend, false), (std::vector<bool>{false, false, false, true}));
  EXPECT_EQ(row(Mode::kSuspend, true), (std::vector<bool>{true, false, false, true}));
  EXPECT_EQ(row(Mode::kSuspend, false), (std::vector<bool>{true, false, false, true}));
}

TEST(Effects, FreedAndKeptAddUpAndManagedLicencesAreNeverKept) {
  ResourceSpace space;
  space.quantum = {1, 1, 1};
  space.kind = {ResourceKind::kSlots, ResourceKind::kMemory, ResourceKind::kLicense};
  space.scope.assign(3, ResourceScope::kNode);
  space.available_after_preemption = {1, 1, 1};
  const std::vector<std::uint8_t> managed{0, 0, 1};
  const std::vector<Amount> held{4, 8, 2};
  std::vector<Amount> wanted{1, 3, 0}, freed(3), kept(3);
  split(Mode::kPreempt, space, View<const std::uint8_t>(managed), held.data(), wanted.data(),
        freed.data(), kept.data());
  EXPECT_EQ(freed, (std::vector<Amount>{1, 3, 2}));
  EXPECT_EQ(kept, (std::vector<Amount>{3, 5, 0}));
  EXPECT_EQ(wanted, (std::vector<Amount>{0, 0, -2}));
}

}  // namespace
}  // namespace evenhand
