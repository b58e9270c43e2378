// What JSON's parsers let pass and no snapshot may have: keys that an object names twice, numbers
// that JSON does not have, integers of thousands of digits. The text is read once, nothing is built
// of it. And where the values of the outermost object stand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace evenhand {

struct JsonFinding {
  enum class Kind : std::uint8_t { kTwice, kConstant, kLongInteger };
  using Step = std::variant<std::string, std::int64_t>;  // a key, or a place in a list

  Kind kind;
  std::vector<Step> path;  // from the outermost value; of a key twice it ends in that key
  std::size_t at = 0;      // first byte of the value; of a key twice, of its object
  std::size_t size = 0;    // bytes of the number; 0 of a key twice
};

// A value of the outermost object.
struct JsonPart {
  std::string key;
  std::size_t at = 0, size = 0;  // of the value, in bytes
};

// Where a number stands.
struct JsonNumber {
  std::size_t at = 0, size = 0;
};

struct JsonScan {
  std::vector<JsonFinding> found;
  std::vector<JsonNumber> too_large;  // for doubles: the first `most`; integers are not among them
  // In the order of the text: all of `known` keys, and the first `most` of others. None where the
  // text is not JSON, anything is found, or the outermost value is no object.
  std::vector<JsonPart> parts;
  std::size_t depth = 0;
};

// Findings in the order of the text, an object's own before those inside of it. Only the first
// `most` that are no long integers are looked for. Keys are compared, and returned, without their
// escapes, as UTF-8 in which a lone surrogate is three bytes.
//
// O(bytes + k log k) for objects of k keys. Text that is not JSON is read without harm, and what is
// found in it means nothing.
JsonScan scan_json(std::string_view text, std::size_t longest_integer, std::size_t most,
                   const std::vector<std::string>& known);

}  // namespace evenhand
