#include "evenhand/model/utf8.h"

#include <gtest/gtest.h>

namespace evenhand::utf8_test {
namespace {

TEST(Utf8, AcceptsWholeCharactersOfEveryLength) {
  for (const char* text :
       {"", "plain", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
        "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"})
    EXPECT_TRUE(is_utf8(text)) << text;
}

TEST(Utf8, RefusesWhatUnicodeForbids) {
  for (const char* text : {"\x80", "\xC0\x80", "\xC1\xBF", "\xC2", "\xC2x", "\xE0\x9F\xBF",
                           "\xED\xA0\x80", "\xED\xBF\xBF", "\xE1\x80", "\xF0\x8F\xBF\xBF",
                           "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "ok\xFE"})
    EXPECT_FALSE(is_utf8(text));
}

TEST(Utf8, FindsHighBytesAnywhere) {
  for (std::size_t length = 1; length < 40; ++length)
    for (std::size_t at = 0; at < length; ++at) {
      std::string text(length, 'a');
      EXPECT_TRUE(is_ascii(text));
      text[at] = '\x80';
      EXPECT_FALSE(is_ascii(text));
    }
}

TEST(Utf8, SanitisedTextIsShortAndValid) {
  EXPECT_EQ(sanitised_utf8("a\xFFz", 10), "a?z");
  EXPECT_EQ(sanitised_utf8("\xC3\xA9\xC3\xA9", 3), "\xC3\xA9");  // no half character
  EXPECT_EQ(sanitised_utf8(std::string(100, 'x'), 7), "xxxxxxx");
}

}  // namespace
}  // namespace evenhand::utf8_test
