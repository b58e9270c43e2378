// A random small cluster whose rows can be changed by deltas and frozen again.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "../model/arena.h"
#include "evenhand/model/delta.h"

namespace evenhand::testing {

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<unsigned>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  std::vector<T> column(std::size_t n, int values) {
    std::vector<T> out(n);
    for (T& v : out) v = static_cast<T>(below(values));
    return out;
  }

 private:
  std::mt19937 engine_;
};

// Rows in canonical order as they come; what starts later comes last.
class RandomCluster {
 public:
  struct Allocation {
    Id slot, operation, node;
    std::vector<std::int64_t> amounts, held;
    double start;
    AllocationState state;
  };

  // tree: with pools, limits and an order of their own; then rows are in no order.
  explicit RandomCluster(Random& random, bool tree = false)
      : RandomCluster(random, nullptr, {}, tree) {}
  // Of resources as those of another one, if one is given; names end in `suffix`.
  RandomCluster(Random& random, const RandomCluster* like, std::string suffix, bool tree = false)
      : random_(random), suffix_(std::move(suffix)), tree_(tree) {
    width_ = 1 + static_cast<std::size_t>(random.below(3));
    wide_ = width_ > 1 && random.chance(40);
    if (like != nullptr) width_ = like->width_;
    if (like != nullptr) wide_ = like->wide_;
    operations_ = 4 + static_cast<std::size_t>(random.below(12));
    nodes_ = 2 + static_cast<std::size_t>(random.below(6));
    kinds_ = random.column<std::uint8_t>(operations_, 4);
    if (random.chance(60)) std::ranges::fill(kinds_, std::uint8_t{0});
    begun_ = random.column<double>(operations_, 900);
    const auto texts = [&](std::vector<std::int32_t>& codes, int kinds) {
      codes = random.column<std::int32_t>(operations_, kinds + 1);
      for (std::int32_t& code : codes) --code;
    };
    texts(partitions_, 4);
    texts(qualities_, 3);
    texts(accounts_, 1);
    texts(users_, 2);
    priorities_ = random.column<double>(operations_, 5);
    priority_given_ = random.column<std::uint8_t>(operations_, 2);
    schedulable_ = std::vector<std::uint8_t>(nodes_, 1);
    if (random.chance(30)) schedulable_[0] = 0;
    tags_ = random.chance(30) ? random.column<std::int32_t>(nodes_, 2)
                              : std::vector<std::int32_t>(nodes_, 0);
    in_parts_ = random.chance(10);
    draw_allocations();
    draw_requests();
    // Little is free: requests have to wait, or others have to leave.
    for (std::size_t n = 0; n < nodes_ * width_; ++n) capacity_.push_back(1 + random.below(5));
    for (const Allocation& row : rows_)
      if (row.node != kNoId && row.state != AllocationState::kPreempted)
        for (std::size_t r = 0; r < width_; ++r)
          capacity_[static_cast<std::size_t>(row.node) * width_ + r] += row.amounts[r];
    for (const Allocation& row : rows_) wide_capacity_ += row.amounts.back();
  }

  std::size_t operations() const noexcept { return operations_; }
  std::size_t nodes() const noexcept { return nodes_; }
  std::size_t width() const noexcept { return width_; }
  const std::vector<std::int64_t>& counts() const noexcept { return counts_; }
  const std::vector<std::int64_t>& capacity() const noexcept { return capacity_; }
  const std::vector<Allocation>& allocations() const noexcept { return rows_; }

