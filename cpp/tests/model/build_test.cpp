// Shapes, heads, many problems at once, and that the order of rows never matters.
#include "evenhand/model/build.h"

#include <gtest/gtest.h>

#include "arena.h"
#include "evenhand/model/snapshot.h"
#include "random_input.h"

namespace evenhand::build_test {
namespace {

using testing::Arena;
using testing::built;
using testing::only_message;
using testing::problems;
using Lines = std::vector<std::string>;

TEST(Shapes, ColumnsHaveTheTablesRows) {
  Arena arena;
  raw::Input in = arena.input({1.0, 1.0});
  in.operations.name = arena.names({"a", "b"});
  in.operations.weight = arena.numbers({1.0});
  EXPECT_EQ(only_message(in), "the column weight of the table operations has 1 values, not 2");
  in.operations.weight = arena.numbers({1.0, 1.0}, {1});
  EXPECT_EQ(only_message(in),
            "the column weight of the table operations has 1 flags of validity, not 2");
  in.operations.weight = {};
  in.operations.demand = arena.amounts({1.0, 1.0, 1.0});
  in.operations.gang = arena.codes({1, 1, 1});
  in.operations.user = arena.text({}, {-1});
  in.operations.pool = arena.rows({});
  EXPECT_EQ(problems(in), (Lines{"operations[-1]  pool_index length", "operations[-1]  user length",
                                 "operations[-1]  demand length", "operations[-1]  gang length"}));
}

TEST(Shapes, OffsetsAscendWithinTheirBytes) {
  Arena arena;
  raw::Input in = arena.input();
  for (const std::vector<std::int64_t>& offsets :
       {std::vector<std::int64_t>{0, 2, 1}, {-1, 0, 1}, {0, 1, 4}, {0, 1, INT64_MAX}}) {
    raw::Names names = arena.names({"abc"});
    names.strings.offsets = arena.keep(offsets);
    in.nodes.name = names;
    EXPECT_EQ(problems(in), Lines{"nodes[-1]  name offsets"});
  }
  raw::Names names = arena.names({"abc"});
  names.strings.offsets = arena.keep(std::vector<std::int64_t>{1, 2, 3});
  in.nodes.name = names;
  EXPECT_EQ(built(in).nodes.names.text.bytes, "bc");
  in.nodes.tags = arena.text_list({"t"}, {0, 1, 2}, {0});
  EXPECT_EQ(problems(in), Lines{"nodes[-1]  tags offsets"});
}

TEST(Shapes, ATableNeedsNames) {
  Arena arena;
  raw::Input in = arena.input();
  in.operations.weight = arena.numbers({1.0});
  EXPECT_EQ(only_message(in), "the table operations has no column name");
}

TEST(Heads, ThereAreOneToSixteenResources) {
  Arena arena;
  EXPECT_EQ(problems(arena.input(std::vector<double>(16, 1.0))), Lines{});
  EXPECT_EQ(problems(arena.input(std::vector<double>(17, 1.0))),
            Lines{"resources[-1]  name range"});
  EXPECT_EQ(problems(raw::Input{}), Lines{"resources[-1]  name range"});
  raw::Input in = arena.input({1.0, 1.0});
  in.resources.kind = arena.keep(std::vector<std::uint8_t>{4});
  EXPECT_EQ(problems(in), Lines{"resources[-1]  kind length"});
}

TEST(Heads, ResourcesAreNamedOnceWithAPositiveQuantum) {
  Arena arena;
  raw::Input in = arena.input({1.0, 0.0, std::nan(""), -1.0});
  in.resources.names = arena.views({"cpu", "", "cpu", "\xFF"});
  in.resources.kind = arena.keep(std::vector<std::uint8_t>{0, 5, 0, 0});
  in.resources.scope = arena.keep(std::vector<std::uint8_t>{0, 0, 0, 2});
  EXPECT_EQ(problems(in),
            (Lines{"resources[1]  name required", "resources[1]  quantum positive",
                   "resources[1]  kind choice", "resources[2] cpu name unique",
                   "resources[2] cpu quantum finite", "resources[3] ? name utf8",
                   "resources[3] ? quantum positive", "resources[3] ? scope choice"}));
}

TEST(Problems, AreAllCountedAndTheFirstHundredKept) {
  Arena arena;
  raw::Input in = arena.input();
  in.operations.name = arena.integer_names({1, 2, 3});
  std::vector<std::int64_t> names(5000);
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = static_cast<std::int64_t>(i);
  in.nodes.name = arena.integer_names(names);
  in.nodes.capacity = arena.amounts(std::vector<double>(names.size(), -1.0));
  in.operations.weight = arena.numbers({0.0, 0.0, 0.0});
  const auto result = build(in);
  const auto& found = std::get<Problems>(result);
  EXPECT_EQ(found.total(), 5003);
  EXPECT_EQ(found.kept().size(), Problems::kKept);
  EXPECT_EQ(found.kept()[0].table, "operations");
  EXPECT_EQ(found.kept()[0].value, "0");
}

TEST(Problems, HostileTextIsCutAndSanitised) {
  Arena arena;
  raw::Input in = arena.input();
  in.operations.name = arena.names({std::string(100'000, 'x')});
  in.operations.pool = arena.reference({std::string(100'000, '\xFF')});
  const auto result = build(in);
  const Problem& p = std::get<Problems>(result).kept().at(0);
  EXPECT_LT(p.message.size(), 500u);
  EXPECT_LT(p.name.size(), 500u);
  EXPECT_EQ(p.value, std::string(200, '?'));
}

TEST(Canonical, ShuffledRowsGiveTheSameBytes) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    testing::RandomInput random(seed);
    const auto result = build(random.input());
    ASSERT_TRUE(std::holds_alternative<Built>(result))
        << std::get<Problems>(result).kept()[0].message;
    const Built& first = std::get<Built>(result);
    for (int round = 0; round < 3; ++round) {
      Arena arena;
      const raw::Input shuffled = random.shuffled(arena);
      const auto again = build(shuffled);
      ASSERT_TRUE(std::holds_alternative<Built>(again))
          << std::get<Problems>(again).kept()[0].message;
      EXPECT_EQ(fingerprint(first.tables), fingerprint(std::get<Built>(again).tables)) << seed;
      EXPECT_EQ(first.tables.children.items, std::get<Built>(again).tables.children.items);
      EXPECT_EQ(first.tables.allocations_by_node.items,
                std::get<Built>(again).tables.allocations_by_node.items);
    }
  }
}

}  // namespace
}  // namespace evenhand::build_test
