// The whole CLI, in process, against a scripted service on a unix socket: what reaches stdout, stderr and the disk, and
// what it exits with.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "clients/cli/commands.h"
#include "clients/cli/unique_fd.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/health_check_service_interface.h"
#include "nlohmann/json.hpp"
#include "tests/unit/cli/scripted_executor.h"

namespace mayfly::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Call = ScriptedExecutor::Call;

std::string ReadAll(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

struct Ran {
  int exit_code = -1;
  std::string out;
  std::string err;
};

class CliTest : public testing::Test {
 protected:
  void SetUp() override {
    signal(SIGPIPE, SIG_IGN);
    std::string pattern = testing::TempDir() + "mayfly-cli-test-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
    std::ofstream(dir_ / "p.py") << "print(1)\n";
  }
  void TearDown() override { fs::remove_all(dir_); }

  std::string program() const { return dir_ / "p.py"; }

  // Runs the CLI with its three streams as files.
  Ran Run(std::vector<std::string> args, const std::string& input = "") {
    std::ofstream(dir_ / "in", std::ios::binary) << input;
    const UniqueFd in(open((dir_ / "in").c_str(), O_RDONLY | O_CLOEXEC));
    const UniqueFd out(open((dir_ / "out").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    const UniqueFd err(open((dir_ / "err").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    Ran ran;
    ran.exit_code = RunCli(args, "", Streams{in.get(), out.get(), err.get()}, cancellation_);
    ran.out = ReadAll(dir_ / "out");
    ran.err = ReadAll(dir_ / "err");
    return ran;
  }
  // `mayfly run p.py` against a script.
  Ran RunScript(ScriptedExecutor::Script script, std::vector<std::string> options = {}) {
    ScriptedExecutor server(std::move(script));
    std::vector<std::string> args = {"run", program(), "--addr", server.address()};
    args.insert(args.end(), options.begin(), options.end());
    return Run(args);
  }

  fs::path dir_;
  Cancellation cancellation_;
};

grpc::Status Ended(Call& call, v1::Termination termination, const std::string& message) {
  v1::ExecutionResult result;
  result.set_termination(termination);
  result.set_message(message);
  return call.Finish(result);
}

TEST_F(CliTest, PassesEveryByteOn) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  const Ran ran = RunScript([&](const auto&, Call& call) {
    call.Accepted();
    call.Started();
    call.Stdout(bytes);
    call.Stderr("warning\n");
    call.Stdout(bytes);
    return call.Exited(7);
  });
  EXPECT_EQ(ran.exit_code, 7);
  EXPECT_EQ(ran.out, bytes + bytes);
  EXPECT_EQ(ran.err, "warning\n");
}

TEST_F(CliTest, PassesOutputOnAsItComes) {
  absl::Notification seen;
  ScriptedExecutor server([&](const auto&, Call& call) {
    call.Accepted();
    call.Started();
    call.Stdout("0\n");
    // Ends only once the reader below has the first line in hand.
    if (!seen.WaitForNotificationWithTimeout(absl::Seconds(20))) return grpc::Status(grpc::ABORTED, "nobody saw it");
    call.Stdout("1\n");
    return call.Exited(0);
  });
  int pipe_fds[2];
  ASSERT_EQ(pipe(pipe_fds), 0);
  std::future<int> exit_code = std::async(std::launch::async, [&] {
    return RunCli({"run", program(), "--addr", server.address()}, "", Streams{0, pipe_fds[1], 2}, cancellation_);
  });
  char line[16];
  ASSERT_EQ(read(pipe_fds[0], line, sizeof(line)), 2);
  seen.Notify();
  EXPECT_EQ(exit_code.get(), 0);
  EXPECT_EQ(read(pipe_fds[0], line, sizeof(line)), 2);
  close(pipe_fds[0]);
  close(pipe_fds[1]);
}

TEST_F(CliTest, SendsWhatTheCommandLineSays) {
  std::ofstream(dir_ / "data.csv") << "1,2\n";
  fs::permissions(dir_ / "data.csv", fs::perms(0640));
  v1::ExecuteRequest seen;
  ScriptedExecutor server([&](const v1::ExecuteRequest& request, Call& call) {
    seen = request;
    call.Accepted();
    return call.Exited(0);
  });
  const Ran ran = Run(
      {"run", "-", "--addr", server.address(), "--stdin", program(), "--timeout", "1500ms", "--env", "A=b", "--file",
       (dir_ / "data.csv").string() + ":d/x.csv", "--output-limit", "64KiB", "--model-id", "m", "--", "a", "--b"},
      std::string("code\0\xff", 6));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(seen.template_(), "python");
  EXPECT_EQ(seen.code(), std::string("code\0\xff", 6));
  EXPECT_EQ(seen.stdin(), "print(1)\n");
  EXPECT_THAT(seen.args(), ElementsAre("a", "--b"));
  EXPECT_EQ(seen.env().at("A"), "b");
  ASSERT_EQ(seen.files_size(), 1);
  EXPECT_EQ(seen.files(0).path(), "d/x.csv");
  EXPECT_EQ(seen.files(0).content(), "1,2\n");
  EXPECT_EQ(seen.files(0).mode(), 0640u);
  EXPECT_EQ(seen.limits().wall_time().seconds(), 1);
  EXPECT_EQ(seen.limits().wall_time().nanos(), 500000000);
  EXPECT_EQ(seen.limits().output_bytes(), 65536);
  EXPECT_FALSE(seen.limits().has_file_bytes());
  EXPECT_EQ(seen.caller().model_id(), "m");
}

TEST_F(CliTest, SaysHowAProgramEndedThatDidNotExit) {
  const Ran ran = RunScript([](const auto&, Call& call) {
    call.Accepted();
    call.Started();
    call.Stdout("partial");
    return Ended(call, v1::TERMINATION_TIMED_OUT, "It ran for 2s.\x1b[2J");
  });
  EXPECT_EQ(ran.exit_code, 124);
  EXPECT_EQ(ran.out, "partial");
  EXPECT_EQ(ran.err, "mayfly: timed out: It ran for 2s.\\x1b[2J\n");
}

TEST_F(CliTest, CancelsTheCallAndTellsSo) {
  absl::Notification started;
  std::atomic<bool> server_saw_it{false};
  ScriptedExecutor server([&](const auto&, Call& call) {
    call.Accepted();
    call.Started();
    call.Stdout("working\n");
    started.Notify();
    server_saw_it = call.AwaitCancellation();
    return grpc::Status::CANCELLED;
  });
  std::future<Ran> ran = std::async(std::launch::async, [&] {
    return Run({"run", program(), "--addr", server.address()});
  });
  started.WaitForNotification();
  EXPECT_TRUE(cancellation_.Cancel());
  const Ran result = ran.get();
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_THAT(result.err, HasSubstr("CANCELLED"));
  server.server().Shutdown();
  EXPECT_TRUE(server_saw_it);
}

TEST_F(CliTest, CancelsWhenItsStdoutIsClosed) {
  std::atomic<bool> server_saw_it{false};
  ScriptedExecutor server([&](const auto&, Call& call) {
    call.Accepted();
    call.Started();
    call.Stdout("nobody reads this\n");
    server_saw_it = call.AwaitCancellation();
    return grpc::Status::CANCELLED;
  });
  int pipe_fds[2];
  ASSERT_EQ(pipe(pipe_fds), 0);
  close(pipe_fds[0]);
  EXPECT_EQ(RunCli({"run", program(), "--addr", server.address()}, "", Streams{0, pipe_fds[1], 2}, cancellation_), 141);
  close(pipe_fds[1]);
  server.server().Shutdown();
  EXPECT_TRUE(server_saw_it);
}

TEST_F(CliTest, DoesNotTakeAStreamWithoutAnEndForSuccess) {
  const Ran ran = RunScript([](const auto&, Call& call) {
    call.Accepted();
    call.Started();
    call.Stdout("hi\n");
    return grpc::Status::OK;
  });
  EXPECT_EQ(ran.exit_code, 125);
  EXPECT_EQ(ran.out, "hi\n");
  EXPECT_THAT(ran.err, HasSubstr("without saying how the program ended"));
}

TEST_F(CliTest, KeepsOutputWhenTheStreamFails) {
  const Ran ran = RunScript([](const auto&, Call& call) {
    call.Accepted();
    call.Started();
    call.Stdout("hi\n");
    return grpc::Status(grpc::UNAVAILABLE, "the worker is gone");
  });
  EXPECT_EQ(ran.exit_code, 125);
  EXPECT_EQ(ran.out, "hi\n");
  EXPECT_EQ(ran.err, "mayfly: UNAVAILABLE: the worker is gone\n");
}

TEST_F(CliTest, NoticesABrokenStream) {
  const Ran ran = RunScript([](const auto&, Call& call) {
    call.Accepted();
    call.Started();
    v1::ExecuteEvent event;
    event.mutable_output()->set_stream(v1::STREAM_STDOUT);
    event.mutable_output()->set_offset(5);
    event.mutable_output()->set_data("lost something");
    call.Send(event);
    return call.Exited(0);
  });
  EXPECT_EQ(ran.exit_code, 125);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("broke its protocol"));
}

TEST_F(CliTest, ShowsEveryBadField) {
  const auto refuse = [](const auto&, Call&) {
    google::rpc::BadRequest bad;
    bad.add_field_violations()->set_field("code");
    google::rpc::Status details;
    details.add_details()->PackFrom(bad);
    return grpc::Status(grpc::INVALID_ARGUMENT, "no", details.SerializeAsString());
  };
  const Ran text = RunScript(refuse);
  EXPECT_EQ(text.exit_code, 125);
  EXPECT_EQ(text.err, "mayfly: INVALID_ARGUMENT: no\n  code: \n");
  const Ran json = RunScript(refuse, {"--json"});
  EXPECT_EQ(json.exit_code, 125);
  EXPECT_EQ(json.err, "");
  EXPECT_EQ(nlohmann::json::parse(json.out)["error"]["violations"][0]["field"], "code");
}

TEST_F(CliTest, AnswersInJson) {
  const Ran ran = RunScript(
      [](const auto&, Call& call) {
        call.Accepted();
        call.Started();
        call.Stdout("text\n");
        call.Stderr("\xff");
        return call.Exited(3);
      },
      {"--json"});
  EXPECT_EQ(ran.exit_code, 3);
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json["stdout"], "text\n");
  EXPECT_EQ(json["stderr_base64"], "/w==");
  EXPECT_EQ(json["stdout_account"]["sent"], 5);
}

// The end of an execution that returned these files.
grpc::Status ExitedWithFiles(Call& call, const std::vector<std::pair<std::string, int64_t>>& files) {
  v1::ExecutionResult result;
  result.set_termination(v1::TERMINATION_EXITED);
  result.set_exit_code(0);
  for (const auto& [path, size] : files) {
    result.add_files()->set_path(path);
    result.mutable_files(result.files_size() - 1)->set_size(size);
  }
  return call.Finish(result);
}

TEST_F(CliTest, CollectsFiles) {
  const Ran ran = RunScript(
      [](const v1::ExecuteRequest& request, Call& call) {
        EXPECT_THAT(request.output_globs(), ElementsAre("**"));
        call.Accepted();
        call.Started();
        call.File("a/b.txt", "content");
        return ExitedWithFiles(call, {{"a/b.txt", 7}});
      },
      {"--out", (dir_ / "files").string(), "--collect", "**"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ReadAll(dir_ / "files/a/b.txt"), "content");
}

TEST_F(CliTest, RefusesAFileThatLeadsOutside) {
  const Ran ran = RunScript(
      [](const auto&, Call& call) {
        call.Accepted();
        call.Started();
        call.File("../evil", "x");
        return ExitedWithFiles(call, {{"../evil", 1}});
      },
      {"--out", (dir_ / "files").string(), "--collect", "**"});
  EXPECT_EQ(ran.exit_code, 125);
  EXPECT_THAT(ran.err, HasSubstr("refused to write a file named '../evil'"));
  EXPECT_FALSE(fs::exists(dir_ / "evil"));
}

TEST_F(CliTest, NoticesAFileThatDidNotComeWhole) {
  const Ran ran = RunScript(
      [](const auto&, Call& call) {
        call.Accepted();
        call.Started();
        call.File("f", "half");
        return ExitedWithFiles(call, {{"f", 8}});
      },
      {"--out", (dir_ / "files").string(), "--collect", "**"});
  EXPECT_EQ(ran.exit_code, 125);
}

TEST_F(CliTest, KeepsNothingOfAFileThatCouldNotBeSent) {
  const Ran ran = RunScript(
      [](const auto&, Call& call) {
        call.Accepted();
        call.Started();
        call.File("a/half", "ha");
        call.File("whole", "x");
        v1::ExecutionResult result;
        result.set_termination(v1::TERMINATION_EXITED);
        result.set_exit_code(0);
        result.add_files()->set_path("a/half");
        result.mutable_files(0)->set_size(4);
        result.mutable_files(0)->set_omission(v1::OMISSION_UNREADABLE);
        result.add_files()->set_path("whole");
        result.mutable_files(1)->set_size(1);
        return call.Finish(result);
      },
      {"--out", (dir_ / "files").string(), "--collect", "**"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err, "mayfly: not returned: a/half: it could not be read\n");
  EXPECT_FALSE(fs::exists(dir_ / "files/a/half"));
  EXPECT_TRUE(fs::exists(dir_ / "files/whole"));
}

TEST_F(CliTest, MakesNoCallWhenALocalFileIsMissing) {
  ScriptedExecutor server([](const auto&, Call&) {
    ADD_FAILURE() << "called";
    return grpc::Status::OK;
  });
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"run", (dir_ / "missing.py").string()}, "No such file"},
      {{"run", dir_.string(), "-t", "python"}, "it is a directory"},
      {{"run", program(), "--stdin", (dir_ / "missing").string()}, "No such file"},
      {{"run", program(), "--file", (dir_ / "missing").string()}, "No such file"},
      {{"run", "/dev/zero", "-t", "python"}, "larger than 32MiB"},
      {{"run", program(), "--collect", "*", "--out", program()}, "cannot make the directory"},
  };
  for (auto [args, message] : cases) {
    args.insert(args.end(), {"--addr", server.address()});
    const Ran ran = Run(args);
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_THAT(ran.err, HasSubstr(message));
  }
}

TEST_F(CliTest, SaysQuicklyThatNobodyIsThere) {
  const absl::Time before = absl::Now();
  for (const std::string verb : {"run", "templates", "health"}) {
    std::vector<std::string> args = {verb, "--addr", absl::StrCat("unix:", dir_.string(), "/nothing.sock")};
    if (verb == "run") args.push_back(program());
    const Ran ran = Run(args);
    EXPECT_EQ(ran.exit_code, 125);
    EXPECT_THAT(ran.err, StartsWith(absl::StrCat(
                             "mayfly: UNAVAILABLE (NOT_REACHABLE): cannot reach the service at unix:", dir_.string(),
                             "/nothing.sock")));
    EXPECT_THAT(ran.err, HasSubstr("./deploy/dev up"));
  }
  EXPECT_LT(absl::Now() - before, absl::Seconds(9));
}

TEST_F(CliTest, DoesNotWaitForAServiceThatSaysNothing) {
  const std::string path = dir_ / "mute.sock";
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(listener.get(), 8), 0);
  const absl::Time before = absl::Now();
  const Ran ran = Run({"run", program(), "--addr", "unix:" + path});
  EXPECT_EQ(ran.exit_code, 125);
  EXPECT_THAT(ran.err, HasSubstr("no answer within 2s"));
  EXPECT_LT(absl::Now() - before, absl::Seconds(10));
}

