// Fair shares: options in, columns out.
#include <optional>

#include "arrays.h"
#include "evenhand/model/snapshot.h"
#include "evenhand/share/fair_share.h"
#include "long_call.h"
#include "pybind.h"
#include "register.h"
#include "shares.h"

namespace evenhand::bindings {

void register_share(py::module_& m) {
  py::class_<FairShareOptions>(m, "FairShareOptions", "Options of a fair share update.")
      .def(py::init<>())
      .def_readwrite("main_resource", &FairShareOptions::main_resource)
      .def_readwrite("step_function_for_gang", &FairShareOptions::step_function_for_gang)
      .def_readwrite("fifo_reordering", &FairShareOptions::fifo_reordering)
      .def_readwrite("improved", &FairShareOptions::improved)
      .def_readwrite("integral_pool_capacity_saturation_period_s",
                     &FairShareOptions::integral_pool_capacity_saturation_period_s)
      .def_readwrite("integral_smooth_period_s", &FairShareOptions::integral_smooth_period_s)
      .def_readwrite("fifo_truncation", &FairShareOptions::fifo_truncation)
      .def_readwrite("limit_strong_before_scaling", &FairShareOptions::limit_strong_before_scaling);

  py::class_<VolumeMemory>(m, "VolumeMemory", "Volumes that an earlier update left.")
      .def(py::init([](Time updated, const py::array_t<double>& accumulated,
                       const py::array_t<double>& last_share_ratio) {
             return VolumeMemory{updated, to_vector(accumulated), to_vector(last_share_ratio)};
           }),
           py::arg("updated"), py::arg("accumulated"), py::arg("last_share_ratio"));

  py::class_<FairShares>(m, "FairShares", "Fair shares of one snapshot as columns.")
      .def("column", &FairShares::column, py::arg("name"), "One quantity as an array.")
      .def("parts", &FairShares::parts, py::arg("promised") = false,
           "Strong, integral and weight-proportional parts.")
      .def_property_readonly("has_promised",
                             [](const FairShares& s) { return !s.result().promised.empty(); })
      .def_property_readonly("diagnostics", &FairShares::diagnostics);

  py::class_<FairShareEngine>(m, "FairShareEngine", "Fair shares of one tree over time.")
      .def(py::init<>())
      .def(
          "update",
          [](FairShareEngine& engine, const Snapshot& snapshot, const FairShareOptions& options,
             const std::optional<VolumeMemory>& memory) {
            const LongCall call;
            try {
              return FairShares(
                  snapshot, options,
                  engine.update(snapshot.tables(), options, memory ? &*memory : nullptr));
            } catch (...) {
              engine = FairShareEngine();  // a half-done update is not continued
              throw;
            }
          },
          py::arg("snapshot"), py::arg("options"), py::arg("memory") = py::none(),
          "Fair shares, from those of the last update where nothing changed.");

  m.def(
      "satisfaction",
      [](const py::array_t<double>& fair, const py::array_t<double>& usage,
         const py::array_t<double>& demand) {
        const std::vector<double> f = to_vector(fair), u = to_vector(usage), d = to_vector(demand);
        if (f.size() != u.size() || f.size() != d.size())
          throw py::value_error("fair share, usage and demand have different lengths");
        return satisfaction_of(f, u, d);
      },
      py::arg("fair_share"), py::arg("usage"), py::arg("demand"),
      "Usage over fair share of one element, by its vectors of shares.");

  m.def(
      "fair_share",
      [](const Snapshot& snapshot, const FairShareOptions& options,
         const std::optional<VolumeMemory>& memory) {
        const LongCall call;
        return FairShares(snapshot, options,
                          fair_share(snapshot.tables(), options, memory ? &*memory : nullptr));
      },
      py::arg("snapshot"), py::arg("options"), py::arg("memory") = py::none(),
      "Fair share of every pool and operation.");
}

}  // namespace evenhand::bindings