  Snapshot snapshot() {
    raw::Input in = arena_.input(std::vector<double>(width_, 1.0));
    if (wide_) {
      std::vector<std::uint8_t> scope(width_, 0);
      scope.back() = 1;
      in.resources.scope = arena_.keep(std::move(scope));
      std::vector<std::int64_t> wide(width_, 0);
      wide.back() = wide_capacity_;
      in.resources.capacity = arena_.whole_amounts(wide);
    }
    if (keeps_) {
      std::vector<std::uint8_t> given_back(width_, 0);
      given_back[0] = 1;
      in.resources.available_after_preemption = arena_.keep(std::move(given_back));
    }
    in.now.seconds = now_;

    in.operations.name = names("o", operations_);
    in.operations.kind = arena_.codes(kinds_);
    in.operations.start_time = arena_.numbers(begun_);
    if (tree_) put_tree(in);
    in.operations.partition = arena_.text({"p0", "p0,p1", "p1", "p1,p0"}, partitions_);
    in.operations.qos = arena_.text({"q0", "q1", "q2"}, qualities_);
    in.operations.account = arena_.text({"a"}, accounts_);
    in.operations.user = arena_.text({"u0", "u1"}, users_);
    in.operations.priority = arena_.numbers(priorities_, priority_given_);
    in.nodes.name = names("n", nodes_);
    std::vector<std::int64_t> capacity = capacity_;
    if (wide_)
      for (std::size_t n = 0; n < nodes_; ++n) capacity[n * width_ + width_ - 1] = 0;

    // Stated: else it follows which nodes are schedulable, which no delta of a state does.
    std::vector<std::int64_t> total(width_, 0);
    for (std::size_t i = 0; i < capacity.size(); ++i) total[i % width_] += capacity[i];
    if (wide_) total.back() = wide_capacity_;
    in.total = arena_.whole_amounts(total);
    in.nodes.capacity = arena_.whole_amounts(std::move(capacity));
    in.nodes.schedulable = arena_.codes(schedulable_);
    in.nodes.tags = tag_list(tags_);
    if (in_parts_) {  // the second is a part of the first
      std::vector<std::int32_t> machine(nodes_, -1);
      machine[1] = 0;
      in.nodes.physical = arena_.text({"n1000" + suffix_}, std::move(machine));
    }
    put_allocations(in.allocations);
    put_requests(in.requests);
    put_reservations(in.reservations);
    return Snapshot(built(in));
  }

  // Draws a delta that is right now, follows it in the rows and hands it to `send`.
  template <class Send>
  void change(Send&& send) {
    std::vector<std::size_t> holding;
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (rows_[i].state == AllocationState::kRunning) holding.push_back(i);
    const int kind = random_.below(5);
    if (kind == 0) {
      Allocation row{next_slot_++,
                     random_.below(static_cast<int>(operations_)),
                     random_.below(static_cast<int>(nodes_)),
                     small(),
                     {},
                     now_ - random_.below(50),
                     AllocationState::kRunning};
      row.held.assign(width_, 0);
      send(Delta{.kind = Delta::Kind::kStart,
                 .row = row.operation,
                 .node = row.node,
                 .amounts = row.amounts,
                 .time = static_cast<Time>(row.start) * kMicrosecondsPerSecond});
      rows_.push_back(std::move(row));
    } else if (kind == 1 && !holding.empty()) {
      const auto at =
          rows_.begin() + static_cast<std::ptrdiff_t>(holding[at_random(holding.size())]);
      send(Delta{.kind = Delta::Kind::kEnd, .row = at->slot});
      rows_.erase(at);
    } else if (kind == 2 && !holding.empty()) {
      Allocation& row = rows_[holding[at_random(holding.size())]];
      row.amounts = small();
      send(Delta{.kind = Delta::Kind::kResize, .row = row.slot, .amounts = row.amounts});
    } else if (kind == 3 && !counts_.empty()) {
      const std::size_t request = at_random(counts_.size());
      counts_[request] = random_.below(4);
      send(Delta{.kind = Delta::Kind::kPending,
                 .row = static_cast<Id>(request),
                 .count = counts_[request]});
    } else if (kind == 4) {
      const std::size_t node = at_random(nodes_);
      schedulable_[node] ^= 1;
      send(Delta{.kind = Delta::Kind::kSchedulable,
                 .row = static_cast<Id>(node),
                 .schedulable = schedulable_[node] != 0});
    }
  }

