// UTF-8 as Unicode 15, table 3-7 has it: no overlong forms, no surrogates,
// nothing above U+10FFFF.
#pragma once

#include <string>
#include <string_view>

namespace evenhand {

// Linear in the text; eight bytes at a step while they are ASCII.
bool is_ascii(std::string_view text) noexcept;
bool is_utf8(std::string_view text) noexcept;

// At most `limit` bytes of the text, with every byte that is not part of a
// whole character replaced by '?'.
std::string sanitised_utf8(std::string_view text, std::size_t limit);

}  // namespace evenhand
