#include "evenhand/model/problems.h"

#include <array>
#include <charconv>
#include <cmath>

#include "evenhand/model/utf8.h"

namespace evenhand {

std::string to_text(double value) {
  std::array<char, 32> buffer;
  const double size = std::abs(value);
  const bool plain = size == 0.0 || (size >= 1e-6 && size < 1e16);
  const auto format = plain ? std::chars_format::fixed : std::chars_format::general;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format).ptr;
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
