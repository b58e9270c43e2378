// A planner that keeps what it recorded, and answers more questions about the same decisions.
#pragma once

#include "evenhand/preempt/recorder.h"

namespace evenhand {

class Reports {
 public:
  virtual ~Reports() = default;
  // After `decide` with a recorder, and no change since: what another recorder's request or
  // allocation met; false: that was not recorded.
  virtual bool report(Recorder& recorder) = 0;
};

}  // namespace evenhand
