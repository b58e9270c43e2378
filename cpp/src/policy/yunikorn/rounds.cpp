#include "evenhand/policy/yunikorn/rounds.h"

#include <algorithm>
#include <limits>

namespace evenhand::yunikorn {

std::int64_t left_out_for(std::int64_t missed, std::int64_t longest) noexcept {
  std::int64_t wait = 2;
  for (std::int64_t i = 1; i < missed && wait < longest; ++i) wait *= 2;
  return std::min(wait, longest);
}

std::int64_t Rounds::in_vain() const noexcept {
  std::int64_t least = -1;
  for (const Ask& ask : asks_)
    if (ask.starts && (least < 0 || ask.wait < least)) least = ask.wait;
  return least;
}

void Rounds::pass(std::int64_t rounds, AskMemory& memory) {
  while (rounds > 0 && !asks_.empty()) {
    std::int64_t idle = std::numeric_limits<std::int64_t>::max();
    for (const Ask& ask : asks_)
      if (!ask.in_preemption) idle = std::min(idle, ask.wait);
    if (idle = std::min(idle, rounds); idle > 0) {  // allocation cycles leave all of them out
      for (Ask& ask : asks_) {
        if (!ask.in_preemption) {
          ask.wait -= idle;
        } else {
          ask.missed += idle;
          ask.wait = left_out_for(ask.missed, longest_);
        }
      }
      rounds -= idle;
      continue;
    }
    Index left = most_;
    for (Ask& ask : asks_) {
      if (ask.wait > 0) {
        --ask.wait;
      } else if (left > 0) {
        left -= std::min(left, ask.copies);
        miss(ask);
      }
      if (ask.in_preemption) miss(ask);
    }
    --rounds;
  }
  for (const Ask& ask : asks_) {
    if (memory.missed[ask.request] != ask.missed) memory.missed.set(ask.request, ask.missed);
    if (memory.wait[ask.request] != ask.wait) memory.wait.set(ask.request, ask.wait);
  }
}

void Rounds::come(Id request, Id instead_of) {
  std::erase_if(asks_, [&](const Ask& ask) { return ask.request == request; });
  if (instead_of == kNoId) return;
  for (Ask& ask : asks_)
    if (ask.request == instead_of) ask.request = request;
}

}  // namespace evenhand::yunikorn
