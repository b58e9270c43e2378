#include "evenhand/model/problems.h"

#include <array>
#include <charconv>

#include "evenhand/model/utf8.h"

namespace evenhand {

std::string to_text(double value) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

std::string to_text(Index value) { return std::to_string(value); }

std::string quoted(std::string_view name) {
  constexpr std::size_t kLongest = 80;
  std::string text = "\"";
  text += sanitised_utf8(name, kLongest);
  if (name.size() > kLongest) text += "...";
  return text + '"';
}

}  // namespace evenhand
