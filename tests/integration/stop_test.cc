// A caller that goes, takes its sandbox along. Field cases 59, 66. Needs the stack to itself.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "tests/integration/service.h"
#include "tests/integration/stack.h"

namespace mayfly::test {
namespace {

class StopTest : public StackTest {
 protected:
  void SetUp() override {
    StackTest::SetUp();
    if (HasFatalFailure()) return;
    // Earlier tests' sandboxes may still be on their way out.
    absl::SleepFor(absl::Seconds(1));
    before_ = CountIdleStack();
    running_ = RunningTasks().size();
  }

  StackCounts before_;
  size_t running_ = 0;
};

TEST_F(StopTest, Case66_CancelledCallsEndTheirSandboxes) {
  struct Row {
    const char* program;
    absl::Duration after;
  };
  const std::vector<Row> rows = {{"sleep_60.sh", absl::Milliseconds(500)},
                                 {"ignores_signals.py", absl::Milliseconds(500)},
                                 {"fork_bomb.py", absl::Milliseconds(500)},
                                 {"sleep_60.sh", absl::ZeroDuration()}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.program);
    auto request = ProgramFile(row.program);
    SetWall(request, absl::Seconds(60));
    ExecuteOptions options;
    options.cancel_after = row.after;
    const Outcome outcome = Execute(request, options);
    EXPECT_EQ(outcome.status.error_code(), grpc::StatusCode::CANCELLED) << Describe(outcome);
    EXPECT_TRUE(RunningTasksFallTo(running_, absl::Seconds(2)));
    EXPECT_TRUE(SettlesTo(before_, absl::Seconds(10)));
  }
}

TEST_F(StopTest, Case66_CancelledBeforeTheProgramStarts) {
  for (const int ms : {1, 50, 150, 300, 450, 600}) {
    SCOPED_TRACE(ms);
    auto request = ProgramFile("sleep_60.sh");
    SetWall(request, absl::Seconds(60));
    ExecuteOptions options;
    options.cancel_after_call = absl::Milliseconds(ms);
    const Outcome outcome = Execute(request, options);
    EXPECT_EQ(outcome.status.error_code(), grpc::StatusCode::CANCELLED) << Describe(outcome);
  }
  // A sandbox in the making is ended once it is made: a moment longer than a running one's end.
  EXPECT_TRUE(RunningTasksFallTo(running_, absl::Seconds(5)));
  EXPECT_TRUE(SettlesTo(before_, absl::Seconds(10)));
}

TEST_F(StopTest, Case66_ClientDeadlineEndsTheSandbox) {
  auto request = ProgramFile("sleep_60.sh");
  SetWall(request, absl::Seconds(30));
  ExecuteOptions options;
  options.deadline = absl::Seconds(4);  // a cold start takes up to 1.5 s of it
  const Outcome outcome = Execute(request, options);
  EXPECT_EQ(outcome.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED) << Describe(outcome);
  EXPECT_EQ(outcome.out, "asleep\n");
  EXPECT_TRUE(RunningTasksFallTo(running_, absl::Seconds(2)));
  EXPECT_TRUE(SettlesTo(before_, absl::Seconds(10)));
}

TEST_F(StopTest, Case66_RunIsCancelledToo) {
  auto request = ProgramFile("sleep_60.sh");
  SetWall(request, absl::Seconds(30));
  EXPECT_EQ(RunOnce(request, absl::Seconds(4)).status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(RunningTasksFallTo(running_, absl::Seconds(2)));
  EXPECT_TRUE(SettlesTo(before_, absl::Seconds(10)));
}

TEST_F(StopTest, Case59_CancelledInTheMiddleOfOutput) {
  const std::vector<const char*> programs = {"yes.sh", "yes_until_killed.py"};
  for (const char* program : programs) {
    SCOPED_TRACE(program);
    auto request = ProgramFile(program);
    SetWall(request, absl::Seconds(60));
    request.mutable_limits()->set_output_bytes(1LL << 31);
    ExecuteOptions options;
    options.cancel_after = absl::Milliseconds(500);
    const Outcome outcome = Execute(request, options);
    EXPECT_EQ(outcome.status.error_code(), grpc::StatusCode::CANCELLED) << Describe(outcome);
    EXPECT_TRUE(RunningTasksFallTo(running_, absl::Seconds(3)));
    EXPECT_TRUE(SettlesTo(before_, absl::Seconds(10)));
  }
}

TEST_F(StopTest, Case59_CancelledWhileTheClientDoesNotRead) {
  auto request = ProgramFile("yes.sh");
  SetWall(request, absl::Seconds(60));
  request.mutable_limits()->set_output_bytes(1LL << 31);
  ExecuteOptions options;
  options.cancel_after = absl::Seconds(1);
  options.on_event = [](const v1::ExecuteEvent& event) {
    if (event.has_started()) absl::SleepFor(absl::Seconds(4));
  };
  Execute(request, options);
  EXPECT_TRUE(RunningTasksFallTo(running_, absl::Seconds(1))) << "it was cancelled three seconds ago";
  EXPECT_TRUE(SettlesTo(before_, absl::Seconds(10)));
}

TEST_F(StopTest, QueuedCallsThatAreCancelledNeverRun) {
  Concurrently(
      24,
      [&](int i) {
        auto request = ProgramFile("sleeps.py");
        request.add_args("2");
        ExecuteOptions options;
        // The first eight hold the places; the others leave while they wait.
        if (i >= 8) options.cancel_after_call = absl::Seconds(1);
        const Outcome outcome = Execute(request, options);
        if (i < 8 && outcome.status.ok()) {
          EXPECT_TRUE(Exited(outcome, 0));
        }
      },
      24);
  EXPECT_TRUE(RunningTasksFallTo(running_, absl::Seconds(3)));
  EXPECT_TRUE(SettlesTo(before_, absl::Seconds(10)));
}

}  // namespace
}  // namespace mayfly::test
