// The frame of calls into the core that may last.
#pragma once

#include "evenhand/core/poll.h"
#include "pybind.h"

namespace evenhand::bindings {

// Runs the interpreter's signal handlers if signals have come, at most every 50 ms; throws what
// they raise. Only its main thread runs any.
void hear_signals();

// Releases the interpreter and hears signals. What is computed below is thrown away if a
// handler raises.
class LongCall {
 private:
  py::gil_scoped_release released_;
  Polling polling_{hear_signals};
};

}  // namespace evenhand::bindings
