// NumPy arrays from C++ columns.
#pragma once

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "pybind.h"

namespace evenhand::bindings {

// An array that owns the vector it was made from: nothing is copied.
template <class T>
py::array_t<T> to_array(std::vector<T> values, std::vector<py::ssize_t> shape) {
  auto* owned = new std::vector<T>(std::move(values));
  py::capsule owner(owned, [](void* p) { delete static_cast<std::vector<T>*>(p); });
  return py::array_t<T>(std::move(shape), owned->data(), owner);
}

template <class T>
py::array_t<T> to_array(std::vector<T> values) {
  const auto n = static_cast<py::ssize_t>(values.size());
  return to_array(std::move(values), {n});
}

// A read-only array over a column of something that it keeps alive: nothing is copied.
template <class Owner, class T>
py::array_t<T> view_of(const std::shared_ptr<Owner>& owner, const std::vector<T>& values,
                       std::vector<py::ssize_t> shape) {
  auto* kept = new std::shared_ptr<Owner>(owner);
  py::capsule base(kept, [](void* p) { delete static_cast<std::shared_ptr<Owner>*>(p); });
  py::array_t<T> out(std::move(shape), values.data(), base);
  py::detail::array_proxy(out.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return out;
}

// A copy of a numeric array of any dtype that converts.
template <class T>
Column<T> to_vector(const py::array_t<T>& values) {
  const auto dense = py::array_t<T, py::array::c_style | py::array::forcecast>(values);
  return {dense.data(), dense.data() + dense.size()};
}

}  // namespace evenhand::bindings
