// The runner as a whole: what a program sees, what it can do to the runner, and what comes out.
#include "tests/unit/runner/runner_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace mayfly::runner {
namespace {

class RunnerProcessTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) FAIL() << "needs root";
  }

  static Outcome Run(const TestJob& job) {
    RunnerProcess process;
    Outcome outcome = process.Run(job);
    EXPECT_TRUE(outcome.stream.ok()) << outcome.stream;
    EXPECT_EQ(outcome.runner_status, 0);
    return outcome;
  }

  static void ExpectCode(const Outcome& outcome, int code) {
    EXPECT_EQ(outcome.failed, "");
    ASSERT_TRUE(outcome.exited.has_value());
    EXPECT_TRUE(outcome.exited->has_code());
    EXPECT_EQ(outcome.exited->code(), code) << outcome.err;
  }
};

TEST_F(RunnerProcessTest, RefusesToRunOutsideASandbox) {
  // As a child of this test it is never PID 1.
  const std::string command = absl::StrCat(MAYFLY_RUNNER_BINARY, " </dev/null 2>&1");
  FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  char line[256] = "";
  EXPECT_NE(fgets(line, sizeof(line), pipe), nullptr);
  EXPECT_NE(std::string(line).find("PID 1"), std::string::npos);
  EXPECT_EQ(WEXITSTATUS(pclose(pipe)), 64);
}

TEST_F(RunnerProcessTest, BothStreamsAndTheExitCode) {
  const Outcome outcome = Run(Script("echo out; echo err >&2; exit 7"));
  EXPECT_TRUE(outcome.started);
  EXPECT_EQ(outcome.out, "out\n");
  EXPECT_EQ(outcome.err, "err\n");
  ExpectCode(outcome, 7);
  EXPECT_GT(outcome.exited->cpu_nanos(), 0);
  EXPECT_GT(outcome.exited->rss_peak_bytes(), 100'000);
}

TEST_F(RunnerProcessTest, ExitCodes) {
  for (const int code : {0, 1, 127, 255}) ExpectCode(Run(Script(absl::StrCat("exit ", code))), code);
}

TEST_F(RunnerProcessTest, Signals) {
  for (const int number : {6, 9, 11, 15}) {
    const Outcome outcome = Run(Script(absl::StrCat("echo before; kill -", number, " $$")));
    ASSERT_TRUE(outcome.exited.has_value());
    EXPECT_EQ(outcome.exited->signal(), number);
    EXPECT_EQ(outcome.out, "before\n");
  }
}

TEST_F(RunnerProcessTest, SaysWhyTheProgramCouldNotBeExecuted) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"/no/such/interpreter", "executing /no/such/interpreter: No such file or directory"},
      {"/etc/passwd", "executing /etc/passwd: Permission denied"},
      {"sh", "the program's argv[0] is not an absolute path"},
      {"/no\n\x1b[2J", "executing /no??[2J: No such file or directory"},
  };
  for (const auto& [program, message] : cases) {
    TestJob job;
    job.argv = {program};
    const Outcome outcome = Run(job);
    EXPECT_FALSE(outcome.started);
    EXPECT_EQ(outcome.failed, message);
  }
}

TEST_F(RunnerProcessTest, ArgumentsAreExact) {
  TestJob job = Script(R"(for a in "$@"; do printf '<%s>' "$a"; done)");
  for (const char* arg : {"sh", "", "-c", "--help", "$(id)", "a\nb", "\xc3\xa9"}) job.argv.emplace_back(arg);
  EXPECT_EQ(Run(job).out, "<><-c><--help><$(id)><a\nb><\xc3\xa9>");
}

TEST_F(RunnerProcessTest, TheEnvironmentIsTheJobsAndNothingElse) {
  TestJob job;
  job.argv = {"/usr/bin/env"};
  job.env = {"A=1", "B=two words", "EMPTY="};
  EXPECT_EQ(Run(job).out, "A=1\nB=two words\nEMPTY=\n");
}

