#include "long_call.h"

#include <chrono>

namespace evenhand::bindings {

void hear_signals() {
  using Clock = std::chrono::steady_clock;
  constexpr auto kPeriod = std::chrono::milliseconds(50);
  thread_local Clock::time_point due{};
  const Clock::time_point now = Clock::now();
  if (now < due) return;
  due = now + kPeriod;
  const py::gil_scoped_acquire acquired;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

}  // namespace evenhand::bindings
