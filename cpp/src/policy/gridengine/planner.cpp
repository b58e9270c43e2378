#include "evenhand/policy/gridengine/planner.h"

#include <algorithm>

#include "run.h"

namespace evenhand::gridengine {
void Memory::Named::drop(Id whose) {
  Named left;
  for (std::size_t i = 0; i < of.size(); ++i)
    if (of[i] != whose) left.add(std::move(names[i]), of[i]);
  *this = std::move(left);
}

void Memory::Named::come(Id row, Id instead_of) {
  drop(row);
  if (instead_of != kNoId) std::ranges::replace(of, instead_of, row);
}

void Memory::drop_requests() {
  asked.clear();
  forced.clear();
  providers = {};
}

void Memory::replace(Id consumer, Asked how, bool by_force, Column<RowName> named) {
  asked.set(consumer, how);
  forced.set(consumer, by_force);
  providers.drop(consumer);
  for (RowName& name : named) providers.add(std::move(name), consumer);
}

void Memory::come(Id operation, Id instead_of) {
  asked.come(operation, instead_of);
  forced.come(operation, instead_of);
  state.come(operation, instead_of);
  providers.come(operation, instead_of);
  preempted_for.come(operation, instead_of);
}

Planner::Planner(Inputs inputs)
    : evenhand::Planner(ClusterState(inputs.snapshot)), inputs_(std::move(inputs)) {}

Planner::Planner(Inputs inputs, std::shared_ptr<ClusterState> state, bool total_stated)
    : evenhand::Planner(std::move(state)), inputs_(std::move(inputs)) {
  if (!total_stated) state_.follow_total();
}

Planner::~Planner() = default;

std::shared_ptr<evenhand::Planner> Planner::copy(std::shared_ptr<ClusterState> state) const {
  auto out = std::make_shared<Planner>(inputs_, std::move(state), true);
  out->pace_ = pace_;
  out->memory_ = memory_;
  out->next_due_ = next_due_;
  return out;
}

// An allocation that comes has the defaults, whatever was said of one with its number; what an
// operation sets is always handed over.
void Planner::after(const Delta& delta, Id row) {
  if (delta.row != kNoId && delta.kind != Delta::Kind::kStart) return;
  if (delta.kind == Delta::Kind::kPutOperation) {
    memory_.come(row, delta.before);
    pace_.come(row, delta.before);
  } else if (delta.kind == Delta::Kind::kStart || delta.kind == Delta::Kind::kStartRow) {
    inputs_.rows.put_allocations({&row, 1}, {});
  }
}

void Planner::take_over(Run& run, Recorder* recorder) {
  if (recorder != nullptr) run.report(*recorder);
  refusals_ = run.refusals();
  states_ = run.states();
  decisions_ = recorder != nullptr ? run.decisions : std::move(run.decisions);
  tally_ = run.tally;
  next_due_ = run.next_due;
  if (const Time paced = pace_.due();
      next_due_ == kNoTime || (paced != kNoTime && paced < next_due_))
    next_due_ = paced;
  if (!decisions_.rows().empty()) next_due_ = state_.now();
  memory_ = std::move(run.memory);
}

std::unique_ptr<evenhand::Planner> Planner::afresh() const {
  auto out = std::make_unique<Planner>(inputs_);
  out->group_ = group_;
  out->place_ = place_;
  return out;
}

void Planner::decide(const Trigger& trigger, Recorder* recorder) {
  recorded_.reset();
  if (group_ != nullptr) return decide_again(recorder);
  if (recorder != nullptr) recorded_from_ = memory_;
  recorded_ = std::make_unique<Run>(inputs_, recorder != nullptr ? recorded_from_ : memory_, state_,
                                    pace_, recorder);
  Run& run = *recorded_;
  run.tells = trigger.tells || recorder != nullptr;
  if (trigger.kind == Trigger::Kind::kCommands)
    run.accept(trigger.commands);
  else
    run.go();
  take_over(run, recorder);
  if (recorder == nullptr || recorder->request == kNoId) recorded_.reset();
}

// Of allocations a run notes only what it was asked for.
bool Planner::report(Recorder& recorder) {
  if (recorded_ == nullptr || recorder.request == kNoId) return false;
  recorded_->report(recorder);
  return true;
}

Counts Planner::counts() const {
  return {{"scheduling_run.started", tally_.starts},
          {"scheduling_run.resumed", tally_.resumes},
          {"scheduling_run.victims", tally_.victims},
          {"scheduling_run.preempted_jobs", tally_.jobs},
          {"scheduling_run.reservations", tally_.reservations}};
}

Columns Planner::elements() const {
  if (states_.empty()) return {};
  Column<std::uint8_t> all(at(state_.pools().size()), 0);
  all.insert(all.end(), states_.begin(), states_.end());
  return {{"job_state", std::move(all)}};
}

Columns Planner::memory() const {
  const std::size_t operations = at(state_.operations().rows());
  Columns out{{"requested", codes(memory_.asked.column(operations))},
              {"forced", memory_.forced.column(operations)},
              {"preempted_as", memory_.state.column(operations)},
              {"providers", memory_.providers.names},
              {"providers_of", memory_.providers.of},
              {"preempted_for", memory_.preempted_for.names},
              {"preempted_for_of", memory_.preempted_for.of}};
  put_victims(out, pace_.memory(state_));
  return out;
}

void Planner::decide_together(std::span<Planner* const> planners, View<const std::uint8_t> runs) {
  auto group = std::make_shared<Group>();
  group->runs.assign(runs.begin(), runs.end());
  for (const Planner* p : planners) group->inputs.push_back(p->inputs_);
  run_together(planners, runs, planners.size(), nullptr);
  for (std::size_t i = 0; i < planners.size(); ++i) {
    if (runs[i] == 0) continue;
    planners[i]->group_ = group;
    planners[i]->place_ = i;
  }
}

void Planner::decide_again(Recorder* recorder) {
  std::vector<std::unique_ptr<Planner>> others;
  std::vector<Planner*> all;
  for (std::size_t i = 0; i < group_->inputs.size(); ++i)
    if (i == place_)
      all.push_back(this);
    else
      all.push_back(others.emplace_back(std::make_unique<Planner>(group_->inputs[i])).get());
  run_together(all, group_->runs, place_, recorder);
}

void Planner::run_together(std::span<Planner* const> planners, View<const std::uint8_t> serves,
                           std::size_t recorded, Recorder* recorder) {
  std::vector<std::unique_ptr<Run>> runs;
  for (std::size_t i = 0; i < planners.size(); ++i) {
    Planner* p = planners[i];
    runs.push_back(std::make_unique<Run>(p->inputs_, p->memory_, p->state_, p->pace_,
                                         i == recorded ? recorder : nullptr));
    if (serves[i] != 0) runs.back()->begin();
  }
  // Managed licences by name: where each cluster's stand in each other one's resources.
  const auto names = [&](std::size_t from, std::size_t to) {
    const ResourceSpace& a = planners[from]->state_.tables().resources;
    const ResourceSpace& b = planners[to]->state_.tables().resources;
    const Column<std::uint8_t>&mine = planners[from]->inputs_.settings.managed,
          &its = planners[to]->inputs_.settings.managed;
    Column<Id> out(a.quantum.size(), kNoId);
    for (Id r = 0; r < static_cast<Id>(a.quantum.size()); ++r)
      for (Id s = 0; s < static_cast<Id>(b.quantum.size()); ++s)
        if (!mine.empty() && mine[r] != 0 && !its.empty() && its[s] != 0 &&
            a.names[r] == b.names[s])
          out[r] = s;
    return out;
  };
  const auto each_other = [&](std::size_t i, auto&& act) {
    for (std::size_t j = 0; j < runs.size(); ++j)
      if (j != i && serves[j] != 0) act(j, names(i, j));
  };
  for (std::size_t i = 0; i < runs.size(); ++i)
    each_other(i,
               [&](std::size_t j, const Column<Id>& to) { runs[j]->uses_elsewhere(*runs[i], to); });
  for (;;) {
    std::size_t first = runs.size();
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (runs[i]->left() > 0 && (first == runs.size() || runs[i]->next_is_before(*runs[first])))
        first = i;
    if (first == runs.size()) break;
    runs[first]->serve_next();
    each_other(first, [&](std::size_t j, const Column<Id>& to) {
      for (const Claim& c : runs[first]->claims) runs[j]->claimed_elsewhere(c, to, 1);
    });
    runs[first]->claims.clear();
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (serves[i] == 0) continue;
    runs[i]->finish();
    planners[i]->take_over(*runs[i], i == recorded ? recorder : nullptr);
  }
}

}  // namespace evenhand::gridengine
