// Laws of planners that follow a living cluster, on drawn histories.
#include "history.h"

#include <gtest/gtest.h>

#include "systems.h"

namespace evenhand::testing::history_test {
namespace {

constexpr unsigned kHistories = 20;
constexpr int kEvents = 200;

// Settings by seed; those of a row follow from its name.
struct LiveYTsaurus {
  static bool marked(std::string_view name, unsigned seed, int percent) {
    std::size_t hash = seed;
    for (const char c : name) hash = hash * 31 + static_cast<unsigned char>(c);
    return static_cast<int>(hash % 100) < percent;
  }
  template <class Columns>
  static std::vector<std::uint8_t> column(const LiveTable<Columns>& table,
                                          const std::vector<Id>& rows, unsigned seed, int percent) {
    std::vector<std::uint8_t> out;
    for (const Id row : rows) out.push_back(marked(table.keys().name(row), seed, percent));
    return out;
  }
  static ytsaurus::RowSettings cells(const ClusterState& s, const Came& rows, unsigned seed) {
    ytsaurus::RowSettings out;
    out.graceful = column(s.operations(), rows.operations, seed, 15);
    out.wants_ssd = column(s.operations(), rows.operations, seed + 1, 40);
    out.other_segment = column(s.operations(), rows.operations, seed + 2, 40);
    out.unschedulable = column(s.operations(), rows.operations, seed + 2, 5);
    out.node_ssd = column(s.nodes(), rows.nodes, seed + 3, 50);
    out.uses_ssd = column(s.allocations(), rows.allocations, seed + 4, 50);
    return out;
  }
  // What was decided and given back counts for the pace of later victims.
  static bool paced(unsigned seed) { return seed % 3 == 1; }
  static ytsaurus::Inputs inputs(const Snapshot& snapshot, unsigned seed) {
    Random random(seed);
    ytsaurus::Inputs in{snapshot, {}, {}, {}, {}, false, {}};
    ytsaurus::Settings& s = in.settings;
    s.aggressive_stage_first = random.chance(50);
    s.freed_room_at_once = random.chance(50);
    s.repair_in_stage = random.chance(30);
    s.saved_progress_counts = random.chance(50);
    s.on_bound_preemptible = random.chance(50);
    s.starvation.enable_aggressive = random.chance(50);
    s.starvation.timeout = random.below(3) * kMicrosecondsPerSecond;
    s.starvation.aggressive_timeout = random.below(6) * kMicrosecondsPerSecond;
    s.victim_selection = static_cast<VictimSelection>(random.below(3));
    s.backoff = random.below(2) * kMicrosecondsPerSecond;
    s.ssd_stages = random.chance(40);
    s.check_starvation = random.chance(20);
    s.check_satisfaction = random.chance(20);
    if (paced(seed)) s.pace = random_pace(random, snapshot.tables());
    s.starvation.tolerance = 1 - 0.2 * random.below(4);
    s.starvation.absolute_tolerance = random.chance(30);
    s.starvation.ignore_tolerance_if_satisfied = random.chance(30);
    s.preemption_threshold = 1 - 0.25 * random.below(3);
    s.aggressive_preemption_threshold = 0.2 * random.below(3);
    const ClusterState state(snapshot);
    in.rows = cells(
        state,
        {state.operations().in_order(), state.nodes().in_order(), state.allocations().in_order()},
        seed);
    return in;
  }
  static std::shared_ptr<ytsaurus::Planner> live(LiveCluster& cluster, unsigned seed) {
    auto made = std::make_shared<ytsaurus::Planner>(inputs(cluster.state().snapshot(), seed),
                                                    cluster.shared(), false);
    cluster.attach(made);
    return made;
  }
  static void came(ytsaurus::Planner& planner, const Came& rows, unsigned seed) {
    using Table = ClusterState::Table;
    const ytsaurus::RowSettings all = cells(planner.state(), rows, seed);
    planner.rows_came(Table::kOperations, rows.operations, all);
    planner.rows_came(Table::kNodes, rows.nodes, all);
    planner.rows_came(Table::kAllocations, rows.allocations, all);
  }
  // One of the frozen rows that goes on from the memory of a live one.
  static std::unique_ptr<Planner> frozen(const ytsaurus::Planner& live, unsigned seed) {
    ClusterState::Sources rows;
    ytsaurus::Inputs in = inputs(Snapshot(live.state().frozen(false, &rows)), seed);
    const auto pools = static_cast<std::size_t>(live.state().pools().size());
    const StarvationClocks& clocks = live.workspace().last.starvation.clocks;
    const auto take = [&](std::size_t element) {
      const bool known = element < clocks.since.size();
      in.memory.clocks.since.push_back(known ? clocks.since[element] : kNoTime);
      in.memory.clocks.starvation.push_back(known ? clocks.starvation[element]
                                                  : Starvation::kNonStarving);
    };
    for (std::size_t pool = 0; pool < pools; ++pool) take(pool);
    for (const Id o : rows.operations) take(pools + static_cast<std::size_t>(o));
    for (const Id n : rows.nodes) {
      const auto row = static_cast<std::size_t>(n);
      in.memory.last_preemptive.push_back(live.workspace().memory.last_preemptive[row]);
      in.memory.overcommitted_since.push_back(live.workspace().memory.overcommitted_since[row]);
    }
    const VictimTimes& victims = live.workspace().pace.memory(live.state());
    for (Id i = 0; i < victims.element.rows(); ++i) {
      const Id e = victims.element[i];
      const auto found = std::ranges::find(rows.operations, e - static_cast<Id>(pools));
      if (e >= static_cast<Id>(pools) && found == rows.operations.end()) continue;
      in.memory.victims.element.push_back(
          e < static_cast<Id>(pools)
              ? e
              : static_cast<Id>(pools) + static_cast<Id>(found - rows.operations.begin()));
      in.memory.victims.time.push_back(victims.time[i]);
    }
    return std::make_unique<ytsaurus::Planner>(std::move(in));
  }
};

// Everything that a planner says, in words that do not depend on the numbers of rows.
class Said {
 public:
  explicit Said(const Planner& planner) : planner_(planner), state_(planner.state()) {}

