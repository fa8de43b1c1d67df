#include <string>

#include "gtest/gtest.h"
#include "policy/quoted.h"
#include "policy/utf8.h"

namespace mayfly::policy {
namespace {

using std::string_literals::operator""s;

TEST(Quoted, EscapesAndCuts) {
  EXPECT_EQ(Quoted("plain"), "\"plain\"");
  EXPECT_EQ(Quoted("a\0\n\"\xff"s), R"("a\x00\n\"\xff")");
  EXPECT_EQ(Quoted("abcdef", 3), "\"abc...\" (6 bytes)");
  EXPECT_EQ(Quoted("abc", 3), "\"abc\"");
}

TEST(Utf8, TakesWhatUnicodeTakesOnly) {
  for (const std::string& good : {""s, "a\0b"s, "é☕"s, "😀"s, "\u07ff\u0800\ud7ff\ue000\uffff"s, "\U0010ffff"s}) {
    EXPECT_TRUE(IsUtf8(good)) << Quoted(good);
  }
  for (const std::string& bad : {
           "\x80"s,              // no lead
           "\xc3"s,              // cut
           "\xe2\x98"s,          // cut
           "\xc3("s,             // not a continuation
           "\xc0\x80"s,          // overlong NUL
           "\xc1\xbf"s,          // overlong
           "\xe0\x9f\xbf"s,      // overlong
           "\xf0\x8f\xbf\xbf"s,  // overlong
           "\xed\xa0\x80"s,      // surrogate
           "\xf4\x90\x80\x80"s,  // above U+10FFFF
           "\xf5\x80\x80\x80"s,
           "\xff"s,
       }) {
    EXPECT_FALSE(IsUtf8(bad)) << Quoted(bad);
  }
}

}  // namespace
}  // namespace mayfly::policy
