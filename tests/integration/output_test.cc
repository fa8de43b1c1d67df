// What a program writes arrives: all of it, as it comes, in order, and what does not is counted. Field cases 1-9.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/integration/service.h"
#include "tests/integration/stack.h"

namespace mayfly::test {
namespace {

using OutputTest = StackTest;

constexpr int64_t kMiB = 1 << 20;

std::string Numbers(int from, int to) {
  std::string text;
  for (int i = from; i < to; ++i) absl::StrAppend(&text, i, "\n");
  return text;
}

TEST_F(OutputTest, Case01_PartialOutputSurvivesTheDeadline) {
  struct Row {
    const char* language;
    const char* code;
  };
  const std::vector<Row> rows = {
      {"python", "print(\"before\"); import time; time.sleep(60)"},
      {"python", "print('before')\nwhile 1: pass"},
      {"javascript", "console.log('before'); setTimeout(() => {}, 60000)"},
      {"javascript", "console.log('before'); for (;;) {}"},
      {"bash", "echo before; sleep 60"},
      {"bash", "echo before; while :; do :; done"},
  };
  Concurrently(static_cast<int>(rows.size()), [&](int i) {
    SCOPED_TRACE(rows[i].code);
    auto request = Program(rows[i].language, rows[i].code);
    // Six interpreters start at once on what may be two CPUs: 5 s leaves each the time to get to its print.
    SetWall(request, absl::Seconds(5));
    const Outcome outcome = Execute(request);
    EXPECT_TRUE(Ended(outcome, v1::TERMINATION_TIMED_OUT));
    EXPECT_EQ(outcome.out, "before\n");
    EXPECT_LT(outcome.RunTime(), absl::Seconds(7));
  });
}

TEST_F(OutputTest, Case02_ManySmallPrintsAndOneLargeOne) {
  const std::string expected = Numbers(1, 20001);
  ASSERT_EQ(expected.size(), 108894u);
  const std::vector<std::string> programs = {"for i in range(1, 20001): print(i)",
                                             "print('\\n'.join(str(i) for i in range(1, 20001)))"};
  Concurrently(2, [&](int i) {
    auto request = Program("python", programs[i]);
    SetWall(request, absl::Seconds(60));
    const Outcome outcome = Execute(request);
    EXPECT_TRUE(Exited(outcome, 0));
    EXPECT_TRUE(outcome.out == expected) << outcome.out.size() << " bytes";
  });
}

TEST_F(OutputTest, Case03_EndlessOutputMeetsItsLimitExactly) {
  const pid_t server = ListenerOf(RequiredEnv("MAYFLY_TEST_SERVER_METRICS"));
  const pid_t worker = ListenerOf(RequiredEnv("MAYFLY_TEST_WORKER_METRICS"));
  ASSERT_TRUE(server > 0 && worker > 0) << "nobody listens on a metrics port";
  ASSERT_TRUE(Ended(Execute(ProgramFile("yes.sh")), v1::TERMINATION_OUTPUT_LIMIT));
  const int64_t server_before = ResidentBytes(server), worker_before = ResidentBytes(worker);
  const StackCounts before = CountIdleStack();
  Concurrently(
      20,
      [&](int) {
        auto request = ProgramFile("yes.sh");
        request.mutable_limits()->set_output_bytes(65536);
        const Outcome outcome = Execute(request);
        EXPECT_TRUE(Ended(outcome, v1::TERMINATION_OUTPUT_LIMIT));
        EXPECT_EQ(outcome.out.size(), 65536u);
        EXPECT_EQ(outcome.result.stdout().sent(), 65536);
        EXPECT_GT(outcome.result.stdout().dropped(), 0);
        EXPECT_LT(outcome.RunTime(), absl::Seconds(5)) << "promptly";
      },
      20);
  EXPECT_LT(ResidentBytes(server), server_before + 24 * kMiB) << "flat memory in the server";
  EXPECT_LT(ResidentBytes(worker), worker_before + 24 * kMiB) << "flat memory in the worker";
  EXPECT_TRUE(SettlesTo(before, absl::Seconds(10)));
}

TEST_F(OutputTest, Case03_LimitsAtTheirEdges) {
  struct Row {
    const char* what;
    int64_t limit;
    int out_bytes, err_bytes;
    bool over;
  };
  const std::vector<Row> rows = {
      {"exactly the limit", 1000, 1000, 0, false},
      {"one byte over", 1000, 1001, 0, true},
      {"the limit is each stream's own", 1000, 1000, 1000, false},
      {"over on stderr only", 1000, 10, 1001, true},
      {"the least limit, kept", 1, 1, 1, false},
      {"the least limit, broken", 1, 2, 0, true},
      {"far over, in one write", 65536, 1 << 20, 0, true},
      {"across chunk sizes", 65537, 65537, 65537, false},
  };
  Concurrently(static_cast<int>(rows.size()), [&](int i) {
    const Row& row = rows[i];
    SCOPED_TRACE(row.what);
    auto request = Program("python", absl::StrCat("import sys\nsys.stdout.write('o' * ", row.out_bytes,
                                                  ")\nsys.stderr.write('e' * ", row.err_bytes, ")\n"));
    request.mutable_limits()->set_output_bytes(row.limit);
    const Outcome outcome = Execute(request);
    if (!row.over) {
      EXPECT_TRUE(Exited(outcome, 0));
      EXPECT_EQ(static_cast<int>(outcome.out.size()), row.out_bytes);
      EXPECT_EQ(static_cast<int>(outcome.err.size()), row.err_bytes);
      EXPECT_EQ(outcome.result.stdout().dropped() + outcome.result.stderr().dropped(), 0);
      return;
    }
    EXPECT_TRUE(Ended(outcome, v1::TERMINATION_OUTPUT_LIMIT));
    const bool out_over = row.out_bytes > row.limit;
    EXPECT_EQ(static_cast<int64_t>((out_over ? outcome.out : outcome.err).size()), row.limit);
    EXPECT_GT((out_over ? outcome.result.stdout() : outcome.result.stderr()).dropped(), 0);
  });
}

TEST_F(OutputTest, Case04_LongOutputWithoutNewlineOnBothStreams) {
  const Outcome outcome = Execute(ProgramFile("both_streams_200k.py"));
  EXPECT_TRUE(Exited(outcome, 0));
  EXPECT_TRUE(outcome.out == std::string(200000, 'o')) << outcome.out.size();
  EXPECT_TRUE(outcome.err == std::string(200000, 'e')) << outcome.err.size();
}

TEST_F(OutputTest, Case05_CharactersSplitAcrossWrites) {
  const std::vector<int> fillers = {0, 65534, 65535, 131071};
  Concurrently(static_cast<int>(fillers.size()), [&](int i) {
    auto request = ProgramFile("split_character.py");
    request.add_args(absl::StrCat(fillers[i]));
    const Outcome outcome = Execute(request);
    EXPECT_TRUE(Exited(outcome, 0));
    EXPECT_TRUE(outcome.out == std::string(fillers[i], 'a') + "\xe2\x98\x95") << outcome.out.size();
  });
}

TEST_F(OutputTest, Case06_BytesThatAreNotText) {
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  struct Row {
    const char* language;
    const char* code;
    std::string out, err;
  };
  const std::string three("\xff\x00\xfe", 3);
  const std::vector<Row> rows = {
      {"python", "import sys\nsys.stdout.buffer.write(b'\\xff\\x00\\xfe')\nsys.stderr.buffer.write(b'\\xff\\x00\\xfe')",
       three, three},
      {"python", "import sys\nsys.stdout.buffer.write(bytes(range(256)))", all, ""},
      {"javascript",
       "process.stdout.write(Buffer.from([255, 0, 254])); process.stderr.write(Buffer.from([255, 0, 254]))", three,
       three},
      {"bash", "printf '\\377\\000\\376'; printf '\\377\\000\\376' >&2", three, three},
  };
  Concurrently(static_cast<int>(rows.size()), [&](int i) {
    SCOPED_TRACE(rows[i].code);
    const Outcome outcome = Execute(Program(rows[i].language, rows[i].code));
    EXPECT_TRUE(Exited(outcome, 0));
    EXPECT_EQ(outcome.out, rows[i].out);
    EXPECT_EQ(outcome.err, rows[i].err);
  });
}

TEST_F(OutputTest, Case07_NodeLargeWriteThenExit) {
  const std::vector<std::string> programs = {
      "process.stdout.write('a'.repeat(1<<20)+'END'); process.exit(0)",
      "process.stderr.write('a'.repeat(1<<20)+'END'); process.exit(0)",
      "process.stdout.write('a'.repeat(1<<20)); process.stdout.write('END', () => process.exit(0))",
  };
  Concurrently(static_cast<int>(programs.size()), [&](int i) {
    SCOPED_TRACE(programs[i]);
    const Outcome outcome = Execute(Program("javascript", programs[i]));
    EXPECT_TRUE(Exited(outcome, 0));
    const std::string& stream = absl::StrContains(programs[i], "stderr") ? outcome.err : outcome.out;
    EXPECT_TRUE(stream == std::string(1 << 20, 'a') + "END") << stream.size() << " of 1048579 bytes";
    EXPECT_EQ(outcome.result.stdout().dropped() + outcome.result.stderr().dropped(), 0);
  });
}

TEST_F(OutputTest, Case08_EachStreamIsInOrder) {
  const Outcome outcome = Execute(ProgramFile("interleave.py"));
  EXPECT_TRUE(Exited(outcome, 0));
  std::string out, err;
  for (int i = 0; i < 2000; ++i) {
    absl::StrAppend(&out, "out ", i, "\n");
    absl::StrAppend(&err, "err ", i, "\n");
  }
  EXPECT_TRUE(outcome.out == out) << outcome.out.size();
  EXPECT_TRUE(outcome.err == err) << outcome.err.size();
}

TEST_F(OutputTest, Case08_OutputArrivesAsItIsWritten) {
  const std::vector<v1::ExecuteRequest> requests = {
      ProgramFile("paced.py"),
      Program("javascript",
              "let i = 0; const t = setInterval(() => { console.log(i); if (++i == 3) clearInterval(t); }, 300)"),
      Program("bash", "for i in 0 1 2; do echo $i; sleep 0.3; done"),
  };
  for (const v1::ExecuteRequest& request : requests) {
    SCOPED_TRACE(request.template_());
    const Outcome outcome = Execute(request);
    ASSERT_TRUE(Exited(outcome, 0));
    ASSERT_EQ(outcome.out, "0\n1\n2\n");
    std::vector<absl::Duration> times;
    std::string seen;
    for (const EventNote& event : outcome.events) {
      if (event.kind != v1::ExecuteEvent::kOutput) continue;
      seen += event.data;
      if (seen.size() >= 2 * (times.size() + 1)) times.push_back(event.at);
    }
    ASSERT_EQ(times.size(), 3u) << "three lines in fewer events: they were held back";
    EXPECT_GT(times[1] - times[0], absl::Milliseconds(150));
    EXPECT_GT(times[2] - times[1], absl::Milliseconds(150));
    EXPECT_GT(outcome.finished_at - times[0], absl::Milliseconds(400));
  }
}

TEST_F(OutputTest, Case09_DroppedBytesAreCounted) {
  auto request = Program("python", "import sys\nsys.stderr.write('e' * 10)\nsys.stdout.write('o' * 50000)\n");
  request.mutable_limits()->set_output_bytes(1000);
  const Outcome outcome = Execute(request);
  ASSERT_TRUE(Ended(outcome, v1::TERMINATION_OUTPUT_LIMIT));
  EXPECT_EQ(outcome.out, std::string(1000, 'o'));
  EXPECT_EQ(outcome.err, std::string(10, 'e'));
  EXPECT_EQ(outcome.result.stdout().sent(), 1000);
  EXPECT_GT(outcome.result.stdout().dropped(), 0);
  EXPECT_LE(outcome.result.stdout().total(), 50000);
  EXPECT_EQ(outcome.result.stderr().total(), 10);
  EXPECT_EQ(outcome.result.stderr().dropped(), 0);
}

TEST_F(OutputTest, Case09_NothingWrittenIsZero) {
  const Outcome outcome = Execute(Program("bash", ":"));
  EXPECT_TRUE(Exited(outcome, 0));
  EXPECT_EQ(outcome.result.stdout().total() + outcome.result.stderr().total(), 0);
}

TEST_F(OutputTest, SlowReaderGetsEverything) {
  auto request = ProgramFile("writes_8mib.py");
  SetWall(request, absl::Seconds(60));
  ExecuteOptions options;
  options.on_event = [](const v1::ExecuteEvent& event) {
    if (event.has_started()) absl::SleepFor(absl::Seconds(3));
  };
  const Outcome outcome = Execute(request, options);
  EXPECT_TRUE(Exited(outcome, 0));
  EXPECT_EQ(outcome.out.size(), 8u * kMiB);
  std::string expected;
  for (int i = 0; i < 128; ++i) {
    const std::string line = absl::StrCat(std::string(7 - absl::StrCat(i).size(), '0'), i, "\n");
    for (int k = 0; k < 8192; ++k) expected += line;
  }
  EXPECT_TRUE(outcome.out == expected);
  EXPECT_EQ(outcome.err.size(), 64u);
}

TEST_F(OutputTest, DeadlineHoldsWhenNobodyReads) {
  const pid_t server = ListenerOf(RequiredEnv("MAYFLY_TEST_SERVER_METRICS"));
  const pid_t worker = ListenerOf(RequiredEnv("MAYFLY_TEST_WORKER_METRICS"));
  ASSERT_TRUE(server > 0 && worker > 0) << "nobody listens on a metrics port";
  ASSERT_TRUE(Exited(Execute(Program("bash", ":")), 0));
  const int64_t server_before = ResidentBytes(server), worker_before = ResidentBytes(worker);
  auto request = ProgramFile("yes.sh");
  SetWall(request, absl::Seconds(2));
  request.mutable_limits()->set_output_bytes(1LL << 30);
  ExecuteOptions options;
  options.on_event = [&](const v1::ExecuteEvent& event) {
    if (!event.has_started()) return;
    absl::SleepFor(absl::Seconds(6));
    EXPECT_LT(ResidentBytes(server), server_before + 32 * kMiB) << "the server buffers for a client that does not read";
    EXPECT_LT(ResidentBytes(worker), worker_before + 32 * kMiB) << "the worker buffers for a client that does not read";
  };
  const Outcome outcome = Execute(request, options);
  ASSERT_TRUE(Ended(outcome, v1::TERMINATION_TIMED_OUT));
  const auto& wall = outcome.result.usage().wall_time();
  const double seconds = static_cast<double>(wall.seconds()) + wall.nanos() / 1e9;
  EXPECT_GE(seconds, 1.9);
  EXPECT_LE(seconds, 3.5) << "the wall limit holds while the client does not read";
  EXPECT_LT(outcome.out.size(), 64u * kMiB) << "a program that nobody reads is blocked";
}

TEST_F(OutputTest, HeartbeatsWhileSilent) {
  auto request = Program("bash", "sleep 23");
  SetWall(request, absl::Seconds(40));
  const Outcome outcome = Execute(request);
  EXPECT_TRUE(Exited(outcome, 0));
  absl::Duration last = outcome.started_at;
  int beats = 0;
  for (const EventNote& event : outcome.events) {
    if (event.at < outcome.started_at) continue;
    beats += event.kind == v1::ExecuteEvent::kHeartbeat ? 1 : 0;
    EXPECT_LT(event.at - last, absl::Seconds(11)) << "at least every 10 s";
    last = event.at;
  }
  EXPECT_GE(beats, 2);
}

}  // namespace
}  // namespace mayfly::test
