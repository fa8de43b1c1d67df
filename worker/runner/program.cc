#include "worker/runner/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace mayfly::runner {
namespace {

constexpr mode_t kProgramUmask = 022;

struct Pipe {
  UniqueFd reader;
  UniqueFd writer;
};

absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "making a pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// The program's three pipes. Made as its user: a pipe belongs to whoever made it, and a program may well open its own
// /dev/stdout by name, which is refused when the pipe is root's.
absl::Status MakeStdio(ProgramIdentity identity, Pipe (&pipes)[3]) {
  absl::Status assumed = AssumeIdentity(identity);
  if (!assumed.ok()) return assumed;
  absl::Status made;
  for (Pipe& pipe : pipes) {
    absl::StatusOr<Pipe> next = MakePipe();
    if (!next.ok()) {
      made = next.status();
      break;
    }
    pipe = *std::move(next);
  }
  made.Update(ResumeRoot());
  return made;
}

// Our end only: the program's own end is another file description, and blocks as programs expect.
absl::Status MakeNonBlocking(int fd) {
  if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0) return absl::ErrnoToStatus(errno, "making a pipe non-blocking");
  return absl::OkStatus();
}

// Pointers into `strings`, ending with a null pointer, as execve wants them.
std::vector<char*> Pointers(const google::protobuf::RepeatedPtrField<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(static_cast<size_t>(strings.size()) + 1);
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// All that the child needs, made before the fork.
struct ChildPlan {
  std::vector<char*> argv;
  std::vector<char*> env;
  ProgramIdentity identity;
  int workspace;
  int stdio[3];
};

absl::Status PrepareChild(const ChildPlan& plan) {
  for (int fd = 0; fd < 3; ++fd) {
    if (dup2(plan.stdio[fd], fd) < 0) return absl::ErrnoToStatus(errno, "giving the program its pipes");
  }
  if (setsid() < 0) return absl::ErrnoToStatus(errno, "making a session");
  // Fails for SIGKILL, SIGSTOP and the two that the C library keeps for itself: all four are at their default.
  for (int number = 1; number <= SIGRTMAX; ++number) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  if (sigprocmask(SIG_SETMASK, &none, nullptr) != 0) return absl::ErrnoToStatus(errno, "unblocking signals");
  umask(kProgramUmask);
  absl::Status became = BecomeForGood(plan.identity);
  if (!became.ok()) return became;
  // As the program's user, so that a workspace it may not enter is found out here.
  if (fchdir(plan.workspace) != 0) return absl::ErrnoToStatus(errno, "entering the workspace");
  return absl::OkStatus();
}

// Runs in the child. `report` is close-on-exec: the parent reads its end of file when execve has worked, and the reason
// otherwise.
[[noreturn]] void RunChild(const ChildPlan& plan, int report) {
  absl::Status failure = PrepareChild(plan);
  if (failure.ok()) {
    execve(plan.argv[0], plan.argv.data(), plan.env.data());
    failure = absl::ErrnoToStatus(errno, absl::StrCat("executing ", plan.argv[0]));
  }
  const absl::string_view message = failure.message();
  // A reason shorter than PIPE_BUF is written whole or not at all.
  const ssize_t written = write(report, message.data(), std::min<size_t>(message.size(), PIPE_BUF));
  _exit(written > 0 ? 127 : 126);
}

// What the child reported; empty when it executed the program.
std::string ReadReport(int report) {
  char buffer[PIPE_BUF];
  ssize_t count;
  do {
    count = read(report, buffer, sizeof(buffer));
  } while (count < 0 && errno == EINTR);
  if (count < 0) return "reading whether the program was executed";
  return std::string(buffer, static_cast<size_t>(count));
}

bool HasNul(const google::protobuf::RepeatedPtrField<std::string>& strings) {
  return std::any_of(strings.begin(), strings.end(),
                     [](const std::string& string) { return string.find('\0') != std::string::npos; });
}

}  // namespace

absl::Status CheckJob(const v1::Job& job) {
  if (job.argv_size() == 0 || job.argv(0).empty() || job.argv(0)[0] != '/') {
    return absl::InvalidArgumentError("the program's argv[0] is not an absolute path");
  }
  if (HasNul(job.argv()) || HasNul(job.env())) {
    return absl::InvalidArgumentError("a NUL in the program's arguments or environment");
  }
  if (job.uid() == 0 || job.gid() == 0) return absl::InvalidArgumentError("the program must not run as root");
  return absl::OkStatus();
}

absl::StatusOr<Program> StartProgram(const v1::Job& job, int workspace) {
  const ProgramIdentity identity{job.uid(), job.gid()};
  Pipe stdio[3];
  absl::Status made = MakeStdio(identity, stdio);
  if (!made.ok()) return made;
  auto& [in, out, err] = stdio;
  for (const int fd : {in.writer.get(), out.reader.get(), err.reader.get()}) {
    made = MakeNonBlocking(fd);
    if (!made.ok()) return made;
  }
  absl::StatusOr<Pipe> report = MakePipe();
  if (!report.ok()) return report.status();
  const ChildPlan plan{Pointers(job.argv()),
                       Pointers(job.env()),
                       identity,
                       workspace,
                       {in.reader.get(), out.writer.get(), err.writer.get()}};

  const pid_t pid = fork();
  if (pid < 0) return absl::ErrnoToStatus(errno, "starting a process for the program");
  if (pid == 0) RunChild(plan, report->writer.get());

  report->writer.Reset();
  const std::string failure = ReadReport(report->reader.get());
  if (!failure.empty()) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return absl::FailedPreconditionError(failure);
  }
  return Program{pid, std::move(in.writer), std::move(out.reader), std::move(err.reader)};
}

}  // namespace mayfly::runner
