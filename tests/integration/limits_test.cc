// Memory, processes, disk: a program that asks for too much meets a limit; nobody else notices. Field cases 18-27.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "tests/integration/service.h"
#include "tests/integration/stack.h"

namespace mayfly::test {
namespace {

using LimitsTest = StackTest;

TEST_F(LimitsTest, Case18_MemoryWithoutEndIsOutOfMemory) {
  auto request = ProgramFile("eats_memory.py");
  SetWall(request, absl::Seconds(60));
  const Outcome outcome = Execute(request);
  EXPECT_TRUE(Ended(outcome, v1::TERMINATION_OUT_OF_MEMORY));
  EXPECT_EQ(outcome.out, "before\n");
  EXPECT_FALSE(outcome.result.has_exit_code());
}

TEST_F(LimitsTest, Case20_ATerabyteAtOnceFailsFast) {
  const Outcome outcome = Execute(Program("python", "x = bytearray(10**12)"));
  ASSERT_TRUE(outcome.finished) << Describe(outcome);
  if (outcome.result.termination() == v1::TERMINATION_EXITED) {
    EXPECT_TRUE(Exited(outcome, 1));
    EXPECT_TRUE(absl::StrContains(outcome.err, "MemoryError")) << outcome.err;
  } else {
    EXPECT_TRUE(Ended(outcome, v1::TERMINATION_OUT_OF_MEMORY));
  }
  EXPECT_LT(outcome.RunTime(), absl::Seconds(5));
}

TEST_F(LimitsTest, Case21_NodeHeapWithoutEndIsOutOfMemory) {
  auto request = ProgramFile("eats_memory.js");
  SetWall(request, absl::Seconds(120));
  const Outcome outcome = Execute(request);
  EXPECT_TRUE(Ended(outcome, v1::TERMINATION_OUT_OF_MEMORY));
  EXPECT_EQ(outcome.out, "before\n");
}

TEST_F(LimitsTest, Case22_AFullDiskIsTheProgramsProblem) {
  const std::vector<std::string> targets = {"/tmp/x", "x", "/dev/shm/x"};
  Concurrently(static_cast<int>(targets.size()), [&](int i) {
    SCOPED_TRACE(targets[i]);
    auto request = ProgramFile("fills_disk.sh");
    request.add_args(targets[i]);
    SetWall(request, absl::Seconds(60));
    const Outcome outcome = Execute(request);
    EXPECT_TRUE(Exited(outcome, 0));
    EXPECT_EQ(outcome.out, "dd 1\n");
    EXPECT_TRUE(absl::StrContains(outcome.err, "No space left on device")) << outcome.err;
  });
  EXPECT_TRUE(Exited(Execute(Program("bash", ":")), 0));
}

TEST_F(LimitsTest, Case24_ForkBombEndsWithinItsWallLimit) {
  const StackCounts before = CountIdleStack();
  for (const char* name : {"fork_bomb.sh", "fork_bomb.py"}) {
    SCOPED_TRACE(name);
    auto request = ProgramFile(name);
    SetWall(request, absl::Seconds(5));
    const Outcome outcome = Execute(request);
    ASSERT_TRUE(outcome.finished) << Describe(outcome);
    EXPECT_NE(outcome.result.termination(), v1::TERMINATION_SANDBOX_FAILED) << Describe(outcome);
    EXPECT_LT(outcome.RunTime(), absl::Seconds(7));
    EXPECT_TRUE(Exited(Execute(Program("bash", "exit 0")), 0)) << "the next one is fine";
  }
  EXPECT_TRUE(SettlesTo(before, absl::Seconds(10)));
}

TEST_F(LimitsTest, Case25_ThreadsUnderTheLimitAreFine) {
  const std::vector<v1::ExecuteRequest> requests = {
      ProgramFile("busy_threads.py"), Program("python", "import numpy\nprint('joined', int(numpy.arange(9)[8]) * 5)")};
  Concurrently(2, [&](int i) {
    const Outcome outcome = Execute(requests[i]);
    EXPECT_TRUE(Exited(outcome, 0));
    EXPECT_EQ(outcome.out, "joined 40\n");
  });
}

TEST_F(LimitsTest, Case26_TooManyChildrenAreRefusedNearTheLimit) {
  const Outcome outcome = Execute(ProgramFile("too_many_children.py"));
  ASSERT_TRUE(Exited(outcome, 0));
  const std::vector<std::string> words = absl::StrSplit(outcome.out, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  ASSERT_EQ(words.size(), 3u) << outcome.out;
  EXPECT_EQ(words[0], "refused");
  EXPECT_EQ(words[1], "11") << "EAGAIN";
  int children = 0;
  ASSERT_TRUE(absl::SimpleAtoi(words[2], &children));
  EXPECT_GE(children, 48);
  EXPECT_LE(children, 64);
}

TEST_F(LimitsTest, DescriptorsRunOutInsideOnly) {
  const Outcome outcome = Execute(ProgramFile("exhausts_descriptors.py"));
  EXPECT_TRUE(Exited(outcome, 0));
  EXPECT_EQ(outcome.out, "refused 24\n") << "EMFILE";
}

// Full: 200. Short: 12.
TEST_F(LimitsTest, Case44_OrdinarySystemCallsUnderLoad) {
  Concurrently(Repeat(12, 200), [&](int) {
    const Outcome outcome = Execute(ProgramFile("syscalls.py"));
    EXPECT_TRUE(Exited(outcome, 0));
    EXPECT_EQ(outcome.out, "ok\n");
  });
}

}  // namespace
}  // namespace mayfly::test
