// Shares of a snapshot as element x resource arrays.
#include "arrays.h"
#include "evenhand/model/snapshot.h"
#include "evenhand/share/attributes.h"
#include "pybind.h"
#include "register.h"

namespace evenhand::bindings {

void register_share(py::module_& m) {
  m.def(
      "usage_share",
      [](const Snapshot& s) {
        const Tables& t = s.tables();
        std::vector<double> shares;
        {
          py::gil_scoped_release release;
          shares = usage_share(t);
        }
        return to_array(std::move(shares), {t.element_count(), t.resource_count()});
      },
      py::arg("snapshot"), "Usage share of every element.");
}

}  // namespace evenhand::bindings
