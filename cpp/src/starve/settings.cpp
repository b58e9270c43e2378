#include "evenhand/starve/settings.h"

#include <algorithm>
#include <cmath>

namespace evenhand {
namespace {

using Size = std::size_t;

class Inheritance {
 public:
  Inheritance(const Tables& t, const StarvationSettings& tree, const OwnStarvationSettings& own,
              EffectiveSettings& out)
      : t_(t), tree_(tree), own_(own), width_(t.total.size()), out_(out) {
    const Size elements = t.pools.parent.size() + t.operations.pool.size();
    out_.tolerance.resize(elements, tree.tolerance);
    out_.timeout.resize(elements, tree.timeout);
    out_.enable_aggressive.resize(elements, tree.enable_aggressive);
    out_.allow_aggressive.resize(elements, tree.allow_aggressive_preemption);
    out_.usage_threshold.resize(elements * width_, kUnlimited);
    out_.has_usage_threshold.resize(elements, 0);
  }

  void visit_pools() {
    if (!tree_.usage_threshold.empty()) take_threshold(0, tree_.usage_threshold);
    for (const Id pool : t_.pools.top_down) visit_pool(pool);
  }
  void visit_operation(Id o) {
    const Id e = t_.pools.parent.rows() + o;
    copy(t_.operations.pool[o], e);
    if (const double own = tolerance(e); !std::isnan(own))
      out_.tolerance[e] = std::min(out_.tolerance[e], own);
    if (const Time own = timeout(e); own != kNoTime)
      out_.timeout[e] = std::max(out_.timeout[e], own);
    if (t_.operations.gang[o] && !tree_.allow_aggressive_preemption_for_gangs)
      out_.allow_aggressive[e] = 0;
    if (!sets_threshold(e)) return;
    for (Size r = 0; r < width_; ++r) {
      const Amount own = own_.usage_threshold[at(e) * width_ + r];
      Amount& inherited = out_.usage_threshold.row(e, width_)[r];
      if (own != kUnlimited && (inherited == kUnlimited || inherited > own)) inherited = own;
    }
    out_.has_usage_threshold[e] = has_any(e);
  }

 private:
  void visit_pool(Id p) {
    if (const Id parent = t_.pools.parent[p]; parent != kNoId) copy(parent, p);
    if (const double own = tolerance(p); !std::isnan(own)) out_.tolerance[p] = own;
    if (const Time own = timeout(p); own != kNoTime) out_.timeout[p] = own;
    if (const auto own = at_or(own_.enable_aggressive, p, kUnset); own != kUnset)
      out_.enable_aggressive[p] = own != 0;
    if (const auto own = at_or(own_.allow_aggressive, p, kUnset); own != kUnset)
      out_.allow_aggressive[p] = own != 0;
    if (sets_threshold(p)) take_threshold(p, own_.usage_threshold, p);
  }

  void copy(Id from, Id to) {
    out_.tolerance[to] = out_.tolerance[from];
    out_.timeout[to] = out_.timeout[from];
    out_.enable_aggressive[to] = out_.enable_aggressive[from];
    out_.allow_aggressive[to] = out_.allow_aggressive[from];
    std::copy_n(out_.usage_threshold.row(from, width_), width_,
                out_.usage_threshold.row(to, width_));
    out_.has_usage_threshold[to] = out_.has_usage_threshold[from];
  }

  template <class Values>
  void take_threshold(Id e, const Values& values, Id row = 0) {
    for (Size r = 0; r < width_; ++r)
      out_.usage_threshold[at(e) * width_ + r] = values[at(row) * width_ + r];
    out_.has_usage_threshold[e] = has_any(e);
  }

  bool has_any(Id e) const {
    const Amount* values = out_.usage_threshold.row(e, width_);
    return std::any_of(values, values + width_, [](Amount a) { return a != kUnlimited; });
  }

  double tolerance(Id e) const { return own_.tolerance[e]; }
  Time timeout(Id e) const { return own_.timeout[e]; }
  bool sets_threshold(Id e) const { return own_.has_usage_threshold[e] != 0; }

  const Tables& t_;
  const StarvationSettings& tree_;
  const OwnStarvationSettings& own_;
  Size width_;
  EffectiveSettings& out_;
};

}  // namespace

EffectiveSettings inherit(const Tables& tables, const StarvationSettings& tree,
                          const OwnStarvationSettings& own) {
  EffectiveSettings out;
  Inheritance inheritance(tables, tree, own, out);
  inheritance.visit_pools();
  for (Id o = 0; o < tables.operations.size(); ++o) inheritance.visit_operation(o);
  return out;
}

void inherit_again(const Tables& tables, const StarvationSettings& tree,
                   const OwnStarvationSettings& own, View<const Id> operations,
                   EffectiveSettings& effective) {
  Inheritance inheritance(tables, tree, own, effective);
  for (const Id o : operations) inheritance.visit_operation(o);
}

}  // namespace evenhand
