#include "long_call.h"

#include <chrono>
#include <csignal>
#include <cstdint>

#include "register.h"

namespace evenhand::bindings {

namespace {

// What tests ask of this thread's calls: how often they poll, and to send a signal at one of the
// polls.
struct Rehearsal {
  std::int64_t polls = 0;
  std::int64_t send_at = 0;
  int signal = 0;
};
thread_local Rehearsal rehearsal;

}  // namespace

void hear_signals() {
  using Clock = std::chrono::steady_clock;
  constexpr auto kPeriod = std::chrono::milliseconds(50);
  thread_local Clock::time_point due{};
  const bool sends = ++rehearsal.polls == rehearsal.send_at;
  const Clock::time_point now = Clock::now();
  if (now < due && !sends) return;
  due = now + kPeriod;
  const py::gil_scoped_acquire acquired;
  if (sends) std::raise(rehearsal.signal);
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

void register_long_call(py::module_& m) {
  m.def(
      "polls", [] { return rehearsal.polls; }, "How often calls of this thread asked for signals.");
  m.def(
      "signal_at_poll",
      [](int signal, std::int64_t polls) {
        rehearsal.signal = signal;
        rehearsal.send_at = rehearsal.polls + polls;
      },
      py::arg("signal"), py::arg("polls"),
      "Send a signal, and hear it, when calls of this thread have asked so often from now on.");
}

}  // namespace evenhand::bindings
