#include "evenhand/policy/slurm/jobs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "evenhand/place/in_order.h"

namespace evenhand::slurm {
namespace {

using Size = std::size_t;

constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();
constexpr Size kFixedFactors = 6;
constexpr double kMinute = 6e7;

double known_or_0(double factor) noexcept { return std::isnan(factor) ? 0.0 : factor; }

}  // namespace

Jobs::Jobs(const Settings& settings, JobRows rows) : set_(settings), rows_(std::move(rows)) {}

void Jobs::came(std::span<const Id> rows, const JobRows& from) {
  rows_.put(rows, from);
  for (const Id row : rows) touch(row);
}

void Jobs::touch(Id job) {
  if (job == kNoId || all_) return;
  if (at(job) >= is_touched_.size()) is_touched_.resize(at(job) + 1, 0);
  if (std::exchange(is_touched_[job], std::uint8_t{1}) == 0) touched_.push_back(job);
}

// Numbers of the partitions of "low,high", those of the highest tier first, then as written.
// Without any in the settings, what jobs name says nothing.
const Column<Id>& Jobs::named(std::string_view text) {
  const auto known = named_.find(text);
  if (known != named_.end()) return known->second;
  constexpr std::string_view kSpace = " \t\n\r\f\v";
  const Column<std::string>& names = set_.partitions.names;
  Column<Id> found;
  const auto add = [&](std::string_view name) {
    const auto place = std::ranges::find(names, name);
    const auto number = static_cast<Id>(place - names.begin());
    if (place != names.end() && std::ranges::find(found, number) == found.end())
      found.push_back(number);
  };
  if (!text.empty()) add(text);
  for (std::string_view rest = found.empty() ? text : std::string_view(); !rest.empty();) {
    std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    part.remove_prefix(std::min(part.find_first_not_of(kSpace), part.size()));
    part = part.substr(0, part.find_last_not_of(kSpace) + 1);
    if (!part.empty()) add(part);
  }
  if (found.empty()) found.push_back(set_.partition);
  std::ranges::stable_sort(found, std::greater{},
                           [&](Id number) { return set_.partitions.tier[number]; });
  return named_.emplace(text, std::move(found)).first->second;
}

Jobs::Place Jobs::place_in(const ClusterState& state, Id job, Id of) const {
  Place place{job, of, kNotKnown, kNotKnown};
  const Weights& w = set_.weights;
  if (w.assoc_of.empty() && w.fair_share_of.empty()) return place;
  const std::string_view account = state.operations().text(&OperationColumns::account, job);
  const std::string_view user = state.operations().text(&OperationColumns::user, job);
  if (account.empty() || user.empty()) return place;
  std::string owner(account);
  owner.append("/").append(user);
  std::string there = owner;
  if (at(of) < set_.partitions.names.size()) there.append("/").append(set_.partitions.names[of]);
  const auto value = [&](const auto& of_association) {
    for (const std::string* name : {&there, &owner})
      if (const auto found = of_association.find(*name); found != of_association.end())
        return found->second;
    return kNotKnown;
  };
  place.assoc = value(w.assoc_of);
  place.fair_share = value(w.fair_share_of);
  return place;
}

bool Jobs::has_all(Id of, const ClusterState& state, std::span<const Id> slots) const {
  return std::ranges::all_of(slots, [&](Id slot) {
    return state.node_of(slot) == kNoId || has_node(of, state.node_of(slot));
  });
}

// Of several partitions the first that has all of its nodes, if it has something, else the first.
//
// Source: Slurm, controller: a job is in the queue once for each of its partitions.
Jobs::Place Jobs::place_of(const ClusterState& state, Id job) {
  const Column<Id>& names = named(state.operations().text(&OperationColumns::partition, job));
  if (!several_.empty()) several_.erase(job);
  if (names.size() == 1) return place_in(state, job, names.front());
  std::vector<Place>& several = several_[job];
  for (const Id of : names) several.push_back(place_in(state, job, of));
  const std::span<const Id> slots = state.allocations_of(job);
  if (!slots.empty())
    for (const Place& place : several)
      if (has_all(place.partition, state, slots)) return place;
  return several.front();
}

void Jobs::read_nodes(const ClusterState& state) {
  const LiveTable<NodeColumns>& table = state.nodes();
  const Partitions& parts = set_.partitions;
  const Weights& w = set_.weights;
  nodes_ = table.in_order();
  stride_ = at(table.rows());
  node_of_partition_.assign(parts.size() * stride_, 0);
  for (Size p = 0; p < parts.size(); ++p) {
    std::uint8_t* row = node_of_partition_.data() + p * stride_;
    if (parts.all_nodes[p])
      for (const Id node : nodes_) row[node] = 1;
    else
      for (const std::string& name : parts.nodes[p])
        if (const Id node = table.find(name); node != kNoId) row[node] = 1;
  }
  node_weights_.clear();
  if (!set_.node_weights.empty()) node_weights_.assign(stride_, 1);
  for (const auto& [name, weight] : set_.node_weights)
    if (const Id node = table.find(name); node != kNoId) node_weights_[node] = weight;
  const Size measures = 1 + w.tres.size();
  capacity_.assign((parts.size() + 1) * measures, 0);
  quanta_.assign(measures, 1);
  if (!w.multifactor) return;
  for (Size m = 0; m < measures; ++m) {
    const Id resource = m == 0 ? w.cpu : w.tres_resource[m - 1];
    if (resource >= 0) quanta_[m] = state.tables().resources.quantum[resource];
    for (Size p = 0; p <= parts.size(); ++p) {
      Amount sum = 0;
      for (const Id node : nodes_)
        if (p == parts.size() || has_node(static_cast<Id>(p), node))
          sum += resource >= 0 ? state.node_capacity(node)[resource] : 1;
      capacity_[p * measures + m] = static_cast<double>(sum);
    }
  }
}

NodeChoice Jobs::node_choice(const ClusterState& state, Id job) const {
  NodeChoice choice;
  choice.weights = node_weights_;
  // Of entire nodes all is taken that is free.
  if (set_.whole_nodes || exclusive[job] != 0) return choice;
  const ResourceSpace& resources = state.tables().resources;
  const auto is = [&](Size r, ResourceKind kind) {
    return resources.scope[r] == ResourceScope::kNode && resources.kind[r] == kind;
  };
  bool devices = false;
  for (Size r = 0; r < state.width(); ++r) {
    for (const Id q : state.requests_of(job))
      if (const Amount* need = state.requests().get_row(&RequestColumns::resources, q))
        devices |= is(r, ResourceKind::kOther) && state.pending(q) > 0 && need[r] > 0;
    if (is(r, ResourceKind::kCpu))
      choice.step = std::max<Amount>(
          std::llround(static_cast<double>(rows_.cpus_per_task[job]) / resources.quantum[r]), 1);
  }
  choice.counts_taken = set_.rules.nodes_count_with_what_a_job_takes || devices;
  choice.first_for_one = set_.rules.one_node_is_the_first && rows_.max_nodes[job] <= 1;
  return choice;
}

// How much it asks for or has, and since when.
void Jobs::measure(const ClusterState& state, Id job) {
  const Size j = at(job), measures = 1 + set_.weights.tres.size();
  asks_[j] =
      std::ranges::any_of(state.requests_of(job), [&](Id q) { return state.pending(q) > 0; });
  started[j] = kNoTime;
  for (const Id slot : state.allocations_of(job)) {
    const Time start =
        state.allocations().get(&AllocationColumns::start_time, slot, state.last_start(slot));
    if (started[j] == kNoTime || start < started[j]) started[j] = start;
  }
  if (!set_.weights.multifactor) return;
  const Column<Id> slots = in_order(state.allocations(), state.allocations_of(job));
  const Column<Id> requests = in_order(state.requests(), state.requests_of(job));
  const Time accrue = rows_.accrue[job];
  since_[j] = accrue != kNoTime
                  ? accrue
                  : state.operations().get(&OperationColumns::start_time, job, kNoTime);
  double* amounts = amounts_.data() + j * measures;
  std::fill_n(amounts, measures, 0.0);
  const auto add = [&](const Amount* of, double times) {
    for (Size m = 0; of != nullptr && m < measures; ++m)
      if (const Id r = m == 0 ? set_.weights.cpu : set_.weights.tres_resource[m - 1]; r >= 0)
        amounts[m] += static_cast<double>(of[r]) * times;
  };
  double nodes = 0;
  Time longest = 0;
  const std::vector<ResourceScope>& scope = state.tables().resources.scope;
  for (const Id q : requests) {
    const Amount* need = state.requests().get_row(&RequestColumns::resources, q);
    const auto count = static_cast<double>(state.pending(q));
    add(need, count);
    for (Size r = 0; need != nullptr && r < scope.size(); ++r)
      if (scope[r] == ResourceScope::kNode && need[r] != 0) {
        nodes += count;
        break;
      }
    if (state.pending(q) > 0)
      longest = std::max(longest, state.requests().get(&RequestColumns::duration, q, kNoTime));
  }
  if (!asks_[j]) {
    Column<Id> on;
    for (const Id slot : slots) {
      add(state.amounts(slot), 1.0);
      if (state.node_of(slot) != kNoId) on.push_back(state.node_of(slot));
      const Time end = state.allocations().get(&AllocationColumns::planned_end, slot, kNoTime);
      if (end != kNoTime)
        longest = std::max(longest, end - state.allocations().get(&AllocationColumns::start_time,
                                                                  slot, state.last_start(slot)));
    }
    std::ranges::sort(on);
    nodes +=
        static_cast<double>(std::ranges::distance(on.begin(), std::unique(on.begin(), on.end())));
  }
  wide_[j] = nodes;
  const double limit = static_cast<double>(longest) / kMinute;
  minutes_[j] = limit > 0 ? std::max(limit, 1.0) : std::numeric_limits<double>::infinity();
}

void Jobs::derive(const ClusterState& state, Id job) {
  if (!state.operations().present(job)) return;
  measure(state, job);
  const Size j = at(job);
  const Place place = place_of(state, job);
  const Partitions& parts = set_.partitions;
  const Qualities& quality = set_.qualities;
  const bool by_qos = set_.type == PreemptType::kQos;
  const Size p = at(place.partition);
  const auto its =
      std::ranges::find(quality.names, state.operations().text(&OperationColumns::qos, job));
  const Id q = qos[j] =
      its == quality.names.end() ? kNoId : static_cast<Id>(its - quality.names.begin());
  settled_[j] = !state.allocations_of(job).empty();
  partition[j] = place.partition;
  tier[j] = parts.tier[p];
  rank[j] = !by_qos ? parts.tier[p] : q == kNoId ? 0 : quality.rank[q];
  mode[j] = !by_qos ? parts.mode[p] : q == kNoId ? set_.mode : quality.mode[q];
  if (mode[j] == PreemptMode::kSuspend && rows_.cancelled[job] != 0) mode[j] = PreemptMode::kCancel;
  grace[j] = !by_qos ? parts.grace[p] : q == kNoId ? 0 : quality.grace[q];
  exempt[j] = q != kNoId && quality.exempt[q] != kNoTime ? quality.exempt[q] : parts.exempt[p];
  const std::uint8_t own = rows_.requeue[job];
  requeue[j] = (own == JobRows::kAsCluster ? set_.requeue : own != 0) &&
               state.operations().get(&OperationColumns::kind, job) == OperationKind::kBatch;
  suspendable[j] = parts.suspendable[p];
  exclusive[j] = rows_.exclusive[job] != 0 || parts.exclusive[p] != 0;
  eligible[j] = rows_.eligible[job];
  const bool given =
      state.operations().get(&OperationColumns::priority_given, job, std::uint8_t{0}) != 0;
  own_[j] = given ? state.operations().get(&OperationColumns::priority, job, 0.0) : kNotKnown;
  if (!set_.weights.multifactor) {
    priority[j] = given ? own_[j] : 1.0;
    return;
  }
  share_unknown[j] = std::isnan(place.fair_share);
  put_factors(place, factors.data() + j * factor_count());
}

// All but the age.
void Jobs::put_factors(const Place& place, double* to) const {
  const Id q = qos[place.job];
  to[1] = known_or_0(place.assoc);
  to[2] = known_or_0(place.fair_share);
  to[3] = size(place.job);
  to[4] = set_.partitions.factor[place.partition];
  to[5] = q == kNoId ? 0.0 : set_.qualities.factor[q];
  for (Size t = 0; t < set_.weights.tres.size(); ++t) to[kFixedFactors + t] = part_of(t, place);
}

// Time since it was eligible, as a part of the oldest age that counts: of a job that runs, until it
// started.
double Jobs::age(const ClusterState& state, Id job) const {
  const Size j = at(job);
  if (since_[j] == kNoTime) return 0;
  return part_of_age((stands(job) ? started[j] : state.now()) - since_[j]);
}

double Jobs::part_of_age(Time age) const {
  return std::min(static_cast<double>(std::max<Time>(age, 0)) / 1e6 / set_.weights.max_age, 1.0);
}

// Whether its age does not grow any more.
bool Jobs::stands(Id job) const {
  return !asks_[job] && started[job] != kNoTime && !set_.weights.calculate_running;
}

void Jobs::put_factors(const Turn& turn, double* to) const {
  const double* const own = factors.data() + at(turn.job) * factor_count();
  std::copy_n(own, factor_count(), to);
  const auto several = several_.find(turn.job);
  if (several == several_.end() || turn.partition == partition[turn.job]) return;
  for (const Place& place : several->second)
    if (place.partition == turn.partition) put_factors(place, to);
}

Time Jobs::rises(const ClusterState& state, const Turn& turn, double to) const {
  const Size j = at(turn.job);
  if (!std::isnan(own_[j]) || since_[j] == kNoTime || stands(turn.job)) return kNoTime;
  Column<double> there(factor_count());
  put_factors(turn, there.data());
  const auto reached = [&](double age) {
    there[0] = age;
    return total(turn.job, there.data()) >= to;
  };
  if (!reached(1.0)) return kNoTime;
  // The sum that counts at an instant says it, to the microsecond.
  constexpr double kLongest = 1e18;
  Time before = state.now();
  Time after = since_[j] + static_cast<Time>(std::min(set_.weights.max_age * 1e6, kLongest)) + 1;
  while (after - before > 1) {
    const Time middle = before + (after - before) / 2;
    (reached(part_of_age(middle - since_[j])) ? after : before) = middle;
  }
  return after;
}

bool Jobs::stays_before(const Turn& turn, const Turn& behind) const {
  const Size a = at(turn.job), b = at(behind.job);
  const bool known = std::isnan(own_[a]) && since_[a] != kNoTime && !stands(turn.job);
  if (!known || !std::isnan(own_[b]) || since_[b] == kNoTime || since_[b] < since_[a]) return false;
  const Weights& w = set_.weights;
  Column<double> mine(factor_count()), its(factor_count());
  put_factors(turn, mine.data());
  put_factors(behind, its.data());
  const double fixed[kFixedFactors] = {0, w.assoc, w.fair_share, w.size, w.partition, w.qos};
  bool least = rows_.site[turn.job] - rows_.nice[turn.job] >=
               rows_.site[behind.job] - rows_.nice[behind.job];
  for (Size f = 1; f < factor_count(); ++f) {
    const double weight = f < kFixedFactors ? fixed[f] : w.tres[f - kFixedFactors];
    least &= weight * mine[f] >= weight * its[f];
  }
  return least;
}

// Part of the cluster's nodes and cpus.
double Jobs::size(Id job) const {
  const Weights& w = set_.weights;
  const Size j = at(job), measures = 1 + w.tres.size();
  if (nodes_.empty()) return 0;
  const double cpus = w.cpu == kNoId ? 0.0 : amounts_[j * measures];
  const double all_cpus = w.cpu == kNoId ? 0.0 : capacity_[set_.partitions.size() * measures];
  double of_nodes = std::max(wide_[j], 1.0) / static_cast<double>(nodes_.size());
  double of_cpus = all_cpus != 0 ? cpus / all_cpus : 0.0;
  double found = 0;
  if (w.relative_to_time) {
    found = std::max(of_nodes, of_cpus) / minutes_[j];
    if (w.small_first) found = 1 - found;
  } else {
    if (w.small_first) {
      of_nodes = 1 - of_nodes;
      of_cpus = 1 - of_cpus;
    }
    found = cpus > 0 ? (of_nodes + of_cpus) / 2 : of_nodes;
  }
  return std::min(std::max(found, 0.0), 1.0);
}

// Part of what its partition has.
double Jobs::part_of(Size t, const Place& place) const {
  const Weights& w = set_.weights;
  const Size measures = 1 + w.tres.size();
  if (w.tres_resource[t] == Weights::kUnknown) return 0;
  const double amount =
      w.tres_resource[t] == kNoId ? wide_[place.job] : amounts_[at(place.job) * measures + 1 + t];
  if (w.plain_tres) return amount * quanta_[1 + t];
  const double of = capacity_[at(place.partition) * measures + 1 + t];
  return of > 0 ? std::min(amount / of, 1.0) : 0.0;
}

double Jobs::total(Id job, const double* of) const {
  constexpr double kHighest = 4294967295.0;
  const Weights& w = set_.weights;
  if (!std::isnan(own_[job])) return own_[job];
  const double fixed[kFixedFactors] = {w.age, w.assoc, w.fair_share, w.size, w.partition, w.qos};
  double sum = 0;
  for (Size f = 0; f < kFixedFactors; ++f) sum += fixed[f] * of[f];
  for (Size t = 0; t < w.tres.size(); ++t) sum += w.tres[t] * of[kFixedFactors + t];
  sum = sum + rows_.site[job] - rows_.nice[job];
  return std::min(std::max(std::trunc(sum), 1.0), kHighest);
}

void Jobs::add_turns(Id job, std::vector<Turn>& to) const {
  if (!in_several(job)) return;
  Column<double> there(factor_count());
  for (const Place& place : std::span(several_.at(job)).subspan(1)) {
    double its = priority[job];
    if (set_.weights.multifactor) {
      put_factors(place, there.data());
      there[0] = factors[at(job) * factor_count()];
      its = total(job, there.data());
    }
    const Size p = at(place.partition);
    const bool whole = rows_.exclusive[job] != 0;
    to.push_back({job, place.partition, set_.partitions.tier[p], its,
                  static_cast<std::uint8_t>(whole || set_.partitions.exclusive[p] != 0)});
  }
}

void Jobs::update(const ClusterState& state) {
  const Size count = at(state.operations().rows());
  const bool multifactor = set_.weights.multifactor;
  const auto grow = [&]<class... T>(Column<T>&... columns) { (columns.resize(count), ...); };
  for (Size j = partition.size(); j < count; ++j) touch(static_cast<Id>(j));
  grow(partition, qos, tier, rank, priority, mode, grace, exempt, requeue, suspendable, exclusive,
       eligible, started, share_unknown, own_, asks_, settled_);
  if (multifactor) {
    grow(since_, wide_, minutes_);
    factors.resize(count * factor_count());
    amounts_.resize(count * (1 + set_.weights.tres.size()));
  }
  if (std::exchange(nodes_touched_, false)) {
    read_nodes(state);
    all_ = true;
  }
  if (std::exchange(all_, false)) {
    for (Size j = 0; j < count; ++j) derive(state, static_cast<Id>(j));
    changed_.all = true;
  } else {
    for (const Id job : touched_) derive(state, job);
    if (!changed_.all) changed_.jobs.insert(changed_.jobs.end(), touched_.begin(), touched_.end());
  }
  for (const Id job : touched_) is_touched_[job] = 0;
  touched_.clear();
  for (Size j = 0; multifactor && j < count; ++j) {
    const auto job = static_cast<Id>(j);
    double* mine = factors.data() + j * factor_count();
    if (!state.operations().present(job)) continue;
    mine[0] = age(state, job);
    priority[j] = total(job, mine);
  }
}

}  // namespace evenhand::slurm
