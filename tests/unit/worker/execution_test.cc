// One execution from its job to its result: every way to end, with the evidence and the accounts that belong to it.
#include "worker/execution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "google/protobuf/util/time_util.h"
#include "tests/fakes/fake_guest.h"
#include "tests/unit/worker/runner_frames.h"
#include "tests/unit/worker/worker_under_test.h"

namespace mayfly::worker {
namespace {

using fakes::FakeGuest;
using google::protobuf::util::TimeUtil;
using mayfly::v1::ExecuteEvent;
using mayfly::v1::ExecutionResult;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ExecutionTest : public ::testing::Test {
 protected:
  ~ExecutionTest() override { EXPECT_TRUE(worker().StopAndFindNothingLeft()); }

  // Made by the first use, so that a test can set options_ before.
  WorkerUnderTest& worker() {
    if (worker_ == nullptr) worker_ = std::make_unique<WorkerUnderTest>(options_);
    return *worker_;
  }

  // The result, with its stream checked.
  static ExecutionResult ResultOf(const RecordingSink& sink) {
    const auto result = sink.result();
    EXPECT_TRUE(result.has_value());
    if (!result.has_value()) return {};
    ExpectWellFormed(sink.events());
    return *result;
  }

  // A program whose frames arrive all at once.
  void SetGuestFrames(const std::string& frames, bool then_hang = false) {
    worker().fake().SetGuest([=](FakeGuest& guest) {
      if (!guest.Ready() || !guest.ReadJob() || !guest.SendRaw(frames)) return;
      if (then_hang) guest.Hang();
    });
  }

  void UseManualClock() {
    options_.clock = [this] { return clock_.Now(); };
  }

  // Lets time pass for an execution, which looks at its clock when it is woken.
  void Advance(const RecordingSink& sink, absl::Duration by) {
    clock_.Advance(by);
    sink.wake()->Signal();
  }

  ManualClock clock_;
  WorkerUnderTest::Options options_;

 private:
  std::unique_ptr<WorkerUnderTest> worker_;
};

// ---- Programs that end by themselves.

class ExitCodeTest : public ExecutionTest, public ::testing::WithParamInterface<int> {};

TEST_P(ExitCodeTest, Exited) {
  const ExecutionResult result = ResultOf(*worker().Run(absl::StrCat("print hi\nexit ", GetParam())));
  EXPECT_EQ(result.termination(), mayfly::v1::TERMINATION_EXITED);
  EXPECT_EQ(result.exit_code(), GetParam());
  EXPECT_FALSE(result.retry_safe());
}

INSTANTIATE_TEST_SUITE_P(All, ExitCodeTest, ::testing::Values(0, 1, 7, 128, 137, 255));

class SignalTest : public ExecutionTest, public ::testing::WithParamInterface<int> {};

TEST_P(SignalTest, Signaled) {
  const ExecutionResult result = ResultOf(*worker().Run(absl::StrCat("print hi\nsignal ", GetParam())));
  EXPECT_EQ(result.termination(), mayfly::v1::TERMINATION_SIGNALED);
  EXPECT_EQ(result.signal(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, SignalTest, ::testing::Values(6, 9, 11, 64));

TEST_F(ExecutionTest, TellsAllAboutAnExecution) {
  const auto sink = worker().Run("print out\nerr problem\nprint more\nexit 3");
  const ExecutionResult result = ResultOf(*sink);
  EXPECT_EQ(sink->stdout_data(), "out\nmore\n");
  EXPECT_EQ(sink->stderr_data(), "problem\n");
  EXPECT_EQ(result.execution_id(), "00000000000000000000000000000001");
  EXPECT_EQ(result.template_(), "python");
  EXPECT_EQ(result.stdout().total(), 9);
  EXPECT_EQ(result.stderr().total(), 8);
  EXPECT_EQ(TimeUtil::DurationToNanoseconds(result.usage().cpu_time()), 1'000'000);  // the exit frame's
  EXPECT_GE(TimeUtil::DurationToNanoseconds(result.timings().sandbox()), 1);
  EXPECT_EQ(result.isolation().runtime(), "runsc");
  EXPECT_EQ(result.isolation().containerd_runtime(), "io.containerd.runc.v2");
  EXPECT_THAT(result.isolation().image_digest(), StartsWith("sha256:"));
  EXPECT_THAT(result.isolation().task_id(), StartsWith("mf-"));
  EXPECT_EQ(worker().Metric("mayfly_worker_executions_total", "exited"), 1);
}

TEST_F(ExecutionTest, RunnerGetsTheJob) {
  mayfly::v1::ExecuteRequest request = worker().MakeRequest("args\nenv\ncat");
  request.add_args("--help");
  (*request.mutable_env())["A"] = "1";
  request.set_stdin("a\r\nb");
  const auto sink = worker().Run(request);
  ResultOf(*sink);
  EXPECT_THAT(sink->stdout_data(), StartsWith("/usr/bin/python3\n/workspace/main.py\n--help\n"));
  EXPECT_THAT(sink->stdout_data(), HasSubstr("\nA=1\n"));
  EXPECT_THAT(sink->stdout_data(), ::testing::EndsWith("\na\r\nb"));
}

TEST_F(ExecutionTest, BigInputComesBackWhole) {
  mayfly::v1::ExecuteRequest request = worker().MakeRequest("cat");
  for (int i = 0; i < 3'000'000; ++i) request.mutable_stdin()->push_back(static_cast<char>(i % 249));
  const auto sink = worker().Run(request);
  ResultOf(*sink);
  EXPECT_TRUE(sink->stdout_data() == request.stdin());
}

TEST_F(ExecutionTest, UnreadInputDoesNotHoldAProgramUp) {
  mayfly::v1::ExecuteRequest request = worker().MakeRequest("print ok");
  request.set_stdin(std::string(8 << 20, 'x'));
  const auto sink = worker().Run(request);
  EXPECT_EQ(ResultOf(*sink).exit_code(), 0);
  EXPECT_EQ(sink->stdout_data(), "ok\n");
}

TEST_F(ExecutionTest, SmallWritesThatCameTogetherGoOnTogether) {
  std::string frames = StartedFrame();
  for (int i = 0; i < 200; ++i) frames += OutputFrame(1, "x");
  SetGuestFrames(frames + ExitedFrame(0) + DoneFrame());
  const auto sink = worker().Run("");
  EXPECT_EQ(ResultOf(*sink).stdout().sent(), 200);
  EXPECT_EQ(sink->events().size(), 3u) << "started, output, finished";
}

TEST_F(ExecutionTest, OrderWithinAStreamIsKept) {
  std::string frames = StartedFrame();
  for (int i = 0; i < 10; ++i) frames += OutputFrame(1, absl::StrCat("o", i)) + OutputFrame(2, absl::StrCat("e", i));
  SetGuestFrames(frames + ExitedFrame(0) + DoneFrame());
  const auto sink = worker().Run("");
  ResultOf(*sink);
  EXPECT_EQ(sink->stdout_data(), "o0o1o2o3o4o5o6o7o8o9");
  EXPECT_EQ(sink->stderr_data(), "e0e1e2e3e4e5e6e7e8e9");
}

TEST_F(ExecutionTest, AnyBytesComeBack) {
  SetGuestFrames(StartedFrame() + OutputFrame(1, std::string("\xff\x00\xfe\xe2\x98", 5)) + OutputFrame(1, "\x95") +
                 ExitedFrame(0) + DoneFrame());
  const auto sink = worker().Run("");
  ResultOf(*sink);
  EXPECT_EQ(sink->stdout_data(), std::string("\xff\x00\xfe\xe2\x98\x95", 6));
}

// ---- Output files.

TEST_F(ExecutionTest, FilesComeInPartsAndAreListed) {
  worker().fake().SetGuest([](FakeGuest& guest) {
    if (!guest.Ready() || !guest.ReadJob() || !guest.Started()) return;
    guest.AddOutputFile("a/empty", "");
    guest.AddOutputFile("b", std::string(65536, 'b') + "end");
    guest.Exit(0);
  });
  const auto sink = worker().Run("");
  const ExecutionResult result = ResultOf(*sink);
  ASSERT_EQ(result.files_size(), 2);
  EXPECT_EQ(result.files(0).path(), "a/empty");
  EXPECT_EQ(result.files(1).size(), 65539);
  EXPECT_EQ(result.files(1).mode(), 0644u);
  std::vector<std::pair<std::string, size_t>> parts;
  for (const ExecuteEvent& event : sink->events()) {
    if (event.has_file()) parts.emplace_back(event.file().path(), event.file().data().size());
  }
  EXPECT_THAT(parts, ElementsAre(std::pair("a/empty", 0u), std::pair("b", 65536u), std::pair("b", 3u)));
}

TEST_F(ExecutionTest, FilesAlsoOfAProgramThatFailed) {
  EXPECT_EQ(ResultOf(*worker().Run("file core 10\nsignal 6")).files_size(), 1);
}

TEST_F(ExecutionTest, OmittedFilesAreListedWithTheReason) {
  SetGuestFrames(StartedFrame() + ExitedFrame(0) + FileHeaderFrame("big", int64_t{1} << 40, 1) +
                 FileHeaderFrame("link", 0, 2) + DoneFrame(9));
  const auto sink = worker().Run("");
  const ExecutionResult result = ResultOf(*sink);
  ASSERT_EQ(result.files_size(), 2);
  EXPECT_EQ(result.files(0).omission(), mayfly::v1::OMISSION_TOO_LARGE);
  EXPECT_EQ(result.files(0).size(), int64_t{1} << 40);
  EXPECT_EQ(result.files(1).omission(), mayfly::v1::OMISSION_NOT_REGULAR);
  EXPECT_EQ(result.files_unlisted(), 9);
}

// The program has ended; that the sandbox dies while its files are read does not change how.
TEST_F(ExecutionTest, AFileThatIsCutIsMarked) {
  worker().fake().SetGuest([](FakeGuest& guest) {
    if (!guest.Ready() || !guest.ReadJob()) return;
    guest.SendRaw(StartedFrame() + ExitedFrame(4) + FileHeaderFrame("a", 2) + FileDataFrame("aa") +
                  FileHeaderFrame("b", 100) + FileDataFrame("half"));
    guest.Die(1);
  });
  const ExecutionResult result = ResultOf(*worker().Run(""));
  EXPECT_EQ(result.termination(), mayfly::v1::TERMINATION_EXITED);
  EXPECT_EQ(result.exit_code(), 4);
  ASSERT_EQ(result.files_size(), 2);
  EXPECT_EQ(result.files(0).omission(), mayfly::v1::OMISSION_UNSPECIFIED);
  EXPECT_EQ(result.files(1).omission(), mayfly::v1::OMISSION_UNREADABLE);
}

TEST_F(ExecutionTest, CollectingFilesIsBounded) {
  UseManualClock();
  SetGuestFrames(StartedFrame() + ExitedFrame(0) + FileHeaderFrame("a", 100) + FileDataFrame("half"), true);
  const auto sink = worker().Run("");
  ASSERT_TRUE(sink->AwaitEvents(2)) << "started and a part of the file";
  Advance(*sink, absl::Seconds(30));
  const ExecutionResult result = ResultOf(*sink);
  EXPECT_EQ(result.termination(), mayfly::v1::TERMINATION_EXITED);
  ASSERT_EQ(result.files_size(), 1);
  EXPECT_EQ(result.files(0).omission(), mayfly::v1::OMISSION_UNREADABLE);
  EXPECT_THAT(result.evidence(), Contains(HasSubstr("collecting files was ended after 30s")));
}

// ---- Limits.

class OutputLimitTest : public ExecutionTest, public ::testing::WithParamInterface<int> {};

TEST_P(OutputLimitTest, SendsExactlyTheLimit) {
  const int fd = GetParam();
  worker().fake().SetGuest([fd](FakeGuest& guest) {
    if (!guest.Ready() || !guest.ReadJob() || !guest.Started()) return;
    while (guest.Output(fd, std::string(1000, 'y'))) {
    }
  });
  mayfly::v1::ExecuteRequest request = worker().MakeRequest("");
  request.mutable_limits()->set_output_bytes(65536);
  const auto sink = worker().Run(request);
  const ExecutionResult result = ResultOf(*sink);
  EXPECT_EQ(result.termination(), mayfly::v1::TERMINATION_OUTPUT_LIMIT);
  EXPECT_THAT(result.message(), HasSubstr(fd == 1 ? "to stdout" : "to stderr"));
  EXPECT_EQ((fd == 1 ? sink->stdout_data() : sink->stderr_data()), std::string(65536, 'y'));
  const auto& account = fd == 1 ? result.stdout() : result.stderr();
  EXPECT_EQ(account.sent(), 65536);
  EXPECT_GT(account.dropped(), 0);
  EXPECT_EQ((fd == 1 ? result.stderr() : result.stdout()).total(), 0);
}

INSTANTIATE_TEST_SUITE_P(BothStreams, OutputLimitTest, ::testing::Values(1, 2));

TEST_F(ExecutionTest, AsMuchAsTheLimitIsNotMore) {
  mayfly::v1::ExecuteRequest request = worker().MakeRequest("spam 65536\nexit 0");
  request.mutable_limits()->set_output_bytes(65536);
  const ExecutionResult result = ResultOf(*worker().Run(request));
  EXPECT_EQ(result.termination(), mayfly::v1::TERMINATION_EXITED);
  EXPECT_EQ(result.stdout().dropped(), 0);
}

// However fast it ends after that: the limit was crossed first. Its files are not returned then.
TEST_F(ExecutionTest, OneByteTooManyAndGone) {
  SetGuestFrames(StartedFrame() + OutputFrame(1, "12345678901") + ExitedFrame(0) + FileHeaderFrame("f", 1) +
                 FileDataFrame("x") + DoneFrame());
  mayfly::v1::ExecuteRequest request = worker().MakeRequest("");
  request.mutable_limits()->set_output_bytes(10);
  const auto sink = worker().Run(request);
  const ExecutionResult result = ResultOf(*sink);
  EXPECT_EQ(result.termination(), mayfly::v1::TERMINATION_OUTPUT_LIMIT);
  EXPECT_EQ(sink->stdout_data(), "1234567890");
  EXPECT_EQ(result.stdout().total(), 11);
  EXPECT_EQ(result.files_size(), 0);
  for (const ExecuteEvent& event : sink->events()) EXPECT_FALSE(event.has_file());
}

TEST_F(ExecutionTest, TimedOutKeepsWhatWasWritten) {
  UseManualClock();
  const auto sink = worker().Run("print before\nhang");
  ASSERT_TRUE(sink->AwaitStdout(7));
  Advance(*sink, absl::Seconds(10));  // the template's default
  const ExecutionResult result = ResultOf(*sink);
  EXPECT_EQ(result.termination(), mayfly::v1::TERMINATION_TIMED_OUT);
  EXPECT_THAT(result.message(), HasSubstr("limit of 10s"));
  EXPECT_EQ(sink->stdout_data(), "before\n");
  EXPECT_EQ(TimeUtil::DurationToSeconds(result.usage().wall_time()), 10);
  EXPECT_THAT(result.evidence(), Contains("task exit status 137")) << "gone when the answer is there";
}

TEST_F(ExecutionTest, TheDeadlineIsTheOneAskedFor) {
  mayfly::v1::ExecuteRequest request = worker().MakeRequest("hang");
  *request.mutable_limits()->mutable_wall_time() = TimeUtil::MillisecondsToDuration(100);
  const auto sink = worker().Run(request);
  const ExecutionResult result = ResultOf(*sink);
  EXPECT_EQ(result.termination(), mayfly::v1::TERMINATION_TIMED_OUT);
  EXPECT_GE(TimeUtil::DurationToMilliseconds(result.usage().wall_time()), 100);
}

// Neither making the sandbox nor waiting for it counts.
TEST_F(ExecutionTest, TheWallLimitCountsFromTheProgramsStart) {
  UseManualClock();
  absl::Notification start;
  worker().fake().SetGuest([&](FakeGuest& guest) {
    if (!guest.Ready() || !guest.ReadJob()) return;
    start.WaitForNotificationWithTimeout(absl::Seconds(30));
    if (guest.Started()) guest.Exit(0);
  });
  const auto sink = worker().Run("");
  ASSERT_TRUE(worker().fake().failpoints().AwaitCalls("tasks.Start", 1));
  Advance(*sink, absl::Seconds(50));
  start.Notify();
  const ExecutionResult result = ResultOf(*sink);
  EXPECT_EQ(result.termination(), mayfly::v1::TERMINATION_EXITED);
  EXPECT_EQ(TimeUtil::DurationToSeconds(result.usage().wall_time()), 0);
}

TEST_F(ExecutionTest, AStartThatTakesTooLongIsNotTheProgramsFault) {
  UseManualClock();
  worker().fake().SetGuest([](FakeGuest& guest) { guest.Hang(); });
  const auto sink = worker().Run("");
  ASSERT_TRUE(worker().fake().failpoints().AwaitCalls("tasks.Start", 1));
  clock_.Advance(absl::Seconds(60));
  sink->wake()->Signal();
  const ExecutionResult result = ResultOf(*sink);
  EXPECT_EQ(result.termination(), mayfly::v1::TERMINATION_SANDBOX_FAILED);
  EXPECT_TRUE(result.retry_safe());
  EXPECT_EQ(result.stdout().total(), 0);
}

// ---- The caller.

TEST_F(ExecutionTest, CancelledWhileRunning) {
  const auto sink = worker().Run("print a\nhang");
  ASSERT_TRUE(sink->AwaitStdout(2));
  sink->Cancel();
  const ExecutionResult result = ResultOf(*sink);
  EXPECT_EQ(result.termination(), mayfly::v1::TERMINATION_CANCELLED);
  EXPECT_FALSE(result.retry_safe());
  EXPECT_THAT(result.evidence(), Contains("task exit status 137"));
}

TEST_F(ExecutionTest, CancelledInTheMiddleOfMuchOutput) {
  const auto sink = worker().Run("spam 8000000\nhang");
  ASSERT_TRUE(sink->AwaitStdout(100'000));
  sink->Cancel();
  EXPECT_EQ(ResultOf(*sink).termination(), mayfly::v1::TERMINATION_CANCELLED);
}

TEST_F(ExecutionTest, CancelledWhileTheSandboxIsMade) {
  worker().fake().failpoints().Set("tasks.Create", {.hang = true});
  const auto sink = worker().Run("print a");
  ASSERT_TRUE(worker().fake().failpoints().AwaitCalls("tasks.Create", 1));
  sink->Cancel();
  worker().fake().failpoints().Release("tasks.Create");
  EXPECT_EQ(ResultOf(*sink).termination(), mayfly::v1::TERMINATION_CANCELLED);
}

TEST_F(ExecutionTest, CancelledWhileTheProgramStarts) {
  worker().fake().SetGuest([](FakeGuest& guest) { guest.Hang(); });
  const auto sink = worker().Run("");
  ASSERT_TRUE(worker().fake().failpoints().AwaitCalls("tasks.Start", 1));
  sink->Cancel();
  EXPECT_EQ(ResultOf(*sink).termination(), mayfly::v1::TERMINATION_CANCELLED);
}

// A program that ended by itself was not cancelled, even when its files were still on their way.
TEST_F(ExecutionTest, CancelledAfterTheProgramsEnd) {
  SetGuestFrames(StartedFrame() + ExitedFrame(5) + FileHeaderFrame("a", 100) + FileDataFrame("half"), true);
  const auto sink = worker().Run("");
  ASSERT_TRUE(sink->AwaitEvents(2)) << "started and a part of the file";
  sink->Cancel();
  const ExecutionResult result = ResultOf(*sink);
  EXPECT_EQ(result.termination(), mayfly::v1::TERMINATION_EXITED);
  EXPECT_EQ(result.exit_code(), 5);
}

TEST_F(ExecutionTest, SilentProgramsShowThatTheyLive) {
  UseManualClock();
  mayfly::v1::ExecuteRequest request = worker().MakeRequest("hang");
  request.mutable_limits()->mutable_wall_time()->set_seconds(35);
  const auto sink = worker().Run(request);
  ASSERT_TRUE(sink->AwaitStarted());
  for (int beat = 1; beat <= 3; ++beat) {
    Advance(*sink, absl::Seconds(10));
    ASSERT_TRUE(sink->AwaitHeartbeats(beat));
  }
  Advance(*sink, absl::Seconds(5));
  EXPECT_EQ(ResultOf(*sink).termination(), mayfly::v1::TERMINATION_TIMED_OUT);
  EXPECT_EQ(sink->events().size(), 5u) << "started, three heartbeats, finished";
}

TEST_F(ExecutionTest, HeartbeatsComeInRealTime) {
  options_.timeouts.heartbeat = absl::Milliseconds(20);
  const auto sink = worker().Run("hang");
  EXPECT_TRUE(sink->AwaitHeartbeats(5));
  sink->Cancel();
  ResultOf(*sink);
}

// ---- Sandboxes that fail.

TEST_F(ExecutionTest, SandboxDiesWithoutAWord) {
  UseManualClock();  // so that there is time for how it ended, however busy the machine is
  worker().fake().SetGuest([](FakeGuest& guest) {
    if (!guest.Ready() || !guest.ReadJob()) return;
    guest.SendRaw(StartedFrame() + OutputFrame(1, "before"));
    guest.Die(128);
  });
  const auto sink = worker().Run("");
  const ExecutionResult result = ResultOf(*sink);
  EXPECT_EQ(result.termination(), mayfly::v1::TERMINATION_SANDBOX_FAILED);
  EXPECT_TRUE(result.retry_safe());
  EXPECT_EQ(sink->stdout_data(), "before");
  EXPECT_THAT(result.evidence(), Contains("task exit status 128"));
}

TEST_F(ExecutionTest, SandboxDiesBeforeTheStart) {
  worker().fake().SetGuest([](FakeGuest& guest) { guest.Die(1); });
  const ExecutionResult result = ResultOf(*worker().Run(""));
  EXPECT_EQ(result.termination(), mayfly::v1::TERMINATION_SANDBOX_FAILED);
}

TEST_F(ExecutionTest, SandboxDiesOfMemory) {
  WorkerUnderTest& under_test = worker();
  under_test.fake().SetGuest([&](FakeGuest& guest) {
    if (!guest.Ready() || !guest.ReadJob()) return;
    under_test.WriteCgroupFiles("memory.events", "oom 1\noom_kill 1\n");
    under_test.WriteCgroupFiles("memory.peak", "134217728\n");
    guest.SendRaw(StartedFrame() + OutputFrame(1, "before"));
    guest.Die(0);  // some shims say so
  });
  const auto sink = worker().Run("");
  const ExecutionResult result = ResultOf(*sink);
  EXPECT_EQ(result.termination(), mayfly::v1::TERMINATION_OUT_OF_MEMORY);
  EXPECT_EQ(sink->stdout_data(), "before");
  EXPECT_EQ(result.usage().memory_peak_bytes(), 134217728);
  EXPECT_THAT(result.evidence(), Contains("cgroup oom_kill 1"));
}

TEST_F(ExecutionTest, OnlyAChildDiesOfMemory) {
  WorkerUnderTest& under_test = worker();
  under_test.fake().SetGuest([&](FakeGuest& guest) {
    if (!guest.Ready() || !guest.ReadJob()) return;
    under_test.WriteCgroupFiles("memory.events", "oom_kill 1\n");
    if (guest.Started()) guest.Exit(0);
  });
  const ExecutionResult result = ResultOf(*worker().Run(""));
  EXPECT_EQ(result.termination(), mayfly::v1::TERMINATION_EXITED);
  EXPECT_THAT(result.evidence(), Contains("cgroup oom_kill 1"));
}

TEST_F(ExecutionTest, ProgramThatCannotBeStarted) {
  const auto sink = worker().Run("fail executing /usr/bin/python3: No such file or directory");
  const ExecutionResult result = ResultOf(*sink);
  EXPECT_EQ(result.termination(), mayfly::v1::TERMINATION_SANDBOX_FAILED);
  EXPECT_THAT(result.message(), HasSubstr("executing /usr/bin/python3: No such file or directory"));
  EXPECT_EQ(sink->events().size(), 1u);
}

struct Hostile {
  const char* name;
  std::string frames;  // after `ready` and the job
  bool started = true;
};

class HostileSandboxTest : public ExecutionTest, public ::testing::WithParamInterface<Hostile> {};

// User code that has broken out into the guest's kernel writes what it likes.
TEST_P(HostileSandboxTest, IsKilled) {
  SetGuestFrames((GetParam().started ? StartedFrame() + OutputFrame(1, "kept") : "") + GetParam().frames, true);
  const auto sink = worker().Run("");
  const ExecutionResult result = ResultOf(*sink);
  EXPECT_EQ(result.termination(), mayfly::v1::TERMINATION_SANDBOX_FAILED);
  EXPECT_THAT(result.message(), HasSubstr("broke the runner's protocol"));
  EXPECT_THAT(result.evidence(), Contains("killed by Mayfly: protocol violation"));
  EXPECT_THAT(result.evidence(), Contains("task exit status 137"));
  EXPECT_EQ(sink->stdout_data(), GetParam().started ? "kept" : "");
}

INSTANTIATE_TEST_SUITE_P(
    All, HostileSandboxTest,
    ::testing::Values(Hostile{"FrameOf4GiB", "\xff\xff\xff\xff"}, Hostile{"EmptyFrame", std::string(4, '\0')},
                      Hostile{"Garbage", std::string("\x04\0\0\0\xff\xff\xff\xff", 8)},
                      Hostile{"UnknownFrame", std::string("\x02\0\0\0\x78\x01", 6)},
                      Hostile{"OutputBeforeStart", OutputFrame(1, "x"), false},
                      Hostile{"ExitBeforeStart", ExitedFrame(0), false}, Hostile{"ReadyTwice", ReadyFrame(), false},
                      Hostile{"StartedTwice", StartedFrame()}, Hostile{"FailedWhileRunning", FailedFrame("x")},
                      Hostile{"Descriptor3", OutputFrame(3, "x")}, Hostile{"NoData", OutputFrame(1, "")},
                      Hostile{"TooMuchData", OutputFrame(1, std::string(65537, 'x'))},
                      Hostile{"ExitCode256", ExitedFrame(256)}, Hostile{"Signal65", SignalFrame(65)},
                      Hostile{"FileWhileRunning", FileHeaderFrame("a", 1)}, Hostile{"DoneWhileRunning", DoneFrame()}),
    [](const auto& info) { return info.param.name; });

TEST_F(ExecutionTest, RunnerOfAnotherVersion) {
  worker().fake().SetGuest([](FakeGuest& guest) {
    guest.SendRaw(ReadyFrame(2));
    guest.Hang();
  });
  const ExecutionResult result = ResultOf(*worker().Run(""));
  EXPECT_EQ(result.termination(), mayfly::v1::TERMINATION_SANDBOX_FAILED);
  EXPECT_THAT(result.message(), HasSubstr("protocol version 2"));
}

class HostileAfterExitTest : public ExecutionTest, public ::testing::WithParamInterface<Hostile> {};

// How the program ended stands, whatever the sandbox does afterwards.
TEST_P(HostileAfterExitTest, KeepsTheExit) {
  SetGuestFrames(StartedFrame() + ExitedFrame(7) + GetParam().frames, true);
  const ExecutionResult result = ResultOf(*worker().Run(""));
  EXPECT_EQ(result.termination(), mayfly::v1::TERMINATION_EXITED);
  EXPECT_EQ(result.exit_code(), 7);
  EXPECT_THAT(result.evidence(), Contains(HasSubstr("broke the runner's protocol")));
}

INSTANTIATE_TEST_SUITE_P(
    All, HostileAfterExitTest,
    ::testing::Values(Hostile{"ExitedTwice", ExitedFrame(0)}, Hostile{"OutputAfterExit", OutputFrame(1, "x")},
                      Hostile{"PathUpwards", FileHeaderFrame("../x", 1)},
                      Hostile{"AbsolutePath", FileHeaderFrame("/etc/passwd", 1)},
                      Hostile{"NegativeSize", FileHeaderFrame("a", -1)},
                      Hostile{"MoreThanTheLimit", FileHeaderFrame("a", (1 << 20) + 1)},
                      Hostile{"SamePathTwice", FileHeaderFrame("a", 0) + FileHeaderFrame("a", 0)},
                      Hostile{"DataWithoutFile", FileDataFrame("x")},
                      Hostile{"TooMuchFileData", FileHeaderFrame("a", 1) + FileDataFrame("xx")},
                      Hostile{"UnknownOmission", FileHeaderFrame("a", 1, 5)}, Hostile{"NegativeDone", DoneFrame(-1)}),
    [](const auto& info) { return info.param.name; });

// ---- containerd goes away meanwhile.

TEST_F(ExecutionTest, ContainerdRestartsDuringAnExecution) {
  absl::Notification restarted;
  worker().fake().SetGuest([&](FakeGuest& guest) {
    if (!guest.Ready() || !guest.ReadJob() || !guest.Started()) return;
    restarted.WaitForNotificationWithTimeout(absl::Seconds(30));
    guest.Output(1, "after");
    guest.Exit(7);
  });
  const auto sink = worker().Run("");
  ASSERT_TRUE(sink->AwaitStarted());
  worker().fake().Stop();
  worker().fake().Start();
  restarted.Notify();
  const ExecutionResult result = ResultOf(*sink);
  EXPECT_EQ(result.termination(), mayfly::v1::TERMINATION_EXITED);
  EXPECT_EQ(result.exit_code(), 7);
  EXPECT_EQ(sink->stdout_data(), "after");
}

// The wait is lost with the old containerd; the closed FIFO tells, too.
TEST_F(ExecutionTest, SandboxDiesAfterContainerdRestarted) {
  absl::Notification restarted;
  worker().fake().SetGuest([&](FakeGuest& guest) {
    if (!guest.Ready() || !guest.ReadJob() || !guest.Started()) return;
    restarted.WaitForNotificationWithTimeout(absl::Seconds(30));
    guest.Die(1);
  });
  const auto sink = worker().Run("");
  ASSERT_TRUE(sink->AwaitStarted());
  worker().fake().Stop();
  worker().fake().Start();
  restarted.Notify();
  EXPECT_EQ(ResultOf(*sink).termination(), mayfly::v1::TERMINATION_SANDBOX_FAILED);
}

}  // namespace
}  // namespace mayfly::worker
