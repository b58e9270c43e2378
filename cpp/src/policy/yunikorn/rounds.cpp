#include "evenhand/policy/yunikorn/rounds.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <span>
#include <utility>

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

namespace {

template <class Ask>
void come_among(std::vector<Ask>& asks, Id request, Id instead_of) {
  std::erase_if(asks, [&](const Ask& ask) { return ask.request == request; });
  if (instead_of == kNoId) return;
  for (Ask& ask : asks)
    if (ask.request == instead_of) ask.request = request;
}

}  // namespace

void Rounds::come(Id request, Id instead_of) { come_among(asks_, request, instead_of); }
void Attempts::come(Id request, Id instead_of) { come_among(asks_, request, instead_of); }

void Attempts::pass(Time first, Time period, Time last, AskMemory& memory) {
  const Time passes = (last - first) / period + 1;
  const Time every = (retry_ + period - 1) / period;  // of an ask, in passes
  const auto due = [&](const Ask& ask) {
    const Time from = ask.last == kNoTime ? ask.ready : std::max(ask.ready, ask.last + retry_);
    return from <= first ? 0 : (from - first + period - 1) / period;
  };
  using Due = std::pair<Time, std::size_t>;  // pass, place in the order
  for (std::size_t begin = 0, end = 0; begin < asks_.size(); begin = end) {
    while (end < asks_.size() && asks_[end].leaf == asks_[begin].leaf) ++end;
    const std::span<Ask> asks(asks_.begin() + static_cast<std::ptrdiff_t>(begin), end - begin);
    const auto each_in_time = [&] {
      for (Ask& ask : asks)
        if (const Time at = due(ask); at < passes)
          ask.last = first + (at + (passes - 1 - at) / every * every) * period;
    };
    if (static_cast<Index>(asks.size()) <= most_) {
      each_in_time();
      continue;
    }
    // By when they are due: for the first time, then as they have looked. Those that are, as bits.
    std::vector<Due> later, again;
    std::vector<std::uint64_t> ready((asks.size() + 63) / 64, 0);
    for (std::size_t i = 0; i < asks.size(); ++i) later.emplace_back(due(asks[i]), i);
    std::ranges::sort(later);
    const Time latest = later.back().first;
    std::size_t came = 0, returned = 0, waiting = 0;
    const auto come = [&](const std::vector<Due>& from, std::size_t& next, Time until) {
      for (; next < from.size() && from[next].first <= until; ++next, ++waiting)
        ready[from[next].second / 64] |= std::uint64_t{1} << from[next].second % 64;
    };
    Time crowded = -1;  // the last pass that left some for others
    for (Time at = 0; most_ > 0; ++at) {
      if (waiting == 0) {
        Time next = passes;
        if (came < later.size()) next = std::min(next, later[came].first);
        if (returned < again.size()) next = std::min(next, again[returned].first);
        at = std::max(at, next);
      }
      if (at >= passes) break;
      if (at > latest && at > crowded + every) {  // what was in time once is so again
        each_in_time();
        break;
      }
      come(later, came, at);
      come(again, returned, at);
      Index left = most_;
      for (std::size_t word = 0; left > 0 && waiting > 0; ++word)
        for (; left > 0 && ready[word] != 0; ready[word] &= ready[word] - 1, --left, --waiting) {
          const std::size_t i = 64 * word + static_cast<std::size_t>(std::countr_zero(ready[word]));
          asks[i].last = first + at * period;
          again.emplace_back(at + every, i);
        }
      if (waiting > 0) crowded = at;
    }
  }
  for (const Ask& ask : asks_)
    if (memory.last_attempt[ask.request] != ask.last)
      memory.last_attempt.set(ask.request, ask.last);
}

}  // namespace evenhand::yunikorn
