#include "evenhand/policy/yunikorn/planner.h"

#include <algorithm>
#include <utility>

#include "asks.h"
#include "cycles.h"
#include "evenhand/policy/yunikorn/rounds.h"

namespace evenhand::yunikorn {
Planner::Planner(Inputs inputs)
    : evenhand::Planner(ClusterState(inputs.snapshot, inputs.rows.taken)),
      inputs_(std::move(inputs)),
      asks_(inputs_.asks),
      over_quota_since_(inputs_.over_quota_since),
      rounds_(std::make_unique<Rounds>()),
      attempts_(std::make_unique<Attempts>()) {}

Planner::Planner(Inputs inputs, std::shared_ptr<ClusterState> state, bool total_stated)
    : evenhand::Planner(std::move(state)),
      inputs_(std::move(inputs)),
      asks_(inputs_.asks),
      over_quota_since_(inputs_.over_quota_since),
      rounds_(std::make_unique<Rounds>()),
      attempts_(std::make_unique<Attempts>()) {
  if (!total_stated) state_.follow_total();
  for (const ClusterState::TakenRoom& t : inputs_.rows.taken)
    state_.set_taken(t.allocation, t.amounts);
}

Planner::~Planner() = default;

// What is read of the rows is read again; the copied state knows which room was taken.
std::shared_ptr<evenhand::Planner> Planner::copy(std::shared_ptr<ClusterState> state) const {
  Inputs inputs = inputs_;
  inputs.rows.taken.clear();
  auto out = std::make_shared<Planner>(std::move(inputs), std::move(state), true);
  out->asks_ = asks_;
  out->over_quota_since_ = over_quota_since_;
  out->pace_ = pace_;
  *out->rounds_ = *rounds_;
  *out->attempts_ = *attempts_;
  out->next_due_ = next_due_;
  return out;
}

void Planner::read() {
  if (partition_ == nullptr)
    partition_ = std::make_unique<Partition>(state_, inputs_.settings);
  else
    partition_->follow(state_, inputs_.settings);
  stale_ = false;
}

void Planner::update(Time now, bool) {
  state_.advance(now);
  // Room that is kept for others has its times.
  if (stale_ || partition_ == nullptr || state_.reservations().rows() > 0) return read();
  partition_->grow_older();
}

void Planner::before(const Delta& delta) {
  if (partition_ != nullptr) partition_->before(state_, delta);
}

// A row that comes has the defaults, whatever was remembered of one with its number; one that only
// stands elsewhere in the order is the same ask as before. Of an ask of which none waits any more
// nothing is remembered.
void Planner::after(const Delta& delta, Id row) {
  stale_ = true;
  if (partition_ != nullptr) partition_->after(state_, delta, row);
  const auto came = [&](Id request, Id instead_of) {
    asks_.come(request, instead_of);
    rounds_->come(request, instead_of);
    attempts_->come(request, instead_of);
  };
  if (delta.kind == Delta::Kind::kPending && delta.count == 0) came(delta.row, kNoId);
  if (delta.kind == Delta::Kind::kPutRequest) inputs_.rows.put_requests({&row, 1}, {});
  if (delta.kind == Delta::Kind::kStart || delta.kind == Delta::Kind::kStartRow)
    inputs_.rows.put_allocations({&row, 1}, {});
  if (delta.row != kNoId) return;
  if (delta.kind == Delta::Kind::kPutRequest) came(row, delta.before);
  if (delta.kind == Delta::Kind::kPutOperation) {
    inputs_.last_preempt.come(row, delta.before);
    pace_.come(row, delta.before);
  }
}

void Planner::passed(Id, Time first, Time period, Time last) {
  rounds_->pass((last - first) / period + 1, asks_);
  attempts_->pass(first, period, last, asks_);
}

// Since when pools have used more than their max.
void Planner::watch_quotas() {
  over_quota_since_.resize(at(state_.pools().size()), kNoTime);
  for (Id p = 1; p < state_.pools().size(); ++p) {
    if (state_.pools().limits_given[p] == 0) {
      over_quota_since_[p] = kNoTime;
      continue;
    }
    const Resource most =
        given(state_.pools().limits.row(p, state_.width()), state_.pools().limits_given[p]);
    const Resource used = add(dense(partition_->usage.row(p, state_.width()), state_.width()),
                              dense(partition_->leaving.row(p, state_.width()), state_.width()));
    const bool within = !most.any() || existing_at_least(most, used);
    if (within)
      over_quota_since_[p] = kNoTime;
    else if (over_quota_since_[p] == kNoTime)
      over_quota_since_[p] = state_.now();
  }
}

// When the max of a queue that uses more is enforced, of those after an instant the first; kNoTime:
// never.
Time Planner::quota_due(Time after) const {
  Time out = kNoTime;
  for (Id p = 1; p < over_quota_since_.rows(); ++p) {
    const Time delay = at_or(inputs_.rows.quota_delay, p, Time{0});
    const bool enforced = delay > 0 && at_or(inputs_.rows.managed, p, std::uint8_t{1}) != 0;
    if (!enforced || over_quota_since_[p] == kNoTime) continue;
    const Time due = over_quota_since_[p] + delay;
    if (due > after && (out == kNoTime || due < out)) out = due;
  }
  return out;
}

void Planner::decide(const Trigger& trigger, Recorder* recorder) {
  if (stale_) read();
  watch_quotas();
  pace_.begin(state_);
  AskMemory before;
  Pace paced;
  if (recorder != nullptr) {
    before = asks_;
    paced = pace_;
  }
  // Without a name, as at a tick of a simulation, all cycles follow one another.
  const bool only_quotas = trigger.cycle == "quota";
  const bool quotas = inputs_.settings.quota_enabled && (only_quotas || trigger.cycle.empty());
  // Whether rounds that decide nothing are known of. Room that is kept for others has its times.
  const bool per_ask = inputs_.settings.per_ask;
  const bool repeats = trigger.every != kNoTime && recorder == nullptr && trigger.cycle.empty() &&
                       (per_ask ? inputs_.settings.retry > 0 : state_.reservations().rows() == 0);
  Time asked_again = kNoTime;
  const bool tells = trigger.tells || recorder != nullptr;
  const auto keep = [&](auto& run) {
    refusals_ = tells || !repeats ? run.refusals() : Refusals{};
    decisions_ = std::move(run.decisions);
    handed_ = std::move(run.handed);
    tally_ = run.tally;
  };
  const Rounds before_this = std::exchange(*rounds_, {});
  const Attempts attempts_before = std::exchange(*attempts_, {});
  const Time enforced = quotas ? quota_due(kNoTime) : kNoTime;
  const bool enforces = enforced != kNoTime && enforced <= state_.now();
  if (repeats && !tells && !enforces && partition_->asks.empty() && !inputs_.settings.shotgun) {
    decisions_ = Decisions(state_.width());  // nothing waits
    handed_.clear();
    tally_ = {};
    refusals_ = {};
  } else if (per_ask || only_quotas) {
    Asks run(state_, *partition_, inputs_, asks_, pace_, recorder);
    run.tells = tells;
    if (!only_quotas) run.passes();
    if (quotas) run.quotas(over_quota_since_);
    if (repeats && run.decisions.rows().empty()) asked_again = run.due(*attempts_);
    keep(run);
  } else {
    Cycles run(state_, *partition_, inputs_, asks_, pace_, recorder);
    run.tells = tells;
    if (trigger.cycle != "preemption") run.allocation();  // a round is both
    if (trigger.cycle != "allocation") inputs_.settings.shotgun ? run.shotgun() : run.preemption();
    if (repeats && run.decisions.rows().empty())
      rounds_->begin(run.in_vain(), inputs_.settings.n_alloc, inputs_.settings.longest_wait);
    if (enforces) {
      Asks more(state_, *partition_, inputs_, asks_, pace_, recorder, &run);
      more.quotas(over_quota_since_);
      keep(more);
    } else {
      keep(run);
    }
  }
  if (!decisions_.rows().empty()) rounds_->clear();
  if (recorder != nullptr) {
    asks_ = std::move(before);
    pace_ = std::move(paced);
    *rounds_ = before_this;
    *attempts_ = attempts_before;
  }
  next_due_ = state_.now();  // waits count cycles: each may decide something else
  if (decisions_.rows().empty() && (only_quotas || repeats || refusals_.request.empty())) {
    const auto earlier = [&](Time due) {
      if (due != kNoTime && (next_due_ == kNoTime || due < next_due_)) next_due_ = due;
    };
    next_due_ = pace_.due();
    if (quotas) earlier(quota_due(state_.now()));
    earlier(asked_again);
    if (const std::int64_t rounds = repeats && !per_ask ? rounds_->in_vain() : -1; rounds >= 0)
      earlier(state_.now() + (rounds + 1) * trigger.every);
  }
  const bool by_surplus = inputs_.settings.shotgun && !per_ask;
  if (only_quotas || (by_surplus && trigger.cycle == "preemption"))
    refusals_ = {};  // it looks at no ask
}

QueueShares queue_shares(const Inputs& inputs) {
  const ClusterState state(inputs.snapshot, inputs.rows.taken);
  Settings settings = inputs.settings;
  settings.per_ask = false;
  const Partition partition(state, settings);
  const Shares shares = ideal_shares(partition, partition.usage, partition.pending);
  const auto cells = static_cast<std::ptrdiff_t>(at(state.pools().size()) * partition.width);
  const auto of_pools = [&](const Column<Amount>& from) {
    return Column<Amount>(from.begin(), from.begin() + cells);
  };
  QueueShares out{
      of_pools(partition.owed), of_pools(partition.usage), of_pools(partition.pending), {}};
  for (std::ptrdiff_t cell = 0; cell < cells; ++cell) {
    const Part& part = shares.part[static_cast<std::size_t>(cell)];
    out.ideal.push_back(static_cast<double>(part.num) / static_cast<double>(part.den));
  }
  return out;
}

Counts Planner::counts() const {
  return {{"cycle.rounds", tally_.rounds},  {"cycle.asks", tally_.asks},
          {"cycle.started", tally_.starts}, {"cycle.victims", tally_.victims},
          {"cycle.failed", tally_.failed},  {"cycle.attempts", tally_.attempts}};
}

Columns Planner::memory() const {
  const std::size_t asks = at(state_.requests().rows());
  Column<Time> since = over_quota_since_;
  since.resize(at(state_.pools().size()), kNoTime);
  Columns out{{"over_quota_since", std::move(since)},
              {"last_preempt", inputs_.last_preempt.column(at(state_.operations().rows()))},
              {"missed", asks_.missed.column(asks)},
              {"wait", asks_.wait.column(asks)},
              {"last_attempt", asks_.last_attempt.column(asks)},
              {"triggered", asks_.triggered.column(asks)}};
  put_victims(out, pace_.memory(state_));
  return out;
}

}  // namespace evenhand::yunikorn
