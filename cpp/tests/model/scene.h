// A small cluster for tests, written row by row; rows are in canonical order as they come.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "arena.h"
#include "evenhand/model/cluster_state.h"

namespace evenhand::testing {

class Scene {
 public:
  explicit Scene(std::size_t width = 1) : width_(width) {}

  Id pool(Id parent = 0, std::uint8_t mode = 0) {
    pools_.push_back(parent - 1);  // the root is row 0 and no row of the input
    modes_.push_back(mode);
    return static_cast<Id>(pools_.size());
  }
  Id operation(Id pool = 0) {
    operations_.push_back(pool - 1);
    return static_cast<Id>(operations_.size()) - 1;
  }
  Id node(const std::vector<std::int64_t>& capacity) {
    append(capacities_, capacity);
    return static_cast<Id>(nodes_++);
  }
  Id allocation(Id operation, Id node, const std::vector<std::int64_t>& amounts, double start,
                AllocationState state = AllocationState::kRunning, std::int64_t held = 0) {
    owners_.push_back(operation);
    places_.push_back(node);
    append(amounts_, amounts);
    starts_.push_back(start);
    states_.push_back(static_cast<std::uint8_t>(state));
    held_.insert(held_.end(), width_, held);
    return static_cast<Id>(owners_.size()) - 1;
  }
  Id request(Id operation, const std::vector<std::int64_t>& amounts, std::int64_t count = 1) {
    asking_.push_back(operation);
    append(wanted_, amounts);
    counts_.push_back(count);
    return static_cast<Id>(asking_.size()) - 1;
  }

  Snapshot snapshot(double now = 1000) {
    raw::Input in = arena_.input(std::vector<double>(width_, 1.0));
    in.now.seconds = now;
    in.pools.name = names("p", pools_.size());
    in.pools.parent = arena_.rows(pools_);
    in.pools.mode = arena_.codes(modes_);
    in.operations.name = names("o", operations_.size());
    in.operations.pool = arena_.rows(operations_);
    in.nodes.name = names("n", nodes_);
    in.nodes.capacity = arena_.whole_amounts(capacities_);
    in.allocations.name = names("a", owners_.size());
    in.allocations.operation = arena_.rows(owners_);
    in.allocations.node = arena_.rows(places_);
    in.allocations.resources = arena_.whole_amounts(amounts_);
    in.allocations.held = arena_.whole_amounts(held_);
    in.allocations.start_time = arena_.numbers(starts_);
    in.allocations.state = arena_.codes(states_);
    in.requests.name = names("r", asking_.size());
    in.requests.operation = arena_.rows(asking_);
    in.requests.resources = arena_.whole_amounts(wanted_);
    in.requests.count = arena_.integers(counts_);
    return Snapshot(built(in));
  }

 private:
  raw::Names names(const char* letter, std::size_t count) {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < count; ++i) texts.push_back(letter + std::to_string(1000 + i));
    return arena_.names(texts);
  }
  void append(std::vector<std::int64_t>& to, const std::vector<std::int64_t>& amounts) {
    to.insert(to.end(), amounts.begin(), amounts.end());
    to.resize((to.size() + width_ - 1) / width_ * width_, 0);
  }

  Arena arena_;
  std::size_t width_, nodes_ = 0;
  std::vector<std::int64_t> pools_, operations_, owners_, places_, asking_, counts_;
  std::vector<std::int64_t> capacities_, amounts_, wanted_, held_;
  std::vector<double> starts_;
  std::vector<std::uint8_t> states_, modes_;
};

// What a state says of its slots, its sums and its requests, to compare states by.
inline std::vector<Amount> essence(const ClusterState& s) {
  std::vector<Amount> out{s.now(), s.slots()};
  const auto add = [&](const Amount* row) { out.insert(out.end(), row, row + s.width()); };
  for (Id slot = 0; slot < static_cast<Id>(s.slots()); ++slot) {
    out.insert(out.end(), {s.running(slot), s.holds(slot), s.leaving(slot), s.away(slot)});
    out.insert(out.end(), {s.last_start(slot), s.last_progress(slot)});
    add(s.amounts(slot));
    const Amount* kept = !s.gone(slot) || s.away(slot) ? s.kept(slot) : nullptr;
    for (std::size_t r = 0; r < s.width(); ++r) out.push_back(kept == nullptr ? 0 : kept[r]);
    if (const Leaving* l = s.leaving_at(slot)) {
      out.insert(out.end(), {l->beneficiary.operation, l->beneficiary.request});
      add(l->left.data());
    }
  }
  const Tables& t = s.tables();
  for (Id n = 0; n < static_cast<Id>(t.nodes.size()); ++n) {
    add(s.node_used(n));
    add(s.node_left(n));
    add(s.node_capacity(n));
    out.insert(out.end(), {s.schedulable(n), s.has_leaving(n)});
    std::vector<Id> here(s.on_node(n).begin(), s.on_node(n).end());
    std::ranges::sort(here);
    out.insert(out.end(), here.begin(), here.end());
  }
  add(s.all_left());
  for (Id o = 0; o < static_cast<Id>(t.operations.size()); ++o) add(s.operation_usage(o));
  for (Id p = 0; p < static_cast<Id>(t.pools.size()); ++p) add(s.pool_usage(p));
  for (Id q = 0; q < static_cast<Id>(t.requests.size()); ++q) out.push_back(s.pending(q));
  const std::vector<Amount> demand = s.demand();
  out.insert(out.end(), demand.begin(), demand.end());
  return out;
}

}  // namespace evenhand::testing
