// Samples of pools, and spells of starvation.
#include <algorithm>

#include "evenhand/sim/engine.h"

namespace evenhand::sim {
namespace {

constexpr Time kLonger = 4;

// The largest part of a resource.
double dominant(const Amount* amounts, const Column<Amount>& total) noexcept {
  double most = 0;
  for (std::size_t r = 0; r < total.size(); ++r)
    if (total[r] > 0)
      most = std::max(most, static_cast<double>(amounts[r]) / static_cast<double>(total[r]));
  return most;
}

}  // namespace

// Of all instants before another, as things are until then.
void Engine::sample(Time until) {
  if (options_.series_every <= 0 || sample_time(sampled_) >= until) return;
  const PoolColumns& pools = state_->pools();
  const Id count = static_cast<Id>(pools.size());
  const Column<Amount>& total = state_->total();
  const FairShareResult* shares = planner_->shares().result;
  const auto fair = [&](std::size_t element) {
    if (shares == nullptr || (element + 1) * width_ > shares->total.size()) return 0.0;
    const double* its = shares->total.row(static_cast<Id>(element), width_);
    return *std::max_element(its, its + width_);
  };
  const std::span<const Starvation> starvation = planner_->starvation();
  pool_running_.assign(at(count), 0);
  pool_waiting_.assign(at(count), 0);
  pool_starving_.assign(at(count), 0);
  pool_demand_.assign(at(count) * width_, 0);
  Column<Amount> wanted(width_);
  for (Id o = 0; o < state_->operations().rows(); ++o) {
    if (!state_->operations().present(o)) continue;
    const Id pool = state_->pool_of(o);
    for (const Id slot : state_->allocations_of(o)) pool_running_[pool] += !state_->away(slot);
    for (const Id q : state_->requests_of(o)) pool_waiting_[pool] += state_->pending(q);
    const auto e = at(count + o);
    pool_starving_[pool] += e < starvation.size() && starvation[e] != Starvation::kNonStarving;
    state_->demand(o, wanted.data());
    Amount* sum = pool_demand_.row(pool, width_);
    for (std::size_t r = 0; r < width_; ++r) sum[r] += wanted[r];
    if (owners_[o].source == kNoId) continue;
    const double due = std::min(fair(e), dominant(wanted.data(), total));
    const double lacks = std::max(0.0, due - dominant(state_->operation_usage(o), total));
    lack(owners_[o].source, lacks);
  }
  for (auto p = pools.top_down.rbegin(); p != pools.top_down.rend(); ++p) {
    const Id parent = pools.parent[*p];
    if (parent == kNoId) continue;
    pool_running_[parent] += pool_running_[*p];
    pool_waiting_[parent] += pool_waiting_[*p];
    pool_starving_[parent] += pool_starving_[*p];
    for (std::size_t r = 0; r < width_; ++r)
      pool_demand_.row(parent, width_)[r] += pool_demand_.row(*p, width_)[r];
  }
  SeriesLog& log = log_.series;
  const bool first = pool_sample_.empty();
  pool_sample_.resize(at(count));
  for (Id p = 0; p < count; ++p) {
    const PoolSample found{dominant(state_->pool_usage(p), total),
                           fair(at(p)),
                           dominant(pool_demand_.row(p, width_), total),
                           dominant(pools.strong_guarantee.row(p, width_), total),
                           pool_starving_[p],
                           pool_running_[p],
                           pool_waiting_[p]};
    if (!first && found == pool_sample_[p]) continue;
    pool_sample_[p] = found;
    log.sample.push_back(sampled_);
    log.pool.push_back(p);
    log.values.push_back(found);
  }
  sampled_ = samples_before(until);
}

// After each so many samples the next so many are four times as far from each other, so that a run
// of whatever length has few.
Time Engine::sample_time(Index sample) const noexcept {
  const Index each = options_.series_evenly;
  Time time = begin_, every = options_.series_every;
  for (; each > 0 && sample > each; sample -= each, every *= kLonger) time += each * every;
  return time + sample * every;
}

Index Engine::samples_before(Time until) const noexcept {
  const Index each = options_.series_evenly;
  Time time = begin_, every = options_.series_every;
  Index before = 0;
  for (; each > 0 && (until - time) / every >= each; before += each, every *= kLonger)
    time += each * every;
  return before + (until - time + every - 1) / every;
}

Column<Time> Engine::sampled() const {
  Column<Time> times(at(sampled_));
  for (std::size_t i = 0; i < times.size(); ++i) times[i] = sample_time(static_cast<Index>(i));
  return times;
}

// From the next sample on. What it lacked before is added up as one product, so that the sum is the
// same however many instants were passed over.
void Engine::lack(Id operation, double lacks) {
  Lacks& l = lacks_[operation];
  if (lacks == l.share) return;
  log_.operations.shortfall[operation] += lacked(operation);
  l = {lacks, sampled_};
}

double Engine::lacked(Id operation) const {
  const Lacks& l = lacks_[operation];
  const Time micros = sample_time(sampled_) - sample_time(l.since);
  return l.share * (static_cast<double>(micros) / static_cast<double>(kMicrosecondsPerSecond));
}

Column<double> Engine::shortfall() const {
  Column<double> out = log_.operations.shortfall;
  for (Id o = 0; o < out.rows(); ++o) out[o] += lacked(o);
  return out;
}

// An update has said which elements starve.
void Engine::note_spells() {
  const std::span<const Starvation> now = planner_->starvation();
  const auto pools = static_cast<Id>(state_->pools().size());
  if (level_.size() < now.size()) {
    level_.resize(now.size(), Starvation::kNonStarving);
    spell_.resize(now.size(), kNoId);
  }
  const auto note = [&](Id e) {
    if (now[at(e)] != level_[e]) set_level(e, now[at(e)], pools);
  };
  const Column<Id>* const changed = planner_->starvation_changed();
  if (changed == nullptr) {
    for (Id e = 0; at(e) < now.size(); ++e) note(e);
    return;
  }
  starvation_changed_ = *changed;
  std::ranges::sort(starvation_changed_);
  for (const Id e : starvation_changed_) note(e);
}

void Engine::set_level(Id element, Starvation level, Id pools) {
  SpellLog& log = log_.spells;
  if (const Id spell = std::exchange(spell_[element], kNoId); spell != kNoId)
    log.until[spell] = now_;
  level_[element] = level;
  if (level == Starvation::kNonStarving) return;
  spell_[element] = log.from.rows();
  log.pool.push_back(element < pools ? element : kNoId);
  log.operation.push_back(element < pools ? kNoId : owners_[element - pools].source);
  log.from.push_back(now_);
  log.until.push_back(kNoTime);
  log.level.push_back(level);
}

}  // namespace evenhand::sim
