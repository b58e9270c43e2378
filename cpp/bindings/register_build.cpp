// How the extension was built: what a report of a problem should say.
#include <Eigen/Core>
#include <string>

#include "commit.h"
#include "pybind.h"
#include "register.h"

namespace evenhand::bindings {
namespace {

constexpr const char* kCompiler =
#if defined(__clang__)
    "clang " __clang_version__;
#elif defined(__GNUC__)
    "gcc " __VERSION__;
#else
    "unknown";
#endif

std::string dotted(int major, int minor, int patch) {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

py::dict build_info() {
  py::dict info;
  info["commit"] = *kCommit == '\0' ? "unknown" : kCommit;
  info["compiler"] = kCompiler;
  info["build type"] = EVENHAND_BUILD_TYPE;
  info["sanitizers"] = std::string(EVENHAND_SANITIZE).empty() ? "none" : EVENHAND_SANITIZE;
  info["eigen"] = dotted(EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION);
  info["pybind11"] = dotted(PYBIND11_VERSION_MAJOR, PYBIND11_VERSION_MINOR, PYBIND11_VERSION_MICRO);
  return info;
}

}  // namespace

void register_build(py::module_& m) {
  m.def("build_info", &build_info, "Compiler, build type, sanitizers and library versions.");
}

}  // namespace evenhand::bindings
