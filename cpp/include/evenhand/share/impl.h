// What the kernels for each number of resources offer to FairShareEngine.
#pragma once

#include <memory>

#include "evenhand/share/fair_share.h"
#include "evenhand/share/topology.h"

namespace evenhand {

struct FairShareEngine::Impl {
  virtual ~Impl() = default;
  virtual void update(const Tables& t, const FairShareOptions& options, const VolumeMemory* memory,
                      bool keep) = 0;

  FairShareResult result, before;  // of the last update and the one before it
};

// One for 1 to 8 resources each, one for up to 16.
template <int R>
std::unique_ptr<FairShareEngine::Impl> make_fair_share_update();

}  // namespace evenhand
