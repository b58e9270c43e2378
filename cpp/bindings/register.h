// One function a topic, called once by module.cpp.
#pragma once

#include "pybind.h"

namespace evenhand::bindings {

void register_arrow(py::module_& m);
void register_build(py::module_& m);
void register_cluster(py::module_& m);
void register_json(py::module_& m);
void register_long_call(py::module_& m);
void register_model(py::module_& m);
void register_history(py::module_& m);
void register_planner(py::module_& m);
void register_preempt(py::module_& m);
void register_share(py::module_& m);
void register_sim(py::module_& m);
void register_systems(py::module_& m);  // those of the files in systems/, by word

}  // namespace evenhand::bindings
