#include "clients/cli/failure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace mayfly::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

grpc::Status WithDetails(grpc::StatusCode code, const std::string& message,
                         const std::vector<const google::protobuf::Message*>& details) {
  google::rpc::Status status;
  for (const auto* detail : details) status.add_details()->PackFrom(*detail);
  return grpc::Status(code, message, status.SerializeAsString());
}

TEST(FailureFromCall, DecodesEveryDetail) {
  google::rpc::BadRequest bad;
  for (const char* field : {"code", "limits.wall_time"}) {
    auto* violation = bad.add_field_violations();
    violation->set_field(field);
    violation->set_description("is wrong");
  }
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(1);
  retry.mutable_retry_delay()->set_nanos(500000000);
  google::rpc::ErrorInfo info;
  info.set_reason("BAD_REQUEST");
  const Failure failure = FailureFromCall(
      WithDetails(grpc::StatusCode::INVALID_ARGUMENT, "the request is not valid", {&info, &bad, &retry}));
  EXPECT_EQ(failure.exit_code, 125);
  EXPECT_EQ(FailureText(failure),
            "mayfly: INVALID_ARGUMENT (BAD_REQUEST): the request is not valid\n"
            "  code: is wrong\n"
            "  limits.wall_time: is wrong\n"
            "  try again in 1.5s\n");
}

TEST(FailureFromCall, LivesWithDetailsThatDoNotDecode) {
  EXPECT_EQ(FailureText(FailureFromCall(grpc::Status(grpc::StatusCode::INTERNAL, "oops", "\xff\xff garbage"))),
            "mayfly: INTERNAL: oops\n");
}

TEST(FailureFromCall, NamesACodeItDoesNotKnow) {
  EXPECT_EQ(FailureFromCall(grpc::Status(static_cast<grpc::StatusCode>(20), "x")).code, "CODE_20");
}

TEST(FailureFromCall, TellsCancelled) {
  EXPECT_EQ(FailureFromCall(grpc::Status(grpc::StatusCode::CANCELLED, "x")).exit_code, 130);
}

TEST(FailureText, NeverPassesControlCharactersOn) {
  const std::string text = FailureText(FailureFromCall(grpc::Status(grpc::StatusCode::INTERNAL, "a\x1b[31m\nb\r")));
  EXPECT_EQ(text, "mayfly: INTERNAL: a\\x1b[31m\\nb\\x0d\n");
}

TEST(FailureText, LeavesTheCodeOfAUsageErrorOut) {
  const std::string text = FailureText(UsageFailure(absl::InvalidArgumentError("no")));
  EXPECT_THAT(text, HasSubstr("mayfly: no\n"));
  EXPECT_THAT(text, Not(HasSubstr("USAGE")));
}

}  // namespace
}  // namespace mayfly::cli