TEST_F(CliTest, ListsTemplates) {
  ScriptedExecutor server([](const auto&, Call&) { return grpc::Status::OK; });
  const Ran text = Run({"templates", "--addr", server.address()});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out, HasSubstr("python  python    0.5   128MiB  64         10s (1m)    1MiB (4GiB)   CPython 3.11"));
  const auto json = nlohmann::json::parse(Run({"templates", "--json", "--addr", server.address()}).out);
  EXPECT_EQ(json["templates"][0]["memory_bytes"], 128 << 20);
}

TEST_F(CliTest, TellsHealth) {
  ScriptedExecutor server([](const auto&, Call&) { return grpc::Status::OK; });
  EXPECT_EQ(Run({"health", "--addr", server.address()}).out, "SERVING\n");
  server.server().GetHealthCheckService()->SetServingStatus(false);
  const Ran ran = Run({"health", "--addr", server.address()});
  EXPECT_EQ(ran.exit_code, 125);
  EXPECT_THAT(ran.err, HasSubstr("NOT_SERVING"));
}

TEST_F(CliTest, AnswersABadCommandLine) {
  EXPECT_EQ(Run({"run"}).exit_code, 2);
  const Ran json = Run({"run", "--json"});
  EXPECT_EQ(json.exit_code, 2);
  EXPECT_EQ(nlohmann::json::parse(json.out)["error"]["code"], "USAGE");
  EXPECT_THAT(Run({"--help"}).out, HasSubstr("Exit codes:"));
  EXPECT_THAT(Run({"version"}).out, StartsWith("mayfly "));
}

}  // namespace
}  // namespace mayfly::cli
