#include "evenhand/model/utf8.h"

#include <cstdint>
#include <cstring>

namespace evenhand {
namespace {

// Bytes of the character that starts at text[0]; 0 if none does.
std::size_t character_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto within = [&](std::size_t i, unsigned low, unsigned high) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return within(1, 0x80, 0xBF) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const unsigned low = first == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = first == 0xED ? 0x9F : 0xBF;
    return within(1, low, high) && within(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const unsigned low = first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = first == 0xF4 ? 0x8F : 0xBF;
    return within(1, low, high) && within(2, 0x80, 0xBF) && within(3, 0x80, 0xBF) ? 4 : 0;
  }
  return 0;
}

}  // namespace

bool is_ascii(std::string_view text) noexcept {
  std::uint64_t high_bits = 0;
  std::size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    high_bits |= word;
  }
  for (; i < text.size(); ++i) high_bits |= static_cast<unsigned char>(text[i]);
  return (high_bits & 0x8080808080808080u) == 0;
}

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string sanitised_utf8(std::string_view text, std::size_t limit) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const std::size_t taken = length == 0 ? 1 : length;
    if (result.size() + taken > limit) break;
    if (length == 0)
      result += '?';
    else
      result += text.substr(0, length);
    text.remove_prefix(taken);
  }
  return result;
}

}  // namespace evenhand
