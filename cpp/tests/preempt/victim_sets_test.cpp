#include "evenhand/preempt/victim_sets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace evenhand::victim_sets_test {
namespace {

using Size = std::size_t;

// Two nodes, one resource: candidate i frees amounts on both; a set suffices if each node
// gets what it lacks.
class TwoNodes : public VictimTrial {
 public:
  TwoNodes(std::vector<Amount> freed, Amount first, Amount second)
      : freed_(std::move(freed)), room_{-first, -second} {}

  void take(Id i) override { move(i, 1); }
  void give_back(Id i) override { move(i, -1); }
  bool suffices() override {
    ++asked;
    return room_[0] >= 0 && room_[1] >= 0;
  }
  Id size() const { return static_cast<Id>(freed_.size() / 2); }
  const std::vector<Amount>& freed() const { return freed_; }
  std::vector<Amount> shortage() const { return {-room_[0], -room_[1]}; }

  Index asked = 0;

 private:
  void move(Id i, Amount sign) {
    for (Size n = 0; n < 2; ++n) room_[n] += sign * freed_[2 * static_cast<Size>(i) + n];
  }
  std::vector<Amount> freed_;
  Amount room_[2];
};

VictimSet chosen(TwoNodes& trial, VictimSelection selection, Index budget = 100'000) {
  const std::vector<Amount> shortage = trial.shortage();
  return choose_victims(trial, {.n = trial.size(),
                                .selection = selection,
                                .budget = budget,
                                .amounts = trial.freed(),
                                .shortage = shortage});
}

TEST(VictimSets, StopsWhenItSuffices) {
  TwoNodes trial({1, 0, 2, 0, 4, 0, 0, 1}, 3, 0);
  const VictimSet set = chosen(trial, VictimSelection::kPrefix);
  EXPECT_EQ(set.taken, (std::vector<Id>{0, 1}));
  EXPECT_EQ(set.considered, 2U);
  EXPECT_TRUE(trial.suffices()) << "the chosen ones stay taken";
}

TEST(VictimSets, GivesBackFromTheLastToTheFirst) {
  TwoNodes trial({1, 0, 2, 0, 3, 0}, 4, 0);
  EXPECT_EQ(chosen(trial, VictimSelection::kIrreducible).taken, (std::vector<Id>{0, 2}));
}

TEST(VictimSets, NobodyIsTakenIfAllWouldNotDo) {
  TwoNodes trial({1, 0, 2, 0}, 2, 1);
  for (const auto selection :
       {VictimSelection::kPrefix, VictimSelection::kIrreducible, VictimSelection::kMinimum}) {
    EXPECT_TRUE(chosen(trial, selection).taken.empty());
    EXPECT_EQ(trial.shortage(), (std::vector<Amount>{2, 1}));
  }
}

TEST(VictimSets, ServedAlready) {
  TwoNodes trial({1, 0}, 0, -3);
  const VictimSet set = chosen(trial, VictimSelection::kMinimum);
  EXPECT_TRUE(set.taken.empty());
  EXPECT_TRUE(set.proof.proved);
}

TEST(VictimSets, ASpentBudgetIsTold) {
  std::vector<Amount> freed;
  for (Amount i = 0; i < 24; ++i) freed.insert(freed.end(), {1 + i % 3, 1 + (i + 1) % 3});
  TwoNodes trial(freed, 17, 17);
  const VictimSet few = chosen(trial, VictimSelection::kMinimum, 10);
  EXPECT_FALSE(few.proof.proved);
  EXPECT_LE(few.proof.lower_bound, few.proof.cost);
  TwoNodes same(freed, 17, 17);
  EXPECT_LT(few.taken.size(), chosen(same, VictimSelection::kIrreducible).taken.size());
  for (const Id spare : few.taken) {
    trial.give_back(spare);
    EXPECT_FALSE(trial.suffices()) << spare;
    trial.take(spare);
  }
}

// Where a description of the need says too little, sets are tried: no budget was spent.
TEST(VictimSets, ANeedThatSaysTooLittleIsNotBelieved) {
  TwoNodes trial({1, 0, 0, 1, 1, 1}, 1, 1);
  SpreadNeed need(1);
  need.copies = 1;
  need.add(std::vector<Id>{0, 1, 2}, std::vector<Amount>{1, 1, 1}, std::vector<Amount>{1});
  const VictimSet set = choose_victims(
      trial, {.n = 3, .selection = VictimSelection::kMinimum, .budget = 100, .spread = &need});
  EXPECT_EQ(set.taken, std::vector<Id>{2});
  EXPECT_TRUE(set.proof.proved);
  EXPECT_TRUE(set.proof.first);
  EXPECT_FALSE(set.proof.spent);
}

TEST(VictimSets, AnotherSetIsTakenIfItIsCheaper) {
  TwoNodes trial({1, 0, 0, 1, 1, 1}, 1, 1);
  const std::vector<Index> costs = {2, 2, 3};
  const VictimQuestion question{
      .n = 3, .selection = VictimSelection::kMinimum, .budget = 0, .costs = costs};
  VictimSet set = choose_victims(trial, question);
  EXPECT_EQ(set.taken, (std::vector<Id>{0, 1}));
  EXPECT_TRUE(set.proof.spent);
  take_cheaper(trial, question, {0}, set);  // would not do
  EXPECT_EQ(set.taken, (std::vector<Id>{0, 1}));
  take_cheaper(trial, question, {0, 2}, set);
  EXPECT_EQ(set.taken, std::vector<Id>{2});
  EXPECT_EQ(set.proof.cost, 3);
  EXPECT_TRUE(trial.suffices());
  take_cheaper(trial, question, {0, 1}, set);
  EXPECT_EQ(set.taken, std::vector<Id>{2});
}

// The first of the smallest sets, by trying all of them.
std::vector<Id> brute_force(const TwoNodes& trial) {
  const Id n = trial.size();
  std::vector<Id> best;
  bool any = false;
  for (unsigned mask = 0; mask < 1U << n; ++mask) {
    TwoNodes copy = trial;
    std::vector<Id> set;
    for (Id i = 0; i < n; ++i)
      if (mask >> i & 1U) {
        set.push_back(i);
        copy.take(i);
      }
    if (!copy.suffices()) continue;
    if (!any || set.size() < best.size() || (set.size() == best.size() && set < best)) best = set;
    any = true;
  }
  return best;
}

TEST(VictimSets, FewestAreThoseOfBruteForce) {
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    const auto draw = [&](unsigned most) { return static_cast<Amount>(random() % (most + 1)); };
    std::vector<Amount> freed(2 * (1 + random() % 9));
    std::ranges::generate(freed, [&] { return draw(4); });
    TwoNodes trial(freed, draw(10), draw(10));
    const std::vector<Id> expected = brute_force(trial);
    const VictimSet set = chosen(trial, VictimSelection::kMinimum);
    EXPECT_EQ(set.taken, expected);
    if (expected.empty()) continue;
    EXPECT_TRUE(set.proof.proved);
    EXPECT_EQ(set.proof.cost, static_cast<Index>(expected.size()));
    EXPECT_EQ(set.proof.lower_bound, set.proof.cost);
    EXPECT_TRUE(trial.suffices());
  }
}

