#include "tests/unit/runner/runner_process.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace mayfly::runner {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(30);
constexpr int kUid = 65534;

// As in a sandbox: a tmpfs that belongs to the program, root with four capabilities, no_new_privs.
constexpr char kInNamespaces[] =
    "mount -t tmpfs -o uid=65534,gid=65534,mode=0755 tmpfs \"$1\" && "
    "exec setpriv --bounding-set=-all,+setuid,+setgid,+setpcap,+kill --inh-caps=-all --no-new-privs -- \"$2\"";

void AddFrame(const v1::ToRunner& frame, std::string* stream) {
  EXPECT_TRUE(AppendFrame(frame, stream).ok());
}

std::string Encode(const TestJob& job, const std::string& workspace, bool stdin_end) {
  std::string stream;
  v1::ToRunner frame;
  v1::Job* message = frame.mutable_job();
  for (const std::string& arg : job.argv) message->add_argv(arg);
  for (const std::string& variable : job.env) message->add_env(variable);
  for (const std::string& glob : job.globs) message->add_output_globs(glob);
  message->set_workspace(workspace);
  message->set_uid(kUid);
  message->set_gid(kUid);
  message->set_file_bytes_max(job.file_bytes_max);
  message->set_files_max(job.files_max);
  AddFrame(frame, &stream);
  for (const TestFile& file : job.files) {
    size_t at = 0;
    do {
      v1::InputData* part = frame.mutable_file();
      part->set_path(file.path);
      part->set_data(file.content.substr(at, kDataBytesMax));
      part->set_mode(file.mode);
      part->set_first(at == 0);
      AddFrame(frame, &stream);
      at += kDataBytesMax;
    } while (at < file.content.size());
  }
  frame.mutable_start();
  AddFrame(frame, &stream);
  for (size_t at = 0; at < job.stdin.size(); at += kDataBytesMax) {
    frame.set_stdin(job.stdin.substr(at, kDataBytesMax));
    AddFrame(frame, &stream);
  }
  frame.mutable_stdin_end();
  if (stdin_end) AddFrame(frame, &stream);
  return stream;
}

class OutcomeHandler : public worker::RunnerStream::Handler {
 public:
  explicit OutcomeHandler(Outcome* outcome) : outcome_(outcome) {}
  void OnReady() override {}
  void OnStarted() override { outcome_->started = true; }
  void OnOutput(int fd, std::string&& data) override { (fd == 1 ? outcome_->out : outcome_->err) += data; }
  void OnExited(const v1::Exited& exited) override { outcome_->exited = exited; }
  void OnFileHeader(const v1::FileHeader& header) override {
    file_ = header.path();
    outcome_->files[file_].header = header;
  }
  void OnFileData(std::string&& data) override { outcome_->files[file_].content += data; }
  void OnDone(const v1::Done& done) override { outcome_->unlisted = done.files_unlisted(); }
  void OnFailed(const std::string& message) override { outcome_->failed = message; }

 private:
  Outcome* const outcome_;
  std::string file_;
};

}  // namespace

TestJob Script(const std::string& script) {
  TestJob job;
  job.argv = {"/bin/sh", "-c", script};
  return job;
}

RunnerProcess::RunnerProcess(mode_t pipe_mode) {
  signal(SIGPIPE, SIG_IGN);
  workspace_ = "/tmp/mayfly-runner-XXXXXX";
  EXPECT_NE(mkdtemp(workspace_.data()), nullptr);
  const char* command = getenv("MAYFLY_RUNNER_COMMAND");
  int in[2];
  int out[2];
  EXPECT_EQ(pipe2(in, O_CLOEXEC), 0);
  EXPECT_EQ(pipe2(out, O_CLOEXEC), 0);
  EXPECT_EQ(fchmod(in[0], pipe_mode), 0);
  EXPECT_EQ(fchmod(out[1], pipe_mode), 0);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(in[0], 0);
    dup2(out[1], 1);
    signal(SIGPIPE, SIG_DFL);
    // A descriptor that the program must not get.
    open("/dev/null", O_RDONLY);
    if (command != nullptr) execl("/bin/sh", "sh", "-c", command, nullptr);
    execlp("unshare", "unshare", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc", "sh", "-c",
           kInNamespaces, "sh", workspace_.c_str(), MAYFLY_RUNNER_BINARY, nullptr);
    _exit(126);
  }
  close(in[0]);
  close(out[1]);
  to_runner_ = UniqueFd(in[1]);
  from_runner_ = UniqueFd(out[0]);
}

RunnerProcess::~RunnerProcess() {
  from_runner_.Reset();
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (writer_.joinable()) writer_.join();
  rmdir(workspace_.c_str());
}

Outcome RunnerProcess::Run(const TestJob& job) {
  Outcome outcome;
  const absl::Time start = absl::Now();
  SendJob(job, /*stdin_end=*/true);
  Read(&outcome);
  outcome.took = absl::Now() - start;
  outcome.runner_status = Wait();
  return outcome;
}

void RunnerProcess::SendJob(const TestJob& job, bool stdin_end) {
  file_bytes_max_ = job.file_bytes_max;
  files_max_ = job.files_max;
  const std::string workspace = getenv("MAYFLY_RUNNER_COMMAND") == nullptr ? workspace_ : "/workspace";
  writer_ = std::thread([this, stream = Encode(job, workspace, stdin_end)] {
    absl::string_view left = stream;
    while (!left.empty()) {
      const ssize_t count = write(to_runner_.get(), left.data(), left.size());
      if (count <= 0) return;  // the runner is gone: it may be done before it has read all
      left.remove_prefix(static_cast<size_t>(count));
    }
  });
}

void RunnerProcess::CloseStdin() {
  writer_.join();
  to_runner_.Reset();
}

void RunnerProcess::Read(Outcome* outcome, const std::string& until) {
  OutcomeHandler handler(outcome);
  worker::RunnerStream stream(&handler, {file_bytes_max_, files_max_});
  const absl::Time deadline = absl::Now() + kPatience;
  std::vector<char> buffer(65'536);
  while (outcome->stream.ok() && (until.empty() || outcome->out.find(until) == std::string::npos)) {
    pollfd ready{from_runner_.get(), POLLIN, 0};
    const auto left = absl::ToInt64Milliseconds(deadline - absl::Now());
    if (left <= 0 || poll(&ready, 1, static_cast<int>(left)) <= 0) break;
    const ssize_t count = read(from_runner_.get(), buffer.data(), buffer.size());
    if (count <= 0) break;
    outcome->stream = stream.Feed(absl::string_view(buffer.data(), static_cast<size_t>(count)));
  }
  if (until.empty()) outcome->stream.Update(stream.Finish());
}

int RunnerProcess::Wait() {
  const absl::Time deadline = absl::Now() + kPatience;
  int status = 0;
  while (absl::Now() < deadline) {
    const pid_t ended = waitpid(pid_, &status, WNOHANG);
    if (ended == pid_) {
      pid_ = -1;
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    absl::SleepFor(absl::Milliseconds(2));
  }
  return -1;
}

}  // namespace mayfly::runner
