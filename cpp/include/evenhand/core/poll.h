// Long calls ask now and then whether they are still wanted.
//
// A caller sets a function for its thread; it may throw, which ends the call. So it is set
// only around calls whose work is thrown away with them, never around changes to a state that
// lives on. Without one, a poll is a load and a branch: cheap enough for every node, job, pool
// and branch of a search, but not for a comparison.
#pragma once

#include <cstddef>
#include <utility>

namespace evenhand {

using Poll = void (*)();

// Light steps of a loop between two polls.
inline constexpr std::size_t kBetweenPolls = 1024;

inline constinit thread_local Poll current_poll = nullptr;

inline void poll() {
  if (current_poll != nullptr) current_poll();
}

// Sets the function of this thread as long as it lives.
class Polling {
 public:
  explicit Polling(Poll function) noexcept : before_(std::exchange(current_poll, function)) {}
  ~Polling() { current_poll = before_; }
  Polling(const Polling&) = delete;
  Polling& operator=(const Polling&) = delete;

 private:
  Poll before_;
};

}  // namespace evenhand