TEST_F(RunnerProcessTest, WhoTheProgramIs) {
  const Outcome outcome = Run(Script("cat /proc/self/status | tr -d ' \\t'"));
  const std::string none = "0000000000000000";
  const std::vector<std::pair<std::string, std::string>> fields = {{"Uid", "65534655346553465534"},
                                                                   {"Gid", "65534655346553465534"},
                                                                   {"Groups", ""},
                                                                   {"CapInh", none},
                                                                   {"CapPrm", none},
                                                                   {"CapEff", none}};
  for (const auto& [name, value] : fields) {
    EXPECT_NE(outcome.out.find(absl::StrCat("\n", name, ":", value, "\n")), std::string::npos) << name;
  }
  // gVisor (20240729) does not show these.
  const std::vector<std::pair<std::string, std::string>> linux_fields = {
      {"Umask", "0022"}, {"SigBlk", none}, {"SigIgn", none}, {"CapAmb", none}, {"NoNewPrivs", "1"}};
  for (const auto& [name, value] : linux_fields) {
    const size_t at = outcome.out.find(absl::StrCat("\n", name, ":"));
    if (at == std::string::npos) continue;
    EXPECT_EQ(outcome.out.compare(at + name.size() + 2, value.size() + 1, value + "\n"), 0) << name;
  }
}

TEST_F(RunnerProcessTest, WhereTheProgramIs) {
  const Outcome outcome = Run(
      Script("umask; touch here && echo writable; [ \"$(readlink /proc/self/cwd)\" = \"$(pwd)\" ] && echo workspace; "
             "cut -d' ' -f6 /proc/$$/stat | grep -x $$ >/dev/null && echo own session"));
  EXPECT_EQ(outcome.out, "0022\nwritable\nworkspace\nown session\n");
}

TEST_F(RunnerProcessTest, TheProgramHasThreeDescriptors) {
  // The fourth is the directory that ls reads.
  TestJob job;
  job.argv = {"/bin/ls", "/proc/self/fd"};
  EXPECT_EQ(Run(job).out, "0\n1\n2\n3\n");
}

TEST_F(RunnerProcessTest, TheProgramMayOpenItsPipesByName) {
  TestJob job = Script("cat /dev/stdin; echo out > /dev/stdout; echo err > /proc/self/fd/2");
  job.stdin = "in\n";
  const Outcome outcome = Run(job);
  EXPECT_EQ(outcome.out, "in\nout\n");
  EXPECT_EQ(outcome.err, "err\n");
}

// A forged frame would end the stream as malformed.
TEST_F(RunnerProcessTest, TheProgramCannotReachTheRunner) {
  const Outcome outcome =
      Run(Script("kill -9 1; kill -STOP 1; head -c 1 /proc/1/mem; echo x > /proc/1/mem; "
                 "for fd in /proc/1/fd/0 /proc/1/fd/1; do head -c 1 $fd; echo forged > $fd; done; echo survived"));
  EXPECT_EQ(outcome.out, "survived\n");
  ExpectCode(outcome, 0);
}

// gVisor guards the runner's descriptors by file modes alone.
TEST_F(RunnerProcessTest, RefusesPipesThatOthersMayOpen) {
  RunnerProcess process(/*pipe_mode=*/0622);
  Outcome outcome;
  process.Read(&outcome);
  EXPECT_FALSE(outcome.stream.ok());
  EXPECT_EQ(process.Wait(), 1);
}

