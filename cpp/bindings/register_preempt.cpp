// Pieces of preemption that stand alone.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "arrays.h"
#include "evenhand/preempt/blocking.h"
#include "evenhand/preempt/victims.h"
#include "pybind.h"
#include "register.h"

namespace evenhand::bindings {
namespace {

// Amounts that the selections can add up without an overflow.
void check_amounts(const py::array_t<Amount>& amounts, const py::array_t<Amount>& shortage) {
  if (amounts.ndim() != 2 || shortage.ndim() != 1 || amounts.shape(1) != shortage.shape(0))
    throw py::value_error("amounts must be (n, R) and shortage (R)");
  if (amounts.shape(1) > kMaxResources) throw py::value_error("there are too many resources");
  const auto a = amounts.unchecked<2>();
  const auto s = shortage.unchecked<1>();
  for (py::ssize_t r = 0; r < a.shape(1); ++r) {
    if (s(r) > kMaxAmount) throw py::value_error("a shortage is above 2^60");
    Amount sum = 0;
    for (py::ssize_t i = 0; i < a.shape(0); ++i) {
      if (a(i, r) < 0 || a(i, r) > kMaxAmount || (sum += a(i, r)) > kMaxAmount)
        throw py::value_error("amounts must be from 0 to 2^60, and so must their sum");
    }
  }
}

// Who goes of the candidates of one node, and what is proved of it.
py::object select_victims(const py::array_t<Amount>& amounts, const py::array_t<Amount>& shortage,
                          const std::string& selection, Index budget) {
  static constexpr std::array<const char*, 3> kNames = {"prefix", "irreducible", "minimum"};
  const auto name = std::ranges::find(kNames, selection);
  if (name == kNames.end()) throw py::value_error("there is no selection " + selection);
  check_amounts(amounts, shortage);
  const std::vector<Amount> sizes = to_vector(amounts), lacking = to_vector(shortage);
  const std::size_t width = lacking.size();
  VictimSelector selector(width);
  bool covered = false;
  {
    py::gil_scoped_release release;
    for (py::ssize_t i = 0; i < amounts.shape(0); ++i)
      selector.add(static_cast<Id>(i), sizes.data() + static_cast<std::size_t>(i) * width);
    covered = selector.select(static_cast<VictimSelection>(name - kNames.begin()), lacking, budget);
  }
  if (!covered) return py::none();
  const SelectionProof& proof = selector.proof();
  py::dict out;
  out["taken"] = to_array(std::vector<Id>(selector.taken().begin(), selector.taken().end()));
  out["cost"] = proof.cost;
  out["lower_bound"] = proof.lower_bound;
  out["root_bound"] = proof.root_bound;
  out["proved"] = proof.proved;
  out["first"] = proof.first;
  out["branches"] = proof.branches;
  out["multipliers"] =
      to_array(std::vector<double>(selector.multipliers().begin(), selector.multipliers().end()));
  return out;
}

}  // namespace

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
  m.def("select_victims", &select_victims, py::arg("amounts"), py::arg("shortage"),
        py::arg("selection"), py::arg("budget"),
        "Positions that cover a shortage, with what is proved of them; None: all do not.");
}

}  // namespace evenhand::bindings
