#include "evenhand/preempt/effects.h"

#include <algorithm>

namespace evenhand {
namespace {

constexpr std::uint8_t kNever = 0, kAvailable = 1, kAlways = 2;

// Rows: modes that stop. Columns: HeldKind.
constexpr std::uint8_t kStopped[3][kHeldKinds] = {
    {kAvailable, kAvailable, kAvailable, kAlways},  // P
    {kAvailable, kNever, kAvailable, kAlways},      // N
    {kAlways, kNever, kNever, kAlways},             // S
};

}  // namespace

bool frees(Mode mode, HeldKind kind, bool available) noexcept {
  if (!stops(mode)) return true;
  const auto row = static_cast<std::size_t>(mode) - static_cast<std::size_t>(Mode::kPreempt);
  const std::uint8_t cell = kStopped[row][static_cast<std::size_t>(kind)];
  return cell == kAlways || (cell == kAvailable && available);
}

void split(Mode mode, const ResourceSpace& resources, View<const std::uint8_t> managed,
           const Amount* held, Amount* wanted, Amount* freed, Amount* kept) noexcept {
  for (std::size_t r = 0; r < resources.quantum.size(); ++r) {
    const bool outside = !managed.empty() && managed[r] != 0;
    const bool free = frees(mode, held_kind(resources.kind[r], outside),
                            resources.available_after_preemption[r] != 0);
    freed[r] = free ? held[r] : 0;
    if (wanted != nullptr) {
      if (stops(mode) && !outside) freed[r] = std::min(freed[r], std::max<Amount>(wanted[r], 0));
      wanted[r] -= freed[r];
    }
    kept[r] = held[r] - freed[r];
  }
}

}  // namespace evenhand
