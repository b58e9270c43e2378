#include "evenhand/sim/engine.h"

#include <gtest/gtest.h>

#include "evenhand/model/build.h"

namespace evenhand::sim::engine_test {
namespace {

constexpr Time kSecond = kMicrosecondsPerSecond;

// Starts what waits where it fits, first come, first served; a whole queue at a time.
class FirstFit final : public Planner {
 public:
  explicit FirstFit(std::shared_ptr<ClusterState> state) : Planner(std::move(state)) {}
  void update(Time now, bool) override { state_.advance(now); }
  void decide(const Trigger&, Recorder*) override {
    decisions_.clear();
    Column<Amount> used(at(state_.nodes().rows()), 0);
    for (Id n = 0; n < used.rows(); ++n) used[n] = *state_.node_used(n) + *state_.node_left(n);
    for (const Id q : state_.requests().in_order()) {
      const Amount need = *state_.requests().get_row(&RequestColumns::resources, q);
      for (Index i = 0; i < state_.pending(q); ++i)
        for (Id n = 0; n < used.rows(); ++n) {
          if (!state_.schedulable(n) || used[n] + need > *state_.node_capacity(n)) continue;
          used[n] += need;
          decisions_.add({.action = Action::kStart,
                          .stage = Stage::kSchedulingRun,
                          .reason = Reason::kFitsFreeRoom,
                          .request = q,
                          .operation = state_.operation_of_request(q),
                          .node = n,
                          .at = state_.now()},
                         {nullptr, &used[n], &need, nullptr, nullptr});
          break;
        }
    }
  }
  const Decisions& decisions() const override { return decisions_; }
  Counts counts() const override { return {}; }
  Refusals refusals() const override { return {}; }
  Columns memory() const override { return {}; }
  std::unique_ptr<Planner> afresh() const override { return nullptr; }
  std::shared_ptr<Planner> copy(std::shared_ptr<ClusterState> state) const override {
    return std::make_shared<FirstFit>(std::move(state));
  }