// The first candidate frees as much as the second, and takes what is needed elsewhere.
TEST(VictimSets, OneThatIsInTheWayIsLeftOutIfThatIsAskedFor) {
  for (const auto selection :
       {VictimSelection::kPrefix, VictimSelection::kIrreducible, VictimSelection::kMinimum}) {
    TwoNodes trial({3, -1, 1, 0, 2, 0}, 3, 0);
    EXPECT_TRUE(chosen(trial, selection).taken.empty());
    const std::vector<Amount> shortage = trial.shortage();
    VictimQuestion question{.n = trial.size(),
                            .selection = selection,
                            .budget = 100,
                            .in_the_way = true,
                            .amounts = trial.freed(),
                            .shortage = shortage};
    const VictimSet set = choose_victims(trial, question);
    EXPECT_EQ(set.taken, (std::vector<Id>{1, 2}));
    EXPECT_TRUE(set.proof.proved);
    EXPECT_EQ(set.proof.lower_bound, 2);
    EXPECT_TRUE(trial.suffices()) << "the chosen ones stay taken";
  }
}

TEST(VictimSets, WhereAllAreInTheWayOrTheBudgetIsSpentNoneIsTaken) {
  TwoNodes trial({3, -1, 3, -1}, 3, 0);
  const std::vector<Amount> shortage = trial.shortage();
  VictimQuestion question{.n = trial.size(),
                          .budget = 100,
                          .in_the_way = true,
                          .amounts = trial.freed(),
                          .shortage = shortage};
  EXPECT_TRUE(choose_victims(trial, question).taken.empty());
  EXPECT_EQ(trial.shortage(), (std::vector<Amount>{3, 0}));
  TwoNodes other({3, -1, 1, 0, 2, 0}, 3, 0);
  question = {
      .n = 3, .budget = 1, .in_the_way = true, .amounts = other.freed(), .shortage = shortage};
  const VictimSet set = choose_victims(other, question);
  EXPECT_TRUE(set.taken.empty());
  EXPECT_TRUE(set.proof.spent);
  EXPECT_FALSE(set.proof.proved);
}

}  // namespace
}  // namespace evenhand::victim_sets_test
