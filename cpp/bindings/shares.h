// Fair shares as Python sees them.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "arrays.h"
#include "evenhand/model/snapshot.h"
#include "evenhand/share/fair_share.h"
#include "evenhand/share/guarantees.h"
#include "evenhand/share/satisfaction.h"

namespace evenhand::bindings {

// A result with the snapshot it was computed from. Derived columns are computed
// when they are asked for.
class FairShares {
 public:
  FairShares(Snapshot snapshot, FairShareOptions options, FairShareResult result)
      : snapshot_(std::move(snapshot)),
        options_(options),
        result_(std::make_shared<const FairShareResult>(std::move(result))) {}

  const FairShareResult& result() const { return *result_; }

  py::object column(const std::string& name) const {
    const FairShareResult& r = *result_;
    const std::map<std::string, const std::vector<double>*> columns{
        {"fair_share", &r.total},
        {"promised_guarantee_fair_share", &r.promised},
        {"usage_share", &r.usage_share},
        {"demand_share", &r.demand_share},
        {"limits_share", &r.limits_share},
        {"strong_guarantee_share", &r.strong_share},
        {"strong_guarantee_share.priority", &r.strong_share_priority},
        {"strong_guarantee_share.regular", &r.strong_share_regular},
        {"proposed_integral_share", &r.integral_share},
        {"volume.overflow", &r.volume.overflow},
        {"volume.acceptable", &r.volume.acceptable},
        {"volume.accepted_free", &r.volume.accepted_free},
        {"volume.children_overflow", &r.volume.children_overflow},
        {"volume.accumulated_after", &r.volume.accumulated},
        {"ratios.flow", &r.flow_ratio},
        {"ratios.burst", &r.burst_ratio},
        {"ratios.total_flow", &r.total_flow_ratio},
        {"ratios.total_burst", &r.total_burst_ratio},
        {"volume.last_share_ratio_after", &r.volume.last_share_ratio}};
    if (const auto found = columns.find(name); found != columns.end())
      return found->first.starts_with("ratios.") || found->first == "volume.last_share_ratio_after"
                 ? vector(*found->second)
                 : matrix(*found->second);
    if (name == "inferred_strong_guarantee") return matrix(r.inferred_guarantee);
    if (name == "fifo_index") return vector(r.fifo_index);
    if (name == "effective_fifo_index") return vector(r.effective_fifo_index);
    return derived(name);
  }

  // Strong, integral and weight-proportional part of the fair shares, or of the
  // promised ones.
  py::tuple parts(bool promised) const {
    ShareParts parts;
    {
      py::gil_scoped_release release;
      parts = split_parts(snapshot_.tables(), *result_, promised);
    }
    return py::make_tuple(made(std::move(parts.strong)), made(std::move(parts.integral)),
                          made(std::move(parts.weight_proportional)));
  }

  py::list diagnostics() const {
    py::list out;
    for (const FairShareDiagnostic& d : result_->diagnostics)
      out.append(py::make_tuple(static_cast<int>(d.issue), d.pools, d.numbers));
    return out;
  }

 private:
  // Of the result; an array of either kind keeps it alive.
  template <class T>
  py::object vector(const std::vector<T>& values) const {
    return view_of(result_, values, {std::ssize(values)});
  }
  template <class T>
  py::object matrix(const std::vector<T>& values) const {
    return view_of(result_, values, shape_of(values));
  }
  // Of what was computed from it.
  py::object made(std::vector<double> values) const {
    const auto shape = shape_of(values);
    return to_array(std::move(values), shape);
  }
  template <class T>
  std::vector<py::ssize_t> shape_of(const std::vector<T>& values) const {
    return {std::ssize(values) / result_->resource_count, result_->resource_count};
  }

  py::object derived(const std::string& name) const {
    const Tables& t = snapshot_.tables();
    if (name == "satisfaction") return to_array(satisfaction(t, *result_));
    if (name == "dominant_resource")
      return to_array(dominant_resource(t, *result_, options_.main_resource));
    if (name == "estimated_guarantee_share")
      return made(estimated_guarantee_share(t, *result_, false, false));
    if (name == "estimated_guarantee_share_with_flow")
      return made(estimated_guarantee_share(t, *result_, true, false));
    if (name == "promised_fair_share")
      return made(estimated_guarantee_share(t, *result_, true, true));
    throw py::key_error(name);
  }

  Snapshot snapshot_;
  FairShareOptions options_;
  std::shared_ptr<const FairShareResult> result_;
};

}  // namespace evenhand::bindings