  std::vector<std::string> decided() {
    const Decisions& decisions = planner_.decisions();
    std::vector<Id> started;
    for (const Decision& d : decisions.rows())
      if (d.action == Action::kStart) started.push_back(d.slot);
    const auto slot = [&](Id of) {
      const auto found = std::ranges::find(started, of);
      return found == started.end() ? name(state_.allocations(), of)
                                    : "started" + std::to_string(found - started.begin());
    };
    for (const Decision& d : decisions.rows())
      line(static_cast<int>(d.action), static_cast<int>(d.stage), static_cast<int>(d.reason),
           static_cast<int>(d.group), static_cast<int>(d.within_fair_share),
           d.action == Action::kStart ? std::string() : slot(d.slot),
           name(state_.requests(), d.request), name(state_.operations(), d.operation),
           name(state_.nodes(), d.node), d.step, element(d.violated),
           name(state_.operations(), d.beneficiary.operation),
           name(state_.requests(), d.beneficiary.request), d.grace, d.at, d.until);
    for (int which = 0; which < 5; ++which)
      for (const Amount a : decisions.amounts(which)) line(a);
    for (const auto& [what, count] : planner_.counts()) line(what, count);
    return std::move(lines_);
  }
  std::vector<std::string> refused() {
    const Refusals refusals = planner_.refusals();
    for (std::size_t i = 0; i < refusals.request.size(); ++i)
      line(name(state_.requests(), refusals.request[i]), static_cast<int>(refusals.rule[i]),
           refusals.nodes[i]);
    for (const Amount a : refusals.missing) line(a);
    return std::move(lines_);
  }
  // Shares, statuses, clocks and groups as they are after an update.
  std::vector<std::string> updated() {
    const auto width = state_.width();
    const Columns columns = planner_.elements();
    for (Id e = 0; e < static_cast<Id>(state_.pools().size() + state_.operations().rows()); ++e) {
      const std::string who = element(e);
      if (who.empty()) continue;
      for (const NamedColumn& c : columns)
        std::visit(
            [&](const auto& values) {
              const bool is_row = c.name == std::string_view("lowest_starving_ancestor") ||
                                  c.name == std::string_view("lowest_aggressive_ancestor");
              const std::size_t each = c.by_resource ? width : 1;
              for (std::size_t r = 0; r < each; ++r) {
                const auto& value = values[static_cast<std::size_t>(e) * each + r];
                if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>) {
                  if (is_row)
                    line(who, c.name, element(static_cast<Id>(value)));
                  else
                    line(who, c.name, value);
                }
              }
            },
            c.values);
      for (std::size_t r = 0; r < width; ++r)
        line(who, planner_.shares().result->total[static_cast<std::size_t>(e) * width + r]);
    }
    const std::vector<Group> groups = planner_.groups();
    for (const Id slot : state_.allocations().in_order(
             [&](Id row) { return state_.allocations().present(row) && !state_.gone(row); }))
      line(name(state_.allocations(), slot),
           static_cast<int>(groups[static_cast<std::size_t>(slot)]));
    std::ranges::sort(lines_);
    return std::move(lines_);
  }

