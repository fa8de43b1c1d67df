#include "policy/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace mayfly::policy {
namespace {

TEST(Utf8Test, TellsWellFormedFromIllFormed) {
  const std::vector<std::string> good = {"",
                                         "abc",
                                         "\xc3\xa9",
                                         "\xe2\x98\x95",
                                         "\xf0\x9f\x98\x80",
                                         "\xf4\x8f\xbf\xbf",
                                         "\xed\x9f\xbf",
                                         "\xee\x80\x80",
                                         std::string("a\0b", 3)};
  const std::vector<std::string> bad = {
      "\x80",
      "\xff",
      "\xc3",
      "\xc3(",
      "\xe2\x98",
      "\xf0\x9f\x98",
      "\xc0\xaf",          // overlong "/"
      "\xe0\x80\xaf",      // the same, longer
      "\xf0\x80\x80\xaf",  // and longer
      "\xed\xa0\x80",      // surrogate
      "\xf4\x90\x80\x80",  // above U+10FFFF
      "\xf5\x80\x80\x80",
  };
  for (const std::string& text : good) EXPECT_TRUE(IsUtf8(text)) << EscapeToUtf8(text);
  for (const std::string& text : bad) EXPECT_FALSE(IsUtf8(text)) << EscapeToUtf8(text);
}

TEST(Utf8Test, EscapesBadBytesAndBackslashes) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"plain \xc3\xa9\n", "plain \xc3\xa9\n"},
      {"\xc3.txt", "\\xC3.txt"},
      {"a\\xC3", "a\\x5CxC3"},
      {"\xe2\x98", "\\xE2\\x98"},
      {"\xed\xa0\x80", "\\xED\\xA0\\x80"},
  };
  for (const auto& [text, escaped] : cases) EXPECT_EQ(EscapeToUtf8(text), escaped);
}

TEST(Utf8Test, EveryBadByteIsACharacterOfItsOwn) {
  absl::string_view text = "\xe2\x98z";
  EXPECT_EQ(TakeCharacter(&text), kInvalidByte + 0xe2);
  EXPECT_EQ(TakeCharacter(&text), kInvalidByte + 0x98);
  EXPECT_EQ(TakeCharacter(&text), U'z');
  EXPECT_TRUE(text.empty());
}

}  // namespace
}  // namespace mayfly::policy
