#include "evenhand/model/snapshot.h"

#include <gtest/gtest.h>

#include <set>

#include "arena.h"
#include "evenhand/model/visit_columns.h"
#include "random_input.h"

namespace evenhand::snapshot_test {
namespace {

using testing::Arena;
using testing::built;

TEST(Snapshot, CopiesShareTheirTables) {
  Arena arena;
  const Snapshot a(built(arena.input()));
  const Snapshot b = a;
  EXPECT_EQ(&a.tables(), &b.tables());
}

TEST(Snapshot, MovesToAnotherInstant) {
  Arena arena;
  raw::Input in = arena.input();
  in.operations.name = arena.names({"a"});
  in.previous_update = raw::Instant{};
  auto result = build(in);
  const raw::Instant five{.seconds = 5.0, .microseconds = {}};
  auto moved = at_instant(std::get<Built>(result), five, {});
  EXPECT_EQ(std::get<Built>(moved).tables.now, 5'000'000);
  EXPECT_EQ(std::get<Built>(moved).tables.previous_update, kNoTime);
  in.now = five;
  in.previous_update = {};
  EXPECT_EQ(fingerprint(std::get<Built>(moved).tables), fingerprint(built(in)));
  const auto late = at_instant(std::get<Built>(result), raw::Instant{}, five);
  EXPECT_EQ(std::get<Problems>(late).kept().at(0).rule, "range");
}

TEST(Fingerprint, IsPinned) {
  Arena arena;
  raw::Input in = arena.input({0.01});
  in.operations.name = arena.names({"a", "b"});
  in.operations.demand = arena.amounts({1.0, 2.0});
  EXPECT_EQ(fingerprint(built(in)), "9d8eedec850905235b79ebc4aa6f7af6");
}

TEST(Fingerprint, EveryFieldCounts) {
  Arena arena;
  std::set<std::string> seen;
  int inputs = 0;
  const auto note = [&](const raw::Input& in) {
    ++inputs;
    seen.insert(fingerprint(built(in)));
  };
  raw::Input in = arena.input();
  note(in);
  in.now = {.seconds = 1.0, .microseconds = {}};
  note(in);
  in.previous_update = raw::Instant{};
  note(in);
  in.total = arena.amounts({1.0});
  note(in);
  in.nodes.name = arena.names({"1"});
  note(in);
  in.nodes.name = arena.integer_names({1});
  note(in);
  in.nodes.tags = arena.text_list({"t"}, {0, 1}, {0});
  note(in);
  in.operations.name = arena.names({"a", "b"});
  note(in);
  in.operations.user = arena.text({"u"}, {0, -1});
  note(in);
  in.operations.user = arena.text({"u"}, {-1, 0});
  note(in);
  in.operations.weight = arena.numbers({1.0, 2.0});
  note(in);
  in.operations.order = arena.numbers({1.0, 2.0});
  note(in);
  in.operations.gang = arena.codes({0, 1});
  note(in);
  in.pools.name = arena.names({"p"});
  note(in);
  in.pools.strong_guarantee = arena.amounts({0.0});
  note(in);
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(inputs));
}

TEST(Fingerprint, SignOfZeroDoesNotCount) {
  Arena arena;
  raw::Input in = arena.input();
  in.operations.name = arena.names({"a"});
  in.operations.order = arena.numbers({0.0});
  const std::string plus = fingerprint(built(in));
  in.operations.order = arena.numbers({-0.0});
  EXPECT_EQ(fingerprint(built(in)), plus);
}

TEST(Visit, EveryColumnHasARowOrIsSparse) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    testing::RandomInput random(seed);
    const Tables t = built(random.input());
    visit_tables(t, [&](std::string_view table, const auto& columns, Index rows) {
      std::set<std::string_view> names;
      visit_columns(columns, [&](std::string_view field, const auto& column, const auto&) {
        EXPECT_TRUE(names.insert(field).second) << field;
        using Column = std::decay_t<decltype(column)>;
        if constexpr (requires { typename Column::value_type; }) {
          const auto cells = static_cast<Index>(column.size());
          EXPECT_TRUE(cells == 0 || cells == rows || cells == rows * t.resource_count())
              << table << "." << field << " " << cells;
        } else if constexpr (std::is_same_v<Column, NameColumn>) {
          EXPECT_EQ(column.text.size(), rows);
        }
      });
    });
  }
}

TEST(Memory, AnAllocationTakesWhatItsFilledColumnsTake) {
  Arena arena;
  raw::Input in = arena.input(std::vector<double>(5, 1.0));
  constexpr std::size_t kRows = 10'000;
  std::vector<std::int64_t> names(kRows), zeros(kRows, 0);
  for (std::size_t i = 0; i < kRows; ++i) names[i] = static_cast<std::int64_t>(i);
  in.operations.name = arena.names({"o"});
  in.nodes.name = arena.names({"n"});
  const std::size_t before = memory_bytes(built(in));
  in.allocations.name = arena.integer_names(names);
  in.allocations.operation = arena.rows(zeros);
  in.allocations.node = arena.rows(zeros);
  in.allocations.resources = arena.whole_amounts(std::vector<std::int64_t>(5 * kRows, 1));
  in.allocations.start_time = arena.integers(names);
  in.allocations.held = arena.whole_amounts(std::vector<std::int64_t>(5 * kRows, 0));
  in.allocations.deadline = arena.integers(std::vector<std::int64_t>(kRows, kNoTime));
  EXPECT_LE((memory_bytes(built(in)) - before) / kRows, 90u);
}

}  // namespace
}  // namespace evenhand::snapshot_test
