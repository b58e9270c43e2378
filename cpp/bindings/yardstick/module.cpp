// The extension module _yardstick: built for benchmarks only, never installed.
#include <stdexcept>

#include "pybind.h"
#include "update.h"

namespace yardstick {
namespace {

template <class T>
using Array = py::array_t<T, py::array::c_style | py::array::forcecast>;

// Reads columns of a table of the stated length; matrices have one column a resource.
class Columns {
 public:
  Columns(const py::dict& table, py::ssize_t rows) : table_(table), rows_(rows) {}

  template <class T, class Set>
  void each(const char* name, Set set) const {
    const auto column = Array<T>(table_[name]);
    if (column.ndim() != 1 || column.shape(0) != rows_) throw std::invalid_argument(name);
    for (py::ssize_t i = 0; i < rows_; ++i) set(static_cast<std::size_t>(i), column.at(i));
  }
  template <class Set>
  void amounts(const char* name, Set set) const {
    const auto matrix = Array<double>(table_[name]);
    if (matrix.ndim() != 2 || matrix.shape(0) != rows_ ||
        matrix.shape(1) != static_cast<py::ssize_t>(kResources))
      throw std::invalid_argument(name);
    for (py::ssize_t i = 0; i < rows_; ++i) {
      Vector row;
      std::copy_n(matrix.data(i, 0), kResources, row.begin());
      set(static_cast<std::size_t>(i), row);
    }
  }

 private:
  const py::dict& table_;
  py::ssize_t rows_;
};

Input read_input(const py::dict& head, const py::dict& pools, const py::dict& operations) {
  Input in;
  const py::dict options = head["options"];
  in.options.improved = py::cast<bool>(options["improved"]);
  in.options.improved_gap = py::cast<bool>(options["improved_gap"]);
  in.options.gang_steps = py::cast<bool>(options["step_function_for_gang"]);
  in.options.saturation_period = py::cast<double>(head["saturation_period"]);
  in.options.smooth_period = py::cast<double>(head["smooth_period"]);
  in.options.elapsed = py::cast<double>(head["elapsed"]);
  const auto total = Array<double>(head["total"]);
  const auto rounded = Array<bool>(head["rounded"]);
  for (std::size_t r = 0; r < kResources; ++r) {
    in.total[r] = total.at(static_cast<py::ssize_t>(r));
    in.rounded[r] = rounded.at(static_cast<py::ssize_t>(r));
  }
  in.main_resource = py::cast<std::size_t>(head["main_resource"]);

  in.pools.resize(py::len(pools["parent"]));
  const Columns p(pools, static_cast<py::ssize_t>(in.pools.size()));
  p.each<int>("parent", [&](std::size_t i, int v) {
    if (v >= static_cast<int>(i) || (v < 0) != (i == 0)) throw std::invalid_argument("parent");
    in.pools[i].parent = v;
  });
  p.each<double>("weight", [&](std::size_t i, double v) { in.pools[i].weight = v; });
  p.each<bool>("gang_steps", [&](std::size_t i, bool v) { in.pools[i].gang_steps = v; });
  p.each<bool>("fifo", [&](std::size_t i, bool v) { in.pools[i].fifo = v; });
  p.each<std::uint32_t>("strong_given",
                        [&](std::size_t i, std::uint32_t v) { in.pools[i].strong_given = v; });
  p.each<std::uint32_t>("limited",
                        [&](std::size_t i, std::uint32_t v) { in.pools[i].limited = v; });
  p.each<int>("integral",
              [&](std::size_t i, int v) { in.pools[i].integral = static_cast<Integral>(v); });
  p.each<double>("multiplier", [&](std::size_t i, double v) { in.pools[i].multiplier = v; });
  p.each<double>("last_ratio", [&](std::size_t i, double v) { in.pools[i].last_ratio = v; });
  p.amounts("strong", [&](std::size_t i, const Vector& v) { in.pools[i].strong = v; });
  p.amounts("limits", [&](std::size_t i, const Vector& v) { in.pools[i].limits = v; });
  p.amounts("flow", [&](std::size_t i, const Vector& v) { in.pools[i].flow = v; });
  p.amounts("burst", [&](std::size_t i, const Vector& v) { in.pools[i].burst = v; });
  p.amounts("volume", [&](std::size_t i, const Vector& v) { in.pools[i].volume = v; });

  in.operations.resize(py::len(operations["pool"]));
  const Columns o(operations, static_cast<py::ssize_t>(in.operations.size()));
  o.each<int>("pool", [&](std::size_t i, int v) {
    if (v < 0 || v >= static_cast<int>(in.pools.size())) throw std::invalid_argument("pool");
    in.operations[i].pool = v;
  });
  o.each<double>("weight", [&](std::size_t i, double v) { in.operations[i].weight = v; });
  o.each<bool>("gang", [&](std::size_t i, bool v) { in.operations[i].gang = v; });
  o.each<double>("fifo_start", [&](std::size_t i, double v) { in.operations[i].fifo_start = v; });
  o.each<std::uint32_t>("limited",
                        [&](std::size_t i, std::uint32_t v) { in.operations[i].limited = v; });
  o.amounts("demand", [&](std::size_t i, const Vector& v) { in.operations[i].demand = v; });
  o.amounts("usage", [&](std::size_t i, const Vector& v) { in.operations[i].usage = v; });
  o.amounts("limits", [&](std::size_t i, const Vector& v) { in.operations[i].limits = v; });
  return in;
}

}  // namespace
}  // namespace yardstick

PYBIND11_MODULE(_yardstick, m) {
  using namespace yardstick;
  m.doc() = "The published fair share method, segment by segment.";
  py::class_<Input>(m, "Input")
      .def(py::init(&read_input), py::arg("head"), py::arg("pools"), py::arg("operations"))
      .def(
          "fair_share",
          [](const Input& input) {
            const std::vector<Vector> shares = [&] {
              py::gil_scoped_release release;
              return fair_share(input);
            }();
            Array<double> out(
                {static_cast<py::ssize_t>(shares.size()), static_cast<py::ssize_t>(kResources)});
            for (std::size_t i = 0; i < shares.size(); ++i)
              std::copy(shares[i].begin(), shares[i].end(),
                        out.mutable_data(static_cast<py::ssize_t>(i), 0));
            return out;
          },
          "Total fair share of pools (root first), then of operations.");
}
