// Grid Engine's scheduling runs as a planner, with preemption as its description has it.
//
// Source: Univa Grid Engine, sge_preemption: consumers, providers, six actions, manual requests,
// reservations; what is announced there only, semi-automatic and automatic triggers, as this
// library reads it.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "evenhand/policy/gridengine/settings.h"
#include "evenhand/policy/planner.h"
#include "evenhand/policy/reports.h"

namespace evenhand::gridengine {

// What outlives a plan: requests that were accepted, and how jobs were preempted.
struct Memory {
  // Jobs by name, which may have gone and may come again, each of an operation.
  struct Named {
    Column<RowName> names;
    Column<Id> of;

    void add(RowName name, Id whose) {
      names.push_back(std::move(name));
      of.push_back(whose);
    }
    void drop(Id whose);
    void come(Id row, Id instead_of);
  };

  Beside<Asked> asked = Absent(Asked::kNothing);          // O: for a consumer
  Beside<std::uint8_t> forced = Absent(std::uint8_t{0});  // O
  Beside<std::uint8_t> state = Absent(std::uint8_t{0});   // O: JobState of preemptees
  Named providers;                                        // in order, of consumers
  Named preempted_for;  // preemptors that have not started yet, of preemptees
  VictimTimes victims{};

  void drop_requests();
  void replace(Id consumer, Asked how, bool by_force, Column<RowName> named);
  // An operation came, in the place of another one or of none (kNoId).
  void come(Id operation, Id instead_of);
};

// Everything that decisions follow from.
struct Inputs {
  Snapshot snapshot;
  Settings settings;
  RowSettings rows;
  Memory memory;
};

struct Tally {
  Index starts = 0, resumes = 0, victims = 0, jobs = 0, reservations = 0;
};

class Run;

class Planner final : public evenhand::Planner, public Reports {
 public:
  explicit Planner(Inputs inputs);
  // Follows a living cluster.
  Planner(Inputs inputs, std::shared_ptr<ClusterState> state, bool total_stated);
  ~Planner() override;

  RowSettings& rows() noexcept { return inputs_.rows; }

  void update(Time now, bool) override { state_.advance(now); }
  void decide(const Trigger& trigger, Recorder* recorder = nullptr) override;
  bool report(Recorder& recorder) override;
  void after(const Delta& delta, Id row) override;

  const Decisions& decisions() const override { return decisions_; }
  Counts counts() const override;
  Refusals refusals() const override { return refusals_; }
  Time next_due() const override { return next_due_; }
  Columns elements() const override;
  Columns memory() const override;
  std::unique_ptr<evenhand::Planner> afresh() const override;
  std::shared_ptr<evenhand::Planner> copy(std::shared_ptr<ClusterState> state) const override;

  // One scheduling run of several clusters that share licences: of jobs that wait, the one of the
  // highest priority is served first, wherever it is. `runs`: by planner; what has licences in the
  // other clusters counts.
  static void decide_together(std::span<Planner* const> planners, View<const std::uint8_t> runs);

 private:
  // All that were planned together, so that one can be planned again.
  struct Group {
    std::vector<Inputs> inputs;
    Column<std::uint8_t> runs;
  };
  void take_over(Run& run, Recorder* recorder);
  void decide_again(Recorder* recorder);
  static void run_together(std::span<Planner* const> planners, View<const std::uint8_t> runs,
                           std::size_t recorded, Recorder* recorder);

  Inputs inputs_;
  std::shared_ptr<const Group> group_;  // null: planned by itself
  std::size_t place_ = 0;               // in it
  Pace pace_{inputs_.settings.pace, state_, inputs_.memory.victims};
  Memory memory_{inputs_.memory};  // as the last trigger left it
  Decisions decisions_;
  Tally tally_;
  Refusals refusals_;
  Column<std::uint8_t> states_;  // O: JobState after the plan
  Time next_due_ = kNoTime;
  Memory recorded_from_;           // what the recorded run began with
  std::unique_ptr<Run> recorded_;  // the last one, if a request of it was followed
};

}  // namespace evenhand::gridengine
