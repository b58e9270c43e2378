#include "evenhand/core/json_text.h"

#include <charconv>

namespace evenhand {
namespace {

void append_utf8(std::string& out, std::uint32_t code) {
  const auto byte = [&out](std::uint32_t bits) { out.push_back(static_cast<char>(bits)); };
  if (code < 0x80) return byte(code);
  if (code < 0x800) {
    byte(0xC0 | (code >> 6));
  } else {
    if (code < 0x10000) {
      byte(0xE0 | (code >> 12));
    } else {
      byte(0xF0 | (code >> 18));
      byte(0x80 | ((code >> 12) & 0x3F));
    }
    byte(0x80 | ((code >> 6) & 0x3F));
  }
  byte(0x80 | (code & 0x3F));
}

}  // namespace

std::uint32_t code_unit(std::string_view text, std::size_t at) {
  std::uint32_t unit = 0;
  if (at + 4 > text.size()) return 0x110000;
  const char* const end = text.data() + at + 4;
  const auto [stop, error] = std::from_chars(text.data() + at, end, unit, 16);
  return error == std::errc() && stop == end ? unit : 0x110000;
}

std::string without_escapes(std::string_view text) {
  constexpr std::string_view kLetters = "bfnrt", kMeant = "\b\f\n\r\t";
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || ++i == text.size()) {
      out.push_back(text[i < text.size() ? i : i - 1]);
      continue;
    }
    const auto letter = kLetters.find(text[i]);
    if (letter != std::string_view::npos) {
      out.push_back(kMeant[letter]);
    } else if (std::uint32_t code; text[i] == 'u' && (code = code_unit(text, i + 1)) < 0x10000) {
      i += 4;
      if (code >= 0xD800 && code < 0xDC00 && text.substr(i + 1, 2) == "\\u") {
        const std::uint32_t low = code_unit(text, i + 3);
        if (low >= 0xDC00 && low < 0xE000) {
          code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
          i += 6;
        }
      }
      append_utf8(out, code);
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

}  // namespace evenhand