 private:
  std::size_t at_random(std::size_t n) {
    return static_cast<std::size_t>(random_.below(static_cast<int>(n)));
  }
  std::vector<std::int64_t> small() {
    std::vector<std::int64_t> out(width_);
    for (std::int64_t& v : out) v = random_.below(4);
    out[0] += 1;
    return out;
  }
  raw::Names names(const char* letter, std::size_t count) {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < count; ++i)
      texts.push_back(letter + std::to_string(1000 + i) + suffix_);
    return arena_.names(texts);
  }
  raw::TextList tag_list(const std::vector<std::int32_t>& per_row) {
    std::vector<std::int64_t> offsets{0};
    std::vector<std::int32_t> codes;
    for (const std::int32_t many : per_row) {
      codes.insert(codes.end(), static_cast<std::size_t>(many), 0);
      offsets.push_back(static_cast<std::int64_t>(codes.size()));
    }
    return arena_.text_list({"gpu"}, std::move(offsets), std::move(codes));
  }

  void draw_allocations() {
    keeps_ = random_.chance(40);
    const bool ends = random_.chance(50);
    const int many = random_.below(5 * static_cast<int>(nodes_));
    for (int i = 0; i < many; ++i) {
      const int kind = random_.below(20);
      Allocation row{next_slot_++,
                     random_.below(static_cast<int>(operations_)),
                     random_.chance(95) ? random_.below(static_cast<int>(nodes_)) : kNoId,
                     small(),
                     std::vector<std::int64_t>(width_, 0),
                     static_cast<double>(random_.below(1000)),
                     kind < 17    ? AllocationState::kRunning
                     : kind == 17 ? AllocationState::kPreempting
                     : kind == 18 ? AllocationState::kPreempted
                                  : AllocationState::kSuspended};
      if (row.state == AllocationState::kPreempted && keeps_)
        for (std::size_t r = 1; r < width_; ++r) row.held[r] = row.amounts[r];
      rows_.push_back(std::move(row));
      first_.push_back({ends ? 1000.0 + random_.below(300) : 0,
                        random_.chance(60) ? 1000.0 + random_.below(60) : 0, random_.chance(95),
                        random_.below(static_cast<int>(operations_))});
    }
  }
  void draw_requests() {
    const int many = 1 + random_.below(8);
    for (int i = 0; i < many; ++i) {
      asking_.push_back(random_.below(static_cast<int>(operations_)));
      for (const std::int64_t amount : small())
        wanted_.push_back(random_.chance(50) ? amount : 2 * amount);
      counts_.push_back(random_.chance(70) ? 1 : 2);
      durations_.push_back(random_.chance(70) ? 10 + random_.below(500) : 0);
      request_tags_.push_back(random_.chance(5));
      required_.push_back(random_.chance(10) ? random_.below(static_cast<int>(nodes_)) : -1);
    }
    if (many > 0 && random_.chance(40))
      for (int i = 0; i < 1 + random_.below(3); ++i) {
        reserved_.push_back(random_.below(many));
        reserved_on_.push_back(random_.below(static_cast<int>(nodes_)));
        std::ranges::copy(small(), std::back_inserter(reserved_amounts_));
        soft_.push_back(random_.chance(30));
      }
  }

  void put_tree(raw::Input& in) {
    const auto limits = [&](std::size_t rows, int percent) {
      std::vector<std::int64_t> out;
      for (std::size_t i = 0; i < rows * width_; ++i)
        out.push_back(random_.chance(percent) ? 3 + random_.below(25) : 1'000'000);
      return arena_.whole_amounts(std::move(out));
    };
    const auto orders = [&](std::size_t rows) {
      return arena_.numbers(random_.column<double>(rows, 4), random_.column<std::uint8_t>(rows, 2));
    };
    constexpr int kPools = 4;
    in.pools.name = names("p", kPools);
    in.pools.parent = arena_.rows({-1, 0, -1, 0});
    in.pools.mode = arena_.codes({0, 0, 1, 0});
    in.pools.limits = limits(kPools, 30);
    in.pools.order = orders(kPools);
    std::vector<std::int64_t> pools(operations_);
    for (std::int64_t& pool : pools) pool = random_.below(kPools + 1) - 1;
    in.operations.pool = arena_.rows(pools);
    in.operations.limits = limits(operations_, 15);
    in.operations.order = orders(operations_);
    in.operations.weight = arena_.numbers(std::vector<double>(operations_, 1 + random_.below(2)));
  }
  void put_allocations(raw::Allocations& t) {
    std::vector<std::string> texts;
    std::vector<std::int64_t> operation, node, amounts, held;
    std::vector<double> start, planned, deadline;
    std::vector<std::uint8_t> state, preemptible, has_planned, has_deadline;
    std::vector<std::int32_t> beneficiary;
    for (const Allocation& row : rows_) {
      texts.push_back("a" + std::to_string(10000 + row.slot) + suffix_);
      operation.push_back(row.operation);
      node.push_back(row.node);
      amounts.insert(amounts.end(), row.amounts.begin(), row.amounts.end());
      held.insert(held.end(), row.held.begin(), row.held.end());
      start.push_back(row.start);
      state.push_back(static_cast<std::uint8_t>(row.state));
      const auto slot = static_cast<std::size_t>(row.slot);
      const First first = slot < first_.size() ? first_[slot] : First{};
      const bool leaving = row.state == AllocationState::kPreempting;
      planned.push_back(first.planned_end);
      has_planned.push_back(first.planned_end > 0);
      deadline.push_back(first.deadline);
      has_deadline.push_back(leaving && first.deadline > 0);
      preemptible.push_back(first.preemptible);
      beneficiary.push_back(leaving ? first.beneficiary : -1);
    }
    std::vector<std::string> operations;
    for (std::size_t i = 0; i < operations_; ++i)
      operations.push_back("o" + std::to_string(1000 + i) + suffix_);
    t.name = arena_.names(texts);
    t.operation = arena_.rows(operation);
    t.node = arena_.rows(node);
    t.resources = arena_.whole_amounts(amounts);
    t.held = arena_.whole_amounts(held);
    t.start_time = arena_.numbers(start);
    t.planned_end = arena_.numbers(planned, has_planned);
    t.deadline = arena_.numbers(deadline, has_deadline);
    t.state = arena_.codes(state);
    t.preemptible = arena_.codes(preemptible);
    t.beneficiary_operation = arena_.text(operations, beneficiary);
  }
  void put_requests(raw::Requests& t) {
    t.name = names("r", asking_.size());
    t.operation = arena_.rows(asking_);
    t.resources = arena_.whole_amounts(wanted_);
    t.count = arena_.integers(counts_);
    std::vector<std::uint8_t> given;
    for (const double d : durations_) given.push_back(d > 0);
    t.duration = arena_.numbers(durations_, given);
    t.node_tags = tag_list(request_tags_);
    t.required_node = arena_.rows(required_);
  }
  void put_reservations(raw::Reservations& t) {
    t.name = names("v", reserved_.size());
    t.request = arena_.rows(reserved_);
    t.node = arena_.rows(reserved_on_);
    t.resources = arena_.whole_amounts(reserved_amounts_);
    t.soft = arena_.codes(soft_);
  }

  // Cells of the rows that are there from the beginning.
  struct First {
    double planned_end = 0, deadline = 0;  // 0: none
    bool preemptible = true;
    std::int32_t beneficiary = -1;
  };

  Random& random_;
  std::string suffix_;
  Arena arena_;
  std::size_t width_, operations_, nodes_;
  bool tree_, wide_ = false, keeps_ = false, in_parts_ = false;
  std::int64_t wide_capacity_ = 3;
  double now_ = 1000;
  Id next_slot_ = 0;
  std::vector<std::uint8_t> kinds_, schedulable_, soft_;
  std::vector<double> begun_, durations_;
  std::vector<std::int64_t> capacity_, asking_, wanted_, counts_, required_;
  std::vector<std::int64_t> reserved_, reserved_on_, reserved_amounts_;
  std::vector<std::int32_t> tags_, request_tags_, partitions_, qualities_, accounts_, users_;
  std::vector<double> priorities_;
  std::vector<std::uint8_t> priority_given_;
  std::vector<Allocation> rows_;
  std::vector<First> first_;
};

}  // namespace evenhand::testing
