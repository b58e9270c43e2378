// Text as JSON writes it, between its quotes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace evenhand {

inline bool is_json_space(char c) noexcept {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

// The four digits of an escape from there on, or a number beyond all code units.
std::uint32_t code_unit(std::string_view text, std::size_t at);

// The text that is meant, as UTF-8 in which a lone surrogate is three bytes.
std::string without_escapes(std::string_view text);

}  // namespace evenhand
