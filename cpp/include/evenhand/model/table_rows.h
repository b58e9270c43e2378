// The rows of one raw table in canonical order, and how to complain about them.
#pragma once

#include <string>
#include <string_view>

#include "evenhand/model/problems.h"
#include "evenhand/model/row_order.h"
#include "evenhand/model/tables.h"

namespace evenhand {

// A field as messages and frames call it: "weight", "demand.cpu".
struct Field {
  std::string_view name;
  std::string_view resource = {};

  std::string text() const {
    return resource.empty() ? std::string(name) : concat(name, ".", sanitised(resource));
  }

 private:
  static std::string sanitised(std::string_view text);
};

struct TableRows {
  std::string_view table;  // "pools"
  std::string_view row;    // "pool"
  RowOrder order;
  raw::Strings names;  // in input order
  Problems* problems = nullptr;
  bool single = false;  // not rows of a table: "the root", "the snapshot"

  std::size_t size() const noexcept { return order.size(); }

  // `the pool "a"`, or `row 3 of the pools` where there is no name.
  std::string label(std::size_t canonical_row) const;

  // Message: "<field> of <label> <parts...>".
  template <class... Parts>
  void problem(std::size_t canonical_row, const Field& field, std::string_view rule,
               std::string_view value, const Parts&... parts) const {
    problems->add([&] {
      Problem p = blank(canonical_row, field, rule, value);
      p.message = concat(p.field, " of ", label(canonical_row), " ", parts...);
      return p;
    });
  }

 private:
  Problem blank(std::size_t canonical_row, const Field& field, std::string_view rule,
                std::string_view value) const;
};

}  // namespace evenhand
