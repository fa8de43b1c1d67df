#include "worker/output_account.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace mayfly::worker {
namespace {

struct Case {
  const char* name;
  int64_t limit;
  std::vector<int64_t> writes;
  std::vector<int64_t> admitted;
  bool exceeded;
  int64_t total, sent;
};

class OutputAccountTest : public ::testing::TestWithParam<Case> {};

TEST_P(OutputAccountTest, Admits) {
  OutputAccount account(GetParam().limit);
  std::vector<int64_t> admitted;
  int64_t offset = 0;
  for (const int64_t bytes : GetParam().writes) {
    EXPECT_EQ(account.offset(), offset);
    admitted.push_back(account.Admit(bytes));
    offset += admitted.back();
  }
  EXPECT_EQ(admitted, GetParam().admitted);
  EXPECT_EQ(account.exceeded(), GetParam().exceeded);
  const mayfly::v1::StreamAccount proto = account.ToProto();
  EXPECT_EQ(proto.total(), GetParam().total);
  EXPECT_EQ(proto.sent(), GetParam().sent);
  EXPECT_EQ(proto.dropped(), GetParam().total - GetParam().sent);
}

INSTANTIATE_TEST_SUITE_P(All, OutputAccountTest,
                         ::testing::Values(Case{"Nothing", 10, {}, {}, false, 0, 0},
                                           Case{"BelowTheLimit", 10, {3, 4}, {3, 4}, false, 7, 7},
                                           Case{"ExactlyTheLimit", 10, {3, 7}, {3, 7}, false, 10, 10},
                                           Case{"OneTooMany", 10, {3, 8}, {3, 7}, true, 11, 10},
                                           Case{"GoesOnCounting", 10, {11, 5, 1}, {10, 0, 0}, true, 17, 10}),
                         [](const auto& info) { return info.param.name; });

TEST(OutputAccountTest, TakesBackWhatCouldNotBeSent) {
  OutputAccount account(100);
  EXPECT_EQ(account.Admit(30), 30);
  EXPECT_EQ(account.Admit(20), 20);
  account.TakeBack(20);
  EXPECT_EQ(account.offset(), 30);
  EXPECT_FALSE(account.exceeded());
  EXPECT_EQ(account.ToProto().total(), 50);
  EXPECT_EQ(account.ToProto().sent(), 30);
  EXPECT_EQ(account.ToProto().dropped(), 20);
}

}  // namespace
}  // namespace mayfly::worker
