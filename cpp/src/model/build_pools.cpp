#include "evenhand/model/building.h"
#include "evenhand/model/columns.h"

namespace evenhand {
namespace {

// The root's row followed by those of the pools.
template <class T>
Column<T> joined(Column<T> root, Column<T> pools) {
  root.insert(root.end(), pools.begin(), pools.end());
  return root;
}

}  // namespace

void build_pools(Building& b) {
  const raw::Pools &root = b.input.root, &pools = b.input.pools;
  const std::size_t n = b.pools.size(), resources = b.scale->resource_count();
  PoolColumns& out = b.tables.pools;

  const auto flags = [&](std::string_view field, auto member, bool absent) {
    const auto one = static_cast<std::uint8_t>(absent);
    return joined(filled(read_flags(b.root, field, root.*member, absent), 1, one),
                  filled(read_flags(b.pools, field, pools.*member, absent), n, one));
  };
  const auto numbers = [&](std::string_view field, auto member, double absent, Bounds bounds) {
    return joined(filled(read_numbers(b.root, field, root.*member, absent, bounds), 1, absent),
                  filled(read_numbers(b.pools, field, pools.*member, absent, bounds), n, absent));
  };
  const auto codes = [&](std::string_view field, auto member, auto last, auto absent) {
    return joined(filled(read_enum(b.root, field, root.*member, last), 1, absent),
                  filled(read_enum(b.pools, field, pools.*member, last), n, absent));
  };
  const auto amounts = [&](std::string_view field, auto member,
                           Column<ResourceMask>* given = nullptr) {
    Column<ResourceMask> root_given, pools_given;
    auto quanta = joined(
        filled(b.scale->read(b.root, field, root.*member, &root_given), resources, Amount{0}),
        filled(b.scale->read(b.pools, field, pools.*member, &pools_given), n * resources,
               Amount{0}));
    if (given) *given = joined(std::move(root_given), std::move(pools_given));
    return quanta;
  };

  out.names.text.push_back(kRootName);
  if (pools.name) {
    for (std::size_t row = 0; row < n; ++row)
      if (b.pools.names[b.pools.order.input(row)] == kRootName)
        b.pools.problem(row, {"name"}, "reserved", kRootName,
                        "is the implicit root's; give settings of the root under root");
    append_names(b.pools, *pools.name, out.names);
  }
  out.parent =
      joined({kNoId},
             filled(RowFinder(b.pools, 1).read(b.pools, "parent", pools.parent, false), n, kNoId));
  for (std::size_t p = 1; p < out.parent.size(); ++p)
    if (out.parent[p] == kNoId) out.parent[p] = 0;
  out.weight =
      joined({1.0}, filled(read_numbers(b.pools, "weight", pools.weight, 1.0, kPositive), n, 1.0));

  using P = raw::Pools;
  out.mode = codes("mode", &P::mode, PoolMode::kFifo, PoolMode::kFairShare);
  out.strong_guarantee =
      amounts("strong_guarantee", &P::strong_guarantee, &out.strong_guarantee_given);
  out.limits = amounts("limits", &P::limits, &out.limits_given);
  out.step_function_for_gang = flags("step_function_for_gang", &P::step_function_for_gang, true);
  out.fifo_reordering = flags("fifo_reordering", &P::fifo_reordering, false);
  out.compute_promised_guarantee =
      flags("compute_promised_guarantee", &P::compute_promised_guarantee, false);
  out.priority_strong_guarantee =
      flags("priority_strong_guarantee", &P::priority_strong_guarantee, false);
  out.priority_donor = flags("priority_donor", &P::priority_donor, false);

  IntegralColumns& integral = out.integral;
  integral.type =
      codes("integral.type", &P::integral_type, IntegralType::kRelaxed, IntegralType::kNone);
  integral.resource_flow = amounts("integral.resource_flow", &P::resource_flow);
  integral.burst = amounts("integral.burst", &P::burst);
  integral.relaxed_share_multiplier_limit =
      numbers("integral.relaxed_share_multiplier_limit", &P::relaxed_share_multiplier_limit, 3.0,
              Bounds{.low = 1.0, .high = 10.0});
  integral.can_accept_free_volume =
      flags("integral.can_accept_free_volume", &P::can_accept_free_volume, true);
  integral.should_distribute_free_volume_among_children =
      flags("integral.should_distribute_free_volume_among_children",
            &P::should_distribute_free_volume, false);
  const auto volume = [&](const TableRows& rows, const raw::Pools& table) {
    return filled(
        b.scale->read_reals(rows, "integral.accumulated_volume", table.accumulated_volume),
        rows.size() * resources, 0.0);
  };
  integral.accumulated_volume = joined(volume(b.root, root), volume(b.pools, pools));
  integral.last_share_ratio =
      numbers("integral.last_share_ratio", &P::last_share_ratio, 0.0, kNonNegative);
}

}  // namespace evenhand
