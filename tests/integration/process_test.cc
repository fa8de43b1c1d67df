// How programs end: exit codes, signals, deadlines, what they leave behind. Field cases 10-17, 41, 60.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/service.h"
#include "tests/integration/stack.h"

namespace mayfly::test {
namespace {

using ProcessTest = StackTest;

double Seconds(const google::protobuf::Duration& duration) {
  return static_cast<double>(duration.seconds()) + duration.nanos() / 1e9;
}

TEST_F(ProcessTest, Case10_ChildrenDoNotOutliveTheDeadline) {
  const StackCounts before = CountIdleStack();
  auto request = ProgramFile("background_children.sh");
  SetWall(request, absl::Seconds(1));
  const Outcome outcome = Execute(request);
  EXPECT_TRUE(Ended(outcome, v1::TERMINATION_TIMED_OUT));
  EXPECT_LT(outcome.RunTime(), absl::Seconds(2));
  EXPECT_TRUE(SettlesTo(before, absl::Seconds(10)));
}

TEST_F(ProcessTest, Case11_AnOrphanThatHoldsThePipesDelaysNothing) {
  const std::vector<v1::ExecuteRequest> requests = {
      ProgramFile("orphan_holds_pipes.py"),
      Program("bash", "sleep 30 & echo done"),
      Program("bash", "(setsid sleep 30 &) ; echo done"),
      Program("javascript",
              "require('child_process').spawn('sleep', ['30'], {stdio: 'inherit', detached: true}).unref();"
              "console.log('done')"),
  };
  Concurrently(static_cast<int>(requests.size()), [&](int i) {
    SCOPED_TRACE(requests[i].code());
    const Outcome outcome = Execute(requests[i]);
    EXPECT_TRUE(Exited(outcome, 0));
    EXPECT_EQ(outcome.out, "done\n");
    EXPECT_LT(outcome.RunTime(), absl::Seconds(5));
  });
}

TEST_F(ProcessTest, Case12_IgnoredSignalsDoNotMoveTheDeadline) {
  auto request = ProgramFile("ignores_signals.py");
  SetWall(request, absl::Seconds(2));
  const Outcome outcome = Execute(request);
  EXPECT_TRUE(Ended(outcome, v1::TERMINATION_TIMED_OUT));
  EXPECT_LT(outcome.RunTime(), absl::Seconds(3));
}

TEST_F(ProcessTest, Case13_ADaemonGoesWithItsSandbox) {
  const StackCounts before = CountIdleStack();
  const Outcome outcome = Execute(ProgramFile("daemonize.py"));
  EXPECT_TRUE(Exited(outcome, 0));
  EXPECT_EQ(outcome.out, "parent done\n");
  EXPECT_LT(outcome.RunTime(), absl::Seconds(5));
  EXPECT_TRUE(SettlesTo(before, absl::Seconds(10)));
}

TEST_F(ProcessTest, Case14_SpinningIsATimeoutNotMemory) {
  auto request = Program("python", "while 1: pass");
  SetWall(request, absl::Seconds(1));
  const Outcome outcome = Execute(request);
  EXPECT_TRUE(Ended(outcome, v1::TERMINATION_TIMED_OUT));
  EXPECT_LT(outcome.RunTime(), absl::Seconds(2));
}

TEST_F(ProcessTest, Case15_CpuAndWallAreDifferentThings) {
  auto sleeps = ProgramFile("sleeps.py");
  sleeps.add_args("3");
  const Outcome slept = Execute(sleeps);
  EXPECT_TRUE(Exited(slept, 0));
  EXPECT_GE(Seconds(slept.result.usage().wall_time()), 3.0);
  EXPECT_LT(Seconds(slept.result.usage().wall_time()), 6.0);
  ASSERT_TRUE(slept.result.usage().has_cpu_time());
  EXPECT_LT(Seconds(slept.result.usage().cpu_time()), 1.5) << "the interpreter's start, no more";

  auto spins = Program("python", "import time\nend = time.process_time() + 1\nwhile time.process_time() < end: pass");
  const Outcome spun = Execute(spins);
  EXPECT_TRUE(Exited(spun, 0));
  ASSERT_TRUE(spun.result.usage().has_cpu_time());
  EXPECT_GE(Seconds(spun.result.usage().cpu_time()), 0.9);
  EXPECT_GT(spun.result.usage().memory_peak_bytes(), 1 << 20);
}

// Full: 50 at once. Short: 16, still twice what the server runs at once. The last ones wait for longer than the limit.
// The field case has 300 ms for the limit, which an interpreter that starts cold on half a CPU does not make by itself.
TEST_F(ProcessTest, Case16_QueueingIsNotInTheWallLimit) {
  const int count = Repeat(16, 50);
  std::atomic<int> right = 0, refused = 0;
  Concurrently(
      count,
      [&](int) {
        auto request = Program("python", "print(1)");
        SetWall(request, absl::Milliseconds(1500));
        const Outcome outcome = Execute(request);
        if (outcome.status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) {
          EXPECT_TRUE(HasRetryInfo(outcome.status)) << Describe(outcome.status);
          ++refused;
          return;
        }
        EXPECT_TRUE(Exited(outcome, 0));
        EXPECT_EQ(outcome.out, "1\n");
        ++right;
      },
      count);
  EXPECT_EQ(right + refused, count);
  EXPECT_GT(right, 0);
}

TEST_F(ProcessTest, Case17_TheDeadlineIsTheOneAskedFor) {
  const std::vector<int> limits_ms = {500, 1500, 3000, 12000};
  Concurrently(static_cast<int>(limits_ms.size()), [&](int i) {
    auto request = Program("bash", "sleep 60");
    SetWall(request, absl::Milliseconds(limits_ms[i]));
    const Outcome outcome = Execute(request);
    EXPECT_TRUE(Ended(outcome, v1::TERMINATION_TIMED_OUT));
    EXPECT_GE(Seconds(outcome.result.usage().wall_time()) + 0.02, limits_ms[i] / 1e3);
    EXPECT_LT(outcome.RunTime(), absl::Milliseconds(limits_ms[i] + 1000));
  });
}

TEST_F(ProcessTest, Case17_TheDefaultLimitIsTheTemplates) {
  const Outcome outcome = Execute(Program("bash", "sleep 60"));
  EXPECT_TRUE(Ended(outcome, v1::TERMINATION_TIMED_OUT));
  EXPECT_GE(outcome.RunTime(), absl::Seconds(9));
  EXPECT_LT(outcome.RunTime(), absl::Seconds(12));
}

TEST_F(ProcessTest, Case41_ExitCodes) {
  struct Row {
    const char* language;
    const char* code;
    int exit_code;
    const char* err;  // null: not looked at
  };
  const std::vector<Row> rows = {
      {"python", "import sys; sys.exit(-1)", 255, ""},
      {"python", "import sys; sys.exit(256)", 0, ""},
      {"python", "import sys; sys.exit(300)", 44, ""},
      {"python", "import sys; sys.exit('bye')", 1, "bye\n"},
      {"python", "import sys; sys.exit(True)", 1, ""},
      {"python", "import sys; sys.exit(None)", 0, ""},
      {"python-open", "import os; os._exit(3)", 3, ""},
      {"python", "raise ValueError('x')", 1, nullptr},
      {"python", "this is not python", 1, nullptr},
      {"javascript", "process.exit(300)", 44, ""},
      {"javascript", "process.exitCode = 5", 5, ""},
      {"javascript", "throw new Error('x')", 1, nullptr},
      {"javascript", "Promise.reject(new Error('x'))", 1, nullptr},
      {"bash", "exit 300", 44, ""},
      {"bash", "false", 1, ""},
      {"bash", "no-such-command-anywhere", 127, nullptr},
      {"bash", "exit 137", 137, ""},
      {"bash", "exit 124", 124, ""},
      {"bash", "exit 2", 2, ""},
      {"bash", "exit 128", 128, ""},
  };
  Concurrently(static_cast<int>(rows.size()), [&](int i) {
    SCOPED_TRACE(rows[i].code);
    const Outcome outcome = Execute(Program(rows[i].language, rows[i].code));
    EXPECT_TRUE(Exited(outcome, rows[i].exit_code));
    if (rows[i].err != nullptr) {
      EXPECT_EQ(outcome.err, rows[i].err);
    }
  });
}

TEST_F(ProcessTest, ASignalThatIsNotOursIsSignaled) {
  struct Row {
    const char* language;
    const char* code;
    int signal;
  };
  const std::vector<Row> rows = {
      {"bash", "echo before; kill -KILL $$", 9},
      {"bash", "echo before; kill -TERM $$; sleep 5", 15},
      {"bash", "echo before; kill -USR1 $$; sleep 5", 10},
      {"python-open", "import os; print('before'); os.abort()", 6},
      {"python-open", "import ctypes; print('before'); ctypes.string_at(0)", 11},
      {"javascript", "console.log('before'); process.kill(process.pid, 'SIGTERM'); setTimeout(() => {}, 5000)", 15},
  };
  Concurrently(static_cast<int>(rows.size()), [&](int i) {
    SCOPED_TRACE(rows[i].code);
    const Outcome outcome = Execute(Program(rows[i].language, rows[i].code));
    EXPECT_TRUE(Signaled(outcome, rows[i].signal));
    EXPECT_EQ(outcome.out, "before\n");
  });
}

// Full: 200 of each. Short: 12.
TEST_F(ProcessTest, Case60_ExitCodesUnderLoad) {
  const int count = Repeat(12, 200);
  Concurrently(2 * count, [&](int i) {
    const int code = i % 2 == 0 ? 0 : 7;
    const Outcome outcome = Execute(Program("bash", absl::StrCat("exit ", code)));
    EXPECT_TRUE(Exited(outcome, code));
  });
}

}  // namespace
}  // namespace mayfly::test
