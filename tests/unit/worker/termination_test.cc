// DecideTermination: from what was seen to what is said, for every cause and for causes that meet.
#include "worker/termination.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace mayfly::worker {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

struct Case {
  const char* name;
  Evidence seen;
  mayfly::v1::Termination termination;
  const char* message;  // a part of it
  std::optional<int> exit_code = std::nullopt;
  std::optional<int> signal = std::nullopt;
  std::vector<std::string> evidence = {};  // each is one of the lines
};

Evidence Base() {
  Evidence evidence;
  evidence.limits = {.wall_time = absl::Seconds(2), .output_bytes = 65536, .file_bytes = 0};
  evidence.memory_bytes = 128 << 20;
  return evidence;
}

Evidence Killed(KillCause cause) {
  Evidence evidence = Base();
  evidence.kill = cause;
  // What our own kill does to the sandbox.
  evidence.task_exit = TaskExit{137, absl::UnixEpoch()};
  return evidence;
}

Evidence Exited(int code) {
  Evidence evidence = Base();
  evidence.program_exit = ProgramExit{code, std::nullopt};
  return evidence;
}

Evidence Signaled(int signal) {
  Evidence evidence = Base();
  evidence.program_exit = ProgramExit{std::nullopt, signal};
  return evidence;
}

Evidence Died(uint32_t status) {
  Evidence evidence = Base();
  evidence.task_exit = TaskExit{status, absl::UnixEpoch()};
  return evidence;
}

Evidence With(Evidence evidence, int64_t oom_kills) {
  evidence.oom_kills = oom_kills;
  return evidence;
}

Evidence With(Evidence evidence, absl::Status failure) {
  evidence.failure = std::move(failure);
  return evidence;
}

Evidence With(Evidence evidence, ProgramExit exit) {
  evidence.program_exit = exit;
  return evidence;
}

class TerminationTest : public ::testing::TestWithParam<Case> {};

TEST_P(TerminationTest, Decides) {
  mayfly::v1::ExecutionResult result;
  DecideTermination(GetParam().seen, &result);
  EXPECT_EQ(result.termination(), GetParam().termination);
  EXPECT_THAT(result.message(), HasSubstr(GetParam().message));
  EXPECT_EQ(result.message().back(), GetParam().termination == mayfly::v1::TERMINATION_SANDBOX_FAILED
                                         ? result.message().back()  // ends in somebody else's words
                                         : '.');
  EXPECT_EQ(result.has_exit_code() ? std::optional<int>(result.exit_code()) : std::nullopt, GetParam().exit_code);
  EXPECT_EQ(result.has_signal() ? std::optional<int>(result.signal()) : std::nullopt, GetParam().signal);
  EXPECT_EQ(result.retry_safe(), GetParam().termination == mayfly::v1::TERMINATION_SANDBOX_FAILED);
  for (const std::string& line : GetParam().evidence) EXPECT_THAT(result.evidence(), Contains(line));
}

