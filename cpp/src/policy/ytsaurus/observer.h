// What a heartbeat reports to: nothing, or a recorder of one request or
// allocation. Observers change nothing.
#pragma once

#include "evenhand/preempt/recorder.h"
#include "node_work.h"

namespace evenhand::ytsaurus {

struct NoObserver {
  void before(const Workspace&, const NodeWork&, Stage) {}
  void after(const Workspace&, const NodeWork&, Stage, Level) {}
  void backed_off(const Workspace&, const NodeWork&) {}
};

class RecordingObserver {
 public:
  explicit RecordingObserver(Recorder& recorder) : recorder_(&recorder) {}

  void before(Workspace& workspace, const NodeWork&, Stage);
  void after(Workspace& workspace, const NodeWork& work, Stage stage, Level lowest);
  void backed_off(Workspace& workspace, const NodeWork& work);

 private:
  using Amounts = std::array<Amount, kMaxResources>;

  void add(const NodeWork& work, const Workspace& workspace, Stage stage, Outcome outcome,
           const Amounts* missing = nullptr, const Spared* spared = nullptr);
  void add_limits(const Workspace& workspace, Id operation, const Amount* more, bool preemptive);
  static double spared_within(const Workspace& workspace, const Decision& taken);
  void add_place(const Workspace& workspace, const NodeWork& work);
  void add_exposure(const Workspace& workspace, Id operation);
  // Outcomes that no stage can change; false if there is none.
  bool barred(Workspace& workspace, const NodeWork& work, Stage stage);
  void all_taken_after(const Workspace& workspace, const NodeWork& work, Stage stage);
  void request_after(Workspace& workspace, const NodeWork& work, Stage stage);
  void allocation_after(Workspace& workspace, const NodeWork& work, Stage stage, Level lowest);
  Outcome left_alone(Workspace& workspace, const NodeWork& work, Stage stage, Level lowest) const;
  bool may_preempt(const Workspace& workspace, Id operation) const;  // in any stage, on any node
  bool started_since(const Workspace& workspace) const;              // in the stage
  bool lacks(const Amount* least, const Amount* room, std::size_t width, Amounts& missing) const;

  Recorder* recorder_;
  Index pending_before_ = 0;
  bool running_before_ = false;
  std::size_t decisions_before_ = 0;
};

// Enters what the stages that take victims have started on a node, where that was in the way: a
// later stage of a heartbeat counts, too.
void name_started(const Workspace& workspace, Recorder& recorder);

}  // namespace evenhand::ytsaurus
