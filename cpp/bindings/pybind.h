// The one place that includes pybind11, so that every file sees the same casters.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "evenhand/core/column.h"

namespace py = pybind11;

template <class T>  // as the vector that it is
struct pybind11::detail::type_caster<evenhand::Column<T>> : list_caster<evenhand::Column<T>, T> {};
