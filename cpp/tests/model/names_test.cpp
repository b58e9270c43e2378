#include "evenhand/model/names.h"

#include <gtest/gtest.h>

#include "arena.h"

namespace evenhand::names_test {
namespace {

using testing::Arena;
using testing::built;
using testing::only_message;
using testing::problems;
using Lines = std::vector<std::string>;

std::vector<std::string> texts(const NameColumn& names) {
  std::vector<std::string> result;
  for (Index i = 0; i < names.text.size(); ++i) result.emplace_back(names.text[i]);
  return result;
}

class Names : public ::testing::Test {
 protected:
  Names() : in_(arena_.input()) {}
  Arena arena_;
  raw::Input in_;
};

TEST_F(Names, IntegersOrderAsTheirDecimalText) {
  in_.operations.name = arena_.integer_names(
      {10, 9, -1, 100, 0, 9223372036854775807, std::numeric_limits<std::int64_t>::min()});
  const NameColumn names = built(in_).operations.names;
  EXPECT_EQ(texts(names),
            (Lines{"-1", "-9223372036854775808", "0", "10", "100", "9", "9223372036854775807"}));
  EXPECT_EQ(names.is_integer, std::vector<std::uint8_t>(7, 1));
}

TEST_F(Names, MixedNamesRememberWhichWereIntegers) {
  raw::Names names = arena_.names({"b", "7", "a"});
  names.is_integer = arena_.keep(std::vector<std::uint8_t>{0, 1, 0});
  in_.pools.name = names;
  const Tables t = built(in_);
  EXPECT_EQ(texts(t.pools.names), (Lines{"<Root>", "7", "a", "b"}));
  EXPECT_EQ(t.pools.names.is_integer, (std::vector<std::uint8_t>{0, 1, 0, 0}));
}

TEST_F(Names, AnIntegerAndItsTextAreTheSameName) {
  raw::Names names = arena_.names({"7", "7"});
  names.is_integer = arena_.keep(std::vector<std::uint8_t>{0, 1});
  in_.nodes.name = names;
  EXPECT_EQ(problems(in_), Lines{"nodes[1] 7 name unique"});
}

TEST_F(Names, EveryFurtherRowOfANameIsAProblem) {
  in_.nodes.name = arena_.names({"b", "a", "b", "c", "b"});
  EXPECT_EQ(problems(in_), (Lines{"nodes[2] b name unique", "nodes[4] b name unique"}));
  in_.nodes.name = arena_.names({"x", "x"});
  EXPECT_EQ(only_message(in_),
            "name of the node \"x\" is that of row 0 too (row 1); names are unique in their table");
}

TEST_F(Names, UniquenessHoldsUnderAnOrderColumn) {
  in_.nodes.name = arena_.names({"b", "a", "b"});
  in_.nodes.order = arena_.numbers({1.0, 2.0, 3.0});
  EXPECT_EQ(problems(in_), Lines{"nodes[2] b name unique"});
}

TEST_F(Names, MissingEmptyAndBrokenNames) {
  raw::Names names = arena_.names({"", "", "\xFF"});
  names.given = arena_.keep(std::vector<std::uint8_t>{0, 1, 1});
  in_.nodes.name = names;
  EXPECT_EQ(problems(in_),
            (Lines{"nodes[0]  name required", "nodes[1]  name required", "nodes[2] ? name utf8"}));
}

TEST_F(Names, TheRootsNameIsReserved) {
  in_.pools.name = arena_.names({"<Root>"});
  EXPECT_EQ(problems(in_), Lines{"pools[0] <Root> name reserved"});
}

TEST_F(Names, OrderGoesBeforeNames) {
  in_.nodes.name = arena_.names({"a", "b", "c"});
  in_.nodes.order = arena_.integers({2, 1, 0}, {1, 1, 0});
  EXPECT_EQ(texts(built(in_).nodes.names), (Lines{"b", "a", "c"}));
  EXPECT_EQ(built(in_).nodes.order[0], 1.0);
  EXPECT_TRUE(std::isnan(built(in_).nodes.order[2]));
  in_.nodes.order = arena_.numbers({std::nan(""), 1.0, 0.0});
  EXPECT_EQ(problems(in_), Lines{"nodes[0] a order finite"});
}

class References : public Names {
 protected:
  References() {
    in_.pools.name = arena_.names({"z", "y", "x"});  // canonical rows 3, 2, 1
    in_.operations.name = arena_.names({"a", "b", "c", "d"});
  }
};

TEST_F(References, ByNameByNullAndByTheRootsName) {
  in_.operations.pool = arena_.reference({"z", std::nullopt, "<Root>", "x"});
  EXPECT_EQ(built(in_).operations.pool, (std::vector<Id>{3, 0, 0, 1}));
}

TEST_F(References, ByInputRow) {
  in_.operations.pool = arena_.rows({0, -1, 1, 2});
  EXPECT_EQ(built(in_).operations.pool, (std::vector<Id>{3, 0, 2, 1}));
}

TEST_F(References, ByIntegerName) {
  in_.pools.name = arena_.integer_names({30, 4, 5});
  raw::Reference pool;
  pool.names = arena_.integer_names({4, 4, 30, 5});
  in_.operations.pool = pool;
  EXPECT_EQ(built(in_).operations.pool, (std::vector<Id>{2, 2, 1, 3}));
}

TEST_F(References, TheRowCountsWhereBothAreThere) {
  in_.operations.pool = arena_.reference({"z", "z", "z", "z"});
  in_.operations.pool->index = arena_.keep(std::vector<std::int64_t>{2, 2, 2, 2});
  EXPECT_EQ(built(in_).operations.pool, (std::vector<Id>{1, 1, 1, 1}));
}

TEST_F(References, UnknownOnesAreProblems) {
  in_.operations.pool = arena_.reference({"z", "nowhere", "nowhere", "x"});
  EXPECT_EQ(problems(in_), (Lines{"operations[1] b pool exists", "operations[2] c pool exists"}));
  in_.operations.pool = arena_.rows({0, 3, -2, 1});
  EXPECT_EQ(problems(in_),
            (Lines{"operations[1] b pool_index exists", "operations[2] c pool_index exists"}));
  in_.operations.pool = arena_.rows({0, 3, -1, 1});
  EXPECT_EQ(only_message(in_),
            "pool_index of the operation \"b\" is 3, but the table pools has 3 rows (numbered "
            "from 0; -1 means none)");
}

TEST_F(References, RequiredOnesMustBeThere) {
  in_.allocations.name = arena_.names({"k", "l"});
  EXPECT_EQ(problems(in_),
            (Lines{"allocations[0] k operation required", "allocations[1] l operation required"}));
  in_.allocations.operation = arena_.reference({"a", std::nullopt});
  EXPECT_EQ(problems(in_), Lines{"allocations[1] l operation required"});
  in_.allocations.operation = arena_.rows({-1, 1});
  EXPECT_EQ(problems(in_), Lines{"allocations[0] k operation required"});
  in_.allocations.operation = raw::Reference{};
  EXPECT_EQ(problems(in_).size(), 2u);
}

TEST_F(References, AnAllocationMayBeOnNoNode) {
  in_.nodes.name = arena_.names({"n"});
  in_.allocations.name = arena_.names({"k", "l"});
  in_.allocations.operation = arena_.rows({0, 1});
  in_.allocations.node = arena_.reference({std::nullopt, "n"});
  const Tables t = built(in_);
  EXPECT_EQ(t.allocations.node, (std::vector<Id>{kNoId, 0}));
  EXPECT_EQ(t.allocations_by_node.items, std::vector<Id>{1});
}

TEST_F(References, ReservationsAreForOneOfTwo) {
  in_.nodes.name = arena_.names({"n"});
  in_.requests.name = arena_.names({"r"});
  in_.requests.operation = arena_.rows({0});
  in_.allocations.name = arena_.names({"k"});
  in_.allocations.operation = arena_.rows({0});
  in_.reservations.name = arena_.names({"a", "b", "c", "d"});
  in_.reservations.node = arena_.rows({0, 0, 0, 0});
  in_.reservations.request = arena_.reference({"r", std::nullopt, "r", std::nullopt});
  in_.reservations.allocation = arena_.reference({std::nullopt, "k", "k", std::nullopt});
  EXPECT_EQ(problems(in_),
            (Lines{"reservations[2] c request one_of", "reservations[3] d request one_of"}));
}

}  // namespace
}  // namespace evenhand::names_test
