// A table of a JSON text, a list of objects or a single one, as columns: numbers, flags and texts
// in arrays, without an object a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace evenhand {

// A key that rows may have, and how its texts are wanted.
struct JsonField {
  enum class Texts : std::uint8_t {
    kPlain,    // one a row
    kWords,    // those that return once, mostly; lists of texts too
    kWritten,  // not at all: cells stay JSON, whatever they are
    kObjects,  // as words; mostly cells are objects of `inner`
  };

  std::string key;
  Texts texts = Texts::kPlain;
  bool numbers = true;  // integers among reals may become such; else cells stay JSON
  std::vector<JsonField> inner;
};

struct JsonUnknown {
  std::string key;
  std::size_t first = 0, rows = 0;
};

// The cells of one key. A column of cells of several kinds, or of others than these, is written: a
// JSON list of its cells. An absent cell is as one that is null.
struct JsonColumn {
  enum class Form : std::uint8_t {
    kNulls,
    kIntegers,
    kReals,  // integers among them
    kFlags,
    kTexts,    // laid end to end
    kWords,    // texts by first place, and the code of each row: -1 where it has none
    kLists,    // texts likewise, the codes of all lists, and where each row's begin
    kObjects,  // `inner` and `unknown`
    kWritten,  // in `bytes`
  };

  Form form = Form::kNulls;
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  std::vector<std::uint8_t> flags;
  std::vector<std::uint8_t> given;  // empty: all are
  std::string bytes;
  std::vector<std::int64_t> offsets;  // of the texts in `bytes`
  std::vector<std::int32_t> codes;
  std::vector<std::int64_t> ends;    // of the lists, and 0 first
  std::vector<std::string> keys;     // those of `inner` that any row has
  std::vector<JsonColumn> columns;   // of the keys
  std::vector<JsonUnknown> unknown;  // in the order of their first rows
};

struct JsonStrange {
  std::size_t row = 0, at = 0, size = 0;
};

struct JsonTable {
  std::size_t rows = 0;
  JsonColumn row;                    // of objects
  std::vector<JsonStrange> strange;  // rows that are no objects
};

// `text` is a list or an object, valid JSON and UTF-8 in which a lone surrogate may stand as three
// bytes; no key stands twice in an object. The table ends with the `most`th row that is no object.
// Only the first `most` unknown keys of an object are counted, and from a row on that is a multiple
// of `counted` none if there are as many.
//
// O(bytes + columns * rows).
JsonTable read_json_table(std::string_view text, const std::vector<JsonField>& fields,
                          std::size_t most, std::size_t counted);

}  // namespace evenhand