 private:
  Decisions decisions_{1};
};

Tables empty_tables() {
  Tables t;
  t.resources.names.push_back("cpu");
  t.resources.quantum = {1};
  t.resources.kind = {ResourceKind::kCpu};
  t.resources.scope = {ResourceScope::kNode};
  t.resources.capacity = {0};
  t.resources.available_after_preemption = {1};
  t.total = {0};
  PoolColumns& p = t.pools;
  p.names.text.push_back("<Root>");
  p.parent = {kNoId};
  p.top_down = {0};
  p.weight = {1};
  p.mode = {PoolMode::kFairShare};
  p.strong_guarantee = p.limits = {0};
  p.strong_guarantee_given = p.limits_given = {0};
  p.integral.type = {IntegralType::kNone};
  t.children.offsets = {0, 0};
  return t;
}

Snapshot nodes(const Column<Amount>& capacity) {
  Tables t = empty_tables();
  for (std::size_t i = 0; i < capacity.size(); ++i) {
    t.nodes.names.text.push_back("n" + std::to_string(i));
    t.nodes.schedulable.push_back(1);
    t.total[0] += capacity[i];
  }
  t.nodes.capacity = capacity;
  t.allocations_by_node.offsets.assign(capacity.size() + 1, 0);
  t.allocations_by_operation.offsets = t.requests_by_operation.offsets = {0};
  return Snapshot(std::move(t));
}

struct Job {
  Time submit;
  Amount need;
  Index count;
  Time run;
  Time checkpoint = kNoTime;
};

Workload workload(const std::vector<Job>& jobs) {
  Tables t = empty_tables();
  Workload w{Snapshot(empty_tables()), {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Job& job = jobs[i];
    const std::string name = "j" + std::to_string(i);
    OperationColumns& o = t.operations;
    o.names.text.push_back(name);
    o.pool.push_back(0);
    o.weight.push_back(1);
    for (Column<Amount>* amounts : {&o.demand, &o.usage, &o.limits}) amounts->push_back(0);
    o.limits_given.push_back(0);
    o.gang.push_back(0);
    o.start_time.push_back(job.submit);
    o.fifo_start_time.push_back(job.submit);
    o.kind.push_back(OperationKind::kBatch);
    RequestColumns& q = t.requests;
    q.names.text.push_back(name);
    q.operation.push_back(static_cast<Id>(i));
    q.resources.push_back(job.need);
    q.count.push_back(job.count);
    q.gang.push_back(0);
    q.submit_time.push_back(job.submit);
    w.pool.push_back(0);
    w.run_time.push_back(job.run);
    w.checkpoint_every.push_back(job.checkpoint);
    w.cut_off.push_back(0);
    w.replica.push_back(0);
    w.whole.push_back(0);
  }
  w.rows = Snapshot(std::move(t));
  return w;
}

class Running : public testing::Test {
 protected:
  Engine& start(const Column<Amount>& capacity, Workload work) {
    auto state = std::make_shared<ClusterState>(nodes(capacity));
    auto planner = std::make_shared<FirstFit>(state);
    engine_ = std::make_unique<Engine>(state, planner, std::move(work),
                                       Options{.drive = Options::Drive::kRuns, .period = kSecond});
    return *engine_;
  }
  const AllocationLog& runs() const { return engine_->log().allocations; }

  std::unique_ptr<Engine> engine_;
};

TEST_F(Running, OneAfterTheOther) {
  Engine& engine = start({4}, workload({{0, 4, 1, 10 * kSecond}, {kSecond, 4, 1, 5 * kSecond}}));
  engine.run(kNoTime);
  EXPECT_TRUE(engine.done());
  EXPECT_EQ(runs().start, (Column<Time>{0, 10 * kSecond}));
  EXPECT_EQ(runs().end, (Column<Time>{10 * kSecond, 15 * kSecond}));
  EXPECT_EQ(engine.log().operations.completed, (Column<Index>{1, 1}));
  EXPECT_EQ(engine.log().operations.end, (Column<Time>{10 * kSecond, 15 * kSecond}));
}

TEST_F(Running, MemoryFollowsWhatIsThere) {
  std::vector<Job> jobs;
  for (int i = 0; i < 1000; ++i) jobs.push_back({i * 10 * kSecond, 4, 1, 5 * kSecond});
  Engine& engine = start({4}, workload(jobs));
  engine.run(kNoTime);
  EXPECT_EQ(runs().start.size(), 1000u);
  EXPECT_EQ(engine.state().operations().rows(), 1);
  EXPECT_EQ(engine.state().requests().rows(), 1);
  EXPECT_EQ(engine.state().slots(), 1);
}

TEST_F(Running, ALostNodeTakesWhatWasNotSaved) {
  Workload work = workload({{0, 4, 1, 10 * kSecond, 3 * kSecond}});
  work.event_time = {8 * kSecond, 20 * kSecond};
  work.event_node = {0, 0};
  work.event = {NodeEvent::kDown, NodeEvent::kUp};
  work.event_capacity = {4, 4};
  Engine& engine = start({4}, std::move(work));
  engine.run(kNoTime);
  EXPECT_EQ(runs().start, (Column<Time>{0, 20 * kSecond}));
  EXPECT_EQ(runs().end, (Column<Time>{8 * kSecond, 24 * kSecond}));
  EXPECT_EQ(runs().kept, (Column<Time>{6 * kSecond, 10 * kSecond}));
  EXPECT_EQ(runs().lost, (Column<Time>{2 * kSecond, 0}));
  EXPECT_EQ(runs().outcome, (Column<Outcome>{Outcome::kLostNode, Outcome::kCompleted}));
  EXPECT_EQ(runs().resumed_from, (Column<Id>{kNoId, 0}));
}

TEST(Turns, CountAnewWhenSomethingGetsDone) {
  Turns turns(4);
  turns.lost(2, 10);
  turns.lost(2, 10);  // of the same instant
  turns.lost(0, 20);
  for (const Time now : {30, 40}) turns.lost(2, now);
  EXPECT_EQ(turns.found(), kNoId);
  turns.lost(2, 50);
  EXPECT_EQ(turns.found(), 2);
  EXPECT_EQ(turns.count(), 4);
  EXPECT_EQ(turns.first(), 10);
  EXPECT_EQ(turns.middle(), 30);
  turns.progressed();
  EXPECT_EQ(turns.found(), kNoId);
  for (const Time now : {60, 70, 80}) turns.lost(2, now);
  EXPECT_EQ(turns.found(), kNoId);
}

TEST_F(Running, StopsAndGoesOn) {
  Engine& engine = start({4}, workload({{0, 1, 3, 10 * kSecond}, {kSecond, 4, 1, 5 * kSecond}}));
  engine.run(4 * kSecond);
  EXPECT_EQ(engine.now(), 4 * kSecond);
  EXPECT_EQ(engine.progress(0), 4 * kSecond);
  EXPECT_FALSE(engine.done());
  const Tables frozen = engine.named().frozen(false);
  EXPECT_EQ(frozen.allocations.size(), 3);
  EXPECT_EQ(frozen.allocations.names.text[0], "j0/0");
  EXPECT_EQ(frozen.requests.count, (Column<Index>{0, 1}));
  engine.run(kNoTime);
  EXPECT_EQ(runs().start.back(), 10 * kSecond);
}

TEST_F(Running, CopiesContinueWithoutWhatTheyWereCopiedFrom) {
  std::vector<Job> jobs;
  for (int i = 0; i < 40; ++i)
    jobs.push_back({i * 2 * kSecond, 1 + i % 4, 1 + i % 3, (3 + i % 7) * kSecond, 2 * kSecond});
  Workload work = workload(jobs);
  work.event_time = {30 * kSecond, 33 * kSecond};
  work.event_node = {0, 0};
  work.event = {NodeEvent::kDown, NodeEvent::kUp};
  work.event_capacity = {4, 4};
  start({4, 3}, std::move(work));
  std::vector<std::unique_ptr<Engine>> copies;
  while (!engine_->run(kNoTime, 5)) copies.push_back(engine_->copy());
  ASSERT_GT(copies.size(), 20u);
  const AllocationLog whole = runs();
  const std::size_t steps = engine_->steps();
  engine_.reset();
  for (std::unique_ptr<Engine>& copy : copies) {
    copy = copy->copy();
    EXPECT_NE(copy->steps(), steps);
    copy->run(kNoTime);
    EXPECT_EQ(copy->steps(), steps);
    const AllocationLog& its = copy->log().allocations;
    EXPECT_EQ(its.start, whole.start);
    EXPECT_EQ(its.end, whole.end);
    EXPECT_EQ(its.kept, whole.kept);
    EXPECT_EQ(its.resumed_from, whole.resumed_from);
  }
}

}  // namespace
}  // namespace evenhand::sim::engine_test
