#include "evenhand/model/columns.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "arena.h"

namespace evenhand::columns_test {
namespace {

using testing::Arena;
using testing::built;
using testing::only_message;
using testing::problems;
using Lines = std::vector<std::string>;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

class Columns : public ::testing::Test {
 protected:
  Columns() : in_(arena_.input()) { in_.operations.name = arena_.names({"a", "b"}); }
  Arena arena_;
  raw::Input in_;
};

TEST_F(Columns, DefaultsOfOperations) {
  const OperationColumns o = built(in_).operations;
  EXPECT_EQ(o.weight, (std::vector<double>{1, 1}));
  EXPECT_EQ(o.pool, (std::vector<Id>{0, 0}));
  EXPECT_EQ(o.demand, (std::vector<Amount>{0, 0}));
  EXPECT_EQ(o.limits_given, (std::vector<ResourceMask>{0, 0}));
  EXPECT_EQ(o.gang, (std::vector<std::uint8_t>{0, 0}));
  EXPECT_EQ(o.fifo_start_time, (std::vector<Time>{0, 0}));
  EXPECT_TRUE(o.priority.empty() && o.priority_given.empty() && o.order.empty());
  EXPECT_TRUE(o.user.codes.empty() && o.best_allocation_share.empty());
}

TEST_F(Columns, WeightsArePositiveAndFinite) {
  in_.operations.weight = arena_.numbers({1e-300, 1e300});
  EXPECT_EQ(built(in_).operations.weight, (std::vector<double>{1e-300, 1e300}));
  in_.operations.weight = arena_.integers({3, 0});
  EXPECT_EQ(only_message(in_), "weight of the operation \"b\" is 0; it must be greater than 0");
  for (const double bad : {0.0, -1.0}) {
    in_.operations.weight = arena_.numbers({bad, 1.0});
    EXPECT_EQ(problems(in_), Lines{"operations[0] a weight positive"});
  }
  for (const double bad : {kNaN, kInf, -kInf}) {
    in_.operations.weight = arena_.numbers({bad, 1.0});
    EXPECT_EQ(problems(in_), Lines{"operations[0] a weight finite"});
  }
  in_.operations.weight = arena_.numbers({kNaN, 2.0}, {0, 1});
  EXPECT_EQ(built(in_).operations.weight, (std::vector<double>{1.0, 2.0}));
}

TEST_F(Columns, PrioritiesAreRealAndMayBeAbsent) {
  in_.operations.priority = arena_.numbers({-5.25, kNaN}, {1, 0});
  const Tables t = built(in_);
  EXPECT_EQ(t.operations.priority, (std::vector<double>{-5.25, 0.0}));
  EXPECT_EQ(t.operations.priority_given, (std::vector<std::uint8_t>{1, 0}));
  in_.operations.priority = arena_.integers({0, 0});
  EXPECT_TRUE(built(in_).operations.priority.empty());
  EXPECT_EQ(built(in_).operations.priority_given, (std::vector<std::uint8_t>{1, 1}));
  in_.operations.priority = arena_.numbers({kInf, 1.0});
  EXPECT_EQ(problems(in_), Lines{"operations[0] a priority finite"});
}

TEST_F(Columns, CountsAreWholeAndNotNegative) {
  in_.requests.name = arena_.names({"r", "s"});
  in_.requests.operation = arena_.rows({0, 0});
  in_.requests.count = arena_.numbers({0.0, 7.0});
  EXPECT_EQ(built(in_).requests.count, (std::vector<Index>{0, 7}));
  in_.requests.count = arena_.numbers({1.5, 1e17});
  EXPECT_EQ(problems(in_), (Lines{"requests[0] r count integer", "requests[1] s count range"}));
  in_.requests.count = arena_.numbers({kNaN, -1.0});
  EXPECT_EQ(problems(in_),
            (Lines{"requests[0] r count finite", "requests[1] s count non_negative"}));
  in_.requests.count = arena_.integers({std::numeric_limits<std::int64_t>::max(), 1});
  EXPECT_EQ(problems(in_), Lines{"requests[0] r count range"});
}

TEST_F(Columns, TimesAreSecondsOrMicroseconds) {
  in_.operations.start_time = arena_.numbers({1.5, 0.0000004});
  EXPECT_EQ(built(in_).operations.start_time, (std::vector<Time>{1'500'000, 0}));
  EXPECT_EQ(built(in_).operations.fifo_start_time, (std::vector<Time>{1'500'000, 0}));
  in_.operations.start_time = arena_.integers({-7, kNoTime});
  in_.operations.fifo_start_time = arena_.numbers({0.0, 3.0}, {0, 1});
  EXPECT_EQ(built(in_).operations.start_time, (std::vector<Time>{-7, 0}));
  EXPECT_EQ(built(in_).operations.fifo_start_time, (std::vector<Time>{-7, 3'000'000}));
  in_.operations.fifo_start_time = {};
  in_.operations.start_time = arena_.numbers({kNaN, 1e30});
  EXPECT_EQ(problems(in_),
            (Lines{"operations[0] a start_time finite", "operations[1] b start_time range"}));
  in_.operations.start_time = arena_.integers({kMaxTime, kMaxTime + 1});
  EXPECT_EQ(problems(in_), Lines{"operations[1] b start_time range"});
}

TEST_F(Columns, DurationsAreNotNegative) {
  in_.requests.name = arena_.names({"r"});
  in_.requests.operation = arena_.rows({0});
  in_.requests.duration = arena_.numbers({-0.5});
  EXPECT_EQ(only_message(in_),
            "duration of the request \"r\" is -0.5 seconds; a duration must not be negative");
  in_.requests.duration = arena_.numbers({0.0});
  EXPECT_EQ(built(in_).requests.duration, std::vector<Time>{0});
}

TEST_F(Columns, CodesOutsideTheEnumerationAreProblems) {
  in_.operations.kind = arena_.codes({3, 4});
  EXPECT_EQ(only_message(in_), "kind of the operation \"b\" has the code 4; the codes are 0 to 3");
  in_.operations.kind = arena_.codes({3, 9}, {1, 0});
  EXPECT_EQ(built(in_).operations.kind,
            (std::vector{OperationKind::kSystem, OperationKind::kBatch}));
}

TEST_F(Columns, AnyNonZeroFlagIsOne) {
  in_.operations.gang = arena_.codes({200, 1}, {1, 0});
  EXPECT_EQ(built(in_).operations.gang, (std::vector<std::uint8_t>{1, 0}));
}

TEST_F(Columns, TextIsSortedDeduplicatedAndInUse) {
  in_.operations.user = arena_.text({"zoe", "unused", "ann", "zoe"}, {0, 3});
  const TextColumn zoe = built(in_).operations.user;
  EXPECT_EQ(zoe.values.size(), 1);
  EXPECT_EQ(zoe.values[0], "zoe");
  EXPECT_EQ(zoe.codes, (std::vector<Id>{0, 0}));
  in_.operations.user = arena_.text({"zoe", "unused", "ann"}, {0, 2});
  EXPECT_EQ(built(in_).operations.user.values.bytes, "annzoe");
  EXPECT_EQ(built(in_).operations.user.codes, (std::vector<Id>{1, 0}));
  in_.operations.user = arena_.text({"zoe"}, {-1, -1});
  EXPECT_TRUE(built(in_).operations.user.codes.empty());
}

TEST_F(Columns, BrokenTextIsReportedWhereItStands) {
  in_.operations.user = arena_.text({"ok", "\xED\xA0\x80"}, {0, 1});
  EXPECT_EQ(problems(in_), Lines{"operations[1] b user utf8"});
  in_.operations.user = arena_.text({"ok"}, {0, 1});
  EXPECT_EQ(problems(in_), Lines{"operations[1] b user choice"});
  in_.operations.user = arena_.text({"ok"}, {0, -2});
  EXPECT_EQ(problems(in_), Lines{"operations[1] b user choice"});
}

TEST_F(Columns, TagsKeepTheirOrderInARow) {
  in_.nodes.name = arena_.names({"n", "m"});
  in_.nodes.tags = arena_.text_list({"ssd", "gpu"}, {0, 2, 3}, {0, 1, 0});
  const TextListColumn tags = built(in_).nodes.tags;  // m, n
  EXPECT_EQ(tags.values.bytes, "gpussd");
  EXPECT_EQ(tags.offsets, (std::vector<Index>{0, 1, 3}));
  EXPECT_EQ(tags.codes, (std::vector<Id>{1, 1, 0}));
  in_.nodes.tags = arena_.text_list({"ssd"}, {0, 0, 0}, {});
  EXPECT_EQ(built(in_).nodes.tags.offsets, std::vector<Index>{0});
  in_.nodes.tags = arena_.text_list({"ssd"}, {0, 1, 2}, {0, 1});
  EXPECT_EQ(problems(in_), Lines{"nodes[1] m tags choice"});
}

TEST_F(Columns, InstantsOfTheSnapshot) {
  in_.now = {.seconds = 2.5, .microseconds = {}};
  in_.previous_update = raw::Instant{.seconds = 0.0, .microseconds = 2'500'000};
  EXPECT_EQ(built(in_).now, 2'500'000);
  EXPECT_EQ(built(in_).previous_update, 2'500'000);
  in_.now = {.seconds = 2.0, .microseconds = {}};
  EXPECT_EQ(only_message(in_), "previous_update (2.5) is after now (2)");
  in_.previous_update = {};
  in_.now = {.seconds = kNaN, .microseconds = {}};
  EXPECT_EQ(problems(in_), Lines{"snapshot[-1]  now finite"});
  in_.now = {.seconds = 0.0, .microseconds = kMaxTime + 1};
  EXPECT_EQ(problems(in_), Lines{"snapshot[-1]  now range"});
}

}  // namespace
}  // namespace evenhand::columns_test
