#include "clients/cli/quantity.h"

#include <gtest/gtest.h>

namespace mayfly::cli {
namespace {

TEST(ParseByteSize, ReadsPlainBytesAndBinaryUnits) {
  EXPECT_EQ(*ParseByteSize("0"), 0);
  EXPECT_EQ(*ParseByteSize("4096"), 4096);
  EXPECT_EQ(*ParseByteSize("12B"), 12);
  EXPECT_EQ(*ParseByteSize("64KiB"), 65536);
  EXPECT_EQ(*ParseByteSize("1MiB"), 1048576);
  EXPECT_EQ(*ParseByteSize("2GiB"), 2147483648);
}

TEST(ParseByteSize, RefusesWhatIsNotASize) {
  for (const char* text : {"", "KiB", "64K", "64kb", "-1", "+1", "1.5MiB", " 1", "1 KiB", "0x10", "9223372036854775808",
                           "9007199254740992GiB"}) {
    EXPECT_FALSE(ParseByteSize(text).ok()) << text;
  }
}

TEST(FormatByteSize, UsesTheLargestUnitThatDivides) {
  EXPECT_EQ(FormatByteSize(0), "0B");
  EXPECT_EQ(FormatByteSize(65536), "64KiB");
  EXPECT_EQ(FormatByteSize(65537), "65537B");
  EXPECT_EQ(FormatByteSize(int64_t{1} << 31), "2GiB");
}

TEST(ParseTimeout, ReadsTimesWithUnits) {
  EXPECT_EQ(*ParseTimeout("300ms"), absl::Milliseconds(300));
  EXPECT_EQ(*ParseTimeout("1m30s"), absl::Seconds(90));
}

TEST(ParseTimeout, RefusesNoUnitNoTimeAndForever) {
  for (const char* text : {"", "5", "0s", "-1s", "inf", "5 s", "soon"}) EXPECT_FALSE(ParseTimeout(text).ok()) << text;
}

}  // namespace
}  // namespace mayfly::cli
