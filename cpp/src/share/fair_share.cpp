#include "evenhand/share/fair_share.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "evenhand/share/impl.h"

namespace evenhand {
namespace {

using Size = std::size_t;

std::unique_ptr<FairShareEngine::Impl> make_impl(int resources) {
  switch (resources) {
    case 1:
      return make_fair_share_update<1>();
    case 2:
      return make_fair_share_update<2>();
    case 3:
      return make_fair_share_update<3>();
    case 4:
      return make_fair_share_update<4>();
    case 5:
      return make_fair_share_update<5>();
    case 6:
      return make_fair_share_update<6>();
    case 7:
      return make_fair_share_update<7>();
    case 8:
      return make_fair_share_update<8>();
    default:
      return make_fair_share_update<kMaxResources>();
  }
}

}  // namespace

FairShareEngine::FairShareEngine() = default;
FairShareEngine::~FairShareEngine() = default;
FairShareEngine::FairShareEngine(const FairShareEngine& other)
    : impl_(other.impl_ ? other.impl_->copy() : nullptr) {}
FairShareEngine::FairShareEngine(FairShareEngine&&) noexcept = default;
FairShareEngine& FairShareEngine::operator=(FairShareEngine&&) noexcept = default;

FairShareResult& FairShareEngine::update(const Tables& tables, const FairShareOptions& options,
                                         const VolumeMemory* memory, bool keep,
                                         const TreeDelta* delta) {
  const int resources = tables.resource_count();
  if (!impl_ || impl_->result.resource_count != resources) impl_ = make_impl(resources);
  impl_->update(tables, options, memory, keep, delta);
  return impl_->result;
}

void FairShareEngine::refer(const Tables* tables, const Column<Column<Id>>* children) noexcept {
  if (impl_) impl_->refer(tables, children);
}

bool FairShareEngine::follows(const FairShareOptions& options) const {
  return impl_ && impl_->follows(options);
}

const Column<Id>* FairShareEngine::changed() const {
  return impl_->only_changed ? &impl_->changed : nullptr;
}

CalmShares& FairShareEngine::calm() { return impl_->calm; }
FairShareResult& FairShareEngine::result() { return impl_->result; }
const FairShareResult& FairShareEngine::before() const { return impl_->before; }

void FairShareResult::clear_operation(Index operation) {
  const Size width = at(resource_count), row = at(operation);
  const Size begin = (at(pool_count) + row) * width;
  operation_count = std::max(operation_count, operation + 1);
  for (Column<double>* matrix : {&usage_share, &demand_share, &limits_share, &total, &promised}) {
    if (matrix == &promised && promised.empty()) continue;
    matrix->resize(std::max(matrix->size(), begin + width), 0.0);
    std::fill_n(matrix->row(begin, 1), width, 0.0);
  }
  for (Column<Id>* index : {&fifo_index, &effective_fifo_index}) {
    index->resize(std::max(index->size(), row + 1), kNoId);
    (*index)[row] = kNoId;
  }
}

FairShareResult fair_share(const Tables& tables, const FairShareOptions& options,
                           const VolumeMemory* memory) {
  const auto impl = make_impl(tables.resource_count());
  impl->update(tables, options, memory, false, nullptr);
  return std::move(impl->result);
}

ShareParts split_parts(const Tables& tables, const FairShareResult& result, bool promised) {
  const Column<double>& total = promised ? result.promised : result.total;
  const auto width = tables.total.size();
  ShareParts parts;
  if (total.empty()) return parts;
  parts.strong.assign(total.size(), 0.0);
  parts.integral.assign(total.size(), 0.0);
  parts.weight_proportional = total;
  const auto split = [&](Size i, double strong) {
    parts.strong[i] = std::min(total[i], strong);
    parts.integral[i] = std::min(total[i] - parts.strong[i], result.integral_share[i]);
    parts.weight_proportional[i] = total[i] - parts.strong[i] - parts.integral[i];
  };
  for (Size i = 0; i < result.strong_share.size(); ++i) split(i, result.strong_share[i]);
  if (promised) return parts;
  for (Size r = 0; r < width; ++r) {
    double strong = 0;
    for (Id p = 1; p < result.pool_count; ++p)
      if (tables.pools.parent[p] == 0) strong += parts.strong.row(p, width)[r];
    split(r, strong);
  }
  return parts;
}

}  // namespace evenhand
