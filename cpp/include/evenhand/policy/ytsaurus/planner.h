// YTsaurus' preemption as a planner: updates, and heartbeats between them. No clock, no file,
// no random source.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "evenhand/policy/planner.h"
#include "evenhand/policy/ytsaurus/workspace.h"

namespace evenhand::ytsaurus {

// Everything that decisions follow from, beside the trigger.
struct Inputs {
  Snapshot snapshot;
  Settings settings;
  RowSettings rows;
  Given given;
  Memory memory;
  bool has_volumes = false;
  VolumeMemory volumes;
};

class Planner final : public evenhand::Planner {
 public:
  explicit Planner(Inputs inputs);
  // Of a living cluster; `inputs.snapshot` is the one that it began from, whose rows columns are
  // of. total_stated: what there is to share does not follow the nodes.
  Planner(Inputs inputs, std::shared_ptr<ClusterState> state, bool total_stated);

  const Workspace& workspace() const noexcept { return *workspace_; }

  void update(Time now, bool keep) override;
  void decide(const Trigger& trigger, Recorder* recorder = nullptr) override;
  void take_back() override { workspace_->take_back(); }
  void before(const Delta& delta) override { workspace_->before(delta); }
  void after(const Delta& delta, Id row) override { workspace_->after(delta, row); }
  // Settings of rows that came later, or have other ones now: a cell for each of them.
  void rows_came(ClusterState::Table table, std::span<const Id> rows, const RowSettings& cells);

  const Decisions& decisions() const override { return workspace_->decisions; }
  Counts counts() const override;
  // Of requests that waited at the end of the trigger, with what stands in their way.
  // O(shapes x nodes R + allocations + requests x victims of limit repair).
  Refusals refusals() const override;
  std::span<const ClusterState::TakenRoom> handed() const override { return workspace_->handed; }
  Time next_due() const override;
  void keep_decisions(bool keep) override { workspace_->keep_decisions(keep); }
  bool idle(Id node) const override { return workspace_->idle(node); }
  bool contended() const override { return workspace_->contended(); }
  bool wakes(Column<Id>& nodes) override { return workspace_->wakes(nodes); }
  Time due_on(Id node) const override { return workspace_->due_on(node); }
  void passed(Id node, Time first, Time period, Time last) override;
  // See the workspace.
  bool share(SharedSettings settings) { return workspace_->share(std::move(settings)); }
  Column<Id> apart() const { return workspace_->apart(); }
  void become(const Column<Id>& rows);
  bool separated() const override { return workspace_->separated(); }
  Time next_update() const override;
  std::span<const Starvation> starvation() const override {
    return workspace_->last.starvation.clocks.starvation;
  }
  const Column<Id>* starvation_changed() const override {
    return &workspace_->last.starvation.changed;
  }
  Columns elements() const override;
  SharesView shares() const override;
  Column<Group> groups() const override;
  Columns memory() const override;
  std::unique_ptr<evenhand::Planner> afresh() const override;
  std::shared_ptr<evenhand::Planner> copy(std::shared_ptr<ClusterState> state) const override {
    return std::shared_ptr<Planner>(new Planner(*this, std::move(state)));
  }
  std::size_t memory_bytes() const override;

 private:
  Planner(const Planner& other, std::shared_ptr<ClusterState> state);

  Time next_deficit() const;

  Inputs inputs_;
  VolumeMemory volumes_;         // of integral pools: what the update before left
  bool has_volumes_, integral_;  // integral_: some pool is
  std::unique_ptr<Workspace> workspace_;
  Column<Id> nodes_;         // of the last trigger
  Time pace_due_ = kNoTime;  // likewise: when its pace may let something else happen
};

}  // namespace evenhand::ytsaurus
