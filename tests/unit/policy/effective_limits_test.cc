#include "policy/effective_limits.h"

#include "gtest/gtest.h"

namespace mayfly::policy {
namespace {

mayfly::v1::Template Offered() {
  mayfly::v1::Template offered;
  offered.mutable_default_limits()->mutable_wall_time()->set_seconds(10);
  offered.mutable_default_limits()->set_output_bytes(1000);
  offered.mutable_default_limits()->set_file_bytes(2000);
  offered.mutable_max_limits()->mutable_wall_time()->set_seconds(60);
  offered.mutable_max_limits()->set_output_bytes(5000);
  offered.mutable_max_limits()->set_file_bytes(6000);
  return offered;
}

TEST(EffectiveLimits, AreTheDefaultsWhenNothingIsAsked) {
  const EffectiveLimits limits = ResolveLimits({}, Offered());
  EXPECT_EQ(limits.wall_time, absl::Seconds(10));
  EXPECT_EQ(limits.output_bytes, 1000);
  EXPECT_EQ(limits.file_bytes, 2000);
}

TEST(EffectiveLimits, AreWhatIsAskedFieldByField) {
  mayfly::v1::ExecuteRequest request;
  request.mutable_limits()->mutable_wall_time()->set_nanos(20000000);
  request.mutable_limits()->set_file_bytes(0);  // none, which is not "not set"
  const EffectiveLimits limits = ResolveLimits(request, Offered());
  EXPECT_EQ(limits.wall_time, absl::Milliseconds(20));
  EXPECT_EQ(limits.output_bytes, 1000);
  EXPECT_EQ(limits.file_bytes, 0);
}

TEST(EffectiveLimits, NeverExceedTheMaximaEvenUnchecked) {
  mayfly::v1::ExecuteRequest request;
  request.mutable_limits()->mutable_wall_time()->set_seconds(3600);
  request.mutable_limits()->set_output_bytes(1 << 30);
  request.mutable_limits()->set_file_bytes(1 << 30);
  const EffectiveLimits limits = ResolveLimits(request, Offered());
  EXPECT_EQ(limits.wall_time, absl::Seconds(60));
  EXPECT_EQ(limits.output_bytes, 5000);
  EXPECT_EQ(limits.file_bytes, 6000);
}

}  // namespace
}  // namespace mayfly::policy
