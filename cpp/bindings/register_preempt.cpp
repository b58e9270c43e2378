// Pieces of preemption that stand alone.
#include <vector>

#include "arrays.h"
#include "evenhand/preempt/blocking.h"
#include "pybind.h"
#include "register.h"

namespace evenhand::bindings {

void register_preempt(py::module_& m) {
  m.def(
      "shields",
      [](const py::array_t<Id>& parents, const py::array_t<std::uint8_t>& starving,
         const py::array_t<double>& satisfaction, double threshold) {
        const std::vector<Id> parent = to_vector(parents);
        const std::vector<std::uint8_t> starves = to_vector(starving);
        const std::vector<double> served = to_vector(satisfaction);
        const auto at = [](Id e) { return static_cast<std::size_t>(e); };
        std::vector<Id> out(parent.size());
        for (std::size_t e = 0; e < out.size(); ++e)
          out[e] = blocking_element(
              static_cast<Id>(e), [&](Id i) { return parent[at(i)]; },
              [&](Id i) { return starves[at(i)] != 0; }, [&](Id i) { return served[at(i)]; },
              threshold);
        return to_array(std::move(out));
      },
      py::arg("parents"), py::arg("starving"), py::arg("satisfaction"), py::arg("threshold"),
      "Element that shields each element's work, in older revisions; -1: none.");
  m.def(
      "stands_in",
      [](const py::array_t<Id>& parents, Id element, Id pool) {
        const std::vector<Id> parent = to_vector(parents);
        return stands_in(element, pool, [&](Id i) { return parent[static_cast<std::size_t>(i)]; });
      },
      py::arg("parents"), py::arg("element"), py::arg("pool"), "Whether it stands in a pool.");
}

}  // namespace evenhand::bindings
