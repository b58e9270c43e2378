// What the kernels for each number of resources offer to FairShareEngine.
#pragma once

#include <memory>
#include <vector>

#include "evenhand/share/fair_share.h"
#include "evenhand/share/topology.h"

namespace evenhand {

struct FairShareEngine::Impl {
  virtual ~Impl() = default;
  virtual std::unique_ptr<Impl> copy() const = 0;
  virtual void refer(const Tables* tables, const Column<Column<Id>>* children) noexcept = 0;
  virtual void update(const Tables& t, const FairShareOptions& options, const VolumeMemory* memory,
                      bool keep, const TreeDelta* delta) = 0;
  virtual bool follows(const FairShareOptions& options) const = 0;

  FairShareResult result, before;  // of the last update and the one before it
  // After an update that followed touched operations alone `before` is of an earlier one;
  // what has changed is said instead.
  bool only_changed = false;
  Column<Id> changed;
  CalmShares calm;
};

// One for 1 to 8 resources each, one for up to 16.
template <int R>
std::unique_ptr<FairShareEngine::Impl> make_fair_share_update();

}  // namespace evenhand