INSTANTIATE_TEST_SUITE_P(
    Exit, TerminationTest,
    ::testing::Values(
        Case{"Zero", Exited(0), mayfly::v1::TERMINATION_EXITED, "exited with code 0", 0, {}, {"exit frame: code 0"}},
        Case{"Highest", Exited(255), mayfly::v1::TERMINATION_EXITED, "exited with code 255", 255},
        // The number a shell would invent for a signal is an exit code like any other.
        Case{"LikeASignal", Exited(137), mayfly::v1::TERMINATION_EXITED, "exited with code 137", 137},
        Case{"Segfault", Signaled(11), mayfly::v1::TERMINATION_SIGNALED, "signal 11 (SIGSEGV)", {}, 11,
             {"exit frame: signal 11"}},
        Case{"RealTimeSignal", Signaled(40), mayfly::v1::TERMINATION_SIGNALED, "signal 40", {}, 40},
        Case{"KilledByItself", Signaled(9), mayfly::v1::TERMINATION_SIGNALED, "signal 9 (SIGKILL)", {}, 9}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Kill, TerminationTest,
    ::testing::Values(
        Case{"WallLimit", Killed(KillCause::kWallLimit), mayfly::v1::TERMINATION_TIMED_OUT, "its limit of 2s", {}, {},
             {"killed by Mayfly: wall limit", "task exit status 137"}},
        Case{"StdoutLimit", Killed(KillCause::kStdoutLimit), mayfly::v1::TERMINATION_OUTPUT_LIMIT,
             "65536 bytes to stdout", {}, {}, {"killed by Mayfly: stdout limit"}},
        Case{"StderrLimit", Killed(KillCause::kStderrLimit), mayfly::v1::TERMINATION_OUTPUT_LIMIT,
             "65536 bytes to stderr", {}, {}, {"killed by Mayfly: stderr limit"}},
        Case{"Cancelled", Killed(KillCause::kCancelled), mayfly::v1::TERMINATION_CANCELLED, "caller cancelled", {}, {},
             {"killed by Mayfly: call cancelled"}},
        Case{"Shutdown", Killed(KillCause::kShutdown), mayfly::v1::TERMINATION_CANCELLED, "shutting down", {}, {},
             {"killed by Mayfly: shutdown"}},
        Case{"StartTimeout", Killed(KillCause::kStartTimeout), mayfly::v1::TERMINATION_SANDBOX_FAILED,
             "not ready in time", {}, {}, {"killed by Mayfly: start timeout"}},
        Case{"Protocol", With(Killed(KillCause::kProtocol), absl::InvalidArgumentError("the sandbox broke it")),
             mayfly::v1::TERMINATION_SANDBOX_FAILED, "the sandbox broke it", {}, {},
             {"killed by Mayfly: protocol violation", "failure: INVALID_ARGUMENT: the sandbox broke it"}}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Memory, TerminationTest,
    ::testing::Values(
        // gVisor's kernel died of it; whatever the shim makes of that.
        Case{"SandboxKilled", With(Died(137), 1), mayfly::v1::TERMINATION_OUT_OF_MEMORY, "128 MiB of memory", {}, {},
             {"cgroup oom_kill 1"}},
        Case{"InventedStatus", With(Died(128), 1), mayfly::v1::TERMINATION_OUT_OF_MEMORY, "128 MiB"},
        Case{"StatusZero", With(Died(0), 1), mayfly::v1::TERMINATION_OUT_OF_MEMORY, "128 MiB"},
        Case{"WithoutTaskExit", With(Base(), 1), mayfly::v1::TERMINATION_OUT_OF_MEMORY, "128 MiB"},
        // Without gVisor the kernel picks the program.
        Case{"ProgramKilled", With(Signaled(9), 1), mayfly::v1::TERMINATION_OUT_OF_MEMORY, "128 MiB"},
        Case{"ProgramDiedOfSomethingElse", With(Signaled(11), 1), mayfly::v1::TERMINATION_SIGNALED, "SIGSEGV", {}, 11,
             {"cgroup oom_kill 1"}},
        // Only a child was killed: the program's own end stands, and the evidence says so.
        Case{"ChildKilled", With(Exited(0), 2), mayfly::v1::TERMINATION_EXITED, "code 0", 0, {}, {"cgroup oom_kill 2"}}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Sandbox, TerminationTest,
    ::testing::Values(
        Case{"WithoutAWord", Died(1), mayfly::v1::TERMINATION_SANDBOX_FAILED, "ended without a word", {}, {},
             {"task exit status 1"}},
        Case{"RunnerFailed", With(Base(), absl::FailedPreconditionError("executing /bin/x: No such file")),
             mayfly::v1::TERMINATION_SANDBOX_FAILED, "executing /bin/x: No such file"},
        Case{"NotMade", With(Base(), absl::InternalError("creating task mf-1: runsc: exit 128")),
             mayfly::v1::TERMINATION_SANDBOX_FAILED, "creating task mf-1", {}, {},
             {"failure: INTERNAL: creating task mf-1: runsc: exit 128"}}),
    [](const auto& info) { return info.param.name; });

// The cause that ended it was there before its consequences.
INSTANTIATE_TEST_SUITE_P(
    FirstCauseWins, TerminationTest,
    ::testing::Values(
        Case{"TimeoutNotMemory", With(Killed(KillCause::kWallLimit), 1), mayfly::v1::TERMINATION_TIMED_OUT, "2s", {},
             {}, {"cgroup oom_kill 1"}},
        Case{"TimeoutNotExit", With(Killed(KillCause::kWallLimit), ProgramExit{0, {}}),
             mayfly::v1::TERMINATION_TIMED_OUT, "2s"},
        Case{"OutputNotSignal", With(Killed(KillCause::kStdoutLimit), ProgramExit{{}, 9}),
             mayfly::v1::TERMINATION_OUTPUT_LIMIT, "stdout"},
        Case{"CancelNotSandboxFailure", With(Killed(KillCause::kCancelled), absl::InternalError("x")),
             mayfly::v1::TERMINATION_CANCELLED, "cancelled"},
        Case{"ExitNotSandboxFailure", With(Exited(3), absl::InternalError("x")), mayfly::v1::TERMINATION_EXITED,
             "code 3", 3},
        Case{"MemoryNotSandboxFailure", With(With(Died(1), absl::InternalError("x")), 1),
             mayfly::v1::TERMINATION_OUT_OF_MEMORY, "memory"}),
    [](const auto& info) { return info.param.name; });

TEST(TerminationTest, EscapesWhatTheSandboxWroteToItsStderr) {
  Evidence seen = Died(1);
  seen.diagnostics = std::string("panic:\n\x1b[31m\xff", 13);
  mayfly::v1::ExecutionResult result;
  DecideTermination(seen, &result);
  EXPECT_THAT(result.evidence(), Contains("sandbox stderr: panic:\\n\\x1b[31m\\xff"));
}

}  // namespace
}  // namespace mayfly::worker
