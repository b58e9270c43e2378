#include "evenhand/place/queue.h"

#include <gtest/gtest.h>

#include <random>

#include "../model/scene.h"

namespace evenhand::queue_test {
namespace {

using testing::Scene;

std::vector<Id> served(ServiceQueue& queue) {
  std::vector<Id> out;
  for (const ServiceQueue::Entry& e : queue.entries()) out.push_back(e.operation);
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

TEST(ServiceQueue, UpdatesLeadWhereANewQueueBegins) {
  for (unsigned seed = 0; seed < 80; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&](int n) { return static_cast<Id>(random() % static_cast<unsigned>(n)); };
    Scene scene;
    const std::vector<Id> pools{0, scene.pool(0, 1), scene.pool(0), scene.pool(0, 1)};
    constexpr std::size_t kOperations = 12;
    std::vector<Id> order;
    for (std::size_t o = 0; o < kOperations; ++o) {
      scene.operation(pools[static_cast<std::size_t>(draw(4))]);
      order.push_back(static_cast<Id>(o));
    }
    std::ranges::shuffle(order, random);
    const Snapshot snapshot = scene.snapshot();
    const QueuePlaces places = QueuePlaces::of(snapshot.tables(), order);
    Column<double> satisfaction(kOperations);
    for (double& s : satisfaction) s = draw(6);
    Column<Id> members, removed;
    for (std::size_t o = 0; o < kOperations; ++o)
      if (draw(4)) members.push_back(static_cast<Id>(o));
    ServiceQueue queue;
    if (draw(2))
      queue.reset(places, satisfaction, Column<Id>{3, 1, 4});  // what it held before is forgotten
    queue.reset(places, satisfaction, members);
    for (int step = 0; step < 60 && !members.empty(); ++step) {
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
    }
  }
}

}  // namespace
}  // namespace evenhand::queue_test
