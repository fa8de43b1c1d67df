// Every step of making a sandbox and of taking it down fails in turn: one final answer each time, and nothing is left.
#include "worker/sandbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "daemon/json_log.h"
#include "tests/unit/worker/rpc_details.h"
#include "tests/unit/worker/worker_under_test.h"

namespace mayfly::worker {
namespace {

using fakes::Failpoint;
using mayfly::v1::ExecutionResult;
using ::testing::Contains;
using ::testing::HasSubstr;

// ---- Making it.

enum class How { kRefused, kDoneButAnsweredWithAnError };

class StartStepTest : public ::testing::TestWithParam<std::tuple<const char*, absl::StatusCode, How>> {};

TEST_P(StartStepTest, FailsCleanly) {
  const auto& [method, code, how] = GetParam();
  const daemon::ScopedLogCapture log;
  WorkerUnderTest worker;
  worker.fake().failpoints().Set(
      method, {.error = absl::Status(code, "no luck"), .act = how == How::kDoneButAnsweredWithAnError, .times = 1});
  const auto sink = worker.Run("print hi");
  if (code == absl::StatusCode::kUnavailable) {
    // Nothing ran: the caller may ask again at once, perhaps another worker.
    const auto status = sink->status();
    ASSERT_TRUE(status.has_value());
    EXPECT_EQ(status->error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_THAT(status->error_message(), HasSubstr("no luck"));
    EXPECT_EQ(Reason(*status), "UNAVAILABLE");
    EXPECT_GT(RetryDelay(*status), absl::ZeroDuration());
  } else {
    const auto result = sink->result();
    ASSERT_TRUE(result.has_value());
    ExpectWellFormed(sink->events());
    EXPECT_EQ(result->termination(), mayfly::v1::TERMINATION_SANDBOX_FAILED);
    EXPECT_TRUE(result->retry_safe());
    // The reason may name the host's paths: it is for the operator.
    EXPECT_THAT(log.lines(), Contains(HasSubstr("no luck")));
    EXPECT_THAT(result->ShortDebugString(), ::testing::Not(HasSubstr("no luck")));
    EXPECT_EQ(result->template_(), "python");
    EXPECT_EQ(result->execution_id(), "00000000000000000000000000000001");
  }
  // The next one is fine.
  EXPECT_EQ(worker.Run("exit 3")->result()->exit_code(), 3);
  EXPECT_TRUE(worker.StopAndFindNothingLeft());
}

INSTANTIATE_TEST_SUITE_P(
    All, StartStepTest,
    ::testing::Combine(::testing::Values("containers.Create", "tasks.Create", "tasks.Start"),
                       ::testing::Values(absl::StatusCode::kUnavailable, absl::StatusCode::kInternal,
                                         absl::StatusCode::kUnknown),
                       ::testing::Values(How::kRefused, How::kDoneButAnsweredWithAnError)),
    [](const auto& info) {
      return absl::StrCat(absl::StrReplaceAll(std::get<0>(info.param), {{".", ""}}),
                          absl::StatusCodeToString(std::get<1>(info.param)),
                          std::get<2>(info.param) == How::kRefused ? "Refused" : "Done");
    });

class HangingStepTest : public ::testing::TestWithParam<const char*> {};

// A shim or a runtime that never returns: the call timeout ends the step.
TEST_P(HangingStepTest, IsBounded) {
  WorkerUnderTest::Options options;
  options.call_timeout = absl::Milliseconds(300);
  WorkerUnderTest worker(options);
  worker.fake().failpoints().Set(GetParam(), {.hang = true, .times = 1});
  const auto result = worker.Run("print hi")->result();
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->termination(), mayfly::v1::TERMINATION_SANDBOX_FAILED);
  EXPECT_TRUE(worker.StopAndFindNothingLeft());
}

INSTANTIATE_TEST_SUITE_P(All, HangingStepTest, ::testing::Values("containers.Create", "tasks.Create", "tasks.Start"),
                         [](const auto& info) { return absl::StrReplaceAll(info.param, {{".", ""}}); });

TEST(SandboxFailureTest, NoPlaceForFifos) {
  const daemon::ScopedLogCapture log;
  WorkerUnderTest worker;
  worker.BreakFifoDir();
  const auto result = worker.Run("print hi")->result();
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->termination(), mayfly::v1::TERMINATION_SANDBOX_FAILED);
  EXPECT_THAT(log.lines(), Contains(HasSubstr("No such file or directory")));
  EXPECT_EQ(worker.fake().failpoints().Calls("containers.Create"), 0);
  EXPECT_TRUE(worker.StopAndFindNothingLeft());
}

// The frames tell how the program ended; the wait is only a second witness.
TEST(SandboxFailureTest, WaitingFails) {
  WorkerUnderTest worker;
  worker.fake().failpoints().Set("tasks.Wait", {.error = absl::InternalError("ttrpc: closed"), .times = 1});
  const auto result = worker.Run("print hi\nexit 7")->result();
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->termination(), mayfly::v1::TERMINATION_EXITED);
  EXPECT_EQ(result->exit_code(), 7);
  EXPECT_TRUE(worker.StopAndFindNothingLeft());
}

TEST(SandboxFailureTest, ContainerdIsDown) {
  WorkerUnderTest worker;
  worker.fake().Stop();
  const auto status = worker.Run("print hi")->status();
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_GT(RetryDelay(*status), absl::ZeroDuration());
  worker.fake().Start();
  EXPECT_TRUE(worker.StopAndFindNothingLeft());
}

// ---- Taking it down.

struct TeardownCase {
  const char* name;
  const char* method;
  Failpoint failpoint;
};