TEST_F(RunnerProcessTest, MuchOutputOnBothStreams) {
  const Outcome outcome =
      Run(Script("head -c 200000 /dev/zero | tr '\\0' a & head -c 200000 /dev/zero | tr '\\0' b >&2; wait"));
  EXPECT_EQ(outcome.out, std::string(200'000, 'a'));
  EXPECT_EQ(outcome.err, std::string(200'000, 'b'));
}

TEST_F(RunnerProcessTest, BytesAreBytes) {
  const Outcome outcome = Run(Script("printf '\\377\\000\\376'; printf '\\000\\377' >&2"));
  EXPECT_EQ(outcome.out, std::string("\xff\x00\xfe", 3));
  EXPECT_EQ(outcome.err, std::string("\x00\xff", 2));
}

TEST_F(RunnerProcessTest, StdinIsByteExactAndEnds) {
  TestJob job;
  job.argv = {"/bin/cat"};
  job.stdin = std::string("a\r\nb\0c", 6);
  EXPECT_EQ(Run(job).out, job.stdin);
  job.stdin.clear();
  EXPECT_EQ(Run(job).out, "");
}

TEST_F(RunnerProcessTest, EightMebibytesEchoed) {
  TestJob job;
  job.argv = {"/bin/cat"};
  for (int i = 0; job.stdin.size() < (8u << 20); ++i) absl::StrAppend(&job.stdin, i, "\n");
  const Outcome outcome = Run(job);
  EXPECT_TRUE(outcome.out == job.stdin) << outcome.out.size() << " of " << job.stdin.size() << " bytes";
}

TEST_F(RunnerProcessTest, EightMebibytesUnread) {
  TestJob job = Script("head -c 300000 /dev/zero; echo ok >&2");
  job.stdin = std::string(8 << 20, 'x');
  const Outcome outcome = Run(job);
  EXPECT_EQ(outcome.out.size(), 300'000u);
  EXPECT_EQ(outcome.err, "ok\n");
  ExpectCode(outcome, 0);
  EXPECT_LT(outcome.took, absl::Seconds(5));
}

TEST_F(RunnerProcessTest, StdinThatTheProgramCloses) {
  TestJob job = Script("exec <&-; sleep 0.2; echo ok");
  job.stdin = std::string(1 << 20, 'x');
  const Outcome outcome = Run(job);
  EXPECT_EQ(outcome.out, "ok\n");
  ExpectCode(outcome, 0);
}

TEST_F(RunnerProcessTest, OutputThatTheProgramCloses) {
  const Outcome outcome = Run(Script("echo first; exec >&- 2>&-; sleep 0.2; exit 3"));
  EXPECT_EQ(outcome.out, "first\n");
  ExpectCode(outcome, 3);
}

TEST_F(RunnerProcessTest, OrphansDoNotDelayTheEnd) {
  const std::vector<std::string> scripts = {
      "sleep 300 & echo done",
      "(setsid sh -c 'trap \"\" HUP TERM INT; sleep 300' &) ; echo done",
      "setsid sh -c 'exec <&- >&- 2>&-; (sleep 300 &)' & wait; echo done",
      "(while :; do echo noise >&2; done) & echo done",
  };
  for (const std::string& script : scripts) {
    const Outcome outcome = Run(Script(script));
    EXPECT_EQ(outcome.out, "done\n") << script;
    ExpectCode(outcome, 0);
    EXPECT_LT(outcome.took, absl::Seconds(3)) << script;
  }
}

TEST_F(RunnerProcessTest, OrphansAreReapedWhileTheProgramRuns) {
  const Outcome outcome =
      Run(Script("for i in 1 2 3 4 5; do (true &) ; done; sleep 0.5; grep -l '^State:.Z' /proc/[0-9]*/status "
                 "2>/dev/null | wc -l"));
  EXPECT_EQ(outcome.out, "0\n");
}

TEST_F(RunnerProcessTest, InputFilesAreTheProgramsOwn) {
  TestJob job = Script(
      "stat -c '%n %u %g %a' run.sh data data/in.bin; ./run.sh; cat data/in.bin; rm -r data; tr -d x < big | wc -c; wc "
      "-c < big");
  job.files = {
      {"run.sh", "#!/bin/sh\necho ran\n", 0755}, {"data/in.bin", "12345", 0600}, {"big", std::string(300'000, 'x')}};
  EXPECT_EQ(Run(job).out,
            "run.sh 65534 65534 755\ndata 65534 65534 755\ndata/in.bin 65534 65534 600\nran\n123450\n300000\n");
}

TEST_F(RunnerProcessTest, InputPathsThatLeadElsewhereStartNothing) {
  for (const char* path : {"../x", "/etc/mayfly-x", "a/../../b", "", ".", "a//b", "dup"}) {
    TestJob job = Script("echo never");
    job.files = {{"dup", "x"}, {path, "x"}};
    const Outcome outcome = Run(job);
    EXPECT_FALSE(outcome.started) << path;
    EXPECT_NE(outcome.failed, "") << path;
    EXPECT_EQ(outcome.out, "");
  }
}

TEST_F(RunnerProcessTest, ReturnsFiles) {
  TestJob job = Script(
      "mkdir -p out/a; printf hello > out/a/b.txt; chmod 751 out/a/b.txt; : > empty; head -c 200000 /dev/zero > big");
  job.globs = {"**"};
  const Outcome outcome = Run(job);
  ASSERT_EQ(outcome.files.size(), 3u);
  EXPECT_EQ(outcome.files.at("out/a/b.txt").content, "hello");
  EXPECT_EQ(outcome.files.at("out/a/b.txt").header.mode(), 0751u);
  EXPECT_EQ(outcome.files.at("empty").header.omission(), 0);
  EXPECT_EQ(outcome.files.at("big").content, std::string(200'000, '\0'));
  EXPECT_EQ(outcome.unlisted, 0);
}

TEST_F(RunnerProcessTest, ReturnsNothingFromOutsideTheWorkspace) {
  TestJob job = Script(
      "ln -s /etc/passwd out.txt; ln -s / d; ln -s /proc/self/environ env; mkfifo fifo; "
      "truncate -s 1T sparse; printf x > \"$(printf '\\303.txt')\"; printf x > secret; chmod 0 secret; mkdir dir; "
      "printf x > ok");
  job.globs = {"*", "d/etc/passwd"};
  const Outcome outcome = Run(job);
  const std::vector<std::pair<std::string, int>> omissions = {
      {"out.txt", 2}, {"d", 2}, {"env", 2}, {"fifo", 2}, {"sparse", 1}, {"\\xC3.txt", 4}, {"secret", 3}, {"ok", 0}};
  EXPECT_EQ(outcome.files.size(), omissions.size());
  for (const auto& [path, omission] : omissions) {
    ASSERT_EQ(outcome.files.count(path), 1u) << path;
    EXPECT_EQ(outcome.files.at(path).header.omission(), omission) << path;
    EXPECT_EQ(outcome.files.at(path).content, omission == 0 ? "x" : "") << path;
  }
  EXPECT_EQ(outcome.files.at("sparse").header.size(), int64_t{1} << 40);
  EXPECT_LT(outcome.took, absl::Seconds(3));
}

TEST_F(RunnerProcessTest, BudgetsOfFiles) {
  TestJob job = Script("printf 12345 > a; printf 123456 > b; printf 12345 > c; printf 1 > d");
  job.globs = {"*"};
  job.file_bytes_max = 10;
  job.files_max = 3;
  const Outcome outcome = Run(job);
  ASSERT_EQ(outcome.files.size(), 3u);
  EXPECT_EQ(outcome.files.at("a").content, "12345");
  EXPECT_EQ(outcome.files.at("b").header.omission(), 1);
  EXPECT_EQ(outcome.files.at("c").content, "12345");
  EXPECT_EQ(outcome.unlisted, 1);
}

TEST_F(RunnerProcessTest, EndsWithTheWorker) {
  RunnerProcess process;
  process.SendJob(Script("echo up; sleep 300"), /*stdin_end=*/false);
  Outcome outcome;
  process.Read(&outcome, "up\n");
  ASSERT_EQ(outcome.out, "up\n");
  process.CloseStdin();
  EXPECT_EQ(process.Wait(), 1);
}

TEST_F(RunnerProcessTest, EndsWithTheWorkerWhileTheProgramDoesNotRead) {
  RunnerProcess process;
  TestJob job = Script("echo up; sleep 300");
  job.stdin = std::string(100'000, 'x');
  process.SendJob(job, /*stdin_end=*/false);
  Outcome outcome;
  process.Read(&outcome, "up\n");
  process.CloseStdin();
  EXPECT_EQ(process.Wait(), 1);
}

}  // namespace
}  // namespace mayfly::runner
