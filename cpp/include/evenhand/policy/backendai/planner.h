// Backend.AI's scheduling runs as a planner: one run over a resource group's queue a trigger. No
// clock, no file, no random source.
//
// Source: Backend.AI, proposal on preemption of low-priority sessions, and the planner of
// release 26.8; which of both is a matter of settings.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "evenhand/policy/backendai/settings.h"
#include "evenhand/policy/planner.h"
#include "evenhand/policy/reports.h"

namespace evenhand::backendai {

// Everything that decisions follow from.
struct Inputs {
  Snapshot snapshot;
  Settings settings;
  RowSettings rows;
  Beside<Time> last_preempt = Absent(kNoTime);  // O: of other policies' memory, handed on
  VictimTimes victims{};
};

// What a run did.
struct Tally {
  Index starts = 0, resumes = 0, victims = 0, sessions = 0, reservations = 0;
  SelectionProof proof;  // summed over the sessions that preempt
};

class Run;

class Planner final : public evenhand::Planner, public Reports {
 public:
  explicit Planner(Inputs inputs);
  // Follows a living cluster.
  Planner(Inputs inputs, std::shared_ptr<ClusterState> state, bool total_stated);
  ~Planner() override;

  // Settings of operations that came later, a cell each.
  void rows_came(std::span<const Id> rows, const RowSettings& cells) {
    inputs_.rows.put(rows, cells);
  }

  void update(Time now, bool) override { state_.advance(now); }
  void decide(const Trigger& trigger, Recorder* recorder = nullptr) override;
  bool report(Recorder& recorder) override;
  void after(const Delta& delta, Id row) override;

  const Decisions& decisions() const override { return decisions_; }
  Counts counts() const override;
  Refusals refusals() const override { return refusals_; }
  Time next_due() const override { return next_due_; }
  Columns memory() const override {
    Columns out{{"last_preempt", inputs_.last_preempt.column(at(state_.operations().rows()))}};
    put_victims(out, pace_.memory(state_));
    return out;
  }
  std::unique_ptr<evenhand::Planner> afresh() const override {
    return std::make_unique<Planner>(inputs_);
  }
  std::shared_ptr<evenhand::Planner> copy(std::shared_ptr<ClusterState> state) const override {
    auto out = std::make_shared<Planner>(inputs_, std::move(state), true);
    out->pace_ = pace_;
    out->next_due_ = next_due_;
    return out;
  }

 private:
  Inputs inputs_;
  Pace pace_{inputs_.settings.pace, state_, inputs_.victims};  // from run to run
  Decisions decisions_;
  Tally tally_;
  Refusals refusals_;
  Time next_due_ = kNoTime;
  std::unique_ptr<Run> recorded_;  // the last one, if it was recorded
};

}  // namespace evenhand::backendai