 private:
  static std::string text(const std::string& value) { return value; }
  static std::string text(const char* value) { return value; }
  static std::string text(double value) {
    char out[40];
    std::snprintf(out, sizeof out, "%a", value);
    return out;
  }
  template <class Number>
  static std::string text(Number value) {
    return std::to_string(value);
  }
  template <class... Values>
  void line(Values&&... values) {
    std::string all;
    ((all += text(values) + " "), ...);
    lines_.push_back(std::move(all));
  }
  template <class Columns>
  static std::string name(const LiveTable<Columns>& table, Id row) {
    return row < 0 || !table.present(row) ? "" : std::string(table.keys().name(row));
  }
  std::string element(Id e) const {
    const auto pools = static_cast<Id>(state_.pools().size());
    if (e >= pools) return name(state_.operations(), e - pools);
    return e < 0 ? "" : "pool" + std::to_string(e);
  }

  const Planner& planner_;
  const ClusterState& state_;
  std::vector<std::string> lines_;
};

template <class System>
class LivePlanner : public ::testing::Test {};

using Systems = ::testing::Types<LiveYTsaurus>;
TYPED_TEST_SUITE(LivePlanner, Systems);

// Live as frozen, incremental as whole; a planner that is asked in between, and gives its
// decisions back, as one that is not.
TYPED_TEST(LivePlanner, IsWhatAFreshOneOfTheFrozenRowsIs) {
  std::size_t decisions = 0, compared = 0;
  for (unsigned seed = 0; seed < kHistories; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    RandomCluster drawn(random, seed % 3 != 0);
    const Snapshot snapshot = drawn.snapshot();
    LiveCluster cluster{ClusterState(snapshot)};
    const auto asked = TypeParam::live(cluster, seed), quiet = TypeParam::live(cluster, seed);
    History history(random, snapshot, cluster);
    asked->update(cluster.state().now(), true);
    quiet->update(cluster.state().now(), false);
    for (int event = 0; event < kEvents; ++event) {
      Came came;
      history.step(came);
      for (const auto& planner : {asked, quiet}) TypeParam::came(*planner, came, seed);
      if (random.chance(30) && seed % 3 != 1) {
        const std::vector<Id> nodes = cluster.state().nodes().in_order();
        asked->decide({.kind = Trigger::Kind::kHeartbeats, .nodes = nodes});
        if (random.chance(50)) asked->take_back();  // else the next event does
      }
      if (!random.chance(15)) continue;
      history.advance((1 + random.below(3)) * kMicrosecondsPerSecond + 1);
      if (random.chance(30) && seed % 3 != 1) {  // heartbeats after the last update
        asked->decide({});
        const std::vector<std::string> expected = Said(*asked).decided();
        asked->take_back();
        quiet->decide({});
        if (!TypeParam::paced(seed)) {
          ASSERT_EQ(Said(*quiet).decided(), expected);
        }
        quiet->take_back();
        history.advance(2 * kMicrosecondsPerSecond);
      }
      const auto fresh = TypeParam::frozen(*asked, seed);
      const Time now = cluster.state().now();
      asked->update(now, true);
      quiet->update(now, false);
      fresh->update(now, false);
      const std::vector<std::string> updated = Said(*fresh).updated();
      ASSERT_EQ(Said(*asked).updated(), updated) << event;
      ASSERT_EQ(Said(*quiet).updated(), updated) << event;
      fresh->decide({});
      asked->decide({});
      const std::vector<std::string> decided = Said(*fresh).decided();
      ASSERT_EQ(Said(*asked).decided(), decided) << event;
      ASSERT_EQ(Said(*asked).refused(), Said(*fresh).refused()) << event;
      ASSERT_EQ(asked->next_due(), fresh->next_due()) << event;
      asked->take_back();
      ASSERT_EQ(Said(*asked).updated(), updated) << event;
      decisions += fresh->decisions().rows().size();
      ++compared;
    }
  }
  EXPECT_GT(decisions, compared / 4);
}

// A copy of a copy that is no more: it is the planner that was copied, then, and follows its own
// state.
TYPED_TEST(LivePlanner, IsCopiedWithAllThatItKnows) {
  std::size_t decisions = 0, copies = 0;
  for (unsigned seed = 0; seed < kHistories; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    RandomCluster drawn(random, seed % 3 != 0);
    const Snapshot snapshot = drawn.snapshot();
    LiveCluster cluster{ClusterState(snapshot)};
    const auto planner = TypeParam::live(cluster, seed);
    History history(random, snapshot, cluster);
    planner->update(cluster.state().now(), true);
    for (int event = 0; event < kEvents; ++event) {
      Came came;
      history.step(came);
      TypeParam::came(*planner, came, seed);
      if (event % 20 == 10) {
        history.advance(2 * kMicrosecondsPerSecond);
        planner->update(cluster.state().now(), true);
      }
      if (event % 10 != 5) continue;
      auto between = std::make_shared<ClusterState>(cluster.state());
      auto state = std::make_shared<ClusterState>(*between);
      std::shared_ptr<Planner> copy = planner->copy(between)->copy(state);
      between.reset();
      for (int round = 0; round < 2; ++round) {
        const auto both = [&](auto&& act) {
          act(*planner);
          act(*copy);
        };
        both([](Planner& one) { one.decide({}); });
        ASSERT_EQ(Said(*copy).decided(), Said(*planner).decided()) << event;
        ASSERT_EQ(Said(*copy).refused(), Said(*planner).refused()) << event;
        decisions += copy->decisions().rows().size();
        both([](Planner& one) { one.take_back(); });
        history.advance(kMicrosecondsPerSecond);
        both([&](Planner& one) { one.update(cluster.state().now(), true); });
        ASSERT_EQ(Said(*copy).updated(), Said(*planner).updated()) << event;
        ASSERT_EQ(copy->next_due(), planner->next_due()) << event;
      }
      for (Id slot = 0; slot < state->slots(); ++slot)
        if (state->running(slot) && random.chance(30)) {
          const Delta end{.kind = Delta::Kind::kEnd, .row = slot};
          copy->before(end);
          copy->after(end, apply(*state, end));
        }
      copy->update(state->now(), true);
      copy->decide({});
      ++copies;
    }
  }
  EXPECT_GT(decisions, copies / 4);
}

TYPED_TEST(LivePlanner, DecidesNothingBeforeItIsDue) {
  std::size_t waits = 0;
  for (unsigned seed = 0; seed < kHistories; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    RandomCluster drawn(random, seed % 3 != 0);
    const Snapshot snapshot = drawn.snapshot();
    LiveCluster cluster{ClusterState(snapshot)};
    const auto planner = TypeParam::live(cluster, seed);
    History history(random, snapshot, cluster);
    for (int event = 0; event < kEvents; ++event) {
      Came came;
      history.step(came);
      TypeParam::came(*planner, came, seed);
      if (event % 10 != 0) continue;
      history.advance(kMicrosecondsPerSecond);
      planner->update(cluster.state().now(), true);
      planner->decide({});
      planner->take_back();
      const Time now = cluster.state().now(), due = planner->next_due();
      if (due == now) continue;
      const Time last = due == kNoTime ? now + 1000 * kMicrosecondsPerSecond : due - 1;
      for (const Time part : {4, 2, 1}) {
        history.advance((last - cluster.state().now()) / part);
        planner->update(cluster.state().now(), true);
        planner->decide({});
        ASSERT_TRUE(planner->decisions().rows().empty()) << event;
        ++waits;
      }
    }
  }
  EXPECT_GT(waits, kHistories);
}

}  // namespace
}  // namespace evenhand::testing::history_test
