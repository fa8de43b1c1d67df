// The fake itself: failpoints, the script guest, what a kill does, what is counted. Its agreement with a real
// containerd is the contract suite's matter.
#include "tests/fakes/fake_containerd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "mayfly/runner/v1/runner.pb.h"
#include "tests/unit/containerd/task_fifos.h"
#include "worker/containerd/grpc_containerd.h"
#include "worker/runner/frame_codec.h"

namespace mayfly::fakes {
namespace {

using runner::v1::FromRunner;
using runner::v1::ToRunner;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class FakeContainerdTest : public ::testing::Test {
 protected:
  FakeContainerdTest() {
    worker::GrpcContainerd::Options options;
    options.address = fake_.address();
    options.namespace_name = std::string(FakeContainerd::kNamespace);
    options.call_timeout = absl::Seconds(20);
    client_ = std::make_unique<worker::GrpcContainerd>(std::move(options));
  }

  absl::Status CreateTask() {
    worker::ContainerSpec spec;
    spec.id = "t";
    spec.runtime.name = "io.containerd.runc.v2";
    spec.oci_spec_json = "{}";
    if (absl::Status status = client_->CreateContainer(spec); !status.ok()) return status;
    return client_->CreateTask("t", {}, fifos_.stdio()).status();
  }

  void Send(const ToRunner& frame) {
    std::string bytes;
    ASSERT_EQ(runner::AppendFrame(frame, &bytes), absl::OkStatus());
    fifos_.Write(bytes);
  }

  void SendJob(const std::string& script) {
    ToRunner job;
    job.mutable_job()->add_argv("/bin/interpreter");
    job.mutable_job()->add_argv("/workspace/main");
    Send(job);
    ToRunner file;
    file.mutable_file()->set_path("main");
    file.mutable_file()->set_data(script);
    file.mutable_file()->set_first(true);
    Send(file);
    ToRunner start;
    start.mutable_start();
    Send(start);
  }

  // Runs a task with the script guest to its end; a word for each frame it sent.
  std::vector<std::string> RunScript(const std::string& script, const std::string& input = "") {
    EXPECT_EQ(CreateTask(), absl::OkStatus());
    EXPECT_EQ(client_->StartTask("t"), absl::OkStatus());
    SendJob(script);
    ToRunner frame;
    frame.set_stdin(input);
    if (!input.empty()) Send(frame);
    frame.mutable_stdin_end();
    Send(frame);
    return Words(fifos_.ReadAll());
  }

  static std::vector<std::string> Words(const std::string& stream) {
    std::vector<std::string> words;
    runner::FrameDecoder decoder(runner::kFromRunnerBytesMax);
    decoder.Push(stream);
    absl::string_view payload;
    while (decoder.Next(&payload)) {
      FromRunner frame;
      EXPECT_TRUE(frame.ParseFromArray(payload.data(), static_cast<int>(payload.size())));
      words.push_back(Word(frame));
    }
    if (!decoder.status().ok()) words.push_back("malformed");
    return words;
  }

  static std::string Word(const FromRunner& frame) {
    switch (frame.frame_case()) {
      case FromRunner::kReady:
        return "ready";
      case FromRunner::kStarted:
        return "started";
      case FromRunner::kOutput:
        return absl::StrCat(frame.output().fd(), ":", frame.output().data());
      case FromRunner::kExited:
        return frame.exited().has_signal() ? absl::StrCat("signal ", frame.exited().signal())
                                           : absl::StrCat("exit ", frame.exited().code());
      case FromRunner::kFileHeader:
        return absl::StrCat("file ", frame.file_header().path());
      case FromRunner::kFileData:
        return absl::StrCat("data ", frame.file_data().size());
      case FromRunner::kDone:
        return "done";
      case FromRunner::kFailed:
        return absl::StrCat("failed ", frame.failed().message());
      case FromRunner::FRAME_NOT_SET:
        break;
    }
    return "none";
  }

  // Exit status of the task, which must end.
  uint32_t AwaitExit() {
    absl::Notification ended;
    uint32_t status = 0;
    auto wait = client_->WaitTask("t", [&](absl::StatusOr<worker::TaskExit> exit) {
      EXPECT_TRUE(exit.ok()) << exit.status();
      if (exit.ok()) status = exit->status;
      ended.Notify();
    });
    EXPECT_TRUE(ended.WaitForNotificationWithTimeout(absl::Seconds(10)));
    return status;
  }

  FakeContainerd fake_;
  std::unique_ptr<worker::GrpcContainerd> client_;
  worker::TaskFifos fifos_;
};

TEST_F(FakeContainerdTest, ScriptPrintsAndExits) {
  EXPECT_THAT(RunScript("print a b\nerr c\nexit 3\nprint never"),
              ElementsAre("ready", "started", "1:a b\n", "2:c\n", "exit 3", "done"));
  EXPECT_EQ(AwaitExit(), 0u);
}

TEST_F(FakeContainerdTest, ScriptReadsInputAndLeavesFiles) {
  EXPECT_THAT(
      RunScript("cat\nfile out/x 70000\n", "some input"),
      ElementsAre("ready", "started", "1:some input", "exit 0", "file out/x", "data 65536", "data 4464", "done"));
}

TEST_F(FakeContainerdTest, ScriptShowsItsArguments) {
  EXPECT_THAT(RunScript("args"),
              ElementsAre("ready", "started", "1:/bin/interpreter\n/workspace/main\n", "exit 0", "done"));
}

TEST_F(FakeContainerdTest, ScriptEndsBySignal) {
  EXPECT_THAT(RunScript("signal 11"), ElementsAre("ready", "started", "signal 11", "done"));
}

TEST_F(FakeContainerdTest, ScriptDiesWithoutAFrame) {
  EXPECT_THAT(RunScript("print a\ndie 137"), ElementsAre("ready", "started", "1:a\n"));
  EXPECT_EQ(AwaitExit(), 137u);
}

TEST_F(FakeContainerdTest, ScriptSendsGarbage) {
  EXPECT_THAT(RunScript("raw ffffffff"), ElementsAre("ready", "started", "malformed"));
}

TEST_F(FakeContainerdTest, ScriptFailsToStart) {
  EXPECT_THAT(RunScript("fail no such file\nprint never"), ElementsAre("ready", "failed no such file"));
}

TEST_F(FakeContainerdTest, KillEndsAGuestThatIsBlockedInItsOutput) {
  ASSERT_EQ(CreateTask(), absl::OkStatus());
  ASSERT_EQ(client_->StartTask("t"), absl::OkStatus());
  SendJob("spam 1000000000");
  ASSERT_NE(fifos_.Read(), "");
  EXPECT_EQ(client_->KillTask("t"), absl::OkStatus());
  EXPECT_EQ(AwaitExit(), 137u);
  EXPECT_EQ(client_->DeleteTask("t"), absl::OkStatus());
}

TEST_F(FakeContainerdTest, TaskNeedsAReaderOfItsOutput) {
  fifos_.StopReading();
  EXPECT_TRUE(absl::IsDeadlineExceeded(CreateTask()));
  EXPECT_EQ(fake_.CountAll().tasks, 0);
}

TEST_F(FakeContainerdTest, CountsAndIdleness) {
  EXPECT_EQ(fake_.CountAll(), FakeContainerd::Counts{});
  fake_.SetGuest([](FakeGuest& guest) { guest.Hang(); });
  ASSERT_EQ(CreateTask(), absl::OkStatus());
  ASSERT_EQ(client_->StartTask("t"), absl::OkStatus());
  EXPECT_EQ(fake_.CountAll(), (FakeContainerd::Counts{.containers = 1, .tasks = 1, .running_tasks = 1}));
  EXPECT_FALSE(fake_.AwaitIdle(absl::ZeroDuration()));

  // A task whose container was deleted first is leaked, and counted.
  ASSERT_EQ(client_->DeleteContainer("t"), absl::OkStatus());
  EXPECT_EQ(fake_.CountAll(), (FakeContainerd::Counts{.tasks = 1, .running_tasks = 1}));
  EXPECT_FALSE(fake_.AwaitIdle(absl::ZeroDuration()));
}

TEST_F(FakeContainerdTest, FailpointHitsTheChosenCalls) {
  fake_.failpoints().Set("version.Version", {.error = absl::AbortedError("x"), .skip = 1, .times = 1});
  EXPECT_EQ(client_->Ping(), absl::OkStatus());
  EXPECT_TRUE(absl::IsAborted(client_->Ping()));
  EXPECT_EQ(client_->Ping(), absl::OkStatus());
  EXPECT_EQ(fake_.failpoints().Calls("version.Version"), 3);
}

TEST_F(FakeContainerdTest, FailpointMayActAndAnswerWithAnError) {
  fake_.failpoints().Set("tasks.Create", {.error = absl::UnavailableError("x"), .act = true});
  EXPECT_TRUE(absl::IsUnavailable(CreateTask()));
  EXPECT_EQ(fake_.CountAll().tasks, 1);
  fake_.failpoints().Clear();
  fake_.failpoints().Set("containers.Delete", {.error = absl::UnavailableError("x")});
  EXPECT_TRUE(absl::IsUnavailable(client_->DeleteContainer("t")));
  EXPECT_EQ(fake_.CountAll().containers, 1);
}

TEST_F(FakeContainerdTest, FailpointHangsUntilReleased) {
  fake_.failpoints().Set("version.Version", {.hang = true});
  absl::Notification answered;
  std::thread caller([&] {
    EXPECT_EQ(client_->Ping(), absl::OkStatus());
    answered.Notify();
  });
  EXPECT_TRUE(fake_.failpoints().AwaitCalls("version.Version", 1));
  EXPECT_FALSE(answered.HasBeenNotified());
  fake_.failpoints().Release("version.Version");
  caller.join();
}

TEST_F(FakeContainerdTest, TasksSurviveARestart) {
  ASSERT_EQ(CreateTask(), absl::OkStatus());
  ASSERT_EQ(client_->StartTask("t"), absl::OkStatus());
  fake_.Stop();
  fake_.Start();
  SendJob("print still here");
  EXPECT_THAT(Words(fifos_.ReadAll()), ElementsAre("ready", "started", "1:still here\n", "exit 0", "done"));
}

}  // namespace
}  // namespace mayfly::fakes