class TeardownStepTest : public ::testing::TestWithParam<TeardownCase> {};

TEST_P(TeardownStepTest, IsRetried) {
  WorkerUnderTest worker;
  worker.fake().failpoints().Set(GetParam().method, GetParam().failpoint);
  const auto result = worker.Run("print hi\nexit 7")->result();
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->exit_code(), 7) << "what happens afterwards is not the caller's concern";
  EXPECT_TRUE(worker.StopAndFindNothingLeft());
  EXPECT_EQ(worker.Metric("mayfly_worker_teardown_failures_total"), 0);
}

INSTANTIATE_TEST_SUITE_P(
    All, TeardownStepTest,
    ::testing::Values(
        TeardownCase{"DeleteTaskRefused", "tasks.Delete", {.error = absl::UnavailableError("x"), .times = 3}},
        TeardownCase{"DeleteTaskDone", "tasks.Delete", {.error = absl::UnknownError("x"), .act = true, .times = 2}},
        TeardownCase{"DeleteContainerRefused", "containers.Delete", {.error = absl::InternalError("x"), .times = 3}},
        TeardownCase{"DeleteContainerDone",
                     "containers.Delete",
                     {.error = absl::UnavailableError("x"), .act = true, .times = 2}}),
    [](const auto& info) { return info.param.name; });

class KillStepTest : public ::testing::TestWithParam<TeardownCase> {};

// A sandbox whose first kill goes wrong is killed by its teardown.
TEST_P(KillStepTest, IsRetried) {
  WorkerUnderTest worker;
  worker.fake().failpoints().Set("tasks.Kill", GetParam().failpoint);
  const auto sink = worker.Run("print a\nhang");
  ASSERT_TRUE(sink->AwaitStdout(2));
  sink->Cancel();
  const auto result = sink->result();
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->termination(), mayfly::v1::TERMINATION_CANCELLED);
  // What was killed all the same is no failure.
  const bool killed = GetParam().failpoint.act;
  EXPECT_EQ(testing::Value(result->evidence(), Contains(HasSubstr("kill: "))), !killed);
  EXPECT_TRUE(worker.StopAndFindNothingLeft());
}

INSTANTIATE_TEST_SUITE_P(
    All, KillStepTest,
    ::testing::Values(TeardownCase{"Refused", "", {.error = absl::UnavailableError("x"), .times = 2}},
                      TeardownCase{"DoneButAnsweredWithAnError",
                                   "",
                                   {.error = absl::InternalError("x"), .act = true, .times = 2}}),
    [](const auto& info) { return info.param.name; });

TEST(SandboxFailureTest, TheAnswerDoesNotWaitForTheTeardown) {
  WorkerUnderTest worker;
  worker.fake().failpoints().Set("tasks.Delete", {.hang = true});
  const auto sink = worker.Run("exit 0");
  EXPECT_EQ(sink->result()->exit_code(), 0);
  ASSERT_TRUE(worker.fake().failpoints().AwaitCalls("tasks.Delete", 1));
  EXPECT_EQ(worker.fake().CountAll().tasks, 1);
  worker.fake().failpoints().Release("tasks.Delete");
  EXPECT_TRUE(worker.StopAndFindNothingLeft());
}

// Neither does the answer that there is no sandbox.
TEST(SandboxFailureTest, TheRefusalDoesNotWaitForTheTeardown) {
  WorkerUnderTest worker;
  worker.fake().failpoints().Set("tasks.Create", {.error = absl::InternalError("no luck")});
  worker.fake().failpoints().Set("containers.Delete", {.hang = true});
  const auto sink = worker.Run("exit 0");
  EXPECT_EQ(sink->result()->termination(), mayfly::v1::TERMINATION_SANDBOX_FAILED);
  ASSERT_TRUE(worker.fake().failpoints().AwaitCalls("containers.Delete", 1));
  EXPECT_EQ(worker.fake().CountAll().containers, 1);
  worker.fake().failpoints().Clear();
  EXPECT_TRUE(worker.StopAndFindNothingLeft());
}

// One that can never be taken down is given up, said so, and does not hold its thread for ever.
TEST(SandboxFailureTest, TeardownIsBounded) {
  const daemon::ScopedLogCapture log;
  WorkerUnderTest::Options options;
  options.sandboxes_max = 1;
  options.teardown_timeout = absl::Milliseconds(300);
  WorkerUnderTest worker(options);
  worker.fake().failpoints().Set("tasks.Delete", {.error = absl::InternalError("device or resource busy")});
  EXPECT_EQ(worker.Run("exit 0")->result()->exit_code(), 0);
  EXPECT_EQ(worker.Run("exit 1")->result()->exit_code(), 1);
  worker.executor().Shutdown(absl::Seconds(30));
  EXPECT_EQ(worker.Metric("mayfly_worker_teardown_failures_total"), 2);
  EXPECT_THAT(log.lines(), Contains(::testing::AllOf(HasSubstr("sandbox left behind"),
                                                     HasSubstr("device or resource busy"), HasSubstr("mf-"))));
}

// What was written to the FIFOs and never read must not keep the shim from ending.
TEST(SandboxFailureTest, MuchUnreadOutputIsDrained) {
  WorkerUnderTest worker;
  const auto sink = worker.Run("spam 8000000");
  ASSERT_TRUE(sink->AwaitStarted());
  sink->Cancel();
  EXPECT_EQ(sink->result()->termination(), mayfly::v1::TERMINATION_CANCELLED);
  EXPECT_TRUE(worker.StopAndFindNothingLeft());
}

}  // namespace
}  // namespace mayfly::worker
