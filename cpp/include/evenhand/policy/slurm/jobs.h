// What partition, QOS, its own row and the cluster make of every job.
//
// Static columns are worked out when a row comes or changes; a priority is a sum of factors,
// of which only the age depends on time.
//
// Source: Slurm documentation, preemption and priority_multifactor.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "evenhand/model/cluster_state.h"
#include "evenhand/place/gang.h"
#include "evenhand/policy/slurm/settings.h"

namespace evenhand::slurm {

class Jobs {
  using Size = std::size_t;

 public:
  Jobs(const Settings& settings, JobRows rows);

  // One row an operation. Of several partitions: that in which it has something, else the first.
  Column<Id> partition, qos;
  Column<std::int32_t> tier;
  Column<std::int64_t> rank;  // order among victims: tier, or priority of the QOS
  Column<double> priority;
  Column<PreemptMode> mode;
  Column<Time> grace;
  Column<Time> exempt;           // run time before it may be a victim
  Column<std::uint8_t> requeue;  // may be started anew
  Column<std::uint8_t> suspendable;
  Column<std::uint8_t> exclusive;  // takes whole nodes
  Column<Time> eligible;           // kNoTime: at once
  Column<Time> started;            // its first part; kNoTime: it has none
  // Jobs x factors(): in the order in which they are added; without multifactor none.
  Column<double> factors;
  Column<std::uint8_t> share_unknown;  // its association is in no share tree

  const JobRows& rows() const noexcept { return rows_; }
  Size factor_count() const noexcept { return 6 + set_.weights.tres.size(); }
  bool expedited(Id job) const noexcept {
    return set_.rules.expedites && rows_.expedited[job] != 0;
  }
  Time time_min(Id job) const noexcept { return rows_.time_min[job]; }
  bool has_node(Id of, Id node) const noexcept { return on_nodes(of)[at(node)] != 0; }
  // Whether a priority depends on the instant.
  bool age() const noexcept { return set_.weights.multifactor; }
  // When the priority of a turn is so much, which it is not now; kNoTime: never. O(factors).
  Time rises(const ClusterState& state, const Turn& turn, double to) const;
  // Whether the priority of a turn stays at least that of another one as both grow older.
  bool stays_before(const Turn& turn, const Turn& behind) const;
  // N: whether a node is in the partition.
  std::span<const std::uint8_t> on_nodes(Id of) const noexcept {
    return {node_of_partition_.row(of, stride_), stride_};
  }
  // Nodes that there are, in canonical order.
  std::span<const Id> nodes() const noexcept { return nodes_; }
  // How a place for a job is chosen among nodes.
  NodeChoice node_choice(const ClusterState& state, Id job) const;
  // Whether a job waits in several partitions, and has nothing yet.
  bool in_several(Id job) const { return several_.contains(job) && settled_[job] == 0; }
  // Further turns of a job that waits in several partitions and has nothing yet.
  void add_turns(Id job, std::vector<Turn>& to) const;
  Turn first_turn(Id job) const noexcept {
    return {job, partition[job], tier[job], priority[job], exclusive[job]};
  }

  // Settings of rows that came or changed.
  void came(std::span<const Id> rows, const JobRows& columns);
  // Something of a job, or of the nodes, is not as it was at the last update.
  void touch(Id job);
  void touch_nodes() noexcept { nodes_touched_ = true; }
  bool touched() const noexcept { return nodes_touched_ || all_ || !touched_.empty(); }
  // O(rows of what was touched), and O(jobs) where priorities depend on the instant.
  void update(const ClusterState& state);
  // Jobs that were worked out anew since the last `forget_changed`; `all`: every one.
  struct Changed {
    Column<Id> jobs;
    bool all = true;
  };
  const Changed& changed() const noexcept { return changed_; }
  void forget_changed() {
    changed_.jobs.clear();
    changed_.all = false;
  }

 private:
  // A partition of a job, and the factors of its association there; NaN: it has none.
  struct Place {
    Id job, partition;
    double assoc, fair_share;
  };
  const Column<Id>& named(std::string_view partitions);
  Place place_in(const ClusterState& state, Id job, Id of) const;
  Place place_of(const ClusterState& state, Id job);
  bool has_all(Id of, const ClusterState& state, std::span<const Id> slots) const;
  void read_nodes(const ClusterState& state);
  void measure(const ClusterState& state, Id job);
  void derive(const ClusterState& state, Id job);
  void put_factors(const Place& place, double* to) const;
  void put_factors(const Turn& turn, double* to) const;
  double part_of_age(Time age) const;
  bool stands(Id job) const;
  double age(const ClusterState& state, Id job) const;
  double size(Id job) const;
  double part_of(Size tres, const Place& place) const;
  double total(Id job, const double* factors) const;

  const Settings& set_;
  JobRows rows_;
  std::map<std::string, Column<Id>, std::less<>> named_;  // by what jobs name
  std::map<Id, std::vector<Place>> several_;              // of jobs with several, as they are tried
  Size stride_ = 0;
  Column<std::uint8_t> node_of_partition_;  // partitions x nodes
  Column<Id> nodes_;
  Column<std::int64_t> node_weights_;  // N; none: all are alike
  Column<double> quanta_;              // of the tres
  Column<double> capacity_;            // (partitions + 1) x measures: the last of all nodes
  // How much a job asks for or, if it asks for nothing, has: nodes, a time limit, and of what is
  // measured (cpus, then the tres).
  Column<double> wide_, minutes_, amounts_;
  Column<double> own_;  // its own priority; NaN: none
  Column<Time> since_;  // kNoTime: it has no age
  Column<std::uint8_t> asks_, settled_;
  bool all_ = true, nodes_touched_ = true;
  Column<std::uint8_t> is_touched_;
  Column<Id> touched_;
  Changed changed_;
};

}  // namespace evenhand::slurm
