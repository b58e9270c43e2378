// What is wrong with the raw columns: every problem is counted, the first
// hundred are kept. A problem is a value, never an exception.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "evenhand/core/types.h"

namespace evenhand {

struct Problem {
  std::string table = {};
  Index row = kNoId;         // in the input's order; -1: the table as a whole
  std::string name = {};     // of the row; may be empty
  std::string field = {};    // as in frames: "demand.cpu", "integral.type"
  std::string rule = {};     // short stable code
  std::string value = {};    // the offending value
  std::string message = {};  // one sentence with the numbers
};

class Problems {
 public:
  static constexpr std::size_t kKept = 100;

  // make() is called only if its problem will be kept: counting a million bad
  // cells must not format a million sentences.
  template <class Make>
  void add(Make&& make) {
    if (kept_.size() < kKept) kept_.push_back(std::forward<Make>(make)());
    ++total_;
  }

  const std::vector<Problem>& kept() const noexcept { return kept_; }
  Index total() const noexcept { return total_; }
  bool none() const noexcept { return total_ == 0; }

 private:
  std::vector<Problem> kept_;
  Index total_ = 0;
};

// Text of numbers as a person would write them: the shortest decimal text that
// reads back as the same value.
std::string to_text(double value);
std::string to_text(Index value);
inline std::string_view to_text(std::string_view value) { return value; }

template <class... Parts>
std::string concat(const Parts&... parts) {
  std::string text;
  (text.append(to_text(parts)), ...);
  return text;
}

// Quoted for a message: long names are cut, broken UTF-8 is replaced.
std::string quoted(std::string_view name);

}  // namespace evenhand
