#include "evenhand/place/queue.h"

#include <gtest/gtest.h>

#include <random>

#include "../model/scene.h"

namespace evenhand::queue_test {
namespace {

using testing::Scene;

std::vector<Id> served(ServiceQueue& queue) {
  std::vector<Id> out;
  queue.walk(queue.size() + 1, [&](const ServiceQueue::Entry& e) {
    out.push_back(e.operation);
    return false;
  });
  return out;
}

TEST(ServiceQueue, ServesTheLeastSatisfiedFirstAndTiesByPlace) {
  Scene scene;
  for (int o = 0; o < 3; ++o) scene.operation();
  const Snapshot snapshot = scene.snapshot();
  const QueuePlaces places = QueuePlaces::of(snapshot.tables(), std::vector<Id>(3, kNoId));
  Column<double> satisfaction{0.5, 0.2, 0.2};
  ServiceQueue queue;
  queue.reset(places, satisfaction, Column<Id>{2, 0, 1});
  EXPECT_EQ(served(queue), (std::vector<Id>{1, 2, 0}));
  satisfaction[1] = 0.9;
  queue.touch(1);
  EXPECT_EQ(served(queue), (std::vector<Id>{2, 0, 1}));
  queue.remove(0);
  EXPECT_EQ(served(queue), (std::vector<Id>{2, 1}));
  EXPECT_FALSE(queue.contains(0));
}

TEST(ServiceQueue, APoolThatIsFifoWaitsForItsFirst) {
  Scene scene;
  const Id fifo = scene.pool(0, 1);
  scene.operation(fifo);
  scene.operation(fifo);
  scene.operation();
  const Snapshot snapshot = scene.snapshot();
  const QueuePlaces places = QueuePlaces::of(snapshot.tables(), std::vector<Id>{1, 0, kNoId});
  const Column<double> satisfaction{0.1, 0.8, 0.5};
  ServiceQueue queue;
  queue.reset(places, satisfaction, Column<Id>{0, 1, 2});
  // The second of the FIFO pool is starved worst, so the pool comes first, with its own first.
  EXPECT_EQ(served(queue), (std::vector<Id>{1, 0, 2}));
}

// Of as many operations, of which so many settle at once.
void expect_as_afresh(unsigned seeds, std::size_t operations, int steps) {
  for (unsigned seed = 0; seed < seeds; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&](int n) { return static_cast<Id>(random() % static_cast<unsigned>(n)); };
    Scene scene;
    const std::vector<Id> pools{0, scene.pool(0, 1), scene.pool(0), scene.pool(0, 1)};
    std::vector<Id> order;
    for (std::size_t o = 0; o < operations; ++o) {
      scene.operation(pools[static_cast<std::size_t>(draw(4))]);
      order.push_back(static_cast<Id>(o));
    }
    std::ranges::shuffle(order, random);
    const Snapshot snapshot = scene.snapshot();
    const QueuePlaces places = QueuePlaces::of(snapshot.tables(), order);
    Column<double> satisfaction(operations);
    for (double& s : satisfaction) s = draw(6);
    Column<Id> members, removed;
    for (std::size_t o = 0; o < operations; ++o)
      if (draw(4)) members.push_back(static_cast<Id>(o));
    ServiceQueue queue;
    if (draw(2))
      queue.reset(places, satisfaction, Column<Id>{3, 1, 4});  // what it held before is forgotten
    queue.reset(places, satisfaction, members);
    for (int step = 0; step < steps && !members.empty(); ++step) {
      const auto i = static_cast<std::size_t>(draw(static_cast<int>(members.size())));
      const Id o = members[i];
      if (draw(8) == 0) {
        queue.remove(o);
        members.erase(members.begin() + static_cast<std::ptrdiff_t>(i));
        removed.push_back(o);
      } else if (draw(8) == 0 && !removed.empty()) {
        queue.insert(removed.back());
        members.push_back(removed.back());
        removed.pop_back();
      } else {
        satisfaction[static_cast<std::size_t>(o)] = draw(6);
        queue.touch(o);
      }
      if (draw(3) == 0) continue;  // several touches are settled together
      ServiceQueue afresh;
      afresh.reset(places, satisfaction, members);
      ASSERT_EQ(served(queue), served(afresh)) << seed;
      ASSERT_EQ(queue.size(), members.size());
    }
  }
}

TEST(ServiceQueue, UpdatesLeadWhereANewQueueBegins) { expect_as_afresh(80, 12, 60); }

TEST(ServiceQueue, ManyUpdatesLeadWhereANewQueueBegins) { expect_as_afresh(10, 120, 500); }

TEST(ServiceQueue, AWalkEndsWhereItIsToldTo) {
  Scene scene;
  for (int o = 0; o < 4; ++o) scene.operation();
  const Snapshot snapshot = scene.snapshot();
  const QueuePlaces places = QueuePlaces::of(snapshot.tables(), std::vector<Id>(4, kNoId));
  Column<double> satisfaction{0.1, 0.2, 0.3, 0.4};
  ServiceQueue queue;
  queue.reset(places, satisfaction, Column<Id>{0, 1, 2, 3});
  satisfaction[0] = 0.25;
  queue.touch(0);
  std::vector<Id> seen;
  const auto until = [&](Id last) {
    return [&seen, last](const ServiceQueue::Entry& e) {
      seen.push_back(e.operation);
      return e.operation == last;
    };
  };
  queue.walk(3, until(kNoId));
  EXPECT_EQ(seen, (std::vector<Id>{1, 0, 2}));
  seen.clear();
  queue.walk(4, until(0));
  EXPECT_EQ(seen, (std::vector<Id>{1, 0}));
}

TEST(ServiceQueue, PlacesMoveAlsoOfWhatStandsApart) {
  Scene scene;
  for (int o = 0; o < 4; ++o) scene.operation();
  const Snapshot snapshot = scene.snapshot();
  QueuePlaces places = QueuePlaces::of(snapshot.tables(), std::vector<Id>(4, kNoId));
  Column<double> satisfaction(4, 0.5);
  ServiceQueue queue;
  queue.reset(places, satisfaction, Column<Id>{0, 1, 2, 3});
  satisfaction[3] = 0.25;
  queue.touch(3);
  queue.remove(1);
  EXPECT_EQ(served(queue), (std::vector<Id>{3, 0, 2}));
  for (Id& place : places.place) place += 10;
  queue.move_places();
  satisfaction[3] = 0.5;
  queue.touch(3);
  queue.insert(1);
  EXPECT_EQ(served(queue), (std::vector<Id>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace evenhand::queue_test
