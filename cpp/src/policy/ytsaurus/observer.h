// Who looks over a heartbeat's shoulder: nobody, or a recorder of one request or
// allocation. Observers change nothing.
#pragma once

#include "evenhand/preempt/recorder.h"
#include "node_work.h"

namespace evenhand::ytsaurus {

struct NoObserver {
  void before(const Desk&, const NodeWork&, Stage) {}
  void after(const Desk&, const NodeWork&, Stage, Level) {}
  void backed_off(const Desk&, const NodeWork&) {}
};

class RecordingObserver {
 public:
  explicit RecordingObserver(Recorder& recorder) : recorder_(&recorder) {}

  void before(Desk& desk, const NodeWork&, Stage);
  void after(Desk& desk, const NodeWork& work, Stage stage, Level lowest);
  void backed_off(Desk& desk, const NodeWork& work);

 private:
  using Amounts = std::array<Amount, kMaxResources>;

  void add(const NodeWork& work, const Desk& desk, Stage stage, Outcome outcome,
           const Amounts* missing = nullptr);
  // Outcomes that no stage can change; false if there is none.
  bool barred(Desk& desk, const NodeWork& work, Stage stage);
  void request_after(Desk& desk, const NodeWork& work, Stage stage);
  void allocation_after(Desk& desk, const NodeWork& work, Stage stage, Level lowest);
  Outcome left_alone(Desk& desk, const NodeWork& work, Stage stage, Level lowest) const;
  bool may_preempt(const Desk& desk, Id operation) const;  // in any stage, on any node
  bool lacks(const Amount* least, const Amount* room, std::size_t width, Amounts& missing) const;

  Recorder* recorder_;
  Index pending_before_ = 0;
  bool running_before_ = false;
  std::size_t decisions_before_ = 0;
};

}  // namespace evenhand::ytsaurus
