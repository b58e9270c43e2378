// Decayed usage and the fair share rules that read it.
#include <array>
#include <span>
#include <stdexcept>

#include "arrays.h"
#include "evenhand/share/history/backendai_factor.h"
#include "evenhand/share/history/decay.h"
#include "evenhand/share/history/forest.h"
#include "evenhand/share/history/gridengine_share_tree.h"
#include "evenhand/share/history/slurm_classic.h"
#include "evenhand/share/history/slurm_fair_tree.h"
#include "pybind.h"
#include "register.h"

namespace evenhand::bindings {
namespace {

using namespace history;

template <class T>
using Values = py::array_t<T, py::array::c_style | py::array::forcecast>;
using Flags = Values<std::uint8_t>;
using Numbers = Values<double>;
using Rows = Values<Id>;

template <class T>
std::span<const T> view(const Values<T>& column) {
  return {column.data(), static_cast<std::size_t>(column.size())};
}

// The package checks what people enter; this only keeps the core within bounds.
void require(bool holds, const char* message) {
  if (!holds) throw std::invalid_argument(message);
}

Forest forest_of(const Rows& parent) {
  const auto rows = view(parent);
  for (const Id p : rows)
    require(p >= kNoId && p < static_cast<Id>(rows.size()), "parent is not a row");
  return Forest(rows);
}

template <class... Columns>
Forest checked_forest(const Rows& parent, const Columns&... columns) {
  require(((columns.size() == parent.size()) && ...), "columns differ in length");
  Forest forest = forest_of(parent);
  require(std::ssize(forest.order) == forest.size(), "parents form a cycle");
  return forest;
}

py::dict classic(const Rows& parent, const Numbers& shares, const Flags& inherits,
                 const Numbers& usage, double total, double dampening, Id root) {
  const Forest forest = checked_forest(parent, shares, inherits, usage);
  require(root >= kNoId && root < forest.size(), "root is not a row");
  ClassicFairShare result;
  {
    py::gil_scoped_release release;
    result = slurm_classic(forest, view(shares), view(inherits), view(usage),
                           {.total = total, .dampening = dampening, .root = root});
  }
  py::dict out;
  out["usage"] = to_array(std::move(result.usage));
  out["norm_shares"] = to_array(std::move(result.norm_shares));
  out["effective_usage"] = to_array(std::move(result.effective_usage));
  out["factor"] = to_array(std::move(result.factor));
  return out;
}

py::dict fair_tree(const Rows& parent, const Numbers& shares, const Flags& inherits,
                   const Flags& user, const Numbers& usage, bool exact, bool merge_tied_accounts) {
  const Forest forest = checked_forest(parent, shares, inherits, user, usage);
  FairTree result;
  {
    py::gil_scoped_release release;
    result = slurm_fair_tree(forest, view(shares), view(inherits), view(user), view(usage),
                             {.exact = exact, .merge_tied_accounts = merge_tied_accounts});
  }
  py::dict out;
  out["level_fair_share"] = to_array(std::move(result.level));
  out["factor"] = to_array(std::move(result.factor));
  out["rank"] = to_array(std::move(result.rank));
  return out;
}

py::dict share_tree(const Rows& parent, const Numbers& shares, const Numbers& usage,
                    const Flags& active, double compensation_factor) {
  const Forest forest = checked_forest(parent, shares, usage, active);
  ShareTreeTargets result;
  {
    py::gil_scoped_release release;
    result =
        gridengine_share_tree(forest, view(shares), view(usage), view(active), compensation_factor);
  }
  py::dict out;
  out["level_long_term"] = to_array(std::move(result.level_long_term));
  out["level_short_term"] = to_array(std::move(result.level_short_term));
  out["long_term"] = to_array(std::move(result.long_term));
  out["short_term"] = to_array(std::move(result.short_term));
  return out;
}

py::array_t<double> accumulated(const Decay& decay, const Rows& row, const Numbers& amount,
                                const Numbers& age, const Numbers& before) {
  require(before.ndim() == 2 && amount.ndim() == 2 && amount.shape(1) == before.shape(1),
          "amounts need one column a resource");
  require(row.size() == amount.shape(0) && age.size() == row.size(), "columns differ in length");
  for (const Id r : view(row)) require(r >= 0 && r < before.shape(0), "row is out of range");
  std::vector<double> into(before.data(), before.data() + before.size());
  {
    py::gil_scoped_release release;
    accumulate(decay, before.shape(1), view(row), view(amount), view(age), into);
  }
  return to_array(std::move(into), {before.shape(0), before.shape(1)});
}

}  // namespace

void register_history(py::module_& m) {
  py::class_<Decay>(m, "Decay", "Rule by which usage counts less the longer ago it was.")
      .def(py::init<double, double>(), py::arg("rate"), py::arg("step") = 0.0)
      .def_static("exact", &Decay::exact, py::arg("half_life_s"))
      .def_static("slurm", &Decay::slurm, py::arg("half_life_s"))
      .def_static("gridengine", &Decay::gridengine, py::arg("half_life_s"), py::arg("interval_s"))
      .def_readonly("rate", &Decay::rate)
      .def_readonly("step", &Decay::step)
      .def(
          "factor",
          [](const Decay& decay, const Numbers& age) {
            std::vector<double> out;
            out.reserve(static_cast<std::size_t>(age.size()));
            for (const double a : view(age)) out.push_back(decay.factor(a));
            return to_array(std::move(out));
          },
          py::arg("age"));
  m.def("accumulate_decayed", &accumulated, py::arg("decay"), py::arg("row"), py::arg("amount"),
        py::arg("age"), py::arg("before"), "before + amounts x what is left of them, by row.");
  m.def(
      "tree_order", [](const Rows& parent) { return to_array(forest_of(parent).order); },
      py::arg("parent"), "Rows with parents before children; rows in cycles are missing.");
  m.def(
      "roll_up",
      [](const Rows& parent, const Numbers& own, const Flags& total) {
        return to_array(checked_forest(parent, own, total).roll_up(view(own), view(total)));
      },
      py::arg("parent"), py::arg("own"), py::arg("total"), "Own value + those of all descendants.");
  m.def("slurm_classic", &classic, py::arg("parent"), py::arg("shares"), py::arg("inherits"),
        py::arg("usage"), py::arg("total"), py::arg("dampening"), py::arg("root"),
        "Slurm's classic fair share factor.");
  m.def("slurm_fair_tree", &fair_tree, py::arg("parent"), py::arg("shares"), py::arg("inherits"),
        py::arg("user"), py::arg("usage"), py::arg("exact"), py::arg("merge_tied_accounts"),
        "Slurm's Fair Tree.");
  m.def("gridengine_share_tree", &share_tree, py::arg("parent"), py::arg("shares"),
        py::arg("usage"), py::arg("active"), py::arg("compensation_factor"),
        "Grid Engine's share tree targets.");
  m.def(
      "compare_products",
      [](const std::array<double, 4>& a, const std::array<double, 4>& b) {
        return compare_products(a, b);
      },
      py::arg("a"), py::arg("b"), "Sign of the product of a - that of b, without rounding.");
  m.def(
      "backendai_normalised_usage",
      [](const Numbers& usage, const Numbers& capacity, const Numbers& weights, double lookback) {
        require(usage.ndim() == 2 && usage.shape(1) == capacity.size() &&
                    weights.size() == capacity.size(),
                "usage needs one column a resource");
        return to_array(
            backendai_normalised_usage(view(usage), view(capacity), view(weights), lookback));
      },
      py::arg("usage"), py::arg("capacity"), py::arg("weights"), py::arg("lookback"),
      "Backend.AI's normalised usage.");
  m.def(
      "backendai_factor",
      [](const Numbers& usage, const Numbers& weight) {
        require(usage.size() == weight.size(), "columns differ in length");
        return to_array(backendai_factor(view(usage), view(weight)));
      },
      py::arg("normalised_usage"), py::arg("weight"), "Backend.AI's fair share factor.");
}

}  // namespace evenhand::bindings
