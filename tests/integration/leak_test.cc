// Nothing outlives its execution: what the machine holds for the stack is the same before and after. Field cases 33. Needs
// the stack to itself, and root.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/integration/service.h"
#include "tests/integration/stack.h"

namespace mayfly::test {
namespace {

constexpr absl::Duration kSettle = absl::Seconds(10);
constexpr int kAtOnce = 4;
constexpr int64_t kMiB = 1 << 20;
// Connections and threads that a daemon may keep from its first calls.
constexpr int64_t kDescriptorSlack = 8;

class LeakTest : public StackTest {
 protected:
  void SetUp() override {
    StackTest::SetUp();
    if (HasFatalFailure()) return;
    daemons_ = {ListenerOf(RequiredEnv("MAYFLY_TEST_SERVER_METRICS")),
                ListenerOf(RequiredEnv("MAYFLY_TEST_WORKER_METRICS"))};
    for (const pid_t pid : daemons_) ASSERT_GT(pid, 0) << "nobody listens on a metrics port";
    // What is made once and kept (the image's view, a parent cgroup) is not a leak: one round first.
    Concurrently(
        kAtOnce, [](int) { Execute(Program("bash", ":")); }, kAtOnce);
    Concurrently(2, [](int) { Execute(Program("python", "1")); });
    Execute(Program("javascript", "1"));
    absl::SleepFor(absl::Seconds(2));
    before_ = CountIdleStack();
    for (const pid_t pid : daemons_) descriptors_.push_back(OpenDescriptors(pid));
  }

  void ExpectAsBefore() {
    EXPECT_TRUE(SettlesTo(before_, kSettle));
    for (size_t i = 0; i < daemons_.size(); ++i) {
      EXPECT_LE(OpenDescriptors(daemons_[i]), descriptors_[i] + kDescriptorSlack) << (i == 0 ? "server" : "worker");
    }
  }

  std::vector<pid_t> daemons_;
  StackCounts before_;
  std::vector<int64_t> descriptors_;
};

// Full: 200. Short: 24.
TEST_F(LeakTest, AfterExecutions) {
  Concurrently(
      Repeat(24, 200),
      [](int i) {
        const std::vector<const char*> languages = {"python", "bash", "javascript", "python-open"};
        auto request = Program(languages[i % 4], i % 4 == 1 ? "echo 1" : i % 4 == 2 ? "console.log(1)" : "print(1)");
        request.add_output_globs("*");
        AddFile(request, "input", std::string(1000, 'i'));
        EXPECT_TRUE(Exited(Execute(request), 0));
      },
      kAtOnce);
  ExpectAsBefore();
}

// Full: 50. Short: 10.
TEST_F(LeakTest, AfterCancelledExecutions) {
  Concurrently(
      Repeat(10, 50),
      [](int i) {
        auto request = ProgramFile(i % 2 == 0 ? "sleep_60.sh" : "yes.sh");
        SetWall(request, absl::Seconds(60));
        request.mutable_limits()->set_output_bytes(1LL << 31);
        ExecuteOptions options;
        // Some in the middle of the program, some while the sandbox is being made.
        if (i % 3 == 2) {
          options.cancel_after_call = absl::Milliseconds(60 * (i % 10));
        } else {
          options.cancel_after = absl::Milliseconds(300);
        }
        EXPECT_EQ(Execute(request, options).status.error_code(), grpc::StatusCode::CANCELLED);
      },
      kAtOnce);
  ExpectAsBefore();
}

TEST_F(LeakTest, AfterEveryKindOfEnd) {
  std::vector<v1::ExecuteRequest> requests = {
      Program("bash", "kill -KILL $$"),   ProgramFile("background_children.sh"), ProgramFile("yes.sh"),
      ProgramFile("eats_memory.py"),      ProgramFile("fork_bomb.py"),           ProgramFile("daemonize.py"),
      ProgramFile("kills_everything.py"), ProgramFile("forges_frames.py"),
  };
  Concurrently(
      static_cast<int>(requests.size()),
      [&](int i) {
        SetWall(requests[i], absl::Seconds(4));
        const Outcome outcome = Execute(requests[i]);
        EXPECT_TRUE(outcome.finished) << Describe(outcome);
      },
      kAtOnce);
  ExpectAsBefore();
}

TEST_F(LeakTest, AfterRefusedRequests) {
  for (int i = 0; i < 20; ++i) {
    auto request = Program("python", "print(1)");
    AddFile(request, "../x", "x");
    EXPECT_FALSE(Execute(request).status.ok());
    EXPECT_FALSE(Execute(Program(absl::StrCat("no-such-", i), "x")).status.ok());
  }
  ExpectAsBefore();
}

// Full: 1,000, and a bound on memory. Short: 12.
TEST_F(LeakTest, Case33_ScratchSpaceComesBack) {
  const auto run = [](int count) {
    Concurrently(
        count, [](int) { EXPECT_TRUE(Exited(Execute(ProgramFile("writes_1mib.py")), 0)); }, kAtOnce);
  };
  const int first = Repeat(4, 100), all = Repeat(12, 1000);
  run(first);
  std::vector<int64_t> resident;
  for (const pid_t pid : daemons_) resident.push_back(ResidentBytes(pid));
  run(all - first);
  ExpectAsBefore();
  for (size_t i = 0; i < daemons_.size(); ++i) {
    SCOPED_TRACE(i == 0 ? "server" : "worker");
    EXPECT_LT(ResidentBytes(daemons_[i]), 80 * kMiB);
    // The bound is for 1,000 executions against 100; after a handful, buffers are still being made.
    if (Repeat(0, 1) == 1) {
      EXPECT_LE(ResidentBytes(daemons_[i]), resident[i] + resident[i] / 10);
    }
  }
}

}  // namespace
}  // namespace mayfly::test
