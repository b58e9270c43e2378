// Pieces of preemption that stand alone.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "arrays.h"
#include "evenhand/preempt/blocking.h"
#include "evenhand/preempt/spread_cover.h"
#include "evenhand/preempt/victims.h"
#include "long_call.h"
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

bool able_costs(const std::vector<Index>& costs) {
  Index sum = 0;
  for (const Index c : costs) {
    if (c < 1 || c > kMostCost || sum > (Index{1} << 60) - c) return false;
    sum += c;
  }
  return true;
}

std::vector<Index> prices_of(const std::optional<py::array_t<Index>>& costs, std::size_t count) {
  std::vector<Index> prices(count, 1);
  if (costs) prices = to_vector(*costs);
  if (prices.size() != count || !able_costs(prices))
    throw py::value_error("costs must be one a candidate, from 1 to 10^13, at most 2^60 in sum");
  return prices;
}

py::dict proof_dict(std::vector<Id> taken, const SelectionProof& proof) {
  py::dict out;
  out["taken"] = to_array(std::move(taken));
  out["cost"] = proof.cost;
  out["lower_bound"] = proof.lower_bound;
  out["root_bound"] = proof.root_bound;
  out["proved"] = proof.proved;
  out["first"] = proof.first;
  out["spent"] = proof.spent;
  out["branches"] = proof.branches;
  return out;
}

// Which jobs go so that nodes can hold copies of a request: (job, node) rows with what is
// freed there, and what each level of each node lacks, nodes and levels ascending.
py::object select_jobs(const py::array_t<Id>& jobs, const py::array_t<Id>& nodes,
                       const py::array_t<Amount>& amounts, const py::array_t<Id>& level_nodes,
                       const py::array_t<Amount>& lacks, Index copies,
                       const py::array_t<Index>& costs, Index budget) {
  const std::vector<Id> job = to_vector(jobs), node = to_vector(nodes), at = to_vector(level_nodes);
  const std::vector<Amount> freed = to_vector(amounts), lack = to_vector(lacks);
  const std::vector<Index> prices = to_vector(costs);
  const auto count = static_cast<Id>(prices.size());
  const auto width = static_cast<std::size_t>(lacks.ndim() == 2 ? lacks.shape(1) : 0);
  const auto ascend = [](const std::vector<Id>& v) {
    return std::ranges::is_sorted(v) && (v.empty() || v.front() >= 0);
  };
  if (width == 0 || freed.size() != job.size() * width || node.size() != job.size() ||
      lack.size() != at.size() * width || !ascend(job) || !ascend(at) ||
      (!job.empty() && job.back() >= count) ||
      std::ranges::any_of(node, [](Id n) { return n < 0; }) || !able_costs(prices))
    throw py::value_error("rows must be sorted, of known jobs, and as wide as each other");
  Id sites = at.empty() ? 0 : at.back() + 1;
  for (const Id n : node) sites = std::max(sites, n + 1);
  FreedByNode freed_on(static_cast<std::size_t>(sites), width);
  for (std::size_t i = 0; i < job.size(); ++i) {
    Amount* to = freed_on.add(job[i], node[i]);
    for (std::size_t r = 0; r < width; ++r) to[r] += freed[i * width + r];
  }
  SpreadNeed need(width);
  need.copies = copies;
  for (std::size_t i = 0, j = 0; i < at.size(); i = j) {
    while (j < at.size() && at[j] == at[i]) ++j;
    need.add(freed_on.jobs(at[i]), freed_on.amounts(at[i]),
             std::span(lack).subspan(i * width, (j - i) * width));
  }
  SpreadCover cover;
  SelectionProof proof;
  Column<Id> taken;
  SpreadProof certificate;
  bool able = false;
  {
    const LongCall call;
    able = cover.solve(need, prices, budget, taken, proof);
    if (able) certificate = cover.prove(budget);
  }
  if (!able) return py::none();
  py::dict out = proof_dict(std::move(taken), proof);
  out["scale"] = certificate.scale;
  out["piece_jobs"] = to_array(std::vector<Id>(need.job));
  out["parts"] = to_array(std::move(certificate.part));
  out["bounds"] = to_array(std::move(certificate.bound));
  out["multipliers"] = to_array(std::move(certificate.multiplier));
  return out;
}

// Which candidates of one node are preempted, and what is proved of it.
py::object select_victims(const py::array_t<Amount>& amounts, const py::array_t<Amount>& shortage,
                          const std::string& selection, Index budget,
                          const std::optional<py::array_t<Index>>& costs) {
  static constexpr std::array<const char*, 3> kNames = {"prefix", "irreducible", "minimum"};
  const auto name = std::ranges::find(kNames, selection);
  if (name == kNames.end()) throw py::value_error("there is no selection " + selection);
  check_amounts(amounts, shortage);
  const std::vector<Amount> sizes = to_vector(amounts), lacking = to_vector(shortage);
  const std::size_t width = lacking.size();
  const auto count = static_cast<std::size_t>(amounts.shape(0));
  const std::vector<Index> prices = prices_of(costs, count);
  VictimSelector selector(width);
  bool covered = false;
  {
    const LongCall call;
    for (std::size_t i = 0; i < count; ++i)
      selector.add(static_cast<Id>(i), sizes.data() + i * width, prices[i]);
    covered = selector.select(static_cast<VictimSelection>(name - kNames.begin()), lacking, budget);
  }
  if (!covered) return py::none();
  py::dict out = proof_dict({selector.taken().begin(), selector.taken().end()}, selector.proof());
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
        const Column<Id> parent = to_vector(parents);
        const Column<std::uint8_t> starves = to_vector(starving);
        const Column<double> served = to_vector(satisfaction);
        Column<Id> out(parent.size());
        for (Id e = 0; e < out.rows(); ++e)
          out[e] = blocking_element(
              e, [&](Id i) { return parent[i]; }, [&](Id i) { return starves[i] != 0; },
              [&](Id i) { return served[i]; }, threshold);
        return to_array(std::move(out));
      },
      py::arg("parents"), py::arg("starving"), py::arg("satisfaction"), py::arg("threshold"),
      "Element that shields each element's work, in older revisions; -1: none.");
  m.def(
      "stands_in",
      [](const py::array_t<Id>& parents, Id element, Id pool) {
        const Column<Id> parent = to_vector(parents);
        return stands_in(element, pool, [&](Id i) { return parent[i]; });
      },
      py::arg("parents"), py::arg("element"), py::arg("pool"), "Whether it stands in a pool.");
  m.def("select_victims", &select_victims, py::arg("amounts"), py::arg("shortage"),
        py::arg("selection"), py::arg("budget"), py::arg("costs") = py::none(),
        "Positions that cover a shortage, with what is proved of them; None: all do not.");
  m.def("select_jobs", &select_jobs, py::arg("jobs"), py::arg("nodes"), py::arg("amounts"),
        py::arg("level_nodes"), py::arg("lacks"), py::arg("copies"), py::arg("costs"),
        py::arg("budget"),
        "Jobs whose going makes room for copies on nodes, with what proves it; None: all do not.");
}

}  // namespace evenhand::bindings
