// The extension module evenhand._core: everything it offers is private to the
// Python package, which documents it.
#include "pybind.h"
#include "register.h"

#ifndef EVENHAND_VERSION
#define EVENHAND_VERSION "unknown"
#endif

PYBIND11_MODULE(_core, m, py::mod_gil_not_used()) {
  m.doc() = "C++ core of evenhand.";
  m.attr("__version__") = EVENHAND_VERSION;
  evenhand::bindings::register_arrow(m);
  evenhand::bindings::register_build(m);
  evenhand::bindings::register_json(m);
  evenhand::bindings::register_long_call(m);
  evenhand::bindings::register_model(m);
  evenhand::bindings::register_cluster(m);
  evenhand::bindings::register_share(m);
  evenhand::bindings::register_preempt(m);
  evenhand::bindings::register_history(m);
  evenhand::bindings::register_planner(m);
  evenhand::bindings::register_sim(m);
  evenhand::bindings::register_systems(m);
}
