// Whether columns can be read at all: everything after this may index freely.
#include <string>

#include "evenhand/model/building.h"

namespace evenhand {
namespace {

constexpr std::size_t kMaxRows = std::size_t{1} << 30;  // elements must fit an Id

class ShapeCheck {
 public:
  ShapeCheck(std::string_view table, std::size_t rows, std::size_t resources, Problems& problems)
      : table_(table), rows_(rows), resources_(resources), problems_(problems) {}

  void operator()(std::string_view field, const raw::Optional<raw::Names>& c) const {
    if (c) names(field, *c);
  }
  void operator()(std::string_view field, const raw::Optional<raw::Reference>& c) const {
    if (!c) return;
    if (c->names) names(field, *c->names);
    if (c->index) length(concat(field, "_index"), c->index->size(), rows_);
  }
  void operator()(std::string_view field, const raw::Optional<raw::Numbers>& c) const {
    if (c) numbers(field, *c, rows_);
  }
  void operator()(std::string_view field, const raw::Optional<raw::Amounts>& c) const {
    if (c) numbers(field, *c, rows_ * resources_);
  }
  void operator()(std::string_view field, const raw::Optional<raw::Codes>& c) const {
    if (!c) return;
    length(field, c->values.size(), rows_);
    mask(field, c->given, rows_);
  }
  void operator()(std::string_view field, const raw::Optional<raw::Text>& c) const {
    if (c) length(field, c->codes.size(), rows_);
  }
  void operator()(std::string_view field, const raw::Optional<raw::TextList>& c) const {
    if (!c) return;
    length(field, c->size(), rows_);
    offsets(field, c->offsets, c->codes.size());
  }

 private:
  void fault(std::string_view field, std::string_view what, std::size_t found,
             std::size_t wanted) const {
    problems_.add([&] {
      const auto f = static_cast<Index>(found), w = static_cast<Index>(wanted);
      return Problem{.table = std::string(table_),
                     .field = std::string(field),
                     .rule = "length",
                     .value = to_text(f),
                     .message = concat("the column ", field, " of the table ", table_, " has ", f,
                                       " ", what, ", not ", w)};
    });
  }
  void length(std::string_view field, std::size_t found, std::size_t wanted) const {
    if (found != wanted) fault(field, "values", found, wanted);
  }
  void mask(std::string_view field, raw::Mask given, std::size_t wanted) const {
    if (!given.empty() && given.size() != wanted)
      fault(field, "flags of validity", given.size(), wanted);
  }
  void numbers(std::string_view field, const raw::Numbers& c, std::size_t wanted) const {
    length(field, c.reals.size() + c.integers.size(), wanted);
    mask(field, c.given, wanted);
  }
  void names(std::string_view field, const raw::Names& c) const {
    length(field, c.size(), rows_);
    mask(field, c.given, rows_);
    mask(field, c.is_integer, rows_);
    if (!c.integers) offsets(field, c.strings.offsets, c.strings.bytes.size());
  }
  void offsets(std::string_view field, std::span<const std::int64_t> o, std::size_t end) const {
    std::int64_t last = 0;
    for (const std::int64_t offset : o) {
      if (offset < last || static_cast<std::size_t>(offset) > end) {
        problems_.add([&] {
          return Problem{.table = std::string(table_),
                         .field = std::string(field),
                         .rule = "offsets",
                         .value = to_text(Index{offset}),
                         .message = concat("the offsets of the column ", field, " of the table ",
                                           table_, " must ascend from 0 to at most ",
                                           static_cast<Index>(end), "; one is ", Index{offset})};
        });
        return;
      }
      last = offset;
    }
  }

  std::string_view table_;
  std::size_t rows_, resources_;
  Problems& problems_;
};

template <class Table>
bool any_column(const Table& table) {
  bool any = false;
  raw::for_each_field(table, [&](std::string_view, const auto& c) { any = any || c.has_value(); });
  return any;
}

void add_table_problem(Problems& problems, std::string_view table, std::string_view field,
                       std::string_view rule, std::string message) {
  problems.add([&] {
    return Problem{.table = std::string(table),
                   .field = std::string(field),
                   .rule = std::string(rule),
                   .message = std::move(message)};
  });
}

template <class Table>
void check_table(std::string_view name, const Table& table, std::size_t resources,
                 Problems& problems) {
  if (!table.name) {
    if (any_column(table))
      add_table_problem(problems, name, "name", "required",
                        concat("the table ", name, " has no column name"));
    return;
  }
  const std::size_t rows = table.name->size();
  if (rows > kMaxRows) {
    add_table_problem(problems, name, "name", "length",
                      concat("the table ", name, " has ", static_cast<Index>(rows),
                             " rows; at most 2^30 are possible"));
    return;
  }
  raw::for_each_field(table, ShapeCheck(name, rows, resources, problems));
}

}  // namespace

bool check_shapes(const raw::Input& input, Problems& problems) {
  const std::size_t resources = input.resources.names.size();
  if (resources < 1 || resources > static_cast<std::size_t>(kMaxResources)) {
    add_table_problem(problems, "resources", "name", "range",
                      concat("there are ", static_cast<Index>(resources),
                             " resources; there must be 1 to ", Index{kMaxResources}));
    return false;
  }
  const ShapeCheck heads("resources", resources, 1, problems);
  const raw::Resources& r = input.resources;
  heads("quantum", raw::Optional<raw::Numbers>(raw::Numbers{.reals = r.quantum}));
  heads("kind", raw::Optional<raw::Codes>(raw::Codes{.values = r.kind}));
  heads("scope", raw::Optional<raw::Codes>(raw::Codes{.values = r.scope}));
  heads("available_after_preemption",
        raw::Optional<raw::Codes>(raw::Codes{.values = r.available_after_preemption}));
  heads("capacity", r.capacity);
  ShapeCheck("snapshot", 1, resources, problems)("total", input.total);

  if (input.root.name || input.root.parent || input.root.weight)
    add_table_problem(problems, "root", "name", "unknown",
                      "the root has no name, parent or weight of its own");
  else if (any_column(input.root))
    raw::for_each_field(input.root, ShapeCheck("root", 1, resources, problems));
  check_table("pools", input.pools, resources, problems);
  check_table("operations", input.operations, resources, problems);
  check_table("nodes", input.nodes, resources, problems);
  check_table("allocations", input.allocations, resources, problems);
  check_table("requests", input.requests, resources, problems);
  check_table("reservations", input.reservations, resources, problems);
  return problems.none();
}

}  // namespace evenhand
